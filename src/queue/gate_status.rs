//! The gate that a task waits at. Nothing here decides anything.
#![forbid(unsafe_code)]

use super::Queue;
use super::fifo::Chain;
use super::lanes::Lane;
use super::task::State;
use crate::gates::breaker::Circuit;
use crate::numbered::numbered;
use crate::outcome::Flags;
use crate::slots::index_of;
use crate::time::Millis;

/// Most tasks counted ahead of one.
const COUNTED: u32 = 1000;

numbered! {
    /// The gates that hold a task, numbered as they cross the boundary.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
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
        /// The host says that it is offline, and an attempt has not shown otherwise: the lane makes one now and then.
        Offline = 8,
        /// After being offline its lane makes one attempt at a time, and one runs.
        Probing = 9,
        /// The limit of its lane is reached.
        LaneLimit = 10,
        /// The limit over all lanes is reached.
        Limit = 11,
        /// Nothing but others that come before it: the next poll may start it.
        Ready = 12,
        /// The breaker of its lane is open.
        CircuitOpen = 13,
        /// The breaker of its lane is half-open, and another attempt tries the server out.
        CircuitProbing = 14,
        /// The retry budget of its lane was empty when it was due: it waits once more.
        RetryBudget = 15,
        /// Its lane comes back slowly after it failed: it pauses between two attempts, or, without a time, runs as many as it may.
        Ramp = 16,
        /// The lane has started as many attempts as may start in that time.
        Rate = 17,
    }
}

/// Where a task stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GateStatus {
    /// The first gate that holds it.
    pub gate: Gate,
    /// Until when, if nothing changes; [`Millis::MAX`] where no time is known.
    pub until: Millis,
    /// At [`Gate::Behind`], how many of its order come first, counted up to 1,000; else 0.
    pub ahead: u32,
}

impl Queue {
    /// The gate that holds a task at the latest time the queue has heard of; `None` if it is gone.
    pub fn gate_status(&self, slot: u32) -> Option<GateStatus> {
        self.gate_status_at(slot, Millis::ZERO)
    }

    /// The gate that holds a task at `now`, or at the latest time the queue has heard of, if that is later; `None` if it is gone.
    pub fn gate_status_at(&self, slot: u32, now: Millis) -> Option<GateStatus> {
        let now = self.at(now);
        let task = self.tasks.get(slot)?;
        let at = |gate| GateStatus { gate, until: Millis::MAX, ahead: 0 };
        Some(match task.state {
            State::InFlight => at(Gate::InFlight),
            State::Started => at(Gate::Started),
            State::Parked => at(Gate::Parked),
            State::AtDoor => self.lane_status(self.lanes.at(task.lane.get()), now, false),
            State::Behind => {
                let behind = Chain::ahead_of(&self.links, index_of(slot), COUNTED.saturating_sub(1));
                // And the head, which is in no chain.
                GateStatus { ahead: behind.saturating_add(1), ..at(Gate::Behind) }
            }
            State::Waiting | State::Ready => {
                let due = self.agendas.at(index_of(slot));
                if task.state == State::Waiting && due > now {
                    let spent = task.flags.contains(Flags::BUDGET);
                    let gate = if spent { Gate::RetryBudget } else { Gate::Due };
                    GateStatus { until: self.timeline.outward(due), ..at(gate) }
                } else {
                    let lane = self.lanes.at(task.lane.get());
                    let status = self.lane_status(lane, now, false);
                    let half_open =
                        lane.is_some_and(|lane| lane.gates.breaker.circuit(now) == Circuit::HalfOpen);
                    let is_free = half_open && status.gate == Gate::Ready && task.state == State::Ready;
                    // Of those that the breaker would let through one is the probe, and all others wait for it.
                    let waits = is_free && self.next_of(task.lane.get(), now) != Some(index_of(slot));
                    if waits { at(Gate::CircuitProbing) } else { status }
                }
            }
        })
    }

    /// The gate that holds a due task of a store in a lane at `now`. The retry budget is one of them for a retry, since the
    /// store is not asked for those that could not pay. Without such a lane: the gate that all lanes share.
    pub fn gate_of_lane(&self, lane: u32, now: Millis, is_retry: bool) -> GateStatus {
        let now = self.at(now);
        self.lane_status(self.lanes.slots.get(lane), now, is_retry)
    }

    /// The first gate that keeps a due task from starting; `pays`: the retry budget is one of them.
    #[inline(never)]
    fn lane_status(&self, lane: Option<&Lane>, now: Millis, pays: bool) -> GateStatus {
        let budget = |lane: &Lane| lane.gates.pays_at(&self.lanes.rules, now);
        let pays_at = lane.filter(|_| pays).map_or(Millis::ZERO, budget);
        let (gate, until) = match lane {
            Some(lane) if lane.hold.until > now => (Gate::LaneHeld, lane.hold.until),
            Some(lane) if lane.paused => (Gate::LanePaused, Millis::MAX),
            _ if self.paused => (Gate::Paused, Millis::MAX),
            Some(lane) if lane.dark_until > now => (Gate::Offline, lane.dark_until),
            Some(lane) if lane.probing && lane.in_flight > 0 => (Gate::Probing, Millis::MAX),
            Some(lane) if lane.gates.breaker.room(now) == 0 => match lane.gates.breaker.circuit(now) {
                Circuit::Open => (Gate::CircuitOpen, lane.gates.breaker.shut_until(now)),
                _ => (Gate::CircuitProbing, lane.gates.breaker.shut_until(now)),
            },
            Some(lane) if pays_at > now => (Gate::RetryBudget, pays_at.max(lane.shut_until(now))),
            Some(lane) if lane.ramp_until(now) > now => (Gate::Ramp, lane.ramp_until(now)),
            Some(lane) if lane.bucket.opens_at(now) > now => (Gate::Rate, lane.bucket.opens_at(now)),
            Some(lane) if lane.running() >= self.lanes.limit() => (Gate::LaneLimit, Millis::MAX),
            Some(lane) if lane.running() >= lane.gates.limit(now) => (Gate::Ramp, Millis::MAX),
            _ if self.running() >= self.limits.concurrency => (Gate::Limit, Millis::MAX),
            _ => (Gate::Ready, Millis::MAX),
        };
        let until = if until > now { self.timeline.outward(until) } else { Millis::MAX };
        GateStatus { gate, until, ahead: 0 }
    }
}
