//! Tasks that a store leases to both queues, and what it and others have learned of a lane.

use redrive::queue::{Admission, Carry, Past};
use redrive::slots::NONE;
use redrive::task::Flags;
use redrive::time::Millis;

use super::Pair;
use super::naive::{Naive, State, Task};
use super::story::Adoption;

impl Task {
    /// What a store has to keep of a task just judged, of which `attempts` had been counted before.
    pub fn carry(&self, now: u64, attempts: u32) -> Carry {
        Carry {
            phase: self.phase,
            previous_delay: Millis::new(self.previous),
            marks: u32::from(self.last_was_401)
                + 2 * self.refunds_401
                + 8 * u32::from(self.unanswered)
                + 16 * u32::from(self.replayed),
            refunded: self.attempts < attempts,
            server_wait: Millis::new(self.not_before - now),
            hold: Millis::ZERO,
        }
    }
}

impl Naive {
    /// How many more attempts a lane lets start.
    pub fn room(&self, lane: usize, now: u64) -> u32 {
        if self.lanes[lane].held_until > now { 0 } else { self.stored_room(lane, now) }
    }

    /// How many more of a store's tasks: a hold that the store knows of is the store's to keep.
    pub fn stored_room(&self, lane: usize, now: u64) -> u32 {
        let row = &self.lanes[lane];
        let limit = if row.probing { 1 } else { self.per_lane() };
        let held = row.held_until > now && !row.shared;
        let shut = row.paused || held || row.dark_until > now;
        if shut { 0 } else { limit.saturating_sub(self.in_flight(Some(lane))) }
    }

    /// Attempts that a lane runs at most: offline one, to see whether that is so.
    pub fn per_lane(&self) -> u32 {
        if self.offline { 1 } else { self.limits.per_lane }
    }

    /// How many more all lanes together do.
    pub fn vacancies(&self) -> u32 {
        if self.paused { 0 } else { self.limits.concurrency.saturating_sub(self.in_flight(None)) }
    }
}

impl Pair {
    pub fn adopt(&mut self, adoption: &Adoption) {
        let &Adoption { lane, policy, flags, started, bytes, .. } = adoption;
        let now = self.time();
        let until = |ms: Option<u64>| ms.map_or(Millis::MAX, |ms| Millis::new(self.clock + ms));
        let first_attempt_at =
            adoption.sent.map_or(Millis::MAX, |ms| Millis::new(self.clock.saturating_sub(ms)));
        let admission = Admission {
            lane: self.naive.lanes[lane].handle,
            policy: self.policies[policy],
            priority: 0,
            bytes,
            flags: Flags::from_bits(flags),
            created_at: self.wall(),
            expires_at: until(adoption.lives),
            wait_until: until(adoption.waits),
            order: NONE,
            started,
            began: Millis::ZERO,
        };
        let previous_delay = Millis::new(adoption.previous);
        let (attempts, refunds, marks) = (adoption.attempts, adoption.refunds, adoption.marks);
        let carry = Carry { phase: adoption.phase, previous_delay, marks, ..Carry::default() };
        let past = Past { first_attempt_at, deadline: None, attempts, refunds, carry };
        let slot = self.queue.adopt(self.wall(), &admission, &past).expect("a store's word goes");
        self.trace.push(format!("{slot}"));
        assert!(self.naive.find(slot).is_none(), "S3: {slot} is in use");
        let inward = |at: Millis| self.timeline.inward(at).get();
        let created_at = inward(admission.created_at);
        self.naive.admitted += 1;
        let base = self.naive.policies[policy].first_previous().get();
        self.naive.tasks.push(Task {
            slot,
            lane,
            policy,
            order: None,
            priority: 0,
            bytes,
            flags: admission.flags,
            created_at,
            started_at: if started { created_at } else { now },
            first_attempt_at: adoption.sent.map(|_| inward(first_attempt_at)),
            expires_at: inward(admission.expires_at),
            wait_until: inward(admission.wait_until),
            due: now,
            not_before: now,
            attempts,
            refunds,
            refunds_401: (marks / 2) % 4,
            unanswered: (marks / 8) % 2 == 1,
            replayed: (marks / 16) % 2 == 1,
            last_was_401: !marks.is_multiple_of(2),
            phase: adoption.phase,
            previous: if adoption.previous == 0 { base } else { adoption.previous },
            cancelled: false,
            leased: true,
            state: State::Started,
            changed: 0,
        });
        let at = self.naive.tasks.len() - 1;
        self.naive.change(at, if started { State::Started } else { State::InFlight });
        self.slots.push(slot);
        if started {
            self.settle_first(slot);
        }
    }

    pub fn hold(&mut self, lane: usize, ms: u64) {
        let now = self.time();
        let Some(row) = self.naive.lanes.get_mut(lane) else {
            return self.queue.hold(Millis::new(self.clock), NONE, Millis::new(ms));
        };
        self.queue.hold(Millis::new(self.clock), row.handle, Millis::new(ms));
        if ms > 0 {
            row.hold(now, ms, self.naive.limits.max_lane_hold.get());
        }
    }

    pub fn share(&mut self, lane: usize, ms: u64) {
        let now = self.time();
        let handle = self.naive.lanes.get(lane).map_or(NONE, |row| row.handle);
        self.queue.share_hold(Millis::new(self.clock), handle, Millis::new(ms));
        if let Some(row) = self.naive.lanes.get_mut(lane) {
            row.share(now, ms);
        }
    }

    /// How much both would ask a store for.
    pub fn check_room(&self) {
        let now = self.timeline.inward(self.wall()).max(self.timeline.now()).get();
        for (lane, row) in self.naive.lanes.iter().enumerate() {
            assert_eq!(
                self.queue.room(self.wall(), row.handle),
                self.naive.stored_room(lane, now),
                "S7: {row:?}"
            );
        }
        assert_eq!(self.queue.room(self.wall(), NONE), 0);
        assert_eq!(self.queue.vacancies(), self.naive.vacancies(), "S7");
    }
}
