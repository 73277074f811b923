//! When to try again and when to stop: the numbers, checked once.
//!
//! [`PolicyOptions`] is a policy as its user wrote it; [`Policy`] is what the core works with. It can only be had from
//! [`Policy::new`] and [`Policy::from_fields`], which check everything, so the code behind them need not ask whether a
//! cap is finite or a status code real.
#![forbid(unsafe_code)]

use crate::time::Millis;

mod check;
pub mod curve;
mod fields;
pub mod presets;
mod statuses;
mod strategy;
mod window;

pub use fields::{FIELD_COUNT, Field, JitterCode, StrategyCode};
pub use statuses::{BROAD_CODES, StatusSet};
pub use strategy::{Jitter, Share, Strategy};
pub use window::{WHOLE, Window};

/// The longest duration a policy takes, in ms: the last instant a JavaScript `Date` can name.
/// It lies below 2^53, so sums with it are still exact.
pub const LONGEST_MS: f64 = 8_640_000_000_000_000.0;

/// Attempts of a call unless said otherwise: enough for an outage of 20 s, within the half minute that a caller waits (docs/adr/0099).
pub const ATTEMPTS: u32 = 12;
/// The milliseconds of a caller's wait for which there is one attempt, where that gives more than [`ATTEMPTS`]: these are for 30 s.
const PER_ATTEMPT: u64 = 2_500;

/// A policy as its user wrote it. `None` means the default; durations are milliseconds.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PolicyOptions {
    /// 0 exponential, 1 linear, 2 fixed, 3 polynomial, 4 sidekiq, 5 buckets, 6 padded exponential,
    /// 7 spread, 8 table. Default 0. Options that the strategy does not take are checked and ignored.
    pub strategy: Option<f64>,
    /// Attempts in total, the first one included, `1..=1_000_000`. Default [`ATTEMPTS`], and more for a caller with
    /// more than 30 s ([`Policy::attempts_within`]).
    pub max_attempts: Option<f64>,
    /// The wait before the first retry; exponential, linear, fixed, spread. Default 500.
    pub initial_delay_ms: Option<f64>,
    /// Growth of exponential and spread, 1 or `1.01..=100`. Default 2.
    pub multiplier: Option<f64>,
    /// Longest wait the strategy gives, jitter included; only spread's fresh jitter may pass it,
    /// by its share. A server's own delay may be longer.
    /// Default 8,000 for exponential and linear, or `initial_delay_ms` where that is longer; 47,000 for spread, none for the others.
    pub max_delay_ms: Option<f64>,
    /// From the task's creation; an attempt that could not end inside it is not made. Default
    /// `key_ttl_ms`.
    pub total_budget_ms: Option<f64>,
    /// 0 NONE, 1 FULL, 2 EQUAL, 3 DECORRELATED, 4 ADDITIVE, 5 PROPORTIONAL, 6 DECORRELATED_CLAMPED;
    /// with exponential, linear and fixed. Default 1.
    pub jitter_type: Option<f64>,
    /// Share of proportional jitter, `0..=1`, read as a decimal of nine places. Default 0.2.
    pub jitter_ratio: Option<f64>,
    /// Share of spread's fresh jitter, `0..=0.5`, read as a decimal of nine places. Default 0.1.
    pub fresh_jitter: Option<f64>,
    /// Growth of the linear curve. Default `initial_delay_ms`.
    pub step_ms: Option<f64>,
    /// The least wait of polynomial. All three of `base_ms`, `exponent` and
    /// `jitter_ms`, or none of them: then they are Zizq's 15,000, 4 and 30,000.
    pub base_ms: Option<f64>,
    /// The exponent of polynomial, `0..=8`: the wait has `n^exponent` seconds.
    pub exponent: Option<f64>,
    /// The chance of polynomial: the wait has `n` times anything up to this.
    pub jitter_ms: Option<f64>,
    /// Whether a call whose connection was lost is tried again: 0 or 1. Default 1.
    pub retry_network_errors: Option<f64>,
    /// Whether a call without a response in time is tried again: 0 or 1. Default 1.
    pub retry_timeouts: Option<f64>,
    /// Time to response headers; 0 is none. Default 30,000. The host applies it.
    pub attempt_timeout_ms: Option<f64>,
    /// The time that one call is expected to take, for the budget; a moving average when absent.
    pub estimated_call_ms: Option<f64>,
    /// A server's delay longer than this ends the task. Default one day.
    pub max_retry_after_ms: Option<f64>,
    /// How long the server remembers a key, from the first attempt. Default one day.
    pub key_ttl_ms: Option<f64>,
    /// The waits of table, `1..=1000` of them: one before each retry; the last one repeats.
    pub delays_ms: Option<Vec<f64>>,
    /// Status codes worth another attempt, each `200..=599`. Default 408, 429, 502, 503, 504.
    pub retryable_status_codes: Option<Vec<f64>>,
}

