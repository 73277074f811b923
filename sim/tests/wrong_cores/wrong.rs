//! A core that is wrong in one way.

use std::sync::atomic::{AtomicU64, Ordering};

use redrive::breaker::Circuit;
use redrive::gates::Gates;
use redrive::policy::Policy;
use redrive::queue::{
    Action, Admission, Cancelled, Carry, Ended, Gate, GateStatus, Limits, Next, Past, Queue, Stats, Verdict,
    Wait,
};
use redrive::slots::NONE;
use redrive::task::Reason;
use redrive::time::Millis;
use sim::port::Core;

macro_rules! faults {
    ($($name:ident),* $(,)?) => {
        /// In which way.
        pub mod fault {
            #[allow(non_camel_case_types, clippy::upper_case_acronyms)]
            enum All { $($name),* }
            $(pub const $name: u8 = All::$name as u8;)*
        }
    };
}

faults!(
    GIVES_UP_EARLY,
    BELIEVES_SERVERS,
    LOSES_TASKS,
    MISCOUNTS_BYTES,
    STARTS_TWICE,
    STARTS_ANOTHER,
    EXCEEDS_THE_LIMIT,
    EXCEEDS_THE_LANES_LIMIT,
    TRIES_ONCE_MORE,
    IGNORES_CANCELS,
    IGNORES_PAUSES,
    IGNORES_THE_NETWORK,
    IGNORES_EXPIRY,
    STARTS_EARLY,
    IGNORES_RETRY_AFTER,
    IGNORES_HOLDS,
    MISCOUNTS_FLUSHES,
    WAITS_TOO_LONG,
    TAKES_ANSWERS_TWICE,
    MAKES_ROOM,
    HAS_ROOM_FOR_ONE_MORE,
    IGNORES_ORDERS,
    THROWS_ITS_OWN_DICE,
    NEVER_WAKES,
    WAKES_LATE,
    HOLDS_ALL,
    IGNORES_PRIORITIES,
    FORGETS_WHAT_WAS_CARRIED,
    KEEPS_REFUNDS_TO_ITSELF,
    REFUSES_LEASES,
    HAS_TOO_MUCH_ROOM,
    HEARS_OF_NO_HOLD,
    HAS_NO_BREAKER,
    OPENS_LATE,
    OPENS_TOO_SHORTLY,
    TAKES_BAD_LUCK_FOR_AN_OUTAGE,
    BELIEVES_STRAGGLERS,
    TAKES_OLD_FAILURES_FOR_NEW,
    PROBES_BESIDE_CALLERS,
    NEVER_IN_DOUBT,
    TELLS_NO_CHANGE,
    RETRIES_FOR_NOTHING,
    MINTS_TOKENS,
    ASKS_STORES_FOR_MORE,
    FORGETS_BREAKERS,
    NEVER_RESTS,
    SHOWS_ATTEMPTS_AS_WAITING,
    SHOWS_NO_ORDER,
    GOES_ON_AFTER_A_VETO,
    IGNORES_A_HOOK_THAT_INSISTS,
    LETS_A_HOOK_UNDERCUT_THE_SERVER,
    IGNORES_CHOSEN_WAITS,
    HOLDS_ALL_FOR_A_PARTITION,
    REFRESHES_TWICE,
    REFRESHES_FOR_NOTHING,
    TAKES_WORK_FOR_A_CONFLICT,
    HAS_NO_PATIENCE,
    ASKS_FOR_WHAT_IS_STORED,
);
use crate::told::told;
use fault::*;

static DICE: AtomicU64 = AtomicU64::new(0);

pub struct Wrong<const FAULT: u8> {
    inner: Queue,
    limits: Limits,
    slots: Vec<u32>,
    admitted: u32,
    online: bool,
    gates: Gates,
    /// Slots whose callers' own first attempts met a 401.
    refreshed: Vec<u32>,
}

