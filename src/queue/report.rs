//! A queue's state in numbers. Nothing here decides anything.
#![forbid(unsafe_code)]

use super::Queue;
use super::lanes::Lane;
use super::task::State;
use crate::gates::breaker::Circuit;
use crate::policy::Policy;
use crate::slots::index_of;
use crate::time::Millis;

/// A queue in numbers.
#[derive(Clone, Debug, PartialEq)]
pub struct Stats {
    /// Tasks held, waiting or in flight. Leased ones are their store's.
    pub depth: u32,
    /// Attempts of the queue that run.
    pub in_flight: u32,
    /// When the next attempt may start, if nothing else comes between; none in a pause of everything.
    pub next_attempt_at: Option<Millis>,
    /// How many calls brought a `Retry-After` that could not be read.
    pub unusable_retry_after: u32,
    /// The lanes, in the order of their handles' indices.
    pub lanes: Vec<LaneStats>,
}

/// A lane in numbers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LaneStats {
    /// Its handle.
    pub lane: u32,
    /// Tasks held, waiting or in flight, without leased ones.
    pub depth: u32,
    /// Attempts of the queue that run.
    pub in_flight: u32,
    /// Until when a server's delay or rate limit holds it.
    pub held_until_at: Option<Millis>,
    /// Until when its breaker or its ramp lets nothing start, as far as the clock decides that.
    pub shut_until_at: Option<Millis>,
    /// The state of its breaker.
    pub circuit: Circuit,
    /// The tokens left in its retry budget; infinity where there is none.
    pub tokens: f64,
}

impl Queue {
    /// When [`Queue::poll`] may next have something to do: the present if it has now,
    /// [`Millis::MAX`] if nothing waits for time. Never too late; at worst some time too early,
    /// where more than 64 tasks are due in the same stretch of the far future.
    pub fn wake_at(&mut self) -> Millis {
        if self.has_work() {
            return self.timeline.outward(self.timeline.now());
        }
        let next = self.agendas.next_due().min(self.agendas.next_deadline()).min(self.lanes.next_hold_end());
        self.timeline.outward(next)
    }

    /// When the next attempt may start: the present if one could now, [`Millis::MAX`] if none
    /// waits for time. As exact as [`Queue::wake_at`].
    pub fn next_due_at(&mut self) -> Millis {
        if self.may_start() && self.lanes.front().is_some() {
            return self.timeline.outward(self.timeline.now());
        }
        let next = self.agendas.next_due().min(self.lanes.next_hold_end());
        self.timeline.outward(next)
    }

    /// When a task that waits for its time or its lane may start; `None` if it stands behind
    /// others of its order, is parked, in flight or gone.
    pub fn due_at(&self, slot: u32) -> Option<Millis> {
        let task = self.tasks.get(slot)?;
        if !matches!(task.state, State::Waiting | State::Ready) {
            return None;
        }
        let now = self.timeline.now();
        let lane = self.lanes.at(task.lane.get());
        let shut_until = lane.map_or(Millis::ZERO, |lane| lane.shut_until(now).max(lane.dark_until));
        let ready = task.state == State::Ready;
        let due = if ready { task.due.get() } else { self.agendas.at(index_of(slot)) }.max(shut_until);
        Some(self.timeline.outward(due))
    }

    /// Attempts made for a task and not given back; 0 if it is gone.
    pub fn attempts(&self, slot: u32) -> u32 {
        self.tasks.get(slot).map_or(0, |task| task.attempts.count())
    }

    /// Handle of a task's lane; `None` if it is gone.
    pub fn lane_of(&self, slot: u32) -> Option<u32> {
        Some(self.lanes.slots.handle(self.tasks.get(slot)?.lane.get()))
    }

    /// Until when a lane is held at `now`.
    pub fn held_until(&self, lane: u32, now: Millis) -> Option<Millis> {
        let held_until = self.lanes.slots.get(lane)?.hold.until;
        let held = held_until > self.at(now);
        held.then(|| self.timeline.outward(held_until))
    }

    /// The policy behind a handle.
    pub fn policy(&self, policy: u32) -> Option<&Policy> {
        self.policies.get(policy).map(|interned| &*interned.policy)
    }

    /// The state of a lane's breaker at `now`; closed if there is no such lane.
    pub fn circuit(&self, lane: u32, now: Millis) -> Circuit {
        let now = self.at(now);
        self.lanes.slots.get(lane).map_or(Circuit::Closed, |lane| lane.gates.breaker.circuit(now))
    }

    /// Tasks held, waiting or in flight, without those that a store has leased.
    pub fn depth(&self) -> u32 {
        self.tasks.len().saturating_sub(self.leased).saturating_sub(self.at_door)
    }

    /// Attempts of the queue that run.
    pub const fn in_flight(&self) -> u32 {
        self.in_flight
    }

    /// Bytes of the bodies of all tasks held, without leased ones.
    pub const fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Everything at once, as it is at `now`.
    pub fn stats(&mut self, now: Millis) -> Stats {
        let now = self.at(now);
        let next = if self.paused { Millis::MAX } else { self.next_due_at() };
        let lanes = (0..self.lanes.slots.end()).filter_map(|index| {
            let lane: &Lane = self.lanes.at(index)?;
            let held = lane.hold.until > now;
            let shut_until = lane.gates_until(now);
            let all = lane.waiting.saturating_add(lane.in_flight).saturating_add(lane.started);
            Some(LaneStats {
                lane: self.lanes.slots.handle(index),
                depth: all.saturating_sub(lane.leased),
                in_flight: lane.in_flight,
                held_until_at: held.then(|| self.timeline.outward(lane.hold.until)),
                shut_until_at: (shut_until > now).then(|| self.timeline.outward(shut_until)),
                circuit: lane.gates.breaker.circuit(now),
                tokens: lane.gates.tokens(&self.lanes.rules, now),
            })
        });
        Stats {
            depth: self.depth(),
            in_flight: self.in_flight,
            // What is due by now starts with the next poll.
            next_attempt_at: (next != Millis::MAX).then(|| next.max(self.timeline.outward(now))),
            unusable_retry_after: self.unusable_retry_after,
            lanes: lanes.collect(),
        }
    }
}
