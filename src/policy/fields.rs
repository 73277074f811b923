//! A policy as a row of numbers, which is how it crosses the boundary: no object is taken
//! apart by name and no JSON parsed inside the wasm.
#![forbid(unsafe_code)]

use super::PolicyOptions;
use crate::error::PolicyError;

/// How many numbers come before the two lists.
pub const FIELD_COUNT: usize = 20;

impl PolicyOptions {
    /// Reads the row: `FIELD_COUNT` numbers, NaN for what is not given, the last two being the
    /// lengths of the lists that follow (`delaysMs`, then `retryableStatusCodes`).
    ///
    /// Order: strategy, maxAttempts, initialDelayMs, multiplier, maxDelayMs, totalBudgetMs,
    /// jitterType, jitterRatio, freshJitter, stepMs, baseMs, exponent, jitterMs,
    /// retryNetworkErrors, attemptTimeoutMs, estimatedCallMs, maxServerDelayMs, keyTtlMs.
    pub fn from_fields(fields: &[f64]) -> Result<PolicyOptions, PolicyError> {
        let at = |index: usize| fields.get(index).copied().filter(|number| !number.is_nan());
        let mut lists = fields.get(FIELD_COUNT..).unwrap_or(&[]);
        Ok(PolicyOptions {
            strategy: at(0),
            max_attempts: at(1),
            initial_delay_ms: at(2),
            multiplier: at(3),
            max_delay_ms: at(4),
            total_budget_ms: at(5),
            jitter_type: at(6),
            jitter_ratio: at(7),
            fresh_jitter: at(8),
            step_ms: at(9),
            base_ms: at(10),
            exponent: at(11),
            jitter_ms: at(12),
            retry_network_errors: at(13),
            attempt_timeout_ms: at(14),
            estimated_call_ms: at(15),
            max_server_delay_ms: at(16),
            key_ttl_ms: at(17),
            delays_ms: take_list("delaysMs", &mut lists, at(18))?,
            retryable_status_codes: take_list("retryableStatusCodes", &mut lists, at(19))?,
        })
    }
}

/// The next `count` numbers of `rest`; no count is no list.
fn take_list(
    option: &'static str,
    rest: &mut &[f64],
    count: Option<f64>,
) -> Result<Option<Vec<f64>>, PolicyError> {
    let Some(count) = count else { return Ok(None) };
    match rest.split_at_checked(count as usize) {
        Some((list, after)) => {
            *rest = after;
            Ok(Some(list.to_vec()))
        }
        None => Err(PolicyError::number(option, "a list as long as its count", count)),
    }
}
