//! The decisions of a durable retry queue for HTTP.
//!
//! A failed request must not be lost, must not be sent twice in effect, and must not help to
//! knock over the server it is meant for. This crate decides: what to retry, when, how many at
//! once, under which limits. It acts on nothing: it reads no clock, draws no entropy and opens
//! no connection, so time and chance are arguments and the same events give the same answers
//! in a browser, an edge worker and a server. Compiled to WebAssembly it is the core of the
//! npm package of the same name.
//!
//! Start at [`queue::Queue`]. Durations and instants are whole milliseconds ([`time::Millis`]).

pub mod agenda;
pub mod backoff;
pub mod breaker;
pub mod budget;
pub mod classify;
pub mod curve;
pub mod error;
pub mod fifo;
pub mod headers;
pub mod lanes;
pub mod policy;
pub mod queue;
pub mod retry_after;
pub mod rng;
pub mod slots;
pub mod task;
pub mod time;

#[cfg(target_arch = "wasm32")]
mod wasm;
