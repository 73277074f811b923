//! The core's errors as JavaScript gets them.

use wasm_bindgen::JsError;

use crate::error::PolicyError;

/// A policy's error by the name of its option. The host has checked every option before, and made an
/// error for people then.
pub fn policy_error(error: PolicyError) -> JsError {
    JsError::new(error.option())
}

/// Entropy of the host. Where there is none that is an error, and never seed 0: every queue
/// would roll the same dice.
pub fn no_entropy(_: getrandom::Error) -> JsError {
    JsError::new("the host gave no entropy; pass a seed")
}
