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
//!
//! ```
//! use redrive::policy::{Policy, PolicyOptions};
//! use redrive::queue::{Action, Admission, Ended, Limits, Queue, Verdict};
//! use redrive::task::{Flags, Outcome};
//! use redrive::time::Millis;
//!
//! # fn main() -> Result<(), redrive::error::PolicyError> {
//! let limits = Limits { concurrency: 3, per_lane: 3, capacity: 10_000, capacity_bytes: 1 << 20 };
//! let mut queue = Queue::new(limits, 1);
//! let policy = queue.intern(Policy::new(&PolicyOptions::default())?);
//! let lane = queue.open_lane();
//!
//! let now = Millis::new(1_700_000_000_000);
//! let admission = Admission {
//!     lane,
//!     policy,
//!     priority: 0,
//!     bytes: 0,
//!     flags: Flags::REPLAYABLE,
//!     created_at: now,
//!     expires_at: Millis::MAX,
//!     wait_until: Millis::MAX,
//!     started: false,
//! };
//! let slot = queue.admit(now, &admission).expect("there is room");
//!
//! let mut actions = Vec::new();
//! queue.poll(now, &mut actions);
//! assert_eq!(actions, [Action::Start(slot)]);
//!
//! // The host sends the request and says how it ended: 503, come back in 2 s.
//! let ended = Ended {
//!     outcome: Outcome::Response,
//!     status: 503,
//!     server_delay: Some(Millis::new(2000)),
//!     duration: Some(Millis::new(80)),
//! };
//! assert!(matches!(queue.settle(now, slot, &ended), Verdict::Retry { delay, .. } if delay >= Millis::new(2000)));
//! assert!(queue.wake_at() >= now.plus(Millis::new(2000)));
//! # Ok(())
//! # }
//! ```

pub mod agenda;
pub mod backoff;
pub mod breaker;
pub mod budget;
pub mod classify;
pub mod curve;
pub mod error;
mod fifo;
pub mod headers;
mod lanes;
pub mod policy;
pub mod queue;
pub mod retry_after;
pub mod rng;
pub mod slots;
pub mod task;
pub mod time;

#[cfg(target_arch = "wasm32")]
mod wasm;
