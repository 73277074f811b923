//! The exports of the module, under names that no compiler has changed: the one place that needs `unsafe` for that.
#![allow(unsafe_code)]

use std::cell::RefCell;

use crate::{ABI, Machine};

thread_local! {
    static MACHINE: RefCell<Machine> = RefCell::new(Machine::default());
}

/// Nothing below calls back into the module, so the machine is never in use already.
fn with<T>(work: impl FnOnce(&mut Machine) -> T) -> T {
    MACHINE.with_borrow_mut(work)
}

/// The version of the protocol.
#[unsafe(no_mangle)]
pub extern "C" fn rd_abi() -> u32 {
    ABI
}

/// Room for so many words.
#[unsafe(no_mangle)]
pub extern "C" fn rd_words(count: u32) -> usize {
    with(|machine| machine.words_at(count as usize))
}

/// Room for so many bytes of text.
#[unsafe(no_mangle)]
pub extern "C" fn rd_text(size: u32) -> usize {
    with(|machine| machine.text_at(size as usize))
}

/// Runs the calls in the first words: how many words of answers there are.
#[unsafe(no_mangle)]
pub extern "C" fn rd_run(count: u32) -> u32 {
    with(|machine| machine.run(count as usize)) as u32
}

/// Where the answers lie.
#[unsafe(no_mangle)]
pub extern "C" fn rd_answers() -> usize {
    with(|machine| machine.answers_at())
}
