//! A queue with a clock of its own, for tests that tell a story.

use redrive::queue::{Action, Admission, BATCH, Carry, Ended, Limits, Past, Queue, Verdict, Wait};
use redrive::slots::NONE;
use redrive::task::{Flags, Outcome};
use redrive::time::Millis;
use serde_json::{Value, json};

/// When every story begins.
pub const START: u64 = 1_700_000_000_000;

/// No starts.
pub const NOTHING: [u32; 0] = [];

pub struct Rig {
    pub queue: Queue,
    pub now: u64,
    pub policy: u32,
    pub lane: u32,
}

/// Limits that do not matter to the story.
pub fn limits() -> Limits {
    let max_lane_hold = Millis::new(60_000);
    Limits { concurrency: 3, per_lane: 3, capacity: 10_000, capacity_bytes: 1 << 20, max_lane_hold }
}

/// A queue with one lane and one policy: `policy` over fixed waits of 1 s without jitter.
pub fn setup(policy: Value) -> Rig {
    setup_with(limits(), policy)
}

pub fn setup_with(limits: Limits, policy: Value) -> Rig {
    let mut options = json!({ "strategy": "fixed", "initialDelayMs": 1000, "jitterType": "NONE" });
    for (name, value) in policy.as_object().unwrap() {
        options[name] = value.clone();
    }
    let mut queue = Queue::new(limits, 7);
    let policy = queue.intern(crate::common::policy(options));
    let lane = queue.open_lane();
    Rig { queue, now: START, policy, lane }
}

impl Rig {
    /// An admission of a keyed request that may be repeated, created now.
    pub fn admission(&self) -> Admission {
        Admission {
            lane: self.lane,
            policy: self.policy,
            priority: 0,
            bytes: 0,
            flags: Flags::REPLAYABLE.with(Flags::KEYED),
            created_at: self.time(),
            expires_at: Millis::MAX,
            wait_until: Millis::MAX,
            order: NONE,
            started: false,
            began: Millis::ZERO,
        }
    }

    pub fn time(&self) -> Millis {
        Millis::new(self.now)
    }

    /// The instant `ms` after the story's begin.
    pub fn at(ms: u64) -> Millis {
        Millis::new(START + ms)
    }

    pub fn admit(&mut self, change: impl FnOnce(&mut Admission)) -> u32 {
        let mut admission = self.admission();
        change(&mut admission);
        self.queue.admit(self.time(), &admission).unwrap()
    }

    /// Admits a plain task.
    pub fn add(&mut self) -> u32 {
        self.admit(|_| {})
    }

    /// A plain task whose attempt has just started, alone.
    pub fn running(&mut self) -> u32 {
        let slot = self.add();
        assert_eq!(self.starts(), [slot]);
        slot
    }

    /// A task whose first attempt its caller has made itself: it is to be settled.
    pub fn begun(&mut self) -> u32 {
        self.admit(|admission| admission.started = true)
    }

    /// The same, of a caller that waits until then.
    pub fn called(&mut self, until: Millis) -> u32 {
        self.admit(|admission| (admission.started, admission.wait_until) = (true, until))
    }

    /// Admits a plain task in `lane`.
    pub fn add_to(&mut self, lane: u32) -> u32 {
        self.admit(|admission| admission.lane = lane)
    }

    /// Adopts a task that a store has leased.
    pub fn adopt_with(&mut self, past: &Past, change: impl FnOnce(&mut Admission)) -> u32 {
        let mut admission = self.admission();
        change(&mut admission);
        self.queue.adopt(self.time(), &admission, past).unwrap()
    }

    /// Adopts a plain one.
    pub fn adopt(&mut self) -> u32 {
        self.adopt_with(&second(), |_| {})
    }

    pub fn poll(&mut self) -> Vec<Action> {
        let (mut all, mut actions) = (Vec::new(), Vec::new());
        loop {
            self.queue.poll(self.time(), &mut actions);
            assert!(actions.len() <= BATCH, "{} at a time", actions.len());
            all.extend_from_slice(&actions);
            if actions.len() < BATCH {
                return all;
            }
        }
    }

