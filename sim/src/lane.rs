//! What is known of a lane, and what holds it.

use redrive::gates::Gates;

use crate::gates::LaneGates;
use crate::line::sum;

/// A lane.
#[derive(Clone, Debug, Default)]
pub struct Lane {
    /// Its handle.
    pub handle: u32,
    /// Until when the server wants nothing.
    pub held_until: u64,
    /// When the present or last hold began.
    pub held_since: u64,
    /// No attempt has started since.
    pub owes_chance: bool,
    /// Whether people want nothing.
    pub paused: bool,
    /// An attempt failed while the host was offline.
    pub failed_offline: bool,
    /// One attempt at a time, since.
    pub probing: bool,
    /// Nothing starts until then, since the host says that it is offline.
    pub dark_until: u64,
    /// When it said so, or the last attempt failed meanwhile.
    pub dark_since: u64,
    /// A caller waits until then at most for a task that waits.
    pub awaited_until: u64,
    /// The longest call that got a response: no estimate can be longer.
    pub longest_call: u64,
    /// Attempts that run and count.
    pub in_flight: u32,
    /// Tasks held, without leased ones.
    pub depth: u32,
    /// Leased tasks.
    pub leased: u32,
    /// Its gates.
    pub gates: LaneGates,
}

impl Lane {
    /// A lane that nothing has happened in.
    pub fn new(handle: u32, rules: Gates) -> Lane {
        Lane { handle, gates: LaneGates::new(rules), ..Lane::default() }
    }

    /// The host says that it is offline, or an attempt has failed meanwhile.
    pub fn go_dark(&mut self, now: u64) {
        let wait = if self.awaited_until > now { 2_000 } else { 30_000 };
        (self.dark_since, self.dark_until) = (now, sum(now, wait));
    }

    /// Someone waits for an attempt: two seconds after the last is enough.
    pub fn hurry(&mut self) {
        self.dark_until = self.dark_until.min(sum(self.dark_since, 2_000));
    }

    /// The server wants nothing for `ms`: at most for `most` on end, and who waited then has a second to start.
    pub fn hold(&mut self, now: u64, ms: u64, most: u64) {
        if ms == 0 {
            return;
        }
        if self.held_until <= now {
            if self.owes_chance && now < self.held_until + 1000 {
                return;
            }
            self.held_since = now;
            self.owes_chance = true;
        }
        self.held_until = self.held_until.max(sum(now, ms).min(sum(self.held_since, most)));
    }
}
