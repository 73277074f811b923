//! What a task waits for. Nothing here decides anything.
#![forbid(unsafe_code)]

use super::Queue;
use super::fifo::Chain;
use super::task::State;
use crate::gates::breaker::Circuit;
use crate::outcome::Flags;
use crate::slots::index_of;
use crate::time::Millis;

/// Most tasks counted ahead of one.
const COUNTED: u32 = 1000;

/// What holds a task, in the order in which it is asked for. The numbers cross the boundary.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Gate {
    /// Nothing: an attempt of the queue runs.
    InFlight = 0,
    /// Nothing: the caller's own first attempt is about to be settled.
    Started = 1,
    /// Its credentials were refused twice; it waits for a resume.
    Parked = 2,
    /// Others of its order come first.
    Behind = 3,
    /// Its own wait.
    Due = 4,
    /// A server's delay or rate limit, for the whole lane.
    LaneHeld = 5,
    /// A pause of its lane.
    LanePaused = 6,
    /// A pause of everything.
    Paused = 7,
    /// The host is offline.
    Offline = 8,
    /// After being offline its lane makes one attempt at a time, and one runs.
    Probing = 9,
    /// As many attempts run in its lane as may.
    LaneLimit = 10,
    /// As many attempts run as may.
    Limit = 11,
    /// Nothing but others that come before it: the next poll may start it.
    Ready = 12,
    /// The breaker of its lane is open.
    CircuitOpen = 13,
    /// The breaker of its lane is half-open, and another attempt tries the server out.
    CircuitProbing = 14,
    /// The retry budget of its lane was empty when it was due: it waits once more.
    RetryBudget = 15,
    /// Its lane comes back slowly after its breaker was open, and pauses between two attempts.
    Ramp = 16,
}

impl Gate {
    /// The number of the gate, `0..=16`.
    pub const fn code(self) -> u32 {
        self as u32
    }
}

/// Where a task stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Standing {
    /// The first gate that holds it.
    pub gate: Gate,
    /// Until when, if nothing changes; [`Millis::MAX`] where no time is known.
    pub until: Millis,
    /// At [`Gate::Behind`], how many of its order come first, counted up to 1,000; else 0.
    pub ahead: u32,
}

impl Queue {
    /// What a task waits for at the latest time the queue has heard of; `None` if it is gone.
    pub fn standing(&self, slot: u32) -> Option<Standing> {
        let task = self.tasks.get(slot)?;
        let (mut until, mut ahead) = (Millis::MAX, 0);
        let gate = match task.state {
            State::InFlight => Gate::InFlight,
            State::Started => Gate::Started,
            State::Parked => Gate::Parked,
            State::Behind => {
                let behind = Chain::ahead_of(&self.links, index_of(slot), COUNTED.saturating_sub(1));
                // And the head, which is in no chain.
                ahead = behind.saturating_add(1);
                Gate::Behind
            }
            State::Waiting | State::Ready => {
                let now = self.timeline.now();
                let lane = self.lanes.at(task.lane)?;
                let due = self.due.due_of(index_of(slot));
                if task.state == State::Waiting && due > now {
                    until = self.timeline.outward(due);
                    if task.flags.contains(Flags::BUDGET) { Gate::RetryBudget } else { Gate::Due }
                } else if lane.held_until > now {
                    until = self.timeline.outward(lane.held_until);
                    Gate::LaneHeld
                } else if lane.paused {
                    Gate::LanePaused
                } else if self.paused {
                    Gate::Paused
                } else if self.offline {
                    Gate::Offline
                } else if lane.probing && lane.in_flight > 0 {
                    Gate::Probing
                } else if lane.gates.breaker.room(now) == 0 {
                    let opens = lane.gates.breaker.shut_until(now);
                    until = if opens > now { self.timeline.outward(opens) } else { Millis::MAX };
                    match lane.gates.breaker.circuit(now) {
                        Circuit::Open => Gate::CircuitOpen,
                        _ => Gate::CircuitProbing,
                    }
                } else if lane.gates.ramp.shut_until() > now {
                    until = self.timeline.outward(lane.gates.ramp.shut_until());
                    Gate::Ramp
                } else if lane.in_flight >= lane.gates.limit(now).min(self.lanes.limit()) {
                    Gate::LaneLimit
                } else if self.in_flight >= self.limits.concurrency {
                    Gate::Limit
                } else {
                    Gate::Ready
                }
            }
        };
        Some(Standing { gate, until, ahead })
    }
}