    /// Polls; everything that happens must be a start.
    pub fn starts(&mut self) -> Vec<u32> {
        let starts = self.poll().into_iter().map(|action| match action {
            Action::Start(slot) => slot,
            Action::End(slot, reason) => panic!("{slot} ended: {reason:?}"),
            Action::LetIn(_) | Action::Circuit(..) | Action::Storm(..) => panic!("{action:?}"),
        });
        starts.collect()
    }

    /// Starts the one task that is due.
    pub fn start_one(&mut self) -> u32 {
        let started = self.starts();
        assert_eq!(started.len(), 1, "{started:?}");
        started[0]
    }

    /// One attempt after another succeeds, of so many tasks; in which order they started.
    pub fn succeed(&mut self, count: usize) -> Vec<u32> {
        let one = |rig: &mut Self| {
            let slot = rig.start_one();
            rig.answer(slot, 200);
            slot
        };
        (0..count).map(|_| one(self)).collect()
    }

    /// Until when its server holds the lane.
    pub fn held(&self) -> Option<Millis> {
        self.queue.held_until(self.lane, self.time())
    }

    pub fn wait(&mut self, ms: u64) {
        self.now += ms;
    }

    pub fn end(&mut self, slot: u32, ended: &Ended) -> Verdict {
        self.queue.settle(self.time(), slot, ended)
    }

    pub fn settle(&mut self, slot: u32, outcome: Outcome, status: u32, server: Option<u64>) -> Verdict {
        self.end(slot, &Ended { server_delay: server.map(Millis::new), ..ended(outcome, status) })
    }

    /// A response without a `Retry-After`.
    pub fn answer(&mut self, slot: u32, status: u32) -> Verdict {
        self.settle(slot, Outcome::Response, status, None)
    }

    /// A response that says how long its rate limit is used up.
    pub fn limit(&mut self, slot: u32, status: u32, reset_ms: u64) -> Verdict {
        self.end(slot, &Ended { rate_limit: Some(Millis::new(reset_ms)), ..ended(Outcome::Response, status) })
    }

    /// A response that asks to wait.
    pub fn refuse(&mut self, slot: u32, status: u32, server_ms: u64) -> Verdict {
        self.settle(slot, Outcome::Response, status, Some(server_ms))
    }

    /// No response.
    pub fn fail(&mut self, slot: u32) -> Verdict {
        self.settle(slot, Outcome::NetworkError, 0, None)
    }
}

/// Its credentials are asked for anew before each attempt.
pub fn credentialed(admission: &mut Admission) {
    admission.flags = admission.flags.with(Flags::CREDENTIALED);
}

/// The second attempt of a leased task of which nothing special is to be told.
pub fn second() -> Past {
    Past { first_attempt_at: Millis::MAX, deadline: None, attempts: 2, refunds: 0, carry: Carry::default() }
}

/// An attempt that ended with nothing else said.
pub fn ended(outcome: Outcome, status: u32) -> Ended {
    Ended { status, ..Ended::of(outcome) }
}

/// Another attempt in `ms`, by the curve alone.
pub fn retry_in(ms: u64) -> Verdict {
    let delay = Millis::new(ms);
    Verdict::Retry { delay, wait: Wait { curve: delay, ..Wait::default() }, authorize: false }
}

/// Another attempt by the longer of curve and server, and the spread on top.
pub fn retry_after(curve_ms: u64, server_ms: u64, spread_ms: u64) -> Verdict {
    let (curve, spread) = (Millis::new(curve_ms), Millis::new(spread_ms));
    let delay = Millis::new(curve_ms.max(server_ms) + spread_ms);
    let wait = Wait { curve, server: Some(Millis::new(server_ms)), spread };
    Verdict::Retry { delay, wait, authorize: false }
}
