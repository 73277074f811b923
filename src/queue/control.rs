//! Orders and news of the host: pause, resume, flush, hold, gates, going offline.
#![forbid(unsafe_code)]

use super::Queue;
use super::task::State;
use crate::gates::breaker::{Circuit, Heard};
use crate::gates::{Ending, Gates, Pace};
use crate::outcome::Word;
use crate::slots::index_of;
use crate::time::Millis;

impl Queue {
    /// Starts nothing more in one lane, or anywhere. What is in flight goes on.
    pub fn pause(&mut self, lane: Option<u32>) {
        let Some(handle) = lane else {
            self.paused = true;
            return;
        };
        let Some(index) = self.live_lane(handle) else { return };
        if let Some(lane) = self.lanes.at_mut(index) {
            lane.paused = true;
        }
        self.lanes.refresh(index, self.timeline.now());
    }

    /// Ends the pause of one lane, or every pause; parked tasks are due again, though no earlier
    /// than a server asked.
    pub fn resume(&mut self, now: Millis, lane: Option<u32>) {
        let now = self.timeline.advance(now);
        match lane {
            Some(handle) => {
                if let Some(index) = self.live_lane(handle) {
                    self.resume_lane(index, now);
                }
            }
            None => {
                self.paused = false;
                for index in 0..self.lanes.slots.end() {
                    self.resume_lane(index, now);
                }
            }
        }
    }

    /// Offline, nothing starts and no attempt is wasted. Back online, a lane that failed
    /// meanwhile makes one attempt at a time until any response arrives: the browser's word
    /// that it is online says nothing about the way to the server. What breakers and ramps have learned may have been
    /// the network's fault: each lets one attempt go to see.
    pub fn set_online(&mut self, now: Millis, online: bool) {
        let now = self.timeline.advance(now);
        self.offline = !online;
        if !online {
            return;
        }
        for index in 0..self.lanes.slots.end() {
            if let Some(lane) = self.lanes.at_mut(index).filter(|lane| lane.failed_offline) {
                lane.failed_offline = false;
                lane.probing = true;
            }
            self.hasten(index, now);
        }
    }

    /// Makes tasks that wait for their own curve due now, in one lane or everywhere, and says how
    /// many. A server's delay still holds, and so do limits, holds and orders; of a breaker or a ramp that makes tasks wait one
    /// attempt goes to see how the server does.
    pub fn flush(&mut self, now: Millis, lane: Option<u32>) -> u32 {
        let now = self.timeline.advance(now);
        let only = match lane {
            Some(handle) => match self.live_lane(handle) {
                Some(index) => Some(index),
                None => return 0,
            },
            None => None,
        };
        let mut flushed: u32 = 0;
        for index in 0..self.tasks.end() {
            let Some(task) = self.tasks.at(index) else { continue };
            if task.state != State::Waiting || only.is_some_and(|only| only != task.lane.get()) {
                continue;
            }
            let due = task.not_before.get().max(now);
            if due < self.agendas.at(index) {
                self.agendas.push(State::Waiting, index, due);
                flushed = flushed.saturating_add(1);
            }
        }
        match only {
            Some(only) => self.hasten(only, now),
            None => (0..self.lanes.slots.end()).for_each(|lane| self.hasten(lane, now)),
        }
        flushed
    }

    /// Holds a lane for `wait` from now, no shorter than it is held already and no longer than the limits allow: what
    /// was learned elsewhere, by a store or by a call that made no task. No time holds nothing.
    pub fn hold(&mut self, now: Millis, lane: u32, wait: Millis) {
        let now = self.timeline.advance(now);
        let Some(index) = self.live_lane(lane) else { return };
        self.lanes.hold(index, now, wait);
        self.lanes.refresh(index, now);
    }

    /// Takes note that the store of a lane keeps its hold, for `wait` from now as far as it has said; no time: it has been told of
    /// the one that is known here. From then on the store alone says how long its own tasks are held.
    pub fn share_hold(&mut self, now: Millis, lane: u32, wait: Millis) {
        let now = self.timeline.advance(now);
        let Some(index) = self.live_lane(lane) else { return };
        self.lanes.share_hold(index, now, wait);
        self.lanes.refresh(index, now);
    }

