//! A policy as a row of numbers, which is how it crosses the boundary: no object is taken
//! apart by name and no JSON parsed inside the wasm.
#![forbid(unsafe_code)]

use super::PolicyOptions;
use crate::numbered::numbered;
use crate::time::Millis;

/// How many numbers come before the two lists.
pub const FIELD_COUNT: usize = NUMBERS + 2;

numbered! {
    /// The places of the numbers in a row. The lengths of the two lists follow them.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    #[allow(missing_docs)] // each is the option of its name
    pub enum Field {
        Strategy = 0,
        MaxAttempts = 1,
        InitialDelayMs = 2,
        Multiplier = 3,
        MaxDelayMs = 4,
        TotalBudgetMs = 5,
        JitterType = 6,
        JitterRatio = 7,
        FreshJitter = 8,
        StepMs = 9,
        BaseMs = 10,
        Exponent = 11,
        JitterMs = 12,
        RetryNetworkErrors = 13,
        AttemptTimeoutMs = 14,
        EstimatedCallMs = 15,
        MaxRetryAfterMs = 16,
        KeyTtlMs = 17,
        RetryTimeouts = 18,
    }
}

numbered! {
    /// The strategies by their numbers in a row; with the numbers each of them takes they are a [`super::Strategy`].
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    #[allow(missing_docs)] // each is the strategy of its name
    pub enum StrategyCode {
        Exponential = 0,
        Linear = 1,
        Fixed = 2,
        Polynomial = 3,
        Sidekiq = 4,
        Buckets = 5,
        PaddedExponential = 6,
        Spread = 7,
        Table = 8,
    }
}

numbered! {
    /// The jitters by their numbers in a row; with its share a proportional one is a [`super::Jitter`].
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    #[allow(missing_docs)] // each is the jitter of its name
    pub enum JitterCode {
        None = 0,
        Full = 1,
        Equal = 2,
        Decorrelated = 3,
        Additive = 4,
        Proportional = 5,
        DecorrelatedClamped = 6,
    }
}

/// How many numbers come before the lengths of the two lists.
pub(super) const NUMBERS: usize = Field::ALL.len();

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
    /// The row that [`super::Policy::from_fields`] reads: NaN for what is not given, the length of a list among it.
    pub fn row(&self) -> Vec<f64> {
        let lists = [&self.delays_ms, &self.retryable_status_codes];
        let lengths = lists.map(|list| list.as_ref().map_or(f64::NAN, |list| list.len() as f64));
        let numbers = self.numbers().map(|number| number.unwrap_or(f64::NAN));
        numbers.into_iter().chain(lengths).chain(lists.into_iter().flatten().flatten().copied()).collect()
    }

    /// The numbers in the order of their fields.
    pub(super) fn numbers(&self) -> [Option<f64>; NUMBERS] {
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
            self.max_retry_after_ms,
            self.key_ttl_ms,
            self.retry_timeouts,
        ]
    }
}
