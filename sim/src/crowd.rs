//! A crowd: jobs that fail at the same moment and go on failing, each strategy's retries of them.
//!
//! The question is that of an article on backoff: a hundred jobs fail together; when do they come back? Waits come from
//! the core ([`redrive::backoff`]), but for spread on Sidekiq's curve, which no policy has: there the formula stands here.

use redrive::backoff::{Draw, delay};
use redrive::policy::{Policy, PolicyOptions, presets};
use redrive::rng::SplitMix64;
use redrive::time::Millis;

/// The golden ratio of 2^32: phases a queue gives one after another lie evenly, however many they are.
const GOLDEN: u32 = 0x9E37_79B9;

/// Where waits come from.
#[derive(Clone, Debug)]
enum Source {
    /// A policy of the core.
    Core(Policy),
    /// Spread on Sidekiq's curve without its jitter: `T_n(u) = w(1) + .. + w(n) + u * w(n+1)`.
    SpreadOnSidekiq,
}

/// A strategy under the name that the table shows.
#[derive(Clone, Debug)]
pub struct Strategy {
    /// Its name and numbers.
    pub name: &'static str,
    /// Whether its curve doubles without a cap: only there has a load per octave a meaning.
    pub doubles: bool,
    source: Source,
}

/// Seconds as an option.
fn seconds(seconds: f64) -> Option<f64> {
    Some(seconds * 1000.0)
}

/// The strategies of the table. Where they double, their mean wait is 15 s * 2^(n-1), so that like is compared with
/// like: a base of 30 s for full jitter, 20 s for equal, 10 s for spread. No caps.
pub fn strategies() -> Vec<Strategy> {
    let of = |name, doubles, options: PolicyOptions| {
        let options = PolicyOptions { max_attempts: Some(100.0), max_delay_ms: Some(8.64e15), ..options };
        // A key's lifetime is no question here.
        let options = PolicyOptions { key_ttl_ms: Some(8.64e15), ..options };
        let policy = Policy::new(&options).expect("these options are sound");
        Strategy { name, doubles, source: Source::Core(policy) }
    };
    let doubling = |name, base: f64, jitter: f64, ratio: Option<f64>| {
        let options = PolicyOptions {
            initial_delay_ms: seconds(base),
            jitter_type: Some(jitter),
            jitter_ratio: ratio,
            ..PolicyOptions::default()
        };
        of(name, true, options)
    };
    let spread = |name, fresh: f64| {
        let options = PolicyOptions {
            strategy: Some(7.0),
            initial_delay_ms: seconds(10.0),
            fresh_jitter: Some(fresh),
            ..PolicyOptions::default()
        };
        of(name, true, options)
    };
    let plain = |code: f64| PolicyOptions {
        strategy: Some(code),
        initial_delay_ms: seconds(300.0),
        jitter_type: Some(0.0),
        ..PolicyOptions::default()
    };
    vec![
        of("fixed, 5 min", false, plain(2.0)),
        of("linear, 5 min a step", false, plain(1.0)),
        of("padded exponential, 180 s + 60 s * 2^(n-1)", false, plain(6.0)),
        of("zizq", false, presets::zizq()),
        of("sidekiq", false, presets::sidekiq()),
        of("buckets", false, plain(5.0)),
        doubling("exponential, no jitter", 15.0, 0.0, None),
        doubling("exponential, additive", 15.0, 4.0, None),
        doubling("exponential, proportional 0.2", 15.0, 5.0, Some(0.2)),
        doubling("exponential, equal jitter", 20.0, 2.0, None),
        doubling("exponential, full jitter", 30.0, 1.0, None),
        doubling("decorrelated", 15.0, 3.0, None),
        Strategy { name: "spread on sidekiq's curve", doubles: false, source: Source::SpreadOnSidekiq },
        spread("spread, no fresh jitter", 0.0),
        spread("spread", 0.1),
    ]
}

/// The mean of Sidekiq's wait before retry `n`, in ms: k^4 + 15 + 15 * n seconds, k = n - 1.
fn sidekiq(n: u32) -> f64 {
    (f64::from(n - 1).powi(4) + 15.0 + 15.0 * f64::from(n)) * 1000.0
}

impl Strategy {
    /// When each of `jobs` jobs comes back, in ms since all of them failed: a row for each, `retries` long.
    pub fn times(&self, jobs: u32, retries: u32, seed: u64) -> Vec<Vec<f64>> {
        let mut dice = SplitMix64::new(seed);
        let start = dice.next_u32();
        let phase = |job: u32| start.wrapping_add(job.wrapping_mul(GOLDEN));
        (0..jobs).map(|job| self.job(phase(job), retries, &mut dice)).collect()
    }

    fn job(&self, phase: u32, retries: u32, dice: &mut SplitMix64) -> Vec<f64> {
        let mut at = 0.0;
        let mut previous: Option<Millis> = None;
        let waits = (1..=retries).map(|n| match &self.source {
            Source::Core(policy) => {
                let wait = delay(policy, n, Draw { r32: dice.next_u32(), phase, previous });
                previous = Some(wait);
                wait.get() as f64
            }
            Source::SpreadOnSidekiq => {
                let u = f64::from(phase) / 2_f64.powi(32);
                let rest = if n == 1 { 0.0 } else { u * sidekiq(n) };
                sidekiq(n) + u * sidekiq(n + 1) - rest
            }
        });
        let mut times = Vec::new();
        for wait in waits {
            at += wait;
            times.push(at);
        }
        times
    }
}
