//! How long after an outage a crowd's jobs come back.

use crate::crowd::draws::{Draws, Waits};

/// How long the outage lasts, in ms: one hour.
const OUTAGE: f64 = 3_600_000.0;
/// So many retries of each job are drawn even where it has come back before.
const DRAWN: u32 = 99;
/// No job is followed further than this: one that waits less than 360 ms on average has not come back by then.
const MOST: u32 = 10_000;

/// The jobs of a crowd that fail when the outage begins, one after another.
#[derive(Debug)]
pub struct Lags {
    draws: Draws,
    retries: u32,
    jobs: u32,
    sum: f64,
    worst: f64,
}

impl Lags {
    /// A crowd that falls from a seed.
    pub fn new(waits: Waits, seed: u64) -> Lags {
        let retries = waits.retries().min(MOST);
        Lags { draws: Draws::new(waits, seed), retries, jobs: 0, sum: 0.0, worst: 0.0 }
    }

    /// Follows the next job; gives how many retries were drawn.
    pub fn follow(&mut self) -> u32 {
        let mut job = self.draws.job();
        let mut lag = f64::INFINITY;
        let mut drawn = 0;
        while drawn < self.retries && (drawn < DRAWN || lag == f64::INFINITY) {
            let at = self.draws.arrival(&mut job);
            drawn += 1;
            if at >= OUTAGE && lag == f64::INFINITY {
                lag = (at - OUTAGE) / OUTAGE;
            }
        }
        self.jobs += 1;
        self.sum += lag;
        self.worst = self.worst.max(lag);
        drawn
    }

    /// Of the jobs so far: after the outage's end, as a share of it; infinite where one has no attempt left by then.
    pub fn mean(&self) -> f64 {
        self.sum / f64::from(self.jobs.max(1))
    }

    /// The longest of them.
    pub const fn worst(&self) -> f64 {
        self.worst
    }
}
