//! A rig with gates, and what happens at them in a word.

use redrive::breaker::{BreakerRules, Circuit};
use redrive::budget::BudgetRules;
use redrive::gates::{Gates, OnStorm};
use redrive::queue::{Action, Ended, Gate, Limits, Verdict};
use redrive::task::Outcome;
use redrive::time::Millis;
use serde_json::Value;

use crate::rig::{Rig, ended, setup_with};

/// A breaker as the package has it by default, but that takes a moment's failures for an outage, and stays open for longer.
pub const BREAKER: BreakerRules = BreakerRules {
    after: Millis::ZERO,
    open: Millis::new(5000),
    max_open: Millis::new(60_000),
    ..BreakerRules::DEFAULT
};

/// So many failures in a row open that of a server of which nothing is known.
pub const ENOUGH: u32 = 5;

/// Longer than the breaker stays open the first time, chance included.
pub const OPEN_AT_MOST: u64 = 5000;

pub type Act = fn(&mut Rig);

/// What has a lane look after its server before its time.
pub const HASTENS: [(&str, Act); 3] = [
    ("flush", |rig| {
        rig.queue.flush(rig.time(), None);
    }),
    ("flush of the lane", |rig| {
        rig.queue.flush(rig.time(), Some(rig.lane));
    }),
    ("online", |rig| rig.queue.set_online(rig.time(), true)),
];

pub fn breaker() -> Gates {
    Gates { breaker: Some(BREAKER), ..Gates::default() }
}

/// A budget that only time fills, or nothing.
pub fn budget(capacity: f64, per_second: f64) -> Gates {
    Gates { budget: Some(BudgetRules::new(capacity, 0.0, per_second)), ..Gates::default() }
}

pub fn storms(on_storm: OnStorm) -> Gates {
    Gates { on_storm, ..breaker() }
}

/// Room enough that limits do not matter.
pub fn roomy() -> Limits {
    Limits { concurrency: 100, per_lane: 100, ..crate::rig::limits() }
}

pub fn gated(gates: Gates, limits: Limits, policy: Value) -> Rig {
    let mut rig = setup_with(limits, policy);
    rig.queue.set_gates(gates);
    rig
}

impl Rig {
    /// A caller's own attempt of this very moment ended, in a failure or not.
    pub fn hear(&mut self, healthy: bool) {
        let status = if healthy { 200 } else { 503 };
        self.hear_of(self.time(), &ended(Outcome::Response, status));
    }

    /// A caller's own attempt that began at `began` has ended like this.
    pub fn hear_of(&mut self, began: Millis, ended: &Ended) {
        self.queue.heard(self.time(), self.lane, self.policy, began, ended);
    }

    /// The same of this very moment, whose caller has left: nothing is learned.
    pub fn hear_nothing(&mut self) {
        self.hear_of(self.time(), &ended(Outcome::OwnError, 0));
    }

    /// So many failures of callers' own attempts as open the breaker, and the news of it.
    pub fn open_circuit(&mut self) {
        (0..ENOUGH).for_each(|_| self.hear(false));
        assert_eq!(self.circuit(), Circuit::Open);
        assert_eq!(self.news(), [(Circuit::Closed, Circuit::Open)]);
    }

    pub fn circuit(&self) -> Circuit {
        self.queue.circuit(self.lane, self.time())
    }

    /// Polls; which attempts start.
    pub fn start(&mut self) -> Vec<u32> {
        self.poll().into_iter().filter_map(start_of).collect()
    }

    /// Wakes until something starts; which attempts do.
    pub fn start_next(&mut self) -> Vec<u32> {
        loop {
            let started = self.start();
            if !started.is_empty() {
                return started;
            }
            self.wake();
        }
    }

    /// A task whose first attempt has just failed.
    pub fn failed(&mut self) -> u32 {
        let slot = self.begun();
        assert!(matches!(self.answer(slot, 503), Verdict::Retry { .. }));
        slot
    }

    /// Polls; how the breaker of the lane has changed. Nothing may start or end.
    pub fn news(&mut self) -> Vec<(Circuit, Circuit)> {
        let lane = self.lane;
        let news = self.poll().into_iter().map(|action| match action {
            Action::Circuit(of, change) if of == lane => change,
            other => panic!("{other:?}"),
        });
        news.collect()
    }

    pub fn gate(&self, slot: u32) -> Gate {
        self.queue.gate_status(slot).unwrap().gate
    }

    pub fn until(&self, slot: u32) -> Millis {
        self.queue.gate_status(slot).unwrap().until
    }

    /// Goes to when the queue wants to be woken.
    pub fn wake(&mut self) {
        let wake = self.queue.wake_at();
        assert!(wake < Millis::MAX, "L1: nothing wakes it");
        self.now = self.now.max(wake.get());
    }

    /// Tokens left in the lane.
    pub fn tokens(&mut self) -> f64 {
        let lane = self.lane;
        self.queue.stats(Millis::ZERO).lanes.into_iter().find(|row| row.lane == lane).unwrap().tokens
    }
}

pub fn start_of(action: Action) -> Option<u32> {
    match action {
        Action::Start(slot) => Some(slot),
        _ => None,
    }
}
