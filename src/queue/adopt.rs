//! Tasks that a store keeps, and leases to this queue for one attempt each.
//!
//! While such a task waits it is not here: its store owns due time, order, attempts, deadline and the
//! limits over all processes, and a value with two owners would have two truths. So a lease brings the
//! task in flight already, whatever the limits here say, and the verdict on its attempt sends it back
//! with what the core wants to know again next time. [`Queue::room`] and [`Queue::vacancies`] say
//! before the claim how much to ask the store for.
#![forbid(unsafe_code)]

use super::lanes::Lane;
use super::task::{Attempts, Refunds, State, Task};
use super::{Admission, Queue};
use crate::outcome::{Flags, Reason};
use crate::slots::{NONE, index_of};
use crate::time::Millis;

/// The numbers that the core wants back with the next lease of a task, and those that its store has to know.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Carry {
    /// Position in the window of spread waits; `None` as long as none was needed.
    pub phase: Option<u32>,
    /// The last wait of the curve; zero if there was none.
    pub previous_delay: Millis,
    /// Notes of the queue's own: bit 0, the last attempt met a 401; bits 1 and 2, how many attempts
    /// were given back for one; bit 3, an attempt had no answer of its origin's; bit 4, one met the replay of a failure.
    pub marks: u32,
    /// The attempt was given back.
    pub refunded: bool,
    /// How much of the wait is the server's, its spread included: nothing undercuts it.
    pub server_wait: Millis,
    /// The wait that the answer asked of the whole lane, whatever becomes of the task: its store limits that by itself.
    pub hold: Millis,
}

impl Carry {
    /// The bit of [`Carry::marks`] that says: the last attempt met a 401.
    pub const UNAUTHORIZED: u32 = 1;
    const UNAUTHORIZED_REFUNDS: u32 = 1;
    /// The bit of [`Carry::marks`] that says: an attempt met the replay of a failure.
    const REPLAYED: u32 = 16;
    /// The bit of [`Carry::marks`] that says: an attempt had no answer of its origin's. A store sets it for one that its process took along.
    pub const UNANSWERED: u32 = 8;
    /// The bit of [`Carry::marks`] that says: a redirect has answered the request, so the GET that it made of it is all that is
    /// sent. No ruling depends on it: it is set and read where requests are sent.
    pub const SEE_OTHER: u32 = 32;

    /// The carry of a task whose attempt was judged at `now`; before, it had made `attempts`.
    pub(super) fn of(task: &Task, now: Millis, attempts: u32) -> Carry {
        let unauthorized = u32::from(task.flags.contains(Flags::UNAUTHORIZED));
        Carry {
            phase: task.flags.contains(Flags::PHASED).then_some(task.phase),
            previous_delay: task.previous_delay.get(),
            marks: unauthorized
                | u32::from(task.refunds.unauthorized()) << Carry::UNAUTHORIZED_REFUNDS
                | if task.refunds.unanswered() { Carry::UNANSWERED } else { 0 }
                | if task.attempts.replayed() { Carry::REPLAYED } else { 0 },
            refunded: task.attempts.count() < attempts,
            server_wait: task.not_before.get().minus(now),
            hold: Millis::ZERO,
        }
    }

    fn flags(&self) -> Flags {
        let phased = if self.phase.is_some() { Flags::PHASED } else { Flags::default() };
        if self.marks & Carry::UNAUTHORIZED != 0 { phased.with(Flags::UNAUTHORIZED) } else { phased }
    }

    const fn unauthorized_refunds(&self) -> u8 {
        ((self.marks >> Carry::UNAUTHORIZED_REFUNDS) & 3) as u8
    }
}

/// The history of a task before this lease.
#[derive(Clone, Copy, Debug)]
pub struct Past {
    /// When the server may have seen the key first; [`Millis::MAX`] if that is not known, or never.
    pub first_attempt_at: Millis,
    /// When its store ends it, and why, where the store says so: one instant of the three that end a task, in place of what else is said of it.
    pub deadline: Option<(Millis, Reason)>,
    /// Attempts made and not given back, this one included.
    pub attempts: u32,
    /// Attempts given back; at most 31 count.
    pub refunds: u32,
    /// From the last verdict on it. Whether that attempt was given back and how long the server
    /// wanted to wait is over and has no say.
    pub carry: Carry,
}

