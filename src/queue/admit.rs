//! Policies, lanes, orders and tasks: how they come into a queue, and how they are taken out by hand.
#![forbid(unsafe_code)]

use super::task::{Attempts, Refunds, State, Task};
use super::{Interned, Queue};
use crate::http::classify::{self, Beside, Class};
use crate::numbered::numbered;
use crate::outcome::{Flags, Outcome, Reason};
use crate::policy::Policy;
use crate::slots::{NONE, index_of};
use crate::time::Millis;

/// A task on its way in. Instants are epoch milliseconds; [`Millis::MAX`] is never.
#[derive(Clone, Copy, Debug)]
pub struct Admission {
    /// Handle of its lane.
    pub lane: u32,
    /// Handle of its policy.
    pub policy: u32,
    /// Higher first among due tasks.
    pub priority: i32,
    /// Size of its body.
    pub bytes: u64,
    /// Facts about the request.
    pub flags: Flags,
    /// When the caller asked for it: the budget counts from here.
    pub created_at: Millis,
    /// No attempt starts after it.
    pub expires_at: Millis,
    /// How long the caller waits for the next attempt to start.
    pub wait_until: Millis,
    /// Handle of its order: it starts when all tasks admitted to it before have ended. [`NONE`]
    /// if it is in none.
    pub order: u32,
    /// The caller's own first attempt has just ended, and [`Queue::settle`] follows at once.
    pub started: bool,
    /// When that attempt began: a caller may have waited for it. Before `created_at`: at that. Of a task that has none, and goes back: when
    /// the server may have seen its key first; zero if that is not known, or never.
    pub began: Millis,
}

numbered! {
    /// The effect of [`Queue::cancel`].
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum Cancelled {
        /// There is no such task.
        Gone = 0,
        /// The task waited, and is no more.
        Done = 1,
        /// An attempt runs: a success still counts, anything else cancels it.
        Requested = 2,
    }
}

impl Queue {
    /// Keeps a policy and gives its handle; an equal one is kept once. [`NONE`] if four million
    /// different ones are kept already.
    pub fn intern(&mut self, policy: Policy) -> u32 {
        let policy = Box::new(policy);
        for index in 0..self.policies.end() {
            if let Some(interned) = self.policies.at_mut(index).filter(|interned| interned.policy == policy) {
                interned.uses = interned.uses.saturating_add(1);
                return self.policies.handle(index);
            }
        }
        self.policies.insert(Interned { policy, uses: 1 }).unwrap_or(NONE)
    }

    /// Takes back one [`Queue::intern`]. The policy goes when no task uses it any more.
    pub fn release(&mut self, policy: u32) {
        if self.policies.get(policy).is_some() {
            self.drop_use(index_of(policy));
        }
    }

    /// Opens a lane and gives its handle; [`NONE`] if there are four million.
    pub fn open_lane(&mut self) -> u32 {
        self.lanes.open(self.timeline.now()).unwrap_or(NONE)
    }

    /// Forgets a lane, if nothing waits, runs or is held there, its breaker has heard of nothing lately and its
    /// retry budget is full; and not before a poll has reported all news.
    pub fn drop_lane(&mut self, lane: u32) -> bool {
        let now = self.timeline.now();
        let idle = self.lanes.slots.get(lane).is_some_and(|lane| lane.is_idle(&self.lanes.rules, now));
        idle && self.lanes.notices.is_empty() && self.lanes.slots.remove(lane).is_some()
    }

    /// The meaning of one finished call for a task under `policy`; a stale handle takes nothing
    /// for a failure worth another attempt.
    pub fn classify(
        &self,
        policy: u32,
        outcome: Outcome,
        status: u32,
        flags: Flags,
        beside: Beside,
    ) -> Class {
        match self.policies.get(policy) {
            Some(interned) => classify::classify(&interned.policy, outcome, status, flags, beside),
            None => Class::Fail(Reason::NotRetryable),
        }
    }

    /// Opens an order, whose tasks run one after another, and gives its handle; [`NONE`] if
    /// there are four million.
    pub fn open_order(&mut self) -> u32 {
        self.orders.open()
    }

    /// Forgets an order, if no task is in it.
    pub fn drop_order(&mut self, order: u32) -> bool {
        self.orders.close(order)
    }

    /// Hears how many tasks that were given up the host keeps, and how large their bodies are. They take room from the next
    /// admission on, so that what was accepted need not make way for what comes.
    pub const fn keep_dead(&mut self, count: u32, bytes: u64) {
        self.dead = count;
        self.dead_bytes = bytes;
    }

