//! The queue beside a naive one, after every step of any story.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects
)]

#[path = "../common/mod.rs"]
mod common;
mod naive;
mod story;

use naive::{Lane, Naive, State, Task};
use proptest::prelude::*;
use redrive::queue::{Action, Admission, BATCH, Cancelled, Ended, Limits, Queue};
use redrive::rng::SplitMix64;
use redrive::slots::index_of;
use redrive::task::{Flags, Outcome};
use redrive::time::{Millis, Timeline};
use serde_json::json;
use story::{Step, step};

/// Both queues and the clock they share.
struct Pair {
    queue: Queue,
    naive: Naive,
    policies: Vec<u32>,
    /// The wall clock, and the time that the queue makes of it.
    clock: u64,
    timeline: Timeline,
    /// Every slot ever given, so that stale ones are tried too.
    slots: Vec<u32>,
    /// Everything that came out, for comparing runs.
    trace: Vec<String>,
}

fn policies() -> Vec<redrive::policy::Policy> {
    [
        json!({ "maxAttempts": 3, "initialDelayMs": 100, "totalBudgetMs": 5000, "estimatedCallMs": 50,
                "maxServerDelayMs": 3000, "keyTtlMs": 5000 }),
        json!({ "maxAttempts": 10, "strategy": "linear", "initialDelayMs": 10, "jitterType": "EQUAL",
                "estimatedCallMs": 0, "retryableStatusCodes": [401, 429, 503] }),
        json!({ "maxAttempts": 100, "initialDelayMs": 1, "jitterType": "DECORRELATED", "maxDelayMs": 500,
                "estimatedCallMs": 0, "keyTtlMs": 60_000, "totalBudgetMs": 60_000 }),
        json!({ "maxAttempts": 1, "strategy": "fixed", "initialDelayMs": 0, "jitterType": "NONE",
                "estimatedCallMs": 0, "retryNetworkErrors": false }),
    ]
    .into_iter()
    .map(common::policy)
    .collect()
}

impl Pair {
    fn new(limits: Limits, seed: u64) -> Pair {
        let mut queue = Queue::new(limits, seed);
        let policies: Vec<u32> = self::policies().into_iter().map(|policy| queue.intern(policy)).collect();
        let lanes = (0..3).map(|_| Lane { handle: queue.open_lane(), ..Lane::default() }).collect();
        let mut rng = SplitMix64::new(seed);
        let phase_start = rng.next_u32();
        let naive = Naive {
            limits,
            policies: self::policies(),
            lanes,
            tasks: Vec::new(),
            rng,
            phase_start,
            paused: false,
            offline: false,
            changes: 0,
            polled_at: 0,
            admitted: 0,
            ended: 0,
        };
        let clock = 1_700_000_000_000;
        let (timeline, slots, trace) = (Timeline::default(), Vec::new(), Vec::new());
        Pair { queue, naive, policies, clock, timeline, slots, trace }
    }

    fn wall(&self) -> Millis {
        Millis::new(self.clock)
    }

    /// The queue's own time, after this call of it.
    fn time(&mut self) -> u64 {
        self.timeline.advance(self.wall()).get()
    }

    fn lane(&self, lane: usize) -> Option<u32> {
        self.naive.lanes.get(lane).map(|lane| lane.handle)
    }

    fn slot(&self, pick: usize) -> Option<u32> {
        (!self.slots.is_empty()).then(|| self.slots[self.slots.len() - 1 - pick % self.slots.len().min(40)])
    }

    fn take(&mut self, step: &Step) {
        match *step {
            Step::Admit { lane, policy, priority, bytes, flags, lives, waits, started } => {
                let until = |ms: Option<u64>| ms.map_or(Millis::MAX, |ms| Millis::new(self.clock + ms));
                let (expires_at, wait_until) = (until(lives), until(waits));
                self.admit(
                    &Admission {
                        lane: self.naive.lanes[lane].handle,
                        policy: self.policies[policy],
                        priority,
                        bytes,
                        flags: Flags::from_bits(flags),
                        created_at: self.wall(),
                        expires_at,
                        wait_until,
                        started,
                    },
                    lane,
                    policy,
                );
            }
            Step::Settle { pick, outcome, status, server } => {
                let Some(slot) = self.slot(pick) else { return };
                self.settle(slot, Outcome::from_code(outcome), status, server);
            }
            Step::Poll => self.poll(),
            Step::Cancel(pick) => {
                if let Some(slot) = self.slot(pick) {
                    self.cancel(slot);
                }
            }
            Step::Pass(ms) => self.clock += ms,
            Step::SetBack(ms) => self.clock -= ms,
            Step::PassToWake => {
                let wake = self.queue.wake_at();
                if wake != Millis::MAX && wake.get() > self.clock {
                    self.clock = wake.get();
                }
                self.poll();
            }
            Step::Pause(lane) => {
                self.queue.pause(self.lane(lane));
                match self.naive.lanes.get_mut(lane) {
                    Some(lane) => lane.paused = true,
                    None => self.naive.paused = true,
                }
            }
            Step::Resume(lane) => self.resume(lane),
            Step::Online(online) => self.set_online(online),
            Step::Flush(lane) => self.flush(lane),
        }
    }

