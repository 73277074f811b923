//! The functions that need no queue.

#[cfg(feature = "dates")]
use crate::dates;
#[cfg(feature = "headers")]
use crate::headers;
#[cfg(feature = "json")]
use crate::json;
#[cfg(feature = "key")]
use crate::key;
#[cfg(feature = "ratelimit")]
use crate::ratelimit;
#[cfg(any(feature = "backoff", feature = "dates"))]
use crate::time::millis;
#[cfg(feature = "backoff")]
use crate::{backoff, policy, thrown};
use wasm_bindgen::prelude::*;

#[cfg(feature = "backoff")]
#[wasm_bindgen(js_name = calculateBackoffDelay)]
pub fn calculate_backoff_delay(
    fields: &[f64],
    attempt: u32,
    r32: u32,
    phase: u32,
    previous_ms: f64,
) -> Result<f64, JsError> {
    let policy = policy::policy(fields).map_err(thrown)?;
    Ok(backoff::delay(&policy, attempt, r32, phase, millis(previous_ms)) as f64)
}

#[cfg(feature = "backoff")]
#[wasm_bindgen(js_name = backoffSchedule)]
pub fn backoff_schedule(fields: &[f64]) -> Result<Vec<f64>, JsError> {
    let policy = policy::policy(fields).map_err(thrown)?;
    Ok(backoff::schedule(&policy))
}

#[cfg(feature = "dates")]
#[wasm_bindgen(js_name = parseRetryAfter)]
pub fn parse_retry_after(header: &[u8], date: &[u8], now: f64) -> f64 {
    dates::wait_ms(header, date, millis(now)).map_or(-1.0, |ms| ms as f64)
}

#[cfg(feature = "ratelimit")]
#[wasm_bindgen(js_name = parseRateLimit)]
pub fn parse_rate_limit(header: &[u8]) -> Vec<f64> {
    ratelimit::tightest(header)
        .map_or_else(Vec::new, |(left, reset)| vec![left as f64, reset.map_or(f64::NAN, |ms| ms as f64)])
}

#[cfg(feature = "headers")]
#[wasm_bindgen(js_name = keptHeaders)]
pub fn kept_headers(names: &[u8], allow: &[u8], deny: &[u8]) -> Vec<u8> {
    headers::kept(names, allow, deny)
}

#[cfg(feature = "headers")]
#[wasm_bindgen(js_name = tells)]
pub fn tells(value: &[u8], url: &[u8]) -> bool {
    headers::tells(value) || headers::url_secret(url)
}

#[cfg(feature = "json")]
#[wasm_bindgen(js_name = canonicalJson)]
pub fn canonical_json(text: &[u8]) -> Result<Vec<u8>, JsValue> {
    json::canonical(text).map_err(|at| JsValue::from_f64(at as f64))
}

#[cfg(feature = "key")]
#[wasm_bindgen(js_name = generateIdempotencyKey)]
pub fn generate_idempotency_key(fields: &[u8], body: &[u8]) -> Option<Vec<u8>> {
    key::key(fields, body)
}

#[cfg(feature = "entropy")]
#[wasm_bindgen(js_name = randomU32)]
pub fn random_u32() -> Result<u32, JsError> {
    getrandom::u32().map_err(|_| JsError::new("no entropy"))
}

#[cfg(feature = "float-parse")]
#[wasm_bindgen(js_name = floatParse)]
pub fn float_parse(text: &str) -> f64 {
    text.parse().unwrap_or(f64::NAN)
}

#[cfg(feature = "float-print")]
#[wasm_bindgen(js_name = floatPrint)]
pub fn float_print(value: f64) -> String {
    format!("{value}")
}
