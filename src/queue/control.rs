//! Orders and news of the host: pause, resume, flush, hold, gates, going offline.
#![forbid(unsafe_code)]

use super::task::State;
use super::told::Told;
use super::{Ended, Queue};
use crate::gates::breaker::{Circuit, Heard};
use crate::gates::{Comeback, Ending, Gates};
use crate::outcome::{Flags, Outcome};
use crate::slots::index_of;
use crate::time::Millis;

/// Callers whose attempts have stayed leave within so many milliseconds, at most an eighth of their wait.
const LEAVING: u64 = 1000;
/// And no later than a quarter of that before its end.
const LEAST_CHANCE: u32 = 1 << 30;

/// An attempt with twice its limit leaves so much of its caller's wait to another: its connection may be dead after all.
const ANOTHER: Millis = Millis::new(4000);

/// A caller's own attempt whose limit is over, which is the default: nothing is said about its time.
#[derive(Clone, Copy, Debug)]
pub struct Long {
    /// The facts about its request.
    pub flags: Flags,
    /// When it began.
    pub began: Millis,
    /// When the host last had an answer of its server, whether or not it was worth a word to the queue; zero: never.
    pub answered_at: Millis,
    /// When its caller leaves.
    pub wait_until: Millis,
}

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

    /// Takes a host's word on its network as a hint: where it says that it is offline, each lane makes one attempt now and then to see
    /// whether that is so, none of which counts, and the first response shows that it is not. Back online, a lane that failed
    /// meanwhile makes one attempt at a time until any response arrives: that the host is online says nothing about the way to the
    /// server. What breakers and ramps have learned may have been the network's fault: each lets one attempt go to see.
    pub fn set_online(&mut self, now: Millis, online: bool) {
        let now = self.timeline.advance(now);
        self.turn(now, online);
    }

    /// [`Queue::set_online`], at a time of the queue's own.
    fn turn(&mut self, now: Millis, online: bool) {
        self.lanes.overruled = false;
        let was_offline = std::mem::replace(&mut self.lanes.offline, !online);
        if was_offline && !online {
            return; // said again, it puts nothing off
        }
        for index in 0..self.lanes.slots.end() {
            let Some(lane) = self.lanes.at_mut(index) else { continue };
            if !online {
                lane.go_dark(now);
            } else if std::mem::take(&mut lane.failed_offline) {
                lane.probing = true;
            }
            if online {
                self.hasten(index, now);
            } else {
                self.lanes.refresh(index, now);
            }
        }
    }

    /// An ended attempt as it is to be seen: a host that does not tell of its network says with an attempt that it is offline.
    pub(super) fn see(&mut self, now: Millis, ended: &Ended) -> Ended {
        if ended.outcome == Outcome::Offline && !self.lanes.offline && !self.lanes.overruled {
            self.turn(now, false);
        }
        ended.seen(self.lanes.offline)
    }

    /// A response has come: there is a network, whatever the host says.
    pub(super) fn overrule_offline(&mut self, now: Millis) {
        if std::mem::take(&mut self.lanes.offline) {
            self.lanes.overruled = true;
            for index in 0..self.lanes.slots.end() {
                self.hasten(index, now);
            }
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

    /// Takes note that the store of a lane keeps its hold, for `wait` from now as far as it has said; no time: it has heard of
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

    /// Since when a lane's breaker has not been closed, if it is not, and until when it lets nothing through; no time is known, as of the end of a
    /// probe: `None`.
    pub fn opening(&self, lane: u32, now: Millis) -> Option<(Millis, Option<Millis>)> {
        let circuit = self.circuit(lane, now);
        let since = self.lanes.slots.get(lane)?.open_since;
        let until =
            self.shut_until(now, lane).filter(|until| circuit == Circuit::Open && *until < Millis::MAX);
        (circuit != Circuit::Closed).then(|| (self.timeline.outward(since), until))
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

    /// Hears of a caller's own attempt under `policy` that made no task. `began`: when it began.
    pub fn heard(&mut self, now: Millis, lane: u32, policy: u32, began: Millis, ended: &Ended) {
        let now = self.timeline.advance(now);
        let Some(index) = self.live_lane(lane) else { return };
        let ended = &self.see(now, ended);
        let Some(interned) = self.policies.get(policy) else { return };
        if ended.unusable {
            self.unusable_retry_after = self.unusable_retry_after.saturating_add(1);
        }
        let told = Told::of(&interned.policy, ended, self.lanes.offline, false);
        let began = self.timeline.inward(began);
        self.learn_of(index, now, &told);
        let ending = Ending {
            heard: Heard { began, healthy: told.healthy, by_queue: false },
            ended: ended.duration.map_or(now, |took| began.plus(took).min(now)),
            succeeded: told.healthy == Some(true) && ended.outcome == Outcome::Response && ended.status < 400,
            pace: told.pace,
            paid: false,
            unsent: false,
            first_failure: false,
            excused: told.limited,
        };
        self.lanes.hear(index, now, &ending, &mut self.rng);
        self.lanes.refresh(index, now);
    }

    /// Until when a caller's own attempt, whose limit is over, goes on, since its server answers no one, or is slow; zero: it is given up.
    pub fn lasts(&mut self, now: Millis, lane: u32, policy: u32, long: &Long) -> Millis {
        let now = self.timeline.advance(now);
        let [began, answered_at, wait_until] =
            [long.began, long.answered_at, long.wait_until].map(|at| self.timeline.inward(at));
        let policy = self.policies.get(policy).map(|interned| &interned.policy);
        let lane = self.live_lane(lane).and_then(|index| self.lanes.at_mut(index));
        let (Some(policy), Some(lane)) = (policy, lane) else { return Millis::ZERO };
        lane.silence.hear(answered_at);
        // Many may have stayed, and their callers leave together: not all in one moment.
        let room = (wait_until.minus(began).get() / 8).min(LEAVING);
        let chance = u64::from(self.rng.next_u32() | LEAST_CHANCE);
        let early = Millis::new(room.saturating_mul(chance) >> u32::BITS);
        let leaves = wait_until.minus(early).min(began.plus(policy.total_budget()));
        // One that cannot be tried again is no look at the server.
        let retried = policy.retry_timeouts() && policy.max_attempts() > 1;
        if !retried || !long.flags.contains(Flags::REPLAYABLE) || leaves <= now {
            return Millis::ZERO;
        }
        let limit = policy.attempt_timeout();
        let twice = began.plus(limit).plus(limit);
        let stays =
            if lane.is_slow(policy) && twice > now { twice } else { lane.silence.lasts(now, began, limit) };
        let until = stays.min(leaves);
        if until > now { self.timeline.outward(until) } else { Millis::ZERO }
    }

    /// Until when an attempt of a task goes on, whose `limit` is over; zero: it is given up. A first attempt without an answer may have had a dead
    /// connection. A second one as well is rare, and a server that needs longer is not: it has twice the limit (RFC 6298, 5.5, doubles
    /// a timeout for the same reason), as has each attempt at a server that is known to be slow.
    pub fn extends(&mut self, now: Millis, slot: u32, began: Millis, limit: Millis) -> Millis {
        let now = self.timeline.advance(now);
        let began = self.timeline.inward(began);
        let Some(task) = self.tasks.get(slot) else { return Millis::ZERO };
        let (lane, known) = (self.lanes.at(task.lane.get()), self.policies.at(task.policy.get()));
        let is_slow = lane.zip(known).is_some_and(|(lane, known)| lane.is_slow(&known.policy));
        if !is_slow && !task.refunds.unanswered() {
            return Millis::ZERO;
        }
        let wait_until = task.wait_until.get();
        // no other attempt is left to it where its server is known to be slow
        let leaves = if is_slow { wait_until } else { wait_until.minus(ANOTHER) };
        let until = began.plus(limit).plus(limit).min(leaves);
        if until > now { self.timeline.outward(until) } else { Millis::ZERO }
    }

    /// Holds a lane as an answer under `policy` asks, of which the rest follows: [`Queue::heard`] or [`Queue::settle`].
    pub fn asked(&mut self, now: Millis, lane: u32, policy: u32, ended: &Ended) {
        let Some(interned) = self.policies.get(policy) else { return };
        let told = Told::of(&interned.policy, ended, self.lanes.offline, false);
        self.hold(now, lane, told.hold);
    }

    /// Changes how lanes come back that failed: a page has come into view, or has gone.
    pub const fn set_comeback(&mut self, comeback: Comeback) {
        self.lanes.rules.ramp = comeback;
    }

    /// A task was enqueued in a lane, here or in its store: its user may expect that it is tried soon, so that a ramp that
    /// pauses lets an extra attempt go.
    pub fn visit(&mut self, now: Millis, lane: u32) {
        let now = self.timeline.advance(now);
        let Some(index) = self.live_lane(lane) else { return };
        if let Some(lane) = self.lanes.at_mut(index) {
            lane.visit(now);
        }
        self.lanes.refresh(index, now);
    }

    /// Lets one attempt of a lane go to see how its server does, whatever its breaker or its ramp still had to wait.
    fn hasten(&mut self, index: u32, now: Millis) {
        if let Some(lane) = self.lanes.at_mut(index) {
            lane.dark_until = Millis::ZERO;
            lane.gates.hasten(now);
        }
        self.lanes.refresh(index, now);
    }

    pub(super) fn live_lane(&self, handle: u32) -> Option<u32> {
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
