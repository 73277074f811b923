//! Text on its way in.
//!
//! wasm-bindgen's `&str` costs 400 ns for a short text and twenty times the bytes' own copy for a
//! long one. So the host encodes into one buffer that is kept (`TextEncoder.encodeInto`), several
//! texts one behind the other, and calls with their lengths. A function that answers with bytes
//! writes them over what it was asked.
use std::cell::Cell;

use wasm_bindgen::prelude::*;

thread_local! {
    static BUFFER: Cell<Vec<u8>> = const { Cell::new(Vec::new()) };
}

/// Uses the buffer. It is taken out meanwhile: code that traps leaves an empty one behind, and not one
/// that is lent for ever, which would make every later call trap, of every queue.
fn with_buffer<T>(work: impl FnOnce(&mut Vec<u8>) -> T) -> T {
    let mut buffer = BUFFER.take();
    let result = work(&mut buffer);
    BUFFER.set(buffer);
    result
}

/// A buffer grown to more than this for one large body is given back after its use.
const KEPT: usize = 1 << 16;

/// Where to write `size` bytes, until the next call. Asked anew each time: the memory may move.
#[wasm_bindgen]
pub fn scratch(size: usize) -> usize {
    with_buffer(|buffer| {
        if buffer.len() > KEPT && size <= KEPT {
            *buffer = Vec::new();
        }
        if buffer.len() < size {
            buffer.resize(size, 0);
        }
        buffer.as_ptr() as usize
    })
}

/// Returns what `use_bytes` makes of the first `length` bytes of the buffer, which it may write over.
pub fn with_text<T>(length: usize, use_bytes: impl FnOnce(&mut [u8]) -> T) -> T {
    with_buffer(|buffer| {
        let length = length.min(buffer.len());
        use_bytes(buffer.get_mut(..length).unwrap_or_default())
    })
}

/// Puts an answer in the place of what was asked, and gives its length.
#[cfg(feature = "keys-module")]
pub fn answer_with(answer: &[u8]) -> usize {
    with_buffer(|buffer| {
        if buffer.len() < answer.len() {
            buffer.resize(answer.len(), 0);
        }
        if let Some(place) = buffer.get_mut(..answer.len()) {
            place.copy_from_slice(answer);
        }
    });
    answer.len()
}

/// Where the answer lies.
#[cfg(feature = "keys-module")]
#[wasm_bindgen]
pub fn answer_at() -> usize {
    with_buffer(|buffer| buffer.as_ptr() as usize)
}
