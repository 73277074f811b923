//! How an attempt ended, as the host tells it.
#![forbid(unsafe_code)]

use crate::outcome::{Outcome, Reason};
use crate::time::Millis;

/// Facts about the end of an attempt that the host alone knows, as bits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Facts(u32);

impl Facts {
    /// The queue is closed or closing.
    pub const STOPPED: Facts = Facts(1);
    /// Its page was put away.
    pub const HIDDEN: Facts = Facts(2);
    /// Requests are another principal's by now.
    pub const FOREIGN: Facts = Facts(4);
    /// The task's lane is paused, or everything.
    pub const PAUSED: Facts = Facts(8);
    /// The attempt could not be signed.
    pub const UNSIGNED: Facts = Facts(16);
    /// Credentials are missing that nothing here supplies.
    pub const MISSING: Facts = Facts(32);
    /// Another process may have the task by now: its lease is lost, or over.
    pub const LOST: Facts = Facts(64);

    /// Facts from their bits.
    pub const fn from_bits(bits: u32) -> Facts {
        Facts(bits)
    }

    /// The bits, which cross the boundary.
    pub const fn bits(self) -> u32 {
        self.0
    }

    /// Whether the fact is among them.
    pub(super) const fn say(self, fact: Facts) -> bool {
        self.0 & fact.0 != 0
    }
}

/// How an attempt ended.
#[derive(Clone, Copy, Debug)]
pub struct Ended {
    /// In which way.
    pub outcome: Outcome,
    /// The response's status; counts only where there is a response.
    pub status: u32,
    /// The wait that the server asked for, from now: `Retry-After`, which wins over a rate limit.
    pub server_delay: Option<Millis>,
    /// In how long the server's rate limit begins anew, where nothing is left of it.
    pub rate_limit: Option<Millis>,
    /// That limit is one partition's: it binds the request that was answered, and no other of its lane.
    pub partitioned: bool,
    /// A `Retry-After` was there and could not be read: it is counted, and the curve decides.
    pub unusable: bool,
    /// The answer asks for another attempt, whatever its status says: [`crate::asked::Said::asks`].
    pub asked: bool,
    /// The answer is marked as the replay of one that was stored under the request's key.
    pub replayed: bool,
    /// The time that the call took, up to the response's headers.
    pub duration: Option<Millis>,
    /// The word of the host's own hook: whether to try again.
    pub said: Option<bool>,
    /// The wait of the host's own hook, in place of the curve's.
    pub delay: Option<Millis>,
    /// Facts that only the host knows.
    pub facts: Facts,
    /// The host's own reason, should the task end.
    pub reason: Option<Reason>,
}

impl Ended {
    /// An attempt of which nothing but the way it ended is known, to fill in.
    pub const fn of(outcome: Outcome) -> Ended {
        Ended {
            outcome,
            status: 0,
            server_delay: None,
            rate_limit: None,
            partitioned: false,
            unusable: false,
            asked: false,
            replayed: false,
            duration: None,
            said: None,
            delay: None,
            facts: Facts::from_bits(0),
            reason: None,
        }
    }
}