    /// Sets the gates between due tasks and their attempts, before the first lane is open.
    pub fn set_gates(&mut self, gates: Gates) {
        self.lanes.rules = gates;
    }

    /// Has tasks whose callers wait end while the breaker of their lane is open, instead of waiting with all others.
    pub fn set_turns_away(&mut self) {
        self.turns_away = true;
    }

    /// Since when a lane's breaker has not been closed, if it is not.
    pub fn open_since(&self, lane: u32) -> Option<Millis> {
        let lane = self.lanes.slots.get(lane)?;
        let open = lane.gates.breaker.circuit(self.timeline.now()) != Circuit::Closed;
        open.then(|| self.timeline.outward(lane.open_since))
    }

    /// Whether a caller's own first attempt may start in a lane, where the host holds those back as well: not with its
    /// breaker open beyond doubt. Half-open it is the probe. There is no such lane: it may.
    pub fn admits(&mut self, now: Millis, lane: u32) -> bool {
        let now = self.timeline.advance(now);
        let Some(index) = self.live_lane(lane) else { return true };
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

    /// Whether a retry that this queue does not make itself may go now, and its token with it: the breaker is closed, and
    /// the budget pays. There is no such lane: it may.
    pub fn pays(&mut self, now: Millis, lane: u32) -> bool {
        let now = self.timeline.advance(now);
        let Some(index) = self.live_lane(lane) else { return true };
        self.lanes.look(index, now);
        let rules = &self.lanes.rules;
        let Some(lane) = self.lanes.slots.at_mut(index) else { return true };
        let open = lane.gates.breaker.circuit(now) == Circuit::Closed && lane.gates_until(now) <= now;
        let paid = open && lane.gates.pay(rules, now).unwrap_or(true);
        self.lanes.refresh(index, now);
        paid
    }

    /// Hears of a caller's own attempt that made no task: what it tells of the server, breaker and budget learn.
    /// `began`: when the caller asked for it; `took`: how long until it ended.
    pub fn hear(&mut self, now: Millis, lane: u32, began: Millis, took: Millis, kind: Word, pace: Pace) {
        let now = self.timeline.advance(now);
        let Some(index) = self.live_lane(lane) else { return };
        let healthy = match kind {
            Word::Success | Word::Healthy => Some(true),
            // As in `Queue::settle`: offline, a failure says nothing about the server.
            Word::Failed | Word::Limited => (!self.offline).then_some(false),
            Word::Nothing => None,
        };
        let began = self.timeline.inward(began);
        let ending = Ending {
            heard: Heard { began, healthy, by_queue: false },
            ended: began.plus(took).min(now),
            succeeded: kind == Word::Success,
            pace,
            paid: false,
            unsent: false,
            first_failure: false,
            excused: kind == Word::Limited,
        };
        self.lanes.hear(index, now, &ending, &mut self.rng);
        self.lanes.refresh(index, now);
    }

    /// A task was handed over to a lane, here or in its store: who hands it over may expect that it is tried soon, so that a ramp that
    /// pauses lets an extra attempt go.
    pub fn visit(&mut self, now: Millis, lane: u32) {
        let now = self.timeline.advance(now);
        let Some(index) = self.live_lane(lane) else { return };
        if let Some(lane) = self.lanes.at_mut(index) {
            let until = lane.ramp_until(now);
            lane.gates.visit(until);
        }
        self.lanes.refresh(index, now);
    }

    /// Lets one attempt of a lane go to see how its server does, whatever its breaker or its ramp still had to wait.
    fn hasten(&mut self, index: u32, now: Millis) {
        if let Some(lane) = self.lanes.at_mut(index) {
            lane.gates.hasten(now);
        }
        self.lanes.refresh(index, now);
    }

    fn live_lane(&self, handle: u32) -> Option<u32> {
        self.lanes.slots.get(handle).map(|_| index_of(handle))
    }

    fn resume_lane(&mut self, index: u32, now: Millis) {
        let Some(lane) = self.lanes.at_mut(index) else { return };
        lane.paused = false;
        while let Some((_, task)) = self.lanes.at(index).and_then(|lane| lane.parked.front()) {
            self.detach(task);
            let not_before = self.tasks.at(task).map_or(now, |task| task.not_before.get());
            self.wait(task, now.max(not_before));
        }
        self.lanes.refresh(index, now);
    }
}
