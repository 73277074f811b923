//! The queue beside a naive one, after every step of any story.

mod check;
mod controls;
mod gates;
mod lane;
mod leases;
mod naive;
mod story;

use lane::Lane;
use naive::{Naive, State, Task};
use proptest::prelude::*;
use redrive::queue::{Action, Admission, BATCH, Ended, Facts, Limits, Next, Queue, Verdict};
use redrive::rng::SplitMix64;
use redrive::slots::NONE;
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
                "maxRetryAfterMs": 3000, "keyTtlMs": 5000 }),
        json!({ "maxAttempts": 10, "strategy": "linear", "initialDelayMs": 10, "jitterType": "EQUAL",
                "estimatedCallMs": 0, "keyTtlMs": 600, "retryableStatusCodes": [401, 429, 503] }),
        json!({ "maxAttempts": 100, "initialDelayMs": 1, "jitterType": "DECORRELATED", "maxDelayMs": 500,
                "estimatedCallMs": 0, "keyTtlMs": 60_000, "totalBudgetMs": 60_000 }),
        json!({ "maxAttempts": 1, "strategy": "fixed", "initialDelayMs": 0, "jitterType": "NONE",
                "estimatedCallMs": 0, "retryNetworkErrors": false }),
    ]
    .into_iter()
    .map(crate::common::policy)
    .collect()
}

impl Pair {
    /// A `worn` one has given and freed its first slots once already, and so gives them anew.
    fn new(limits: Limits, seed: u64, worn: bool) -> Pair {
        let mut queue = Queue::new(limits, seed);
        let policies: Vec<u32> = self::policies().into_iter().map(|policy| queue.intern(policy)).collect();
        let lanes = (0..3).map(|_| Lane { handle: queue.open_lane(), ..Lane::default() }).collect();
        let mut rng = SplitMix64::new(seed);
        let phase_start = rng.next_u32();
        let mut naive = Naive {
            limits,
            policies: self::policies(),
            lanes,
            orders: (0..3).map(|_| queue.open_order()).collect(),
            tasks: Vec::new(),
            rng,
            phase_start,
            paused: false,
            offline: false,
            overruled: false,
            changes: 0,
            polled_at: 0,
            admitted: 0,
            ended: 0,
            unusable: 0,
        };
        naive.orders.push(queue.open_order());
        assert!(queue.drop_order(naive.orders[3]), "nobody is in it");
        let clock = 1_700_000_000_000;
        let (timeline, slots, trace) = (Timeline::default(), Vec::new(), Vec::new());
        let mut pair = Pair { queue, naive, policies, clock, timeline, slots, trace };
        if worn {
            pair.wear();
        }
        pair
    }

