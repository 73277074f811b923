//! The core, natively. One program: linking forty took longer than all of their tests.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects
)]

mod agenda_model;
mod backoff_properties;
mod breaker_evidence;
mod breaker_model;
mod budget;
mod common;
mod examples;
mod fuzz_corpus;
mod gated;
mod headers_properties;
mod headers_vectors;
mod heard_vectors;
mod key_properties;
mod key_vectors;
mod queue_asks;
mod queue_breaker;
mod queue_carry;
mod queue_credentials;
mod queue_door;
mod queue_gate_status;
mod queue_gates;
mod queue_hand_over;
mod queue_holds;
mod queue_keys;
mod queue_leases;
mod queue_model;
mod queue_next;
mod queue_offline;
mod queue_orders;
mod queue_own_trouble;
mod queue_pays;
mod queue_ramp;
mod queue_rate;
mod queue_room;
mod queue_settles;
mod queue_starts;
mod queue_storms;
mod queue_turned_away;
mod rig;
mod schedule_vectors;
mod server_properties;
mod server_vectors;
mod vectors;
