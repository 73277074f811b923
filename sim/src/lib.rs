//! Deterministic simulation of the core.
//!
//! `sim core` lets random worlds happen to a queue and checks every invariant that a queue alone can keep after every
//! event, by books of its own; `sim spread` measures how evenly the strategies spread a crowd, `sim storm` what becomes of a
//! server that was away. None reads a clock to decide anything: a seed is a world, here and on every machine.
//!
//! Crowds and storms are what the lab of the npm package shows. For it they are compiled to wasm, without everything else.

#![cfg_attr(not(feature = "lab-module"), forbid(unsafe_code))]

#[cfg(all(target_arch = "wasm32", feature = "lab-module"))]
mod boundary;
pub mod crowd;
pub mod spread;
pub mod storm;

// The module of the lab has no use for what follows.
#[cfg(not(target_arch = "wasm32"))]
pub mod bars;
#[cfg(not(target_arch = "wasm32"))]
pub mod book;
#[cfg(not(target_arch = "wasm32"))]
pub mod checks;
#[cfg(not(target_arch = "wasm32"))]
mod controls;
#[cfg(not(target_arch = "wasm32"))]
pub mod dice;
#[cfg(not(target_arch = "wasm32"))]
pub mod driver;
#[cfg(not(target_arch = "wasm32"))]
pub mod event;
#[cfg(not(target_arch = "wasm32"))]
pub mod gate_spec;
#[cfg(not(target_arch = "wasm32"))]
pub mod gates;
#[cfg(not(target_arch = "wasm32"))]
pub mod lab;
#[cfg(not(target_arch = "wasm32"))]
pub mod lane;
#[cfg(not(target_arch = "wasm32"))]
mod leases;
#[cfg(not(target_arch = "wasm32"))]
pub mod line;
#[cfg(not(target_arch = "wasm32"))]
mod passing;
#[cfg(not(target_arch = "wasm32"))]
pub mod policies;
#[cfg(not(target_arch = "wasm32"))]
pub mod port;
#[cfg(not(target_arch = "wasm32"))]
pub mod range;
#[cfg(not(target_arch = "wasm32"))]
pub mod run;
#[cfg(not(target_arch = "wasm32"))]
pub mod shrink;
#[cfg(not(target_arch = "wasm32"))]
pub mod tape;
#[cfg(not(target_arch = "wasm32"))]
pub mod totals;
#[cfg(not(target_arch = "wasm32"))]
pub mod trace;
#[cfg(not(target_arch = "wasm32"))]
mod verdicts;
#[cfg(not(target_arch = "wasm32"))]
pub mod violation;
#[cfg(not(target_arch = "wasm32"))]
pub mod world;