impl<const FAULT: u8> Core for Wrong<FAULT> {
    fn create(mut limits: Limits, mut seed: u64) -> Self {
        let told = limits;
        match FAULT {
            EXCEEDS_THE_LIMIT => limits.concurrency += 1,
            EXCEEDS_THE_LANES_LIMIT => limits.per_lane += 1,
            HAS_ROOM_FOR_ONE_MORE => limits.capacity += 1,
            THROWS_ITS_OWN_DICE => seed ^= DICE.fetch_add(1, Ordering::Relaxed),
            _ => {}
        }
        Wrong {
            inner: Queue::new(limits, seed),
            limits: told,
            slots: Vec::new(),
            admitted: 0,
            online: true,
            gates: Gates::default(),
            refreshed: Vec::new(),
        }
    }

    fn intern(&mut self, policy: Policy) -> u32 {
        if FAULT == TRIES_ONCE_MORE {
            let options = redrive::policy::PolicyOptions {
                max_attempts: Some(f64::from(policy.max_attempts().min(99) + 1)),
                ..Default::default()
            };
            return self.inner.intern(Policy::new(&options).unwrap());
        }
        self.inner.intern(policy)
    }

    fn admit(&mut self, now: Millis, admission: &Admission) -> Option<u32> {
        let mut admission = *admission;
        match FAULT {
            IGNORES_EXPIRY => admission.expires_at = Millis::MAX,
            IGNORES_ORDERS if !admission.started => admission.order = NONE,
            IGNORES_PRIORITIES => admission.priority = 0,
            MISCOUNTS_BYTES => admission.bytes = admission.bytes.min(100),
            MAKES_ROOM if self.inner.depth() >= self.limits.capacity => {
                self.slots.iter().find(|slot| self.inner.cancel(**slot) == Cancelled::Done);
            }
            _ => {}
        }
        let slot = self.inner.admit(now, &admission)?;
        self.admitted += 1;
        if FAULT == LOSES_TASKS && self.admitted == 20 && !admission.started {
            self.inner.cancel(slot);
        }
        self.slots.push(slot);
        Some(slot)
    }

    fn poll(&mut self, now: Millis, actions: &mut Vec<Action>) {
        if FAULT == HOLDS_ALL
            && self.inner.stats(Millis::ZERO).lanes.iter().any(|lane| lane.held_until_at.is_some())
        {
            // Offline nothing starts, and what is late still ends.
            self.inner.set_online(now, false);
            self.inner.poll(now, actions);
            self.inner.set_online(now, self.online);
            return;
        }
        let early = if FAULT == STARTS_EARLY { now.plus(Millis::new(40)) } else { now };
        self.inner.poll(early, actions);
        match FAULT {
            TELLS_NO_CHANGE => actions.retain(|action| !matches!(action, Action::Circuit(..))),
            STARTS_TWICE => {
                let again = actions.iter().find(|action| matches!(action, Action::Start(_))).copied();
                actions.extend(again);
            }
            STARTS_ANOTHER => {
                if let Some(Action::Start(slot)) = actions.first_mut() {
                    *slot = self.slots[self.slots.len() / 2];
                }
            }
            GIVES_UP_EARLY => {
                if let Some(slot) = self.slots.pop()
                    && actions.len() < 10
                    && self.inner.cancel(slot) == Cancelled::Done
                {
                    actions.push(Action::End(slot, Reason::TotalBudget));
                }
            }
            _ => {}
        }
    }

