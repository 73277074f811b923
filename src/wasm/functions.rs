//! The functions that need no queue.

use wasm_bindgen::prelude::*;

use super::{no_entropy, policy_error};
use crate::backoff::delay;
use crate::classify::{Circuit, RetryDecision, evaluate_retry_status as evaluate};
use crate::headers::is_kept;
use crate::policy::{Policy, PolicyOptions};
use crate::retry_after;
use crate::time::Millis;

/// The wait before retry `attempt` (from 1) in whole milliseconds. `r32` is the draw;
/// `previousDelayMs` NaN before the first. Throws `option|expected|got` for a wrong policy.
#[wasm_bindgen]
pub fn calculate_backoff_delay(
    fields: &[f64],
    attempt: u32,
    r32: u32,
    #[wasm_bindgen(js_name = previousDelayMs)] previous_delay_ms: f64,
) -> Result<f64, JsError> {
    let policy = PolicyOptions::from_fields(fields).and_then(|options| Policy::new(&options));
    let policy = policy.map_err(|error| policy_error(&error))?;
    let previous = (!previous_delay_ms.is_nan()).then(|| Millis::from_f64(previous_delay_ms));
    Ok(delay(&policy, attempt, r32, previous).get() as f64)
}

/// 32 random bits of the host.
#[wasm_bindgen]
pub fn random_u32() -> Result<u32, JsError> {
    getrandom::u32().map_err(no_entropy)
}

/// What a `Retry-After` header asks for: ms from `now`, at most 2^53; -1 if it is unusable.
/// `date` is the response's `Date` header, where it can be read.
#[wasm_bindgen]
pub fn parse_retry_after(header: &str, date: Option<String>, now: f64) -> f64 {
    let wait = retry_after::parse_retry_after(header, date.as_deref(), Millis::from_f64(now));
    wait.map_or(-1.0, |wait| wait.get() as f64)
}

/// 0 ENQUEUE, 1 FAIL_FAST, 2 CIRCUIT_OPEN. `circuit`: 0 closed, 1 open, 2 half-open.
#[wasm_bindgen]
pub fn evaluate_retry_status(
    status: u32,
    circuit: u32,
    #[wasm_bindgen(js_name = retryCount)] retry_count: u32,
    #[wasm_bindgen(js_name = maxRetries)] max_retries: u32,
    codes: &[u16],
) -> u32 {
    let circuit = match circuit {
        0 => Circuit::Closed,
        1 => Circuit::Open,
        _ => Circuit::HalfOpen,
    };
    match evaluate(status, circuit, retry_count, max_retries, codes) {
        RetryDecision::Enqueue => 0,
        RetryDecision::FailFast => 1,
        RetryDecision::CircuitOpen => 2,
    }
}

/// One byte for each of the lower-case `names`, joined by `\n`: 1 may be kept, 0 is withheld.
#[wasm_bindgen]
pub fn kept_headers(names: &str) -> Vec<u8> {
    if names.is_empty() {
        return Vec::new();
    }
    names.split('\n').map(|name| u8::from(is_kept(name))).collect()
}
