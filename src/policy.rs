//! When to try again and when to stop: the numbers, checked once.
//!
//! [`PolicyOptions`] is what somebody wrote; [`Policy`] is what the core works with, and it can
//! only be had from [`Policy::new`], which checks everything. So nothing further in has to ask
//! whether a cap is finite or a status code real.
#![forbid(unsafe_code)]

use crate::curve::{Curve, Growth};
use crate::error::PolicyError;
use crate::time::Millis;

mod check;
mod fields;
mod statuses;

use check::{Check, Strategy};
pub use fields::FIELD_COUNT;
pub use statuses::StatusSet;

/// The longest duration a policy takes, in ms: the last instant a JavaScript `Date` can name.
/// It lies below 2^53, so sums with it are still exact.
pub const LONGEST_MS: f64 = 8_640_000_000_000_000.0;

/// A policy as somebody wrote it. `None` means the default; durations are milliseconds.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PolicyOptions {
    /// The curve: 0 exponential, 1 linear, 2 fixed. Default 0.
    pub strategy: Option<f64>,
    /// Attempts in total, the first one included, `1..=100`. Default 5.
    pub max_attempts: Option<f64>,
    /// The wait before the first retry. Default 500.
    pub initial_delay_ms: Option<f64>,
    /// Growth of the exponential curve, 1 or `1.01..=100`. Default 2.
    pub multiplier: Option<f64>,
    /// Longest wait the curve gives; a server's own delay may be longer.
    /// Default 30,000 for exponential and linear, none for fixed.
    pub max_delay_ms: Option<f64>,
    /// From the task's creation; an attempt that could not end inside it is not made. Default one day.
    pub total_budget_ms: Option<f64>,
    /// 0 NONE, 1 FULL, 2 EQUAL, 3 DECORRELATED. Default 1.
    pub jitter_type: Option<f64>,
    /// Share of proportional jitter, `0..=1`. Checked, not used yet.
    pub jitter_ratio: Option<f64>,
    /// Share of spread's fresh jitter, `0..=0.5`. Checked, not used yet.
    pub fresh_jitter: Option<f64>,
    /// Growth of the linear curve. Default `initial_delay_ms`.
    pub step_ms: Option<f64>,
    /// Of the polynomial curve. Checked, not used yet.
    pub base_ms: Option<f64>,
    /// Of the polynomial curve, `0..=8`. Checked, not used yet.
    pub exponent: Option<f64>,
    /// Of the polynomial curve. Checked, not used yet.
    pub jitter_ms: Option<f64>,
    /// Whether a call without a response is tried again: 0 or 1. Default 1.
    pub retry_network_errors: Option<f64>,
    /// Time to response headers; 0 is none. Default 30,000. The host applies it.
    pub attempt_timeout_ms: Option<f64>,
    /// What one call is expected to take, for the budget; a moving average when absent.
    pub estimated_call_ms: Option<f64>,
    /// A server's delay longer than this ends the task. Default one day.
    pub max_server_delay_ms: Option<f64>,
    /// How long the server remembers a key, from the first attempt. Default one day.
    pub key_ttl_ms: Option<f64>,
    /// Delays of the table curve. Checked, not used yet.
    pub delays_ms: Option<Vec<f64>>,
    /// Status codes worth another attempt, each `100..=599`. Default 429, 502, 503, 504.
    pub retryable_status_codes: Option<Vec<f64>>,
}

/// How chance changes the curve's wait; see [`crate::backoff`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Jitter {
    /// The curve as it is.
    None,
    /// Anything up to the curve.
    Full,
    /// Between half the curve and the curve.
    Equal,
    /// Between the base and three times the last wait.
    Decorrelated,
}

/// A policy whose every number has been checked.
#[derive(Clone, Debug, PartialEq)]
pub struct Policy {
    curve: Curve,
    jitter: Jitter,
    max_attempts: u8,
    total_budget: Millis,
    retry_network_errors: bool,
    attempt_timeout: Millis,
    estimated_call: Option<Millis>,
    max_server_delay: Millis,
    key_ttl: Millis,
    retryable: StatusSet,
}

