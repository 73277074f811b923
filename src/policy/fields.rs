//! A policy as a row of numbers, which is how it crosses the boundary: no object is taken
//! apart by name and no JSON parsed inside the wasm.
#![forbid(unsafe_code)]

use super::check::wrong;
use super::{Policy, PolicyOptions};
use crate::error::PolicyError;
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

impl Policy {
    /// A policy from a row: `FIELD_COUNT` numbers, NaN for what is not given, the last two being
    /// the lengths of the lists that follow (`delaysMs`, then `retryableStatusCodes`).
    ///
    /// Order: strategy, maxAttempts, initialDelayMs, multiplier, maxDelayMs, totalBudgetMs,
    /// jitterType, jitterRatio, freshJitter, stepMs, baseMs, exponent, jitterMs,
    /// retryNetworkErrors, attemptTimeoutMs, estimatedCallMs, maxServerDelayMs, keyTtlMs.
    ///
    /// # Errors
    /// As [`Policy::new`], and a list shorter than its length says.
    pub fn from_fields(fields: &[f64]) -> Result<Policy, PolicyError> {
        let mut lists = fields.get(FIELD_COUNT..).unwrap_or(&[]);
        let delays = take_list("delaysMs", &mut lists, fields.get(Field::NUMBERS))?;
        let statuses = take_list("retryableStatusCodes", &mut lists, fields.get(Field::NUMBERS + 1))?;
        let numbers = fields.get(..Field::NUMBERS).unwrap_or(fields);
        Policy::from_row(&Row { numbers, delays: delays.unwrap_or(&[]), statuses })
    }

    /// Checks every option, the ones of other strategies too: a wrong number that is not used
    /// today would be a surprise on the day it is.
    ///
    /// # Errors
    /// The first option that cannot be used.
    pub fn new(options: &PolicyOptions) -> Result<Policy, PolicyError> {
        let mut numbers = [f64::NAN; Field::NUMBERS];
        for (field, (number, given)) in numbers.iter_mut().zip(options.numbers()).enumerate() {
            match given {
                // In a row that would be nothing given.
                Some(nan) if nan.is_nan() => return Err(wrong(field, nan)),
                Some(given) => *number = given,
                None => {}
            }
        }
        let delays = options.delays_ms.as_deref().unwrap_or(&[]);
        let statuses = options.retryable_status_codes.as_deref();
        Policy::from_row(&Row { numbers: &numbers, delays, statuses })
    }
}

impl PolicyOptions {
    /// The numbers in the order of their fields.
    fn numbers(&self) -> [Option<f64>; Field::NUMBERS] {
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

/// The next `count` numbers of `rest`; no count is no list.
fn take_list<'a>(
    option: &'static str,
    rest: &mut &'a [f64],
    count: Option<&f64>,
) -> Result<Option<&'a [f64]>, PolicyError> {
    let Some(&count) = count.filter(|count| !count.is_nan()) else { return Ok(None) };
    match rest.split_at_checked(count as usize) {
        Some((list, after)) => {
            *rest = after;
            Ok(Some(list))
        }
        None => Err(PolicyError::Number { option, expected: "a list as long as its count", got: count }),
    }
}