    fn admit(&mut self, admission: &Admission, lane: usize, policy: usize) {
        let now = self.time();
        let given = self.queue.admit(self.wall(), admission);
        self.trace.push(format!("{given:?}"));
        let full = self.naive.is_full_for(admission.bytes);
        assert_eq!(given.is_none(), full, "S17: refused exactly when full");
        let Some(slot) = given else { return };
        assert!(self.naive.find(slot).is_none(), "S3: {slot} is in use");
        let inward = |at: Millis| self.timeline.inward(at).get();
        let created_at = inward(admission.created_at);
        self.naive.admitted += 1;
        self.naive.tasks.push(Task {
            slot,
            lane,
            policy,
            priority: admission.priority,
            bytes: admission.bytes,
            flags: admission.flags,
            created_at,
            first_attempt_at: admission.started.then_some(created_at),
            expires_at: inward(admission.expires_at),
            wait_until: inward(admission.wait_until),
            due: now,
            not_before: now,
            attempts: u32::from(admission.started),
            refunds: 0,
            refunds_401: 0,
            last_was_401: false,
            phase: None,
            previous: self.naive.policies[policy].curve().base.get(),
            cancelled: false,
            state: State::Started,
            order: 0,
        });
        let at = self.naive.tasks.len() - 1;
        self.naive.change(at, if admission.started { State::Started } else { State::Waiting });
        self.slots.push(slot);
        if admission.started {
            // The contract of `started`: settled at once.
            let (status, server) =
                [(503, Some(20)), (200, None), (401, None), (429, None)][slot as usize % 4];
            self.settle(slot, Outcome::Response, status, server);
        }
    }

    fn settle(&mut self, slot: u32, outcome: Outcome, status: u32, server: Option<u64>) {
        let now = self.time();
        let ended = Ended { outcome, status, server_delay: server.map(Millis::new), duration: None };
        let verdict = self.queue.settle(self.wall(), slot, &ended);
        self.trace.push(format!("{verdict:?}"));
        assert_eq!(verdict, self.naive.settle(now, slot, &ended), "{slot}: {ended:?}");
    }

    fn poll(&mut self) {
        let now = self.time();
        self.naive.make_ready(now);
        let mut actions: Vec<Action> = Vec::new();
        loop {
            self.queue.poll(self.wall(), &mut actions);
            self.trace.push(format!("{actions:?}"));
            for action in &actions {
                self.naive.follow(now, *action);
            }
            if actions.len() < BATCH {
                break;
            }
        }
        assert!(self.naive.candidates(now).is_empty(), "L1: more could have started");
        assert_eq!(self.naive.at_deadline(now, true), 0, "S8: nothing outlives its deadline");
        assert!(self.queue.wake_at().get() > self.timeline.outward(Millis::new(now)).get(), "no busy waking");
    }

    fn cancel(&mut self, slot: u32) {
        let answer = self.queue.cancel(slot);
        let Some(at) = self.naive.find(slot) else { return assert_eq!(answer, Cancelled::Gone) };
        if matches!(self.naive.tasks[at].state, State::InFlight | State::Started) {
            self.naive.tasks[at].cancelled = true;
            assert_eq!(answer, Cancelled::Requested);
        } else {
            self.naive.tasks.remove(at);
            self.naive.ended += 1;
            assert_eq!(answer, Cancelled::Done);
        }
    }

