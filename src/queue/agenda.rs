//! The agenda: what is due when, by index. A timing wheel and its nodes.
#![forbid(unsafe_code)]

use super::wheel::{Nodes, Wheel};
use crate::time::Millis;

/// The agenda. An index is in it once or not at all; whose index it is, the caller knows.
#[derive(Debug, Default)]
pub struct Agenda {
    wheel: Wheel,
    nodes: Nodes,
}

impl Agenda {
    /// Puts `index` in at `due`, or moves it there. At equal times, first in is first out; a time
    /// already passed counts as the present.
    pub fn push(&mut self, index: u32, due: Millis) {
        self.wheel.push(&mut self.nodes, index, due);
    }

    /// Takes `index` out, if it is in.
    pub fn remove(&mut self, index: u32) -> bool {
        self.wheel.remove(&mut self.nodes, index)
    }

    /// Whether `index` is in.
    pub fn contains(&self, index: u32) -> bool {
        self.nodes.contains(index)
    }

    /// When `index` is due, or was when it was last in.
    pub fn due_of(&self, index: u32) -> Millis {
        self.nodes.due_of(index)
    }

    /// How many are in.
    pub const fn len(&self) -> u32 {
        self.wheel.len()
    }

    /// Whether none is in.
    pub const fn is_empty(&self) -> bool {
        self.wheel.len() == 0
    }

    /// Takes the earliest entry that is due at `now` out. A `now` before the last one changes
    /// nothing and gives what was due already.
    pub fn pop(&mut self, now: Millis) -> Option<u32> {
        self.wheel.pop(&mut self.nodes, now)
    }

    /// A time by which nothing has been due yet, and no later than the first: exactly the first,
    /// unless more than 64 lie so far off that only their range is known. [`Millis::MAX`] if
    /// nothing is in.
    pub fn next_at(&mut self) -> Millis {
        self.wheel.next_at(&self.nodes)
    }
}