    /// Fills and empties the queue until the first slots have rested long enough, and remembers
    /// the handles that will then be stale ones of slots in use.
    fn wear(&mut self) {
        let worn = Admission {
            lane: self.naive.lanes[0].handle,
            policy: self.policies[0],
            priority: 0,
            bytes: 0,
            flags: Flags::default(),
            created_at: self.wall(),
            expires_at: Millis::MAX,
            wait_until: Millis::MAX,
            order: NONE,
            started: false,
            began: Millis::ZERO,
        };
        let capacity = self.naive.limits.capacity;
        while self.naive.admitted < 257 + capacity {
            (0..capacity).for_each(|_| self.admit(&worn, (0, 0, None)));
            let full: Vec<u32> = self.naive.tasks.iter().map(|task| task.slot).collect();
            full.into_iter().for_each(|slot| self.cancel(slot));
        }
        self.slots.truncate(20);
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
            Step::Admit { lane, policy, order, priority, bytes, flags, lives, waits, started } => {
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
                        order: order.map_or(NONE, |order| self.naive.orders[order]),
                        started,
                        began: Millis::ZERO,
                    },
                    (lane, policy, order),
                );
            }
            Step::Settle { pick, outcome, status, server, limit, unusable } => {
                let Some(slot) = self.slot(pick) else { return };
                let ended = Ended {
                    outcome: Outcome::from_code(outcome),
                    status,
                    server_delay: server.map(Millis::new),
                    rate_limit: limit.map(Millis::new),
                    unusable,
                    asked: unusable || server.is_some(),
                    replayed: pick % 7 == 0,
                    partitioned: pick % 3 == 0,
                    said: [None, None, Some(true), Some(false)][pick % 4],
                    delay: (pick % 5 == 0).then_some(Millis::new(700)),
                    duration: None,
                    facts: Facts::default(),
                    reason: None,
                };
                self.settle(slot, &ended);
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
            Step::Visit(lane) => self.visit(lane),
            Step::Reopen(order) => self.reopen(order),
            Step::Adopt(ref adoption) => self.adopt(adoption),
            Step::Hold(lane, ms) => self.hold(lane, ms),
            Step::Share(lane, ms) => self.share(lane, ms),
        }
    }

    fn admit(&mut self, admission: &Admission, (lane, policy, order): (usize, usize, Option<usize>)) {
        let now = self.time();
        let given = self.queue.admit(self.wall(), admission);
        self.trace.push(format!("{given:?}"));
        let full = self.naive.is_full_for(admission.bytes);
        // An order takes nobody that has been under way already, and a dropped one nobody at all.
        let barred = order == Some(3) || (order.is_some() && admission.started);
        assert_eq!(given.is_none(), full || barred, "S17: refused exactly when full");
        let Some(slot) = given else { return };
        assert!(self.naive.find(slot).is_none(), "S3: {slot} is in use");
        let inward = |at: Millis| self.timeline.inward(at).get();
        let created_at = inward(admission.created_at);
        self.naive.admitted += 1;
        self.naive.tasks.push(Task {
            slot,
            lane,
            policy,
            order,
            priority: admission.priority,
            bytes: admission.bytes,
            flags: admission.flags,
            created_at,
            started_at: created_at,
            first_attempt_at: None,
            expires_at: inward(admission.expires_at),
            wait_until: inward(admission.wait_until),
            due: now,
            not_before: now,
            attempts: u32::from(admission.started),
            refunds: 0,
            refunds_401: 0,
            unanswered: false,
            replayed: false,
            last_was_401: false,
            phase: None,
            previous: self.naive.policies[policy].first_previous().get(),
            cancelled: false,
            state: State::Started,
            leased: false,
            changed: 0,
        });
        let at = self.naive.tasks.len() - 1;
        let state = match () {
            () if admission.started => State::Started,
            () if self.naive.ahead(at) > 0 => State::Behind,
            () => State::Waiting,
        };
        self.naive.change(at, state);
        self.slots.push(slot);
        if admission.started {
            self.settle_first(slot);
        }
    }

    /// The contract of `started`: settled at once.
    fn settle_first(&mut self, slot: u32) {
        let (status, server) = [(503, Some(20)), (200, None), (401, None), (429, None)][slot as usize % 4];
        let server_delay = server.map(Millis::new);
        self.settle(slot, &Ended { status, server_delay, ..Ended::of(Outcome::Response) });
    }

    fn settle(&mut self, slot: u32, ended: &Ended) {
        let now = self.time();
        let Next { verdict, carry, .. } = self.queue.next(self.wall(), slot, ended);
        self.trace.push(format!("{verdict:?} {carry:?}"));
        assert_eq!((verdict, carry), self.naive.settle(now, slot, ended), "{slot}: {ended:?}");
        if let Verdict::Retry { wait, .. } = verdict {
            let asked = wait.server.map_or(Millis::ZERO, |server| server.plus(wait.spread));
            assert_eq!(carry.server_wait, asked, "S9");
        }
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
        // Whose turn has come because another of its order ended, and who did not start for it.
        self.naive.make_ready(now);
        assert!(self.naive.candidates(now).is_empty(), "L1: more could have started");
        assert_eq!(self.naive.at_deadline(now, true), 0, "S8: nothing outlives its deadline");
        assert!(self.queue.wake_at().get() > self.timeline.outward(Millis::new(now)).get(), "no busy waking");
    }
}

fn limits() -> impl Strategy<Value = Limits> {
    let longest = prop::sample::select(vec![0, 500, 3_000, 60_000, 86_400_000]).prop_map(Millis::new);
    (1_u32..6, 1_u32..4, 5_u32..50, 1000_u64..5000, longest).prop_map(
        |(concurrency, per_lane, capacity, capacity_bytes, max_lane_hold)| Limits {
            concurrency,
            per_lane,
            capacity,
            capacity_bytes,
            max_lane_hold,
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: crate::common::cases(), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn s2_s5_s7_s8_s9_s10_s17_s19_the_queue_agrees_with_a_naive_one_after_every_step(
        limits in limits(),
        seed in any::<u64>(),
        worn in prop::bool::weighted(0.2),
        steps in prop::collection::vec(step(), 1..200),
    ) {
        let mut pair = Pair::new(limits, seed, worn);
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
            let mut pair = Pair::new(limits, seed, false);
            steps.iter().for_each(|step| pair.take(step));
            pair.trace
        };
        prop_assert_eq!(run(), run());
    }
}