/// One day.
const DAY: Millis = Millis::new(86_400_000);
/// Longest wait of the growing curves unless said otherwise.
const DEFAULT_CAP: Millis = Millis::new(30_000);
/// How long a call may take to answer unless said otherwise.
const TIMEOUT: Millis = Millis::new(30_000);

impl Policy {
    /// Checks every option, the ones of other curves too: a wrong number that is not used today
    /// would be a surprise on the day it is.
    pub fn new(options: &PolicyOptions) -> Result<Policy, PolicyError> {
        let mut check = Check::default();
        let strategy = check.strategy(options.strategy);
        let base = check.duration("initialDelayMs", options.initial_delay_ms, Millis::new(500));
        let step = check.duration("stepMs", options.step_ms, base);
        let multiplier = check.multiplier(options.multiplier);
        let (growth, default_cap) = match strategy {
            Strategy::Exponential => (Growth::Exponential { multiplier }, DEFAULT_CAP),
            Strategy::Linear => (Growth::Linear { step }, DEFAULT_CAP),
            Strategy::Fixed => (Growth::Fixed, Millis::MAX),
        };
        let cap = check.duration("maxDelayMs", options.max_delay_ms, default_cap);
        let policy = Policy {
            curve: Curve { growth, base, cap },
            jitter: check.jitter(options.jitter_type),
            max_attempts: check.max_attempts(options.max_attempts),
            total_budget: check.duration("totalBudgetMs", options.total_budget_ms, DAY),
            retry_network_errors: check.flag("retryNetworkErrors", options.retry_network_errors),
            attempt_timeout: check.duration("attemptTimeoutMs", options.attempt_timeout_ms, TIMEOUT),
            estimated_call: check.optional_duration("estimatedCallMs", options.estimated_call_ms),
            max_server_delay: check.duration("maxServerDelayMs", options.max_server_delay_ms, DAY),
            key_ttl: check.duration("keyTtlMs", options.key_ttl_ms, DAY),
            retryable: check.statuses(options.retryable_status_codes.as_deref()),
        };
        check.unused(options);
        check.key_outlives_schedule(&policy);
        check.finish(policy)
    }

    /// The curve of the waits.
    pub const fn curve(&self) -> &Curve {
        &self.curve
    }

    /// How chance changes the curve.
    pub const fn jitter(&self) -> Jitter {
        self.jitter
    }

    /// Attempts in total, `1..=100`.
    pub const fn max_attempts(&self) -> u8 {
        self.max_attempts
    }

    /// How long a task may live from its creation.
    pub const fn total_budget(&self) -> Millis {
        self.total_budget
    }

    /// Whether a call without a response is tried again.
    pub const fn retry_network_errors(&self) -> bool {
        self.retry_network_errors
    }

    /// Time to response headers, for the host to apply; 0 is none.
    pub const fn attempt_timeout(&self) -> Millis {
        self.attempt_timeout
    }

    /// What one call is said to take, if it was said.
    pub const fn estimated_call(&self) -> Option<Millis> {
        self.estimated_call
    }

    /// The longest server's delay that is waited for.
    pub const fn max_server_delay(&self) -> Millis {
        self.max_server_delay
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
    pub fn longest_schedule(&self) -> Millis {
        let mut sum = Millis::ZERO;
        let mut previous = self.curve.base;
        for n in 1..u32::from(self.max_attempts) {
            let longest = match self.jitter {
                Jitter::Decorrelated => {
                    let tripled = Millis::new(previous.get().saturating_mul(3));
                    tripled.min(self.curve.cap).max(self.curve.base).min(self.curve.cap)
                }
                Jitter::None | Jitter::Full | Jitter::Equal => self.curve.at(n).floor(),
            };
            previous = longest;
            sum = sum.plus(longest);
        }
        sum
    }
}
