//! What the design forbids: an object read field by field.

use wasm_bindgen::prelude::*;

#[derive(serde::Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct PolicyIn {
    policy_id: String,
    strategy: Option<String>,
    max_attempts: Option<f64>,
    initial_delay_ms: Option<f64>,
    multiplier: Option<f64>,
    delays_ms: Option<Vec<f64>>,
    retry_network_errors: Option<bool>,
}

#[wasm_bindgen(js_name = policyFrom)]
pub fn policy_from(value: JsValue) -> Result<f64, JsError> {
    let policy: PolicyIn = serde_wasm_bindgen::from_value(value)?;
    let sum: f64 = policy.delays_ms.unwrap_or_default().iter().sum();
    Ok(sum
        + policy.policy_id.len() as f64
        + policy.strategy.map_or(0.0, |text| text.len() as f64)
        + policy.max_attempts.unwrap_or(0.0)
        + policy.initial_delay_ms.unwrap_or(0.0)
        + policy.multiplier.unwrap_or(0.0)
        + f64::from(u8::from(policy.retry_network_errors.unwrap_or(true))))
}