    fn resume(&mut self, lane: usize) {
        let now = self.time();
        self.queue.resume(self.wall(), self.lane(lane));
        let mut lanes = vec![lane];
        if lane >= self.naive.lanes.len() {
            self.naive.paused = false;
            lanes = (0..self.naive.lanes.len()).collect();
        }
        for lane in lanes {
            self.naive.lanes[lane].paused = false;
            loop {
                let parked = self.naive.tasks.iter().enumerate();
                let parked = parked.filter(|(_, task)| task.state == State::Parked && task.lane == lane);
                let first = parked.min_by_key(|(_, task)| (-i64::from(task.priority), task.order));
                let Some((at, _)) = first else { break };
                self.naive.tasks[at].due = now;
                self.naive.change(at, State::Waiting);
            }
        }
    }

    fn set_online(&mut self, online: bool) {
        self.time();
        self.queue.set_online(self.wall(), online);
        self.naive.offline = !online;
        for lane in self.naive.lanes.iter_mut().filter(|lane| online && lane.failed_offline) {
            (lane.failed_offline, lane.probing) = (false, true);
        }
    }

    fn flush(&mut self, lane: usize) {
        let now = self.time();
        let flushed = self.queue.flush(self.wall(), self.lane(lane));
        let only = self.lane(lane).map(|_| lane);
        let mut order: Vec<usize> = (0..self.naive.tasks.len()).collect();
        order.sort_by_key(|&at| index_of(self.naive.tasks[at].slot));
        let mut expected = 0;
        for at in order {
            let task = &self.naive.tasks[at];
            let due = task.not_before.max(now);
            let here = only.is_none_or(|lane| lane == task.lane);
            if task.state == State::Waiting && here && due < task.due {
                self.naive.tasks[at].due = due;
                self.naive.change(at, State::Waiting);
                expected += 1;
            }
        }
        assert_eq!(flushed, expected);
    }

    /// What must hold after any step.
    fn check(&mut self) {
        let held = self.naive.tasks.len() as u32;
        assert_eq!(self.naive.admitted, held + self.naive.ended, "S2");
        assert_eq!(self.queue.depth(), held, "S2");
        assert_eq!(self.queue.bytes(), self.naive.bytes());
        let running = self.naive.in_flight(None);
        assert_eq!(self.queue.in_flight(), running);
        assert!(running <= self.naive.limits.concurrency, "S7");
        assert!(held <= self.naive.limits.capacity, "S17");
        for lane in self.queue.stats().lanes {
            assert!(lane.in_flight <= self.naive.limits.per_lane, "S7");
        }
        for task in &self.naive.tasks {
            assert_eq!(self.queue.attempts(task.slot), task.attempts);
            let waits = matches!(task.state, State::Waiting | State::Ready);
            let due = task.due.max(self.naive.lanes[task.lane].held_until);
            let due = waits.then(|| self.timeline.outward(Millis::new(due)));
            assert_eq!(self.queue.due_at(task.slot), due, "{task:?}");
        }
        let now = self.timeline.now().get();
        let next = self.naive.next(now);
        let (wake, present) = (self.queue.wake_at(), self.timeline.outward(Millis::new(now)));
        if !self.naive.candidates(now).is_empty() || next <= now {
            assert!(wake <= present, "L1: {wake:?} is too late");
        } else if !(wake <= present && self.naive.has_ended_holds(now)) {
            assert_eq!(wake, self.timeline.outward(Millis::new(next)), "L1: exact, being few");
        }
    }
}

fn limits() -> impl Strategy<Value = Limits> {
    (1_u32..6, 1_u32..4, 5_u32..50, 1000_u64..5000).prop_map(
        |(concurrency, per_lane, capacity, capacity_bytes)| Limits {
            concurrency,
            per_lane,
            capacity,
            capacity_bytes,
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: common::cases(), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn s2_s7_s8_s9_s10_s17_the_queue_agrees_with_a_naive_one_after_every_step(
        limits in limits(),
        seed in any::<u64>(),
        steps in prop::collection::vec(step(), 1..200),
    ) {
        let mut pair = Pair::new(limits, seed);
        for step in &steps {
            pair.take(step);
            pair.check();
        }
    }

    #[test]
    fn s21_the_same_seed_and_events_give_the_same_answers(
        limits in limits(),
        seed in any::<u64>(),
        steps in prop::collection::vec(step(), 1..100),
    ) {
        let run = || {
            let mut pair = Pair::new(limits, seed);
            steps.iter().for_each(|step| pair.take(step));
            pair.trace
        };
        prop_assert_eq!(run(), run());
    }
}
