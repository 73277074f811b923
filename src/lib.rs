//! The decisions of a durable retry queue for HTTP.
//!
//! A failed request must not be lost, must not be sent twice in effect, and must not help to
//! knock over the server it is meant for. This crate decides: what to retry, when, how many at
//! once, under which limits. It acts on nothing: it reads no clock, draws no entropy and opens
//! no connection, so time and chance are arguments and the same events give the same answers
//! in a browser, an edge worker and a server. Compiled to WebAssembly it is the core of the
//! npm package of the same name.
//!
//! | to decide | ask |
//! |---|---|
//! | what to start, what has ended, when to look again | [`queue::Queue`] |
//! | how long to wait | [`policy::Policy`], [`backoff::delay`], [`schedule::schedule`] |
//! | what a server asked for | [`asked::said`], [`retry_after::parse_retry_after`], [`ratelimit::parse_rate_limit`], [`reset::reset_delay`] |
//! | what a server that struggles is spared | [`gates::Gates`], [`breaker::Breaker`], [`budget::RetryBudget`] |
//! | whether another attempt is worth it | [`classify::classify`] |
//! | which headers may be kept, which parts of a URL are secret | [`headers::classify_name`], [`headers::looks_secret`], [`url_secrets::url_secrets`] |
//! | whether two requests are one | [`key::content_key`], [`key::fingerprint`], [`json::canonicalize`], [`url::normalize`] |
//!
//! Durations and instants are whole milliseconds ([`time::Millis`]). Handles (of tasks, lanes,
//! policies, orders) are `u32`s that know when they are stale ([`slots`]). The features of the crate
//! are for the npm package's build; a Rust program needs none.
//!
//! ```
//! use redrive::policy::{Policy, PolicyOptions};
//! use redrive::queue::{Action, Admission, Ended, Limits, Queue, Verdict};
//! use redrive::slots::NONE;
//! use redrive::task::{Flags, Outcome};
//! use redrive::time::Millis;
//!
//! # fn main() -> Result<(), redrive::error::PolicyError> {
//! let max_lane_hold = Millis::new(60_000);
//! let limits = Limits { concurrency: 3, per_lane: 3, capacity: 10_000, capacity_bytes: 1 << 20, max_lane_hold };
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
//!     order: NONE,
//!     started: false,
//!     began: Millis::ZERO,
//! };
//! let slot = queue.admit(now, &admission).expect("there is room");
//!
//! let mut actions = Vec::new();
//! queue.poll(now, &mut actions);
//! assert_eq!(actions, [Action::Start(slot)]);
//!
//! // The host sends the request and says how it ended: 503, come back in 2 s.
//! let ended = Ended {
//!     status: 503,
//!     server_delay: Some(Millis::new(2000)),
//!     duration: Some(Millis::new(80)),
//!     ..Ended::of(Outcome::Response)
//! };
//! assert!(matches!(queue.settle(now, slot, &ended), Verdict::Retry { delay, .. } if delay >= Millis::new(2000)));
//! assert!(queue.wake_at() >= now.plus(Millis::new(2000)));
//! # Ok(())
//! # }
//! ```

#[doc(hidden)]
pub mod calls;
mod chunks;
#[doc(hidden)]
pub mod codes;
pub mod error;
pub mod gates;
mod http;
mod index;
mod numbered;
pub mod outcome;
pub mod policy;
pub mod queue;
mod request;
pub mod rng;
pub mod slots;
pub mod time;
mod wait;

// Folders are for those who work on the crate; its users name a module and not the folder it lies in.
pub use gates::{breaker, budget};
pub use http::{asked, classify, ratelimit, reset, retry_after};
#[doc(no_inline)]
pub use outcome as task;
pub use policy::curve;
pub use queue::agenda;
pub use request::{headers, json, key, url, url_secrets};
pub use wait::{backoff, duration, patience, schedule};

#[cfg(all(target_arch = "wasm32", feature = "boundary"))]
mod wasm;
