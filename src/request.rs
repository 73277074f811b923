//! How a request is read: whether it equals another, and what of it may be kept.
#![forbid(unsafe_code)]

pub mod headers;
pub mod json;
pub mod key;
mod mac;
pub mod url;
pub mod url_secrets;
