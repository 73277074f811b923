//! The server: first come, first served, one request after another, and away for a while.
//!
//! What becomes of an attempt is known the moment it arrives, since nothing overtakes and nobody can take a request
//! back: a client that gives up leaves its work behind. That is what makes a queue that is longer than its clients'
//! patience so dangerous.

use crate::storm::model::{Outage, Setup};

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
    outage: Outage,
    /// When it goes, and when it is back.
    away_ms: (u64, u64),
    timeout_ms: u64,
    /// What it takes on, and what one request is of it.
    work_ns: u64,
    service_ns: u64,
    /// When it will have done what it has taken on.
    busy_until_ns: u64,
    /// Requests done for clients that had left.
    pub in_vain: u64,
}

const NS_PER_MS: u64 = 1_000_000;

impl Server {
    /// One that has nothing to do.
    pub const fn new(setup: &Setup) -> Server {
        Server {
            outage: setup.outage,
            away_ms: (setup.warm_up_ms, setup.back_ms()),
            timeout_ms: setup.timeout_ms,
            work_ns: setup.backlog.work_ms() * NS_PER_MS,
            service_ns: (1e9 / setup.capacity) as u64,
            busy_until_ns: 0,
            in_vain: 0,
        }
    }

    /// How an attempt that is made at `now` ends, and when.
    pub fn take(&mut self, now: u64) -> (Fate, u64) {
        let (gone, back) = self.away_ms;
        if now >= gone && now < back {
            return match self.outage {
                Outage::Hanging => (Fate::TimedOut, now + self.timeout_ms),
                Outage::Refusing => (Fate::Refused, now + 1),
            };
        }
        let begins = self.busy_until_ns.max(now * NS_PER_MS);
        if begins - now * NS_PER_MS >= self.work_ns {
            return (Fate::Refused, now + 1);
        }
        self.busy_until_ns = begins + self.service_ns;
        let done = self.busy_until_ns.div_ceil(NS_PER_MS);
        if done <= now + self.timeout_ms {
            (Fate::Answered, done)
        } else {
            self.in_vain += 1;
            (Fate::TimedOut, now + self.timeout_ms)
        }
    }
}
