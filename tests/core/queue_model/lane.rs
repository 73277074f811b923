//! A lane of the naive queue.

#[derive(Clone, Debug, Default)]
pub struct Lane {
    pub handle: u32,
    pub held_until: u64,
    /// The end that no renewal of the present or last hold passes.
    pub ends_by: u64,
    /// Its store keeps its own tasks back.
    pub shared: bool,
    /// No attempt has started since.
    pub owes_chance: bool,
    pub paused: bool,
    pub probing: bool,
    pub failed_offline: bool,
    /// Offline nothing starts until then, and when its last attempt ended, or it went offline.
    pub dark_until: u64,
    pub dark_since: u64,
    /// A caller waits until then at most for a task that waits.
    pub awaited_until: u64,
    pub first_failures: u32,
}

impl Lane {
    /// The host says that it is offline, or an attempt has failed meanwhile: the next one goes in half a minute, or in two seconds where a caller waits.
    pub fn go_dark(&mut self, now: u64) {
        let wait = if self.awaited_until > now { 2_000 } else { 30_000 };
        (self.dark_since, self.dark_until) = (now, now + wait);
    }

    /// A caller waits for a task that waits.
    pub fn await_until(&mut self, until: u64) {
        self.awaited_until = self.awaited_until.max(until);
        self.visit();
    }

    /// A user expects an attempt: two seconds after the last is enough.
    pub fn visit(&mut self) {
        self.dark_until = self.dark_until.min(self.dark_since + 2_000);
    }

    /// When what is due may start, as far as the clock decides.
    pub fn shut_until(&self) -> u64 {
        self.held_until.max(self.dark_until)
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
            self.ends_by = now + most;
            self.owes_chance = true;
        }
        let until = (now + ms).min(self.ends_by);
        if until > self.held_until {
            self.held_until = until;
            self.shared = false;
        }
    }

    /// The store holds it for `ms`; for 0: it knows of what is known here.
    pub fn share(&mut self, now: u64, ms: u64) {
        if ms > 0 && !self.shared && self.held_until > now + ms {
            return;
        }
        self.shared = true;
        if ms > 0 {
            (self.held_until, self.ends_by, self.owes_chance) = (now + ms, now + ms, true);
        }
    }
}
