//! Orders and news of the host: pause, resume, flush, hold, gates, going offline.
#![forbid(unsafe_code)]

use super::Queue;
use super::task::State;
use crate::gates::breaker::{Circuit, Heard};
use crate::gates::{Ending, Gates};
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
    /// that it is online says nothing about the way to the server.
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
                self.lanes.refresh(index, now);
            }
        }
    }

    /// Makes tasks that wait for their own curve due now, in one lane or everywhere, and says how
    /// many. A server's delay still holds, and so do limits, holds and orders.
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
            if task.state != State::Waiting || only.is_some_and(|only| only != task.lane) {
                continue;
            }
            let due = task.not_before.max(now);
            if due < self.due.due_of(index) {
                self.due.push(index, due);
                flushed = flushed.saturating_add(1);
            }
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

    /// Whether a caller's own first attempt may start in a lane, where the host holds those back as well: not with its
    /// breaker open. Half-open it is the probe. There is no such lane: it may.
    pub fn admits(&mut self, now: Millis, lane: u32) -> bool {
        let now = self.timeline.advance(now);
        let Some(index) = self.live_lane(lane) else { return true };
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
        let open = lane.gates.breaker.circuit(now) == Circuit::Closed && lane.gates.shut_until(now) <= now;
        let paid = open && lane.gates.pay(rules, now).unwrap_or(true);
        self.lanes.refresh(index, now);
        paid
    }

    /// Hears of a caller's own attempt that made no task: what it tells of the server, breaker and budget learn.
    /// `began`: when the caller asked for it; `healthy`: see [`Heard`]; `slow`: its answer took more than half of its
    /// timeout.
    pub fn hear(
        &mut self,
        now: Millis,
        lane: u32,
        began: Millis,
        healthy: Option<bool>,
        succeeded: bool,
        slow: bool,
    ) {
        let now = self.timeline.advance(now);
        let Some(index) = self.live_lane(lane) else { return };
        // As in `Queue::settle`: offline, a failure says nothing about the server.
        let healthy = healthy.filter(|healthy| *healthy || !self.offline);
        let heard = Heard { began: self.timeline.inward(began), healthy, by_queue: false };
        let ending = Ending {
            heard,
            succeeded,
            slow,
            paid: false,
            unsent: false,
            first_failure: false,
            own_trouble: false,
        };
        self.lanes.hear(index, now, &ending, &mut self.rng);
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
            let not_before = self.tasks.at(task).map_or(now, |task| task.not_before);
            self.wait(task, now.max(not_before));
        }
        self.lanes.refresh(index, now);
    }
}
