//! The strategies that are compared, under the names that the table shows.

use redrive::policy::{PolicyOptions, presets};

use crate::crowd::draws::{Draws, Waits};
use crate::storm::model::sound;

/// A strategy under its name.
#[derive(Clone, Debug)]
pub struct Strategy {
    /// Its name and numbers.
    pub name: &'static str,
    /// Its waits.
    pub waits: Waits,
}

impl Strategy {
    /// When each of `jobs` jobs comes back, in ms since all of them failed: a row for each, `retries` long.
    pub fn times(&self, jobs: u32, retries: u32, seed: u64) -> Vec<Vec<f64>> {
        let mut draws = Draws::new(self.waits.clone(), seed);
        let row = |_| {
            let mut job = draws.job();
            (0..retries).map(|_| draws.arrival(&mut job)).collect()
        };
        (0..jobs).map(row).collect()
    }
}

/// Seconds as an option.
fn seconds(seconds: f64) -> Option<f64> {
    Some(seconds * 1000.0)
}

/// The strategies of the table. Where they double, their mean wait is 15 s * 2^(n-1), so that like is compared with
/// like: a base of 30 s for full jitter, 20 s for equal, 10 s for spread. No caps.
pub fn strategies() -> Vec<Strategy> {
    let of = |name, options: PolicyOptions| {
        let options = PolicyOptions { max_attempts: Some(100.0), max_delay_ms: Some(8.64e15), ..options };
        // A key's lifetime is no question here.
        let options = PolicyOptions { key_ttl_ms: Some(8.64e15), ..options };
        Strategy { name, waits: Waits::Core(sound(&options)) }
    };
    let doubling = |name, base: f64, jitter: f64, ratio: Option<f64>| {
        let options = PolicyOptions {
            initial_delay_ms: seconds(base),
            jitter_type: Some(jitter),
            jitter_ratio: ratio,
            ..PolicyOptions::default()
        };
        of(name, options)
    };
    let spread = |name, fresh: f64| {
        let options = PolicyOptions {
            strategy: Some(7.0),
            initial_delay_ms: seconds(10.0),
            fresh_jitter: Some(fresh),
            ..PolicyOptions::default()
        };
        of(name, options)
    };
    let plain = |code: f64| PolicyOptions {
        strategy: Some(code),
        initial_delay_ms: seconds(300.0),
        jitter_type: Some(0.0),
        ..PolicyOptions::default()
    };
    vec![
        of("fixed, 5 min", plain(2.0)),
        of("linear, 5 min a step", plain(1.0)),
        of("padded exponential, 180 s + 60 s * 2^(n-1)", plain(6.0)),
        of("zizq", presets::zizq()),
        of("sidekiq", presets::sidekiq()),
        of("buckets", plain(5.0)),
        doubling("exponential, no jitter", 15.0, 0.0, None),
        doubling("exponential, additive", 15.0, 4.0, None),
        doubling("exponential, proportional 0.2", 15.0, 5.0, Some(0.2)),
        doubling("exponential, equal jitter", 20.0, 2.0, None),
        doubling("exponential, full jitter", 30.0, 1.0, None),
        doubling("decorrelated", 15.0, 3.0, None),
        Strategy { name: "spread on sidekiq's curve", waits: Waits::SpreadOnSidekiq },
        spread("spread, no fresh jitter", 0.0),
        spread("spread", 0.1),
    ]
}
