//! The agendas of tasks: when those that wait are due, and when the others end that are held back.
//!
//! The state of a task says which of the two it is in, so it is never in both, and one table of nodes does for both.
#![forbid(unsafe_code)]

use super::task::State;
use super::wheel::{Nodes, Wheel};
use crate::time::Millis;

/// Both agendas.
#[derive(Debug, Default)]
pub(super) struct Agendas {
    /// When waiting tasks become ready.
    due: Wheel,
    /// The last instant at which ready, parked and tasks behind others may start.
    deadlines: Wheel,
    nodes: Nodes,
}

impl Agendas {
    /// Puts a task of this state in at an instant, or moves it there.
    pub fn push(&mut self, state: State, index: u32, at: Millis) {
        if let Some((wheel, nodes)) = self.of(state) {
            wheel.push(nodes, index, at);
        }
    }

    /// Takes a task of this state out, if it is in.
    pub fn remove(&mut self, state: State, index: u32) {
        if let Some((wheel, nodes)) = self.of(state) {
            wheel.remove(nodes, index);
        }
    }

    /// Whether a task is in its agenda.
    pub fn contains(&self, index: u32) -> bool {
        self.nodes.contains(index)
    }

    /// The instant of a task in its agenda, or in the one that it was last in.
    pub fn at(&self, index: u32) -> Millis {
        self.nodes.due_of(index)
    }

    /// Takes the waiting task out that has been due the longest at `now`.
    pub fn pop_due(&mut self, now: Millis) -> Option<u32> {
        self.due.pop(&mut self.nodes, now)
    }

    /// Takes the task out whose deadline at `now` is the earliest.
    pub fn pop_late(&mut self, now: Millis) -> Option<u32> {
        self.deadlines.pop(&mut self.nodes, now)
    }

    /// When the next waiting task is due, as exactly as a wheel knows.
    pub fn next_due(&mut self) -> Millis {
        self.due.next_at(&self.nodes)
    }

    /// When the next deadline is, as exactly as a wheel knows.
    pub fn next_deadline(&mut self) -> Millis {
        self.deadlines.next_at(&self.nodes)
    }

    const fn of(&mut self, state: State) -> Option<(&mut Wheel, &mut Nodes)> {
        match state {
            State::Waiting => Some((&mut self.due, &mut self.nodes)),
            State::Behind | State::Ready | State::Parked | State::AtDoor => {
                Some((&mut self.deadlines, &mut self.nodes))
            }
            State::InFlight | State::Started => None,
        }
    }
}
