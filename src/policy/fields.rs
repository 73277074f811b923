//! A policy as a row of numbers, which is how it crosses the boundary: no object is taken
//! apart by name and no JSON parsed inside the wasm.
#![forbid(unsafe_code)]

use super::PolicyOptions;
use crate::time::Millis;

/// How many numbers come before the two lists.
pub const FIELD_COUNT: usize = 20;

/// The places of the numbers in a row.
#[derive(Clone, Copy)]
pub(super) enum Field {
    Strategy,
    MaxAttempts,
    InitialDelayMs,
    Multiplier,
    MaxDelayMs,
    TotalBudgetMs,
    JitterType,
    JitterRatio,
    FreshJitter,
    StepMs,
    BaseMs,
    Exponent,
    JitterMs,
    RetryNetworkErrors,
    AttemptTimeoutMs,
    EstimatedCallMs,
    MaxServerDelayMs,
    KeyTtlMs,
}

impl Field {
    /// How many there are. The lengths of the two lists follow.
    pub const NUMBERS: usize = 18;
}

/// A row that has not been checked; NaN for what was not given.
pub(super) struct Row<'a> {
    pub numbers: &'a [f64],
    pub delays: &'a [f64],
    /// None was given: the default set.
    pub statuses: Option<&'a [f64]>,
}

impl Row<'_> {
    fn at(&self, field: Field) -> f64 {
        self.numbers.get(field as usize).copied().unwrap_or(f64::NAN)
    }

    pub fn has(&self, field: Field) -> bool {
        !self.at(field).is_nan()
    }

    // In one copy each, as every field asks: together 1 KB.
    #[inline(never)]
    pub fn or(&self, field: Field, default: f64) -> f64 {
        let number = self.at(field);
        if number.is_nan() { default } else { number }
    }

    #[inline(never)]
    pub fn ms(&self, field: Field, default: u64) -> Millis {
        Millis::from_f64(self.or(field, default as f64))
    }
}

impl PolicyOptions {
    /// The numbers in the order of their fields.
    pub(super) fn numbers(&self) -> [Option<f64>; Field::NUMBERS] {
        [
            self.strategy,
            self.max_attempts,
            self.initial_delay_ms,
            self.multiplier,
            self.max_delay_ms,
            self.total_budget_ms,
            self.jitter_type,
            self.jitter_ratio,
            self.fresh_jitter,
            self.step_ms,
            self.base_ms,
            self.exponent,
            self.jitter_ms,
            self.retry_network_errors,
            self.attempt_timeout_ms,
            self.estimated_call_ms,
            self.max_server_delay_ms,
            self.key_ttl_ms,
        ]
    }
}
