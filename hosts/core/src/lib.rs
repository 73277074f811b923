//! The core's door for hosts that have no JavaScript: a WebAssembly module without imports.
//!
//! A host writes calls as words (little-endian f64), runs them all with one call of the module, and reads the answers as words. The
//! clock, chance and the network are the host's: an instant is an argument in epoch ms, the seed an argument of [`Op::New`]. One
//! instance of the module is one queue, for one thread at a time.
//!
//! | export | |
//! |---|---|
//! | `rd_abi() -> u32` | [`ABI`]: ops and their words are appended, never changed |
//! | `rd_words(count: u32) -> ptr` | room for so many words, which the next `rd_run` reads |
//! | `rd_text(size: u32) -> ptr` | room for so many bytes of text, which calls read, and which hold the text of an answer |
//! | `rd_run(count: u32) -> u32` | runs the calls in the first `count` words: how many words of answers lie at `rd_answers` |
//! | `rd_answers() -> ptr` | where the answers lie, until the next `rd_run` |
//!
//! A call is `op, n, argument 1 .. argument n`; its answer is `n, number 1 .. number n`. A call that cannot be read answers [`FAULT`] in place
//! of its count, and none behind it is run: a host's own mistake. Pointers hold until the next call of the module, since its memory may
//! move. The module traps on no words at all. [`Op`] lists the calls, and docs/hosts.md has a host's loop.

mod exports;
mod machine;
mod text;

pub use machine::{Machine, PRESET_NAMES};
pub use redrive::calls::Op;

/// The version of the protocol.
pub const ABI: u32 = 1;

/// In place of the count of an answer: the call could not be read.
pub const FAULT: f64 = 4_294_967_295.0;
