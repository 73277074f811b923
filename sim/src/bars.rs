//! The bars of the gates: what callers of one process may expect where its server fails at random, is down, or is back.
//!
//! One real queue with its gates, fed as a host feeds it: who waits is told at once while the circuit is open, and what was
//! enqueued waits. Server, network and chance are simulated. Each row is compared with the same world without gates, or
//! with a bound in seconds.

pub mod host;
pub mod lone;
pub mod luck;
pub mod run;
pub mod table;
