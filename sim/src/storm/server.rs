//! The server: first come, first served, one request after another, and away for a while.
//!
//! What becomes of an attempt is known the moment it arrives, since nothing overtakes and nobody can take a request
//! back: a client that gives up leaves its work behind. That is what makes a queue that is longer than its clients'
//! patience so dangerous.

use crate::storm::model::{BACK_MS, Outage, SERVICE_US, Setup, TIMEOUT_MS, WARM_UP_MS};

/// How an attempt ends for the client that made it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// A 200.
    Answered,
    /// A 503.
    Refused,
    /// Silence, until the client gave up.
    TimedOut,
}

/// The server.
#[derive(Debug)]
pub struct Server {
    work_us: u64,
    outage: Outage,
    /// When it will have done what it has taken on, in µs.
    busy_until: u64,
    /// Requests done for clients that had left.
    pub in_vain: u64,
}

impl Server {
    /// One that has nothing to do.
    pub const fn new(setup: &Setup) -> Server {
        Server { work_us: setup.backlog.work_us(), outage: setup.outage, busy_until: 0, in_vain: 0 }
    }

    /// Whether it is away.
    pub const fn is_away(at: u64) -> bool {
        at >= WARM_UP_MS && at < BACK_MS
    }

    /// How an attempt that is made at `now` ends, and when.
    pub fn take(&mut self, now: u64) -> (Fate, u64) {
        if Server::is_away(now) {
            return match self.outage {
                Outage::Hanging => (Fate::TimedOut, now + TIMEOUT_MS),
                Outage::Refusing => (Fate::Refused, now + 1),
            };
        }
        let begins = self.busy_until.max(now * 1000);
        if begins - now * 1000 >= self.work_us {
            return (Fate::Refused, now + 1);
        }
        self.busy_until = begins + SERVICE_US;
        let done = self.busy_until.div_ceil(1000);
        if done <= now + TIMEOUT_MS {
            (Fate::Answered, done)
        } else {
            self.in_vain += 1;
            (Fate::TimedOut, now + TIMEOUT_MS)
        }
    }
}
