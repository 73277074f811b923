//! The waits of a crowd's jobs, one job after another, as its dice fall.

use redrive::backoff::{Draw, delay};
use redrive::policy::Policy;
use redrive::rng::SplitMix64;
use redrive::time::Millis;

/// The golden ratio of 2^32: phases a queue gives one after another lie evenly, however many they are.
const GOLDEN: u32 = 0x9E37_79B9;
/// Retries of a strategy that no policy has: as many as those that it is compared with.
const RETRIES: u32 = 99;

/// Where waits come from.
#[derive(Clone, Debug)]
pub enum Waits {
    /// A policy of the core.
    Core(Policy),
    /// Spread on Sidekiq's curve without its jitter: `T_n(u) = w(1) + .. + w(n) + u * w(n+1)`.
    SpreadOnSidekiq,
}

impl Waits {
    /// Retries that a job makes at most.
    pub fn retries(&self) -> u32 {
        match self {
            Waits::Core(policy) => policy.max_attempts() - 1,
            Waits::SpreadOnSidekiq => RETRIES,
        }
    }
}

/// A job that goes on failing.
#[derive(Clone, Debug)]
pub struct Job {
    phase: u32,
    /// Retries so far, and when the last was.
    retries: u32,
    at: f64,
    previous: Option<Millis>,
}

/// The jobs of one crowd.
#[derive(Clone, Debug)]
pub struct Draws {
    waits: Waits,
    dice: SplitMix64,
    phase: u32,
}

impl Draws {
    /// Those that fall from a seed.
    pub fn new(waits: Waits, seed: u64) -> Draws {
        let mut dice = SplitMix64::new(seed);
        let phase = dice.next_u32();
        Draws { waits, dice, phase }
    }

    /// The next job. All retries of one are drawn before the next begins.
    pub const fn job(&mut self) -> Job {
        let phase = self.phase;
        self.phase = phase.wrapping_add(GOLDEN);
        Job { phase, retries: 0, at: 0.0, previous: None }
    }

    /// When the job comes back next, in ms since all of them failed.
    pub fn arrival(&mut self, job: &mut Job) -> f64 {
        job.retries += 1;
        let (n, phase) = (job.retries, job.phase);
        job.at += match &self.waits {
            Waits::Core(policy) => {
                let draw = Draw { r32: self.dice.next_u32(), phase, previous: job.previous };
                let wait = delay(policy, n, draw);
                job.previous = Some(wait);
                wait.get() as f64
            }
            Waits::SpreadOnSidekiq => {
                let u = f64::from(phase) / 2_f64.powi(32);
                let rest = if n == 1 { 0.0 } else { u * sidekiq(n) };
                sidekiq(n) + u * sidekiq(n + 1) - rest
            }
        };
        job.at
    }
}

/// The mean of Sidekiq's wait before retry `n`, in ms: k^4 + 15 + 15 * n seconds, k = n - 1.
fn sidekiq(n: u32) -> f64 {
    (f64::from(n - 1).powi(4) + 15.0 + 15.0 * f64::from(n)) * 1000.0
}
