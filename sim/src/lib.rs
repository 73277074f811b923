//! Deterministic simulation of the core.
//!
//! `sim core` lets random worlds happen to a queue and checks every invariant that a queue alone can keep after every
//! event, by books of its own; `sim spread` measures how evenly the strategies spread a crowd. Neither reads a clock to
//! decide anything: a seed is a world, here and on every machine.

#![forbid(unsafe_code)]

pub mod bars;
pub mod book;
pub mod checks;
mod controls;
pub mod crowd;
pub mod dice;
pub mod driver;
pub mod event;
pub mod gate_spec;
pub mod gates;
mod leases;
pub mod line;
mod passing;
pub mod policies;
pub mod port;
pub mod range;
pub mod run;
pub mod shrink;
pub mod spread;
pub mod storm;
pub mod tape;
pub mod totals;
pub mod trace;
mod verdicts;
pub mod violation;
pub mod world;