    fn next(&mut self, now: Millis, slot: u32, ended: &Ended) -> Next {
        let told = told::<FAULT>(ended, self.refreshed.contains(&slot));
        let next = self.inner.next(now, slot, &told);
        let Next { verdict, mut carry, .. } = next;
        let verdict = match (FAULT, verdict) {
            (WAITS_TOO_LONG, Verdict::Retry { delay, wait, authorize }) if wait.curve > Millis::ZERO => {
                let more = wait.curve.plus(wait.curve).plus(Millis::new(10_000_000));
                Verdict::Retry { delay: delay.max(more), wait: Wait { curve: more, ..wait }, authorize }
            }
            // It says that it heard, and did not.
            (IGNORES_RETRY_AFTER, Verdict::Retry { wait, authorize, .. }) => {
                let wait = Wait { server: ended.server_delay.or(ended.rate_limit), ..wait };
                let delay = wait.curve.max(wait.server.unwrap_or_default()).plus(wait.spread);
                Verdict::Retry { delay, wait, authorize }
            }
            (REFRESHES_TWICE, Verdict::Retry { authorize: true, .. }) if !carry.refunded => {
                self.refreshed.push(slot);
                verdict
            }
            (REFRESHES_FOR_NOTHING, Verdict::Retry { delay, wait, .. }) if !carry.refunded => {
                Verdict::Retry { delay, wait, authorize: false }
            }
            (HAS_NO_PATIENCE, Verdict::Retry { wait, authorize, .. })
                if ended.status == 429 && wait.server.is_none() =>
            {
                let curve = Millis::new(wait.curve.get() / 8);
                Verdict::Retry { delay: curve, wait: Wait { curve, ..wait }, authorize }
            }
            (TAKES_ANSWERS_TWICE, Verdict::Stale) if ended.status == 200 => Verdict::Succeeded,
            (KEEPS_REFUNDS_TO_ITSELF, verdict) => {
                carry.refunded = false;
                verdict
            }
            (_, verdict) => verdict,
        };
        Next { verdict, carry, ..next }
    }

    fn adopt(&mut self, now: Millis, admission: &Admission, past: &Past) -> Option<u32> {
        let mut past = *past;
        match FAULT {
            FORGETS_WHAT_WAS_CARRIED => past.carry = Carry::default(),
            REFUSES_LEASES if self.inner.vacancies() == 0 => return None,
            _ => {}
        }
        self.inner.adopt(now, admission, &past)
    }

    fn room(&mut self, now: Millis, lane: u32) -> u32 {
        let room = self.inner.room(now, lane);
        match FAULT {
            HAS_TOO_MUCH_ROOM => room + 1,
            ASKS_STORES_FOR_MORE if self.gates.budget.is_some() && room == 0 => 1,
            _ => room,
        }
    }

    fn vacancies(&mut self) -> u32 {
        self.inner.vacancies()
    }

    fn hold(&mut self, now: Millis, lane: u32, wait: Millis) {
        if FAULT != HEARS_OF_NO_HOLD {
            self.inner.hold(now, lane, wait);
        }
    }

    fn cancel(&mut self, slot: u32) -> Cancelled {
        if FAULT == IGNORES_CANCELS && self.inner.due_at(slot).is_some() {
            return Cancelled::Done;
        }
        self.inner.cancel(slot)
    }

    fn pause(&mut self, lane: Option<u32>) {
        if FAULT != IGNORES_PAUSES {
            self.inner.pause(lane);
        }
    }

    fn set_online(&mut self, now: Millis, online: bool) {
        self.online = online;
        self.inner.set_online(now, online || FAULT == IGNORES_THE_NETWORK);
    }

    fn flush(&mut self, now: Millis, lane: Option<u32>) -> u32 {
        if FAULT == MISCOUNTS_FLUSHES {
            return 1 + self.inner.flush(now, lane);
        }
        self.inner.flush(now, lane)
    }

    fn wake_at(&mut self) -> Millis {
        match FAULT {
            NEVER_WAKES => Millis::MAX,
            NEVER_RESTS => Millis::ZERO,
            WAKES_LATE => self.inner.wake_at().plus(Millis::new(1)),
            _ => self.inner.wake_at(),
        }
    }

