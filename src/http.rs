//! How an answer is read: what its status means, and what its headers ask of the client.
#![forbid(unsafe_code)]

pub mod asked;
pub mod classify;
mod http_date;
pub mod ratelimit;
pub mod reset;
pub mod retry_after;
mod structured;
