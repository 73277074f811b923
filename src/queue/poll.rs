//! The actions due now: tasks to start, and tasks that have ended without another attempt.
#![forbid(unsafe_code)]

use super::Queue;
use super::fifo::from_here;
use super::task::{LEAST_LEFT, State};
use crate::gates::Notice;
use crate::gates::breaker::{Change, Circuit};
use crate::outcome::{Flags, Reason};
use crate::slots::index_of;
use crate::time::Millis;
use crate::wait::backoff;

/// Most actions of one [`Queue::poll`].
pub const BATCH: usize = 256;

/// A policy without waits would have an empty retry budget asked a thousand times a second.
const PUT_OFF_AT_LEAST: Millis = Millis::new(100);

/// For so long a task is put off by its next delay and no more.
const PUT_OFF_OFTEN: Millis = Millis::new(60_000);

/// Ready tasks of a lane, of which the one with the fewest attempts tries its server out.
pub const LOOKED_AT: usize = 128;

/// Something the host has to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Make an attempt for this slot. It counts already, and [`Queue::settle`] must follow.
    Start(u32),
    /// The task of this slot has ended; the slot is free.
    End(u32, Reason),
    /// The caller at the door with this handle may send its first attempt; the handle is free.
    LetIn(u32),
    /// The breaker of this lane has changed its state.
    Circuit(u32, Change),
    /// In this lane so many tasks failed for the first time for each success lately that it is a retry storm.
    Storm(u32, u32),
}

impl Queue {
    /// Replaces `actions` with what to do at `now`, at most [`BATCH`] at a time: while it is
    /// full, ask again.
    ///
    /// What must not start any more ends before anything starts; what may start now for the last
    /// time and does not, ends after. Whose turn it is in an order because another has ended may
    /// start at once.
    pub fn poll(&mut self, now: Millis, actions: &mut Vec<Action>) {
        let now = self.timeline.advance(now);
        actions.clear();
        self.lanes.end_holds(now);
        // A round that ends or starts something may have given another its turn.
        let mut before = usize::MAX;
        while actions.len() < BATCH && actions.len() != before {
            before = actions.len();
            self.end_what_is_late(now, actions);
            self.tell(actions);
            self.let_in(now, actions);
            self.start(now, actions);
            let room = BATCH.saturating_sub(actions.len());
            let mut chances = std::mem::take(&mut self.last_chances);
            for slot in chances.drain(..room.min(chances.len())) {
                self.miss_last_chance(slot, now, actions);
            }
            self.last_chances = chances;
        }
    }

    /// Adds the news of the lanes.
    fn tell(&mut self, actions: &mut Vec<Action>) {
        let room = BATCH.saturating_sub(actions.len()).min(self.lanes.notices.len());
        let mut opened = Vec::new();
        for (index, notice) in self.lanes.notices.drain(..room) {
            let lane = self.lanes.slots.handle(index);
            actions.push(match notice {
                Notice::Circuit(change) => {
                    if change.1 == Circuit::Open {
                        opened.push(index);
                    }
                    Action::Circuit(lane, change)
                }
                Notice::Storm(tasks_per_success) => Action::Storm(lane, tasks_per_success),
            });
        }
        for lane in opened {
            self.turn_away(lane);
        }
    }

    /// Brings the deadlines of those forward that wait in a lane whose breaker has opened, while their callers wait for an answer.
    fn turn_away(&mut self, lane: u32) {
        for index in 0..self.tasks.end() {
            let Some(task) = self.tasks.at(index) else { continue };
            if task.lane.get() != lane || !self.is_turned_away(task) {
                continue;
            }
            match task.state {
                State::Waiting => {
                    self.detach(index);
                    self.hold_back(index, State::Ready);
                }
                _ => self.schedule(index, Millis::ZERO),
            }
        }
    }

    /// Makes ready what is due and ends what is late, until neither leaves any.
    fn end_what_is_late(&mut self, now: Millis, actions: &mut Vec<Action>) {
        loop {
            if let Some(index) = self.agendas.pop_due(now) {
                self.detach(index);
                self.hold_back(index, State::Ready);
                if let Some(task) = self.tasks.at(index) {
                    self.lanes.refresh(task.lane.get(), now);
                }
            } else if actions.len() < BATCH
                && let Some(index) = self.agendas.pop_late(now)
            {
                self.meet_deadline(index, now, actions);
            } else {
                return;
            }
        }
    }

    /// Starts what the limits allow.
    fn start(&mut self, now: Millis, actions: &mut Vec<Action>) {
        while actions.len() < BATCH
            && self.may_start()
            && let Some(lane) = self.lanes.front()
        {
            let started = self.in_flight;
            self.start_next(lane, now, actions);
            if self.in_flight == started {
                // It ended instead, and whose turn that makes it may be more urgent than all others.
                self.end_what_is_late(now, actions);
            }
        }
    }

    /// Whether the limits over all lanes allow another attempt.
    pub(super) const fn may_start(&self) -> bool {
        self.vacancies() > 0
    }

    /// Whether the next poll starts or ends something whatever the time.
    pub(super) fn has_work(&self) -> bool {
        !self.last_chances.is_empty()
            || !self.lanes.notices.is_empty()
            || self.lanes.front_door().is_some()
            || (self.may_start() && self.lanes.front().is_some())
    }

    /// `index` has just left the agenda of deadlines. Its deadline may have moved meanwhile,
    /// since the lane learns how long its calls take.
    fn meet_deadline(&mut self, index: u32, now: Millis, actions: &mut Vec<Action>) {
        let last_start = self.last_start(index);
        if last_start > now {
            self.schedule(index, last_start);
        } else if last_start == now {
            self.last_chances.push(self.tasks.handle(index));
        } else {
            self.give_up(index, now, actions);
        }
    }

