//! A storm: a server that is down for a minute, the crowd of clients that wants it back, and whether it can recover.
//!
//! The clients are real queues with their gates ([`redrive::queue::Queue`]), fed as a host feeds them; the server, the
//! network and chance are simulated. What is asked: how long until the backlog is gone, how much more than needed the
//! server was asked meanwhile, what work was lost, and whether it stays down for good under its own clients' retries.

pub mod arrivals;
pub mod client;
#[cfg(not(target_arch = "wasm32"))]
pub mod grid;
pub mod measure;
pub mod model;
pub mod run;
pub mod server;
