//! The boundary to JavaScript: the only place that knows wasm-bindgen, js-sys, getrandom,
//! gloo-timers and serde-wasm-bindgen.
//!
//! Numbers in, numbers out: a task is a u32, a time an f64 of epoch milliseconds, a policy a row
//! of f64. Objects go outward only, for people. wasm-bindgen coerces without a word (-1 becomes
//! 4294967295), so the TypeScript side checks every number before it crosses. Everything here
//! converts and delegates; a decision taken here would be one that native tests cannot see.

/// 3 KB less than the default allocator after gzip, and as fast per attempt: docs/adr/0002.
#[global_allocator]
static ALLOCATOR: talc::wasm::WasmDynamicTalc = talc::wasm::new_wasm_dynamic_allocator();

mod functions;
mod queue;
mod timer;

use wasm_bindgen::JsError;

use crate::error::PolicyError;

/// A policy's error as `option|expected|got`, for the host to make its own error of.
fn policy_error(error: &PolicyError) -> JsError {
    JsError::new(&[error.option, &error.expected, &error.got].join("|"))
}

/// Entropy of the host. Where there is none that is an error, and never seed 0: every queue
/// would roll the same dice.
fn no_entropy(_: getrandom::Error) -> JsError {
    JsError::new("the host gave no entropy; pass a seed")
}
