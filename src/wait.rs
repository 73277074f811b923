//! How long to wait: before the next attempt, over all of them, and as text.
#![forbid(unsafe_code)]

pub mod backoff;
pub mod duration;
pub mod patience;
pub mod schedule;
