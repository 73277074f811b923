//! Callers whose first attempt may not be sent yet: the circuit of its origin is open.
//!
//! A caller would rather wait for a second than hear that it should call again, which is more load than waiting. So it stands at the door
//! of its lane for as long as it waits: it is no task, counts in no limit but the capacity, and once it is let in its attempt is its own, as any first
//! attempt is. Half-open, the first at the door is the probe. Once the circuit is closed they are let in by the answers: each quick one lets
//! in two, a fair one lets in one, a slow one none, so that their number doubles for each round trip that goes well (slow start, RFC 5681, section
//! 3.1). Where no answer comes one is let in every quarter of a second: those who were let in before may have left.
#![forbid(unsafe_code)]

use super::lanes::Lane;
use super::poll::{Action, BATCH};
use super::task::{State, Task};
use super::{Admission, Queue};
use crate::gates::breaker::Circuit;
use crate::gates::{Entry, WhenOpen};
use crate::time::Millis;

impl Lane {
    /// Until when none is let in, as far as the clock decides; in the past: one is, or the end of a probe decides.
    pub fn door_until(&self, now: Millis) -> Millis {
        match self.gates.breaker.circuit(now) {
            Circuit::Closed => self.door.opens_at(),
            _ => self.gates.breaker.shut_until(now).max(self.ramp_until(now)),
        }
    }

    /// Whether the first at the door is let in.
    pub fn lets_in(&self, now: Millis) -> bool {
        self.door.callers > 0 && self.gates.breaker.room(now) > 0 && self.door_until(now) <= now
    }
}

impl Queue {
    /// Says what is done with awaited calls while a circuit is open.
    pub const fn set_when_open(&mut self, when_open: WhenOpen) {
        self.when_open = when_open;
    }

    /// A caller that waits until `wait_until` asks whether its first attempt may be sent. `early`: it is not sent at once in any case, so
    /// that it cannot be the probe. Where the answer is to wait, [`Queue::stand`] follows. There is no such lane: it may be sent.
    pub fn call(&mut self, now: Millis, lane: u32, wait_until: Millis, early: bool) -> Entry {
        let now = self.timeline.advance(now);
        let Some(index) = self.live_lane(lane) else { return Entry::Sent };
        let wait_until = self.timeline.inward(wait_until);
        if self.when_open == WhenOpen::Hold {
            return Entry::Sent;
        }
        if !early && self.admit_own(index, now) {
            return Entry::Sent;
        }
        match self.lanes.at(index) {
            Some(lane) if self.turns_away(lane, wait_until) => Entry::TurnedAway,
            _ if early => Entry::Sent,
            // Another is the probe.
            _ if self.when_open == WhenOpen::Fail => Entry::TurnedAway,
            _ => Entry::Waits,
        }
    }

    /// Whether a caller's own first attempt may start in a lane, whose open breaker keeps those back beyond doubt. Half-open it is the
    /// probe. There is no such lane: it may.
    pub fn admits(&mut self, now: Millis, lane: u32) -> bool {
        let now = self.timeline.advance(now);
        self.live_lane(lane).is_none_or(|index| self.admit_own(index, now))
    }

    fn admit_own(&mut self, index: u32, now: Millis) -> bool {
        if let Some(lane) = self.lanes.at_mut(index) {
            lane.gates.breaker.give_way(now);
        }
        self.lanes.look(index, now);
        let (Some(lane), Some(rules)) = (self.lanes.slots.at_mut(index), &self.lanes.rules.breaker) else {
            return true;
        };
        let admitted = lane.gates.breaker.admit(rules, now);
        self.lanes.refresh(index, now);
        admitted
    }

    /// Puts a caller at the door of its lane and gives its handle, until [`Action::LetIn`] or [`Action::End`] names it, or [`Queue::cancel`] takes
    /// it away. `None`: there is no room.
    pub fn stand(&mut self, now: Millis, admission: &Admission) -> Option<u32> {
        let slot = self.admit_as(now, admission, State::AtDoor)?;
        self.at_door = self.at_door.saturating_add(1);
        Some(slot)
    }

    /// Lets in whom the lanes let in.
    pub(super) fn let_in(&mut self, now: Millis, actions: &mut Vec<Action>) {
        while actions.len() < BATCH
            && let Some(lane) = self.lanes.front_door()
        {
            let Some((_, index)) = self.lanes.at(lane).and_then(|lane| lane.callers.front()) else { return };
            if let Some(reason) = self.refusal(index, now) {
                self.end(index, reason, actions);
                continue;
            }
            let slot = self.tasks.handle(index);
            self.detach(index);
            self.forget(index);
            let r32 = self.rng.next_u32();
            let Some(found) = self.lanes.slots.at_mut(lane) else { return };
            // Closed it is no attempt of the ramp's: its pause would begin anew with each caller, and no task would start.
            if found.gates.breaker.circuit(now) == Circuit::HalfOpen && found.gates.ramp.is_on() {
                found.gates.ramp.start(now, r32);
            }
            if let Some(rules) = &self.lanes.rules.breaker {
                found.gates.breaker.admit(rules, now);
            }
            found.door.let_one_in(now);
            self.lanes.refresh(lane, now);
            actions.push(Action::LetIn(slot));
        }
    }

    /// Whether the caller of a task is not to wait any longer, since the breaker of its lane is open.
    pub(super) fn is_turned_away(&self, task: &Task) -> bool {
        self.lanes.at(task.lane.get()).is_some_and(|lane| self.turns_away(lane, task.wait_until.get()))
    }

    /// Whether that is so for a task that is not here, whose caller waits until `wait_until`.
    pub fn ends_wait(&self, lane: u32, wait_until: Millis) -> bool {
        let wait_until = self.timeline.inward(wait_until);
        self.lanes.slots.get(lane).is_some_and(|lane| self.turns_away(lane, wait_until))
    }

    fn turns_away(&self, lane: &Lane, wait_until: Millis) -> bool {
        let now = self.timeline.now();
        let breaker = &lane.gates.breaker;
        wait_until != Millis::MAX
            && breaker.circuit(now) == Circuit::Open
            && match self.when_open {
                WhenOpen::Hold => false,
                WhenOpen::Wait => breaker.shut_until(now) > wait_until,
                WhenOpen::Fail => true,
            }
    }
}
