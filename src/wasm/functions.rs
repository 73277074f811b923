//! The functions that need no queue. Those that no attempt runs through are in `pure.rs`.

use wasm_bindgen::prelude::*;

use super::errors::{no_entropy, policy_error};
use super::text::with_text;
use crate::codes;
use crate::http::asked;
use crate::http::ratelimit;
use crate::policy::Policy;
use crate::time::Millis;
use crate::wait::backoff::{Draw, delay};
use crate::wait::schedule::schedule;

fn policy(fields: &[f64]) -> Result<Policy, JsError> {
    Policy::from_fields(fields).map_err(policy_error)
}

/// The wait before retry `attempt` (from 1) in whole milliseconds. `r32` is the draw, `phase` the
/// task's place in spread's windows, `previousDelayMs` NaN before the first. Throws
/// the name of a wrong option.
#[wasm_bindgen]
pub fn calculate_backoff_delay(
    fields: &[f64],
    attempt: u32,
    r32: u32,
    phase: u32,
    #[wasm_bindgen(js_name = previousDelayMs)] previous_delay_ms: f64,
) -> Result<f64, JsError> {
    let previous = (!previous_delay_ms.is_nan()).then(|| Millis::from_f64(previous_delay_ms));
    let draw = Draw { r32, phase, previous };
    Ok(delay(&policy(fields)?, attempt, draw).get() as f64)
}

/// Five numbers for each retry, from the first: lower, mean and upper wait, and the sums of the mean and of the upper
/// ones, in ms. Throws as above.
#[wasm_bindgen]
pub fn backoff_schedule(fields: &[f64]) -> Result<Vec<f64>, JsError> {
    let steps = schedule(&policy(fields)?);
    Ok(steps
        .iter()
        .flat_map(|step| {
            let (min, max, total_max) = (step.min.get(), step.max.get(), step.total_max.get());
            [min as f64, step.mean, max as f64, step.total_mean, total_max as f64]
        })
        .collect())
}

/// 32 random bits of the host.
#[wasm_bindgen]
pub fn random_u32() -> Result<u32, JsError> {
    getrandom::u32().map_err(no_entropy)
}

/// The waits that the header lines of a response ask for, as `http/asked.rs` has them, by the numbers of [`codes::said`].
#[wasm_bindgen]
pub fn said(length: usize, status: u32, failed: bool, now: f64) -> Vec<f64> {
    with_text(length, |lines| codes::said(&asked::said(lines, status, failed, Millis::from_f64(now))))
        .to_vec()
}

/// The numbers of a `RateLimit` header: how much is left, in how many ms there is more (NaN: not said), and 1 where that is
/// one partition's, else 0. Empty if it is malformed.
#[wasm_bindgen]
pub fn parse_rate_limit(length: usize) -> Vec<f64> {
    match with_text(length, |text| ratelimit::parse_rate_limit(text)) {
        None => Vec::new(),
        Some(limit) => {
            let reset = limit.reset.map_or(f64::NAN, |reset| reset.get() as f64);
            vec![limit.remaining as f64, reset, f64::from(u8::from(limit.partitioned))]
        }
    }
}