/// A policy whose every number has been checked.
#[derive(Clone, Debug, PartialEq)]
pub struct Policy {
    strategy: Strategy,
    cap: Millis,
    patience: Millis,
    max_attempts: Option<u32>,
    total_budget: Millis,
    retry_network_errors: bool,
    retry_timeouts: bool,
    attempt_timeout: Millis,
    estimated_call: Option<Millis>,
    max_retry_after: Millis,
    key_ttl: Millis,
    retryable: StatusSet,
}

impl Policy {
    /// How the waits are shaped.
    pub const fn strategy(&self) -> &Strategy {
        &self.strategy
    }

    /// No wait is longer, spread's fresh jitter apart. [`Millis::MAX`]: no cap.
    pub const fn cap(&self) -> Millis {
        self.cap
    }

    /// No wait that an answer calls for by its meaning is longer: `max_delay_ms` where it is given, else 30 s.
    pub const fn patience(&self) -> Millis {
        self.patience
    }

    /// The wait that counts as the one before the first retry: the base of the curve, from which
    /// decorrelated jitter sets out. No other strategy looks at it.
    pub const fn first_previous(&self) -> Millis {
        match &self.strategy {
            Strategy::Curved(curve, _) => curve.base,
            _ => Millis::ZERO,
        }
    }

    /// The range that chance chooses from before retry `n`, spread's fresh jitter apart.
    pub fn window(&self, n: u32, previous: Option<Millis>) -> Window {
        Window::new(&self.strategy, self.cap, n, previous)
    }

    /// Attempts in total, `1..=1_000_000`, of a task that no caller waits for.
    pub fn max_attempts(&self) -> u32 {
        self.max_attempts.unwrap_or(ATTEMPTS)
    }

    /// Attempts in total of a task with a caller who gives it so long. Unless their number is given it grows with the wait, from
    /// [`ATTEMPTS`] for 30 s: it is the wait that ends such a call (docs/adr/0101).
    pub fn attempts_within(&self, wait: Millis) -> u32 {
        let fitting = u32::try_from(wait.get() / PER_ATTEMPT).unwrap_or(u32::MAX);
        self.max_attempts.unwrap_or(fitting.max(ATTEMPTS))
    }

    /// How long a task may live from its creation.
    pub const fn total_budget(&self) -> Millis {
        self.total_budget
    }

    /// Whether a call whose connection was lost is tried again.
    pub const fn retry_network_errors(&self) -> bool {
        self.retry_network_errors
    }

    /// Whether a call without a response in time is tried again.
    pub const fn retry_timeouts(&self) -> bool {
        self.retry_timeouts
    }

    /// Time to response headers, for the host to apply; 0 is none.
    pub const fn attempt_timeout(&self) -> Millis {
        self.attempt_timeout
    }

    /// This policy for a host that gives an attempt up after `timeout`, whatever the policy said; 0 is never.
    #[must_use]
    pub fn with_attempt_timeout(self, timeout: Millis) -> Policy {
        Policy { attempt_timeout: timeout, ..self }
    }

    /// The time that one call is said to take, if it was said.
    pub const fn estimated_call(&self) -> Option<Millis> {
        self.estimated_call
    }

    /// The longest server's delay that is waited for.
    pub const fn max_retry_after(&self) -> Millis {
        self.max_retry_after
    }

    /// How long the server remembers a key.
    pub const fn key_ttl(&self) -> Millis {
        self.key_ttl
    }

    /// The status codes worth another attempt.
    pub const fn retryable(&self) -> &StatusSet {
        &self.retryable
    }

    /// The sum of the longest waits this policy can choose by itself, over all its retries.
    ///
    /// Each is the closed end of its window, `u = 1`, which a draw misses by less than a
    /// millisecond or two: the bound one would work out by hand.
    pub fn longest_schedule(&self) -> Millis {
        let mut sum = Millis::ZERO;
        let mut previous = self.first_previous();
        for n in 1..self.max_attempts() {
            previous = self.window(n, Some(previous)).at(WHOLE);
            if let Strategy::Spread(_, fresh) = &self.strategy {
                previous = previous.plus(fresh.of(previous));
            }
            sum = sum.plus(previous);
        }
        sum
    }
}
