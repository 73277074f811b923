//! What must hold for any bytes, a function a target.
//!
//! Each reads its input out of plain bytes, so that libFuzzer can change any part of it, and
//! panics where something does not hold that the documentation promises. `tests/core/fuzz_corpus.rs`
//! takes these modules in and runs them over `fuzz/corpus/`, with the compiler that everybody has.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects
)]

pub mod corpus;
pub mod headers;
mod input;
pub mod json;
pub mod policy;
pub mod ratelimit;
pub mod retry_after;
pub mod url;
