//! Functions of `redrive/core` that no attempt runs through. They live in the module of keys, which that
//! entry loads anyway, so that no page with a queue alone carries them.

use wasm_bindgen::prelude::*;

use super::text::with_text;
use crate::gates::breaker::Circuit;
use crate::http::classify::{RetryDecision, evaluate_retry_status as evaluate};
use crate::wait::duration;

/// A duration such as `12.5s` in ms; NaN if it is none.
#[wasm_bindgen]
pub fn parse_duration(length: usize) -> f64 {
    with_text(length, |text| duration::parse_duration(text)).map_or(f64::NAN, |ms| ms.get() as f64)
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