    /// Takes a task and gives its handle. `None`: the queue is full, or the lane, policy or order
    /// is not there; nothing was kept and nothing else was dropped for it.
    ///
    /// Nor is a task taken into an order with its first attempt made: the caller did not
    /// wait for the others, so its outcome could not be reported in order.
    pub fn admit(&mut self, now: Millis, admission: &Admission) -> Option<u32> {
        self.admit_as(now, admission, State::Waiting)
    }

    /// [`Queue::admit`], or as a caller at the door.
    pub(super) fn admit_as(&mut self, now: Millis, admission: &Admission, state: State) -> Option<u32> {
        let now = self.timeline.advance(now);
        let body = u32::try_from(admission.bytes).unwrap_or(u32::MAX);
        let bytes = self.bytes.saturating_add(u64::from(body));
        if self.depth().saturating_add(self.at_door).saturating_add(self.dead) >= self.limits.capacity
            || bytes.saturating_add(self.dead_bytes) > self.limits.capacity_bytes
        {
            return None;
        }
        self.lanes.slots.get(admission.lane)?;
        let mut order = NONE;
        if admission.order != NONE {
            if admission.started || !self.orders.is_open(admission.order) {
                return None;
            }
            order = index_of(admission.order);
        }
        let previous_delay = self.policies.get(admission.policy)?.policy.first_previous();
        let created_at = self.timeline.inward(admission.created_at);
        let is_seen = !admission.started && admission.began > Millis::ZERO;
        let first_attempt_at = if is_seen { self.timeline.inward(admission.began) } else { Millis::MAX };
        let slot = self.tasks.insert(Task {
            created_at: created_at.into(),
            first_attempt_at: first_attempt_at.into(),
            expires_at: self.timeline.inward(admission.expires_at).into(),
            wait_until: self.timeline.inward(admission.wait_until).into(),
            not_before: self.began(now, admission).into(),
            due: now.into(),
            previous_delay: previous_delay.into(),
            bytes: body,
            lane: index_of(admission.lane).into(),
            policy: index_of(admission.policy).into(),
            order: order.into(),
            priority: admission.priority,
            phase: 0,
            flags: admission.flags,
            attempts: Attempts::new(u32::from(admission.started)),
            refunds: Refunds::default(),
            state: State::Started,
        })?;
        self.bytes = bytes;
        if let Some(interned) = self.policies.at_mut(index_of(admission.policy)) {
            interned.uses = interned.uses.saturating_add(1);
        }
        let index = index_of(slot);
        if admission.started {
            self.enter(index, State::Started);
        } else if state == State::AtDoor {
            self.hold_back(index, state);
            self.lanes.refresh(index_of(admission.lane), now);
        } else if self.orders.lead(order, index) {
            self.wait(index, now);
        } else {
            self.hold_back(index, State::Behind);
        }
        Some(slot)
    }

    /// When the attempt of a task that comes in began.
    pub(super) fn began(&self, now: Millis, admission: &Admission) -> Millis {
        let began = self.timeline.inward(admission.began.max(admission.created_at));
        if admission.started { began.min(now) } else { now }
    }

    /// Hears that the caller of a task waits no longer: from now on the task is under `policy`, and no wait ends it. When it is due
    /// stays as it is. A stale handle changes nothing.
    pub fn hand_over(&mut self, slot: u32, policy: u32) {
        if self.tasks.get(slot).is_none() || self.policies.get(policy).is_none() {
            return;
        }
        if let Some(interned) = self.policies.at_mut(index_of(policy)) {
            interned.uses = interned.uses.saturating_add(1);
        }
        if let Some(task) = self.tasks.at_mut(index_of(slot)) {
            task.wait_until = Millis::MAX.into();
            let before = std::mem::replace(&mut task.policy, index_of(policy).into());
            self.drop_use(before.get());
        }
    }

    /// Ends a task that waits, or asks for the end of one in flight.
    pub fn cancel(&mut self, slot: u32) -> Cancelled {
        let Some(state) = self.tasks.get(slot).map(|task| task.state) else { return Cancelled::Gone };
        let index = index_of(slot);
        if matches!(state, State::InFlight | State::Started) {
            if let Some(task) = self.tasks.at_mut(index) {
                task.flags = task.flags.with(Flags::CANCEL_REQUESTED);
            }
            return Cancelled::Requested;
        }
        self.detach(index);
        self.forget(index);
        Cancelled::Done
    }
}
