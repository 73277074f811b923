//! What several test files need: the shared vectors, and policies from the public options.

use redrive::policy::{BROAD_CODES, Policy, PolicyOptions};
use serde_json::Value;

/// The rows of a file in `tests/vectors/`.
pub fn vectors(file: &str) -> Vec<Value> {
    let path = format!("{}/tests/vectors/{file}", env!("CARGO_MANIFEST_DIR"));
    let mut parsed: Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    match parsed["vectors"].take() {
        Value::Array(lines) => lines.into_iter().flat_map(rows_of).collect(),
        other => panic!("{file}: vectors is {other}"),
    }
}

/// A line is a row, or holds many that differ in `columns` alone.
fn rows_of(mut line: Value) -> Vec<Value> {
    let Some(Value::Array(rows)) = line.get_mut("rows").map(Value::take) else { return vec![line] };
    let row = |values: &Value| {
        let mut row = line.clone();
        for (at, column) in line["columns"].as_array().unwrap().iter().enumerate() {
            row[column.as_str().unwrap()] = values[at].clone();
        }
        row
    };
    rows.iter().map(row).collect()
}

/// How many cases a property is tried on: 10,000, or what `PROPTEST_CASES` says.
pub fn cases() -> u32 {
    std::env::var("PROPTEST_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(10_000)
}

const STRATEGIES: [&str; 9] = [
    "exponential",
    "linear",
    "fixed",
    "polynomial",
    "sidekiq",
    "buckets",
    "padded_exponential",
    "spread",
    "table",
];
const JITTERS: [&str; 7] =
    ["NONE", "FULL", "EQUAL", "DECORRELATED", "ADDITIVE", "PROPORTIONAL", "DECORRELATED_CLAMPED"];

/// The code of a strategy's or jitter's name, as it crosses the boundary.
fn code(names: &[&str], name: &Value) -> Option<f64> {
    let name = name.as_str()?;
    Some(names.iter().position(|known| *known == name).unwrap() as f64)
}

fn list(value: &Value) -> Option<Vec<f64>> {
    Some(value.as_array()?.iter().map(|number| number.as_f64().unwrap()).collect())
}

/// The public option names as the core's options.
pub fn options(json: &Value) -> PolicyOptions {
    let number = |name: &str| json[name].as_f64();
    PolicyOptions {
        strategy: code(&STRATEGIES, &json["strategy"]),
        max_attempts: number("maxAttempts"),
        initial_delay_ms: number("initialDelayMs"),
        multiplier: number("multiplier"),
        max_delay_ms: number("maxDelayMs"),
        total_budget_ms: number("totalBudgetMs"),
        jitter_type: code(&JITTERS, &json["jitterType"]),
        jitter_ratio: number("jitterRatio"),
        fresh_jitter: number("freshJitter"),
        step_ms: number("stepMs"),
        base_ms: number("baseMs"),
        exponent: number("exponent"),
        jitter_ms: number("jitterMs"),
        retry_network_errors: json["retryNetworkErrors"].as_bool().map(|flag| f64::from(u8::from(flag))),
        retry_timeouts: json["retryTimeouts"].as_bool().map(|flag| f64::from(u8::from(flag))),
        attempt_timeout_ms: number("attemptTimeoutMs"),
        estimated_call_ms: number("estimatedCallMs"),
        max_retry_after_ms: number("maxRetryAfterMs"),
        key_ttl_ms: number("keyTtlMs"),
        delays_ms: list(&json["delaysMs"]),
        retryable_status_codes: match json["retryableStatusCodes"].as_str() {
            Some("broad") => Some(BROAD_CODES.map(f64::from).to_vec()),
            _ => list(&json["retryableStatusCodes"]),
        },
    }
}

/// A sound policy from the public option names.
pub fn policy(json: Value) -> Policy {
    Policy::new(&options(&json)).unwrap()
}