    fn set_gates(&mut self, gates: Gates) {
        let mut told = gates;
        if let Some(breaker) = &mut told.breaker {
            match FAULT {
                OPENS_LATE => breaker.after = breaker.after.plus(Millis::new(500)),
                OPENS_TOO_SHORTLY => {
                    (breaker.open, breaker.max_open) = (breaker.open.minus(Millis::new(90)), breaker.max_open)
                }
                TAKES_BAD_LUCK_FOR_AN_OUTAGE => breaker.fair_per_million = 900_000,
                _ => {}
            }
        }
        match FAULT {
            HAS_NO_BREAKER => told.breaker = None,
            RETRIES_FOR_NOTHING => told.budget = None,
            MINTS_TOKENS => {
                if let Some(budget) = &mut told.budget {
                    budget.per_second += budget.per_second / 10;
                }
            }
            _ => {}
        }
        self.gates = gates;
        self.inner.set_gates(told);
    }
    fn circuit(&mut self, lane: u32, now: Millis) -> Circuit {
        self.inner.circuit(lane, now)
    }
    fn admits(&mut self, now: Millis, lane: u32) -> bool {
        if FAULT == NEVER_IN_DOUBT && self.inner.circuit(lane, now) == Circuit::Open {
            return false;
        }
        let admitted = self.inner.admits(now, lane);
        FAULT == PROBES_BESIDE_CALLERS || admitted
    }
    fn heard(&mut self, now: Millis, lane: u32, policy: u32, began: Millis, ended: &Ended) {
        let began = if FAULT == BELIEVES_STRAGGLERS { now } else { began };
        let duration = if FAULT == TAKES_OLD_FAILURES_FOR_NEW { None } else { ended.duration };
        self.inner.heard(now, lane, policy, began, &Ended { duration, ..*ended });
    }
    fn visit(&mut self, now: Millis, lane: u32) {
        self.inner.visit(now, lane);
    }
    fn shut_until(&mut self, now: Millis, lane: u32) -> Option<Millis> {
        self.inner.shut_until(now, lane)
    }
    fn bytes(&mut self) -> u64 {
        self.inner.bytes()
    }
    fn release(&mut self, policy: u32) {
        self.inner.release(policy);
    }
    fn open_lane(&mut self) -> u32 {
        self.inner.open_lane()
    }
    fn drop_lane(&mut self, lane: u32) -> bool {
        if FAULT == FORGETS_BREAKERS {
            let rules = self.gates.breaker;
            self.inner.set_gates(Gates::default());
            let dropped = self.inner.drop_lane(lane);
            self.inner.set_gates(Gates { breaker: rules, ..self.gates });
            return dropped;
        }
        self.inner.drop_lane(lane)
    }
    fn open_order(&mut self) -> u32 {
        self.inner.open_order()
    }
    fn drop_order(&mut self, order: u32) -> bool {
        self.inner.drop_order(order)
    }
    fn resume(&mut self, now: Millis, lane: Option<u32>) {
        self.inner.resume(now, lane);
    }
    fn next_due_at(&mut self) -> Millis {
        self.inner.next_due_at()
    }
    fn due_at(&mut self, slot: u32) -> Option<Millis> {
        self.inner.due_at(slot)
    }
    fn attempts(&mut self, slot: u32) -> u32 {
        self.inner.attempts(slot)
    }
    fn lane_of(&mut self, slot: u32) -> Option<u32> {
        self.inner.lane_of(slot)
    }
    fn held_until(&mut self, lane: u32, now: Millis) -> Option<Millis> {
        self.inner.held_until(lane, now)
    }
    fn gate_status(&mut self, slot: u32) -> Option<GateStatus> {
        let status = self.inner.gate_status(slot)?;
        let gate = match (FAULT, status.gate) {
            (SHOWS_ATTEMPTS_AS_WAITING, Gate::InFlight) | (SHOWS_NO_ORDER, Gate::Behind) => Gate::Due,
            (_, gate) => gate,
        };
        Some(GateStatus { gate, ..status })
    }
    fn depth(&mut self) -> u32 {
        self.inner.depth()
    }
    fn in_flight(&mut self) -> u32 {
        self.inner.in_flight()
    }
    fn stats(&mut self, now: Millis) -> Stats {
        self.inner.stats(now)
    }
}