impl Queue {
    /// Takes a task that its store has leased to this queue and gives its handle. It is in flight at
    /// once, whatever limits, holds and pauses say, since the store has decided; or `started`, and
    /// [`Queue::settle`] follows at once. It counts among the attempts that run and not against the
    /// capacity, and its `order` has no say. `None`: there is no such lane or policy, or four million
    /// tasks are here.
    pub fn adopt(&mut self, now: Millis, admission: &Admission, past: &Past) -> Option<u32> {
        let now = self.timeline.advance(now);
        self.lanes.slots.get(admission.lane)?;
        let rules = &self.policies.get(admission.policy)?.policy;
        let base = rules.first_previous();
        let (lane, policy) = (index_of(admission.lane), index_of(admission.policy));
        let (mut created_at, mut expires_at, mut first_attempt_at) =
            (admission.created_at, admission.expires_at, past.first_attempt_at);
        // It is watched as what it is, so that its end has its name.
        match past.deadline {
            Some((at, Reason::TotalBudget)) => created_at = at.minus(rules.total_budget()),
            Some((at, Reason::KeyExpired)) => first_attempt_at = at.minus(rules.key_ttl()),
            Some((at, Reason::Expired)) => expires_at = at,
            _ => {}
        }
        let carry = &past.carry;
        let slot = self.tasks.insert(Task {
            created_at: self.timeline.inward(created_at).into(),
            first_attempt_at: self.timeline.inward(first_attempt_at).into(),
            expires_at: self.timeline.inward(expires_at).into(),
            wait_until: self.timeline.inward(admission.wait_until).into(),
            not_before: self.began(now, admission).into(),
            due: now.into(),
            // Decorrelated jitter that set out from nothing would not spread the first wait.
            previous_delay: if carry.previous_delay == Millis::ZERO { base } else { carry.previous_delay }
                .into(),
            // Counted by its store: `forget` takes none of them off.
            bytes: u32::try_from(admission.bytes).unwrap_or(u32::MAX),
            lane: lane.into(),
            policy: policy.into(),
            order: NONE.into(),
            priority: admission.priority,
            phase: carry.phase.unwrap_or(0),
            flags: admission.flags.with(Flags::LEASED).with(carry.flags()),
            attempts: Attempts::new(past.attempts).with_replayed(carry.marks & Carry::REPLAYED != 0),
            refunds: Refunds::new(
                u8::try_from(past.refunds).unwrap_or(u8::MAX),
                carry.unauthorized_refunds(),
            )
            .with_unanswered(carry.marks & Carry::UNANSWERED != 0),
            state: State::Started,
        })?;
        if let Some(interned) = self.policies.at_mut(policy) {
            interned.uses = interned.uses.saturating_add(1);
        }
        self.leased = self.leased.saturating_add(1);
        if let Some(found) = self.lanes.at_mut(lane) {
            found.leased = found.leased.saturating_add(1);
        }
        if !admission.started {
            self.pass_gates(index_of(slot), now, past.attempts > 1);
        }
        self.enter(index_of(slot), if admission.started { State::Started } else { State::InFlight });
        self.lanes.refresh(lane, now);
        Some(slot)
    }

    /// How many more attempts of the queue may start in a lane, as far as the lane has a say: its
    /// pause, breaker, retry budget, rate, limit, a hold that its store does not know of, and at most one while it probes.
    pub fn room(&self, now: Millis, lane: u32) -> u32 {
        let now = self.at(now);
        let room = |lane: &Lane| {
            lane.stored_room(now, self.lanes.limit()).min(lane.gates.retries(&self.lanes.rules, now))
        };
        self.lanes.slots.get(lane).map_or(0, room)
    }

    /// How many first attempts of tasks may start in a lane, as far as it has a say: they cost nothing, so they need not wait for
    /// tokens as the store's retries do.
    pub fn room_for_first(&self, now: Millis, lane: u32) -> u32 {
        let now = self.at(now);
        self.lanes.slots.get(lane).map_or(0, |lane| lane.room(now, self.lanes.limit()))
    }

    /// Whether the next attempt of a lane is to show how its server does: of the first [`super::LOOKED_AT`] due tasks of the store the
    /// one with the fewest attempts is to make it, as of those that are here.
    pub fn tries_out(&self, now: Millis, lane: u32) -> bool {
        let now = self.at(now);
        self.lanes.slots.get(lane).is_some_and(|lane| lane.gates.tries_out(now))
    }

    /// Until when a lane starts nothing of a store's for its breaker, an empty budget, its rate or a hold that its
    /// store does not know of; `None`: as far as the clock decides, it does.
    pub fn shut_until(&self, now: Millis, lane: u32) -> Option<Millis> {
        let now = self.at(now);
        let lane = self.lanes.slots.get(lane)?;
        let held = lane.hold.unshared_until().max(lane.dark_until);
        let until = held.max(lane.gates_until(now)).max(lane.gates.pays_at(&self.lanes.rules, now));
        let until = until.max(lane.bucket.opens_at(now));
        (until > now).then(|| self.timeline.outward(until))
    }

    /// The queue's time at `now`, unless it has heard of a later one.
    #[inline(never)]
    pub(super) fn at(&self, now: Millis) -> Millis {
        self.timeline.inward(now).max(self.timeline.now())
    }

    /// How many more may start over all lanes: none in a pause of everything.
    pub const fn vacancies(&self) -> u32 {
        if self.paused {
            return 0;
        }
        self.limits.concurrency.saturating_sub(self.running())
    }
}
