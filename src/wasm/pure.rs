//! Functions of `redrive/core` that no attempt runs through. They live in the module of keys, which that
//! entry loads anyway, so that no page with a queue alone carries them.

use wasm_bindgen::prelude::*;

use super::text::with_text;
use crate::gates::breaker::Circuit;
use crate::http::classify::evaluate_retry_status as evaluate;
use crate::wait::duration;

/// A duration such as `12.5s` in ms; NaN if it is none.
#[wasm_bindgen]
pub fn parse_duration(length: usize) -> f64 {
    with_text(length, |text| duration::parse_duration(text)).map_or(f64::NAN, |ms| ms.get() as f64)
}

/// The retry service's decision, by the numbers of [`crate::http::classify::RetryDecision`]. `circuit`: by those of
/// [`Circuit`].
#[wasm_bindgen]
pub fn evaluate_retry_status(
    status: u32,
    circuit: u32,
    #[wasm_bindgen(js_name = retryCount)] retry_count: u32,
    #[wasm_bindgen(js_name = maxRetries)] max_retries: u32,
    codes: &[u16],
) -> u32 {
    let circuit = Circuit::ALL.get(circuit as usize).copied().unwrap_or(Circuit::HalfOpen);
    evaluate(status, circuit, retry_count, max_retries, codes).code()
}