    fn miss_last_chance(&mut self, slot: u32, now: Millis, actions: &mut Vec<Action>) {
        let waits = self
            .tasks
            .get(slot)
            .is_some_and(|task| !matches!(task.state, State::Waiting | State::InFlight | State::Started));
        let index = index_of(slot);
        // It may have been started and come back meanwhile: then its deadline is watched anew.
        if !waits || self.agendas.contains(index) {
            return;
        }
        // From the next millisecond on no attempt may start: that is why it ends.
        let after = now.plus(Millis::new(1));
        if self.refusal(index, after).is_some() {
            self.give_up(index, after, actions);
        } else {
            self.schedule(index, self.last_start(index));
        }
    }

    /// Ends a task that may not start at `start`.
    fn give_up(&mut self, index: u32, start: Millis, actions: &mut Vec<Action>) {
        let reason = self.refusal(index, start).unwrap_or(Reason::TotalBudget);
        self.end(index, reason, actions);
    }

    pub(super) fn end(&mut self, index: u32, reason: Reason, actions: &mut Vec<Action>) {
        actions.push(Action::End(self.tasks.handle(index), reason));
        self.detach(index);
        self.forget(index);
    }

    /// The ready task of a lane whose turn it is. Where one attempt is to show how the server does, it is the one with the fewest
    /// attempts: a task that fails while all others succeed would answer for all that wait behind it.
    pub(super) fn next_of(&self, lane_index: u32, now: Millis) -> Option<u32> {
        let lane = self.lanes.at(lane_index)?;
        let (_, first) = lane.ready.front()?;
        if !lane.gates.tries_out(now) {
            return Some(first);
        }
        let attempts = |index: &u32| self.tasks.at(*index).map_or(u32::MAX, |task| task.attempts.count());
        from_here(&self.links, first).take(LOOKED_AT).min_by_key(attempts)
    }

    /// Leads the ready task of a lane whose turn it is, and which is in line, through the gates.
    fn start_next(&mut self, lane_index: u32, now: Millis, actions: &mut Vec<Action>) {
        let Some(index) = self.next_of(lane_index, now) else { return };
        // Deadline and attempts. Both were asked when the wait was chosen, and deadlines end tasks by
        // themselves; but calls that take longer than they did bring a deadline forward unnoticed.
        if let Some(reason) = self.refusal(index, now) {
            return self.end(index, reason, actions);
        }
        if self.has_no_attempt_left(index) {
            return self.end(index, Reason::MaxAttempts, actions);
        }
        // The lane's hold, breaker and limit kept it out of the line; the budget is asked last,
        // because asking takes from it.
        let is_retry = self.tasks.at(index).is_some_and(|task| task.attempts.count() > 0);
        if !self.pass_gates(index, now, is_retry) {
            return self.put_off(index, now);
        }
        self.detach(index);
        self.enter(index, State::InFlight);
        if let Some(task) = self.tasks.at_mut(index) {
            task.attempts = task.attempts.with_one();
            task.not_before = now.into();
        }
        self.lanes.rotate(lane_index, now);
        actions.push(Action::Start(self.tasks.handle(index)));
    }

    /// An attempt takes its place as the probe, if its lane is half-open, or pays as a retry. Whether it could pay.
    pub(super) fn pass_gates(&mut self, index: u32, now: Millis, is_retry: bool) -> bool {
        let Some(task) = self.tasks.at_mut(index) else { return false };
        self.lanes.look(task.lane.get(), now);
        let Some(lane) = self.lanes.slots.at_mut(task.lane.get()) else { return false };
        let paid = if is_retry { lane.gates.pay(&self.lanes.rules, now) } else { None };
        lane.gates.breaker.start();
        if lane.gates.ramp.is_on() {
            lane.gates.ramp.start(now, self.rng.next_u32());
        }
        let flags = task.flags.without(Flags::BUDGET);
        task.flags = if paid == Some(true) { flags.with(Flags::BUDGET) } else { flags };
        paid != Some(false)
    }

    fn has_no_attempt_left(&self, index: u32) -> bool {
        self.tasks.at(index).is_some_and(|task| {
            self.policies.at(task.policy.get()).is_none_or(|interned| task.is_spent(&interned.policy))
        })
    }

    /// The retry budget is empty: it waits once more without having failed once more, but not past the last moment at
    /// which it may start.
    fn put_off(&mut self, index: u32, now: Millis) {
        let r32 = self.rng.next_u32();
        let Some(task) = self.tasks.at(index) else { return };
        let Some(interned) = self.policies.at(task.policy.get()) else { return };
        let n = task.attempts.count().max(1);
        let draw = backoff::Draw { r32, phase: task.phase, previous: Some(task.previous_delay.get()) };
        // Past the first minute half to all of what it has waited since: who waits for hours is not asked every second.
        let long = now.minus(task.not_before.get()).minus(PUT_OFF_OFTEN).min(interned.policy.cap()).get();
        let chance = long.saturating_mul(u64::from(r32)) >> 33;
        let waited = Millis::new((long / 2).saturating_add(chance));
        let delay = backoff::delay(&interned.policy, n, draw).max(PUT_OFF_AT_LEAST).max(waited);
        let last = self.last_start(index).min(task.leaves(LEAST_LEFT));
        let due = now.plus(delay).min(last).max(now.plus(Millis::new(1)));
        self.detach(index);
        self.wait(index, due);
        if let Some(task) = self.tasks.at_mut(index) {
            task.flags = task.flags.with(Flags::BUDGET);
        }
    }
}
