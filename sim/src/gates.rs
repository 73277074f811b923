//! What the books know of a lane's gates: a breaker and a budget for each lane, by the rules and from
//! what was heard, not from what the core says.
//!
//! One thing cannot be known here: the draw by which an opening is longer or shorter. So an open breaker of the books
//! has an earliest and a latest end, and what began between the two may count or not; the core is believed then.

use redrive::breaker::{BreakerRules, Circuit};
use redrive::budget::BudgetRules;
use redrive::gates::Gates;

use crate::ensure;
use crate::violation::Violation;

/// A token, as the budget counts; the books count thousandths of that, in which a millisecond's share is whole.
const TOKEN: u128 = 1_000_000_000;
const THOUSANDTHS: u128 = 1000;

/// What the books know of a lane's gates.
#[derive(Clone, Debug, Default)]
pub struct LaneGates {
    /// The rules of all lanes.
    pub rules: Gates,
    /// The state, as far as it is known.
    pub circuit: Circuit,
    /// As the host was told of it.
    pub told: Circuit,
    /// When it began, at the earliest and at the latest.
    since: (u64, u64),
    /// When an opening ends, at the earliest and at the latest.
    pub ends: (u64, u64),
    openings: u32,
    /// What was heard since the last change, and when.
    heard: Vec<(u64, bool)>,
    /// Something was heard of which only the core knows whether it counts.
    vague: bool,
    /// How many probes there are is not known: a store has leased a task past the gates, or a caller's attempt
    /// ended that may have been one.
    pub mixed: bool,
    /// Until when a caller's probe has the place to itself.
    pub lapses: u64,
    /// Tokens spent, and when that was so.
    spent: (u128, u64),
    /// When the server last answered as one that works.
    healthy_at: Option<u64>,
}

impl LaneGates {
    /// Those of a new lane.
    pub fn new(rules: Gates) -> LaneGates {
        LaneGates { rules, ..LaneGates::default() }
    }

    /// Before anything else: whether an opening is over. The core says so, between the bounds.
    pub fn look(&mut self, now: u64, said: Circuit) -> Result<(), Violation> {
        if self.circuit == Circuit::Open && said == Circuit::HalfOpen {
            ensure!(now >= self.ends.0, "S8", "half-open {} ms too early", self.ends.0 - now);
            self.circuit = Circuit::HalfOpen;
            self.since = (self.ends.0, now.min(self.ends.1));
            self.heard.clear();
            (self.lapses, self.vague, self.mixed) = (0, false, false);
        }
        let late = self.circuit == Circuit::Open && now >= self.ends.1;
        ensure!(!late, "L1", "open for {} ms too long", now - self.ends.1);
        ensure!(said == self.circuit, "S8", "the breaker is {said:?}, not {:?}", self.circuit);
        Ok(())
    }

    /// The part of an attempt's end that counts: a closed breaker does not hear of a task that had failed by `failed_by`, and fails
    /// again while others have succeeded since.
    pub fn count(&mut self, now: u64, healthy: Option<bool>, failed_by: Option<u64>) -> Option<bool> {
        if healthy == Some(true) {
            self.healthy_at = Some(now);
        }
        let since = failed_by.zip(self.healthy_at).is_some_and(|(failed, well)| well >= failed);
        healthy.filter(|healthy| *healthy || !since || self.circuit != Circuit::Closed)
    }

    /// An attempt has ended.
    pub fn hear(
        &mut self,
        now: u64,
        (began, by_queue): (u64, bool),
        healthy: Option<bool>,
        said: Circuit,
    ) -> Result<(), Violation> {
        let Some(rules) = self.rules.breaker.filter(|_| began >= self.since.0) else {
            return self.agree(said);
        };
        if !by_queue {
            self.lapses = 0;
            self.mixed |= began < self.since.1;
        }
        let Some(healthy) = healthy else { return self.agree(said) };
        // What began about when half-open did counts or not.
        self.vague |= began < self.since.1;
        self.heard.push((now, healthy));
        let run = self.heard.iter().rev().take_while(|(_, other)| *other == healthy).count() as u32;
        let (may_open, may_close) =
            (self.vague && said == Circuit::Open, self.vague && said == Circuit::Closed);
        match self.circuit {
            Circuit::HalfOpen if !healthy && (may_open || !self.vague) => self.open(now, &rules),
            Circuit::HalfOpen if healthy && (may_close || (!self.vague && run >= rules.close_after)) => {
                self.change(Circuit::Closed, now);
                self.openings = 0;
            }
            Circuit::Closed if self.has_failed_enough(now, &rules) => self.open(now, &rules),
            _ => {}
        }
        self.agree(said)
    }

    fn agree(&self, said: Circuit) -> Result<(), Violation> {
        ensure!(
            said == self.circuit,
            "S8",
            "the breaker is {said:?}, and by what it heard {:?}",
            self.circuit
        );
        Ok(())
    }

    fn has_failed_enough(&self, now: u64, rules: &BreakerRules) -> bool {
        let run = self.heard.iter().rev().take_while(|(_, healthy)| !healthy).count();
        let width = (rules.window.get() / 10).max(1);
        let recent = self.heard.iter().filter(|(at, _)| now / width - at / width < 10);
        let (mut all, mut failed) = (0_u64, 0_u64);
        for (_, healthy) in recent {
            all += 1;
            failed += u64::from(!healthy);
        }
        let ratio = failed * 1_000_000 >= all * u64::from(rules.failures_per_million);
        run as u32 >= rules.consecutive_failures
            || (all >= u64::from(rules.minimum_attempts) && failed > 0 && ratio)
    }

    fn open(&mut self, now: u64, rules: &BreakerRules) {
        let length = (rules.open.get() << self.openings.min(16)).min(rules.max_open.get());
        self.openings += 1;
        self.change(Circuit::Open, now);
        self.ends = (now + length * 3 / 4, now + length * 5 / 4 + 1);
    }

    fn change(&mut self, to: Circuit, now: u64) {
        self.circuit = to;
        self.since = (now, now);
        self.heard.clear();
        (self.lapses, self.vague, self.mixed) = (0, false, false);
    }

    /// How many attempts the breaker lets through at most.
    pub fn room(&self, now: u64) -> u32 {
        match self.circuit {
            Circuit::Closed => u32::MAX,
            Circuit::Open => u32::from(now >= self.ends.0),
            Circuit::HalfOpen => u32::from(self.lapses <= now),
        }
    }

    /// When a shut breaker lets a task through at the latest, if a clock decides that.
    pub fn opens(&self, now: u64) -> Option<u64> {
        match self.circuit {
            Circuit::Open => Some(self.ends.1),
            Circuit::HalfOpen if self.lapses > now && !self.mixed => Some(self.lapses),
            _ => None,
        }
    }

    /// The host is told of a change.
    pub fn tell(&mut self, (from, to): (Circuit, Circuit)) -> Result<(), Violation> {
        use Circuit::{Closed, HalfOpen, Open};
        ensure!(from == self.told, "S8", "told of a change from {from:?}, and it was {:?}", self.told);
        let known = [(Closed, Open), (Open, HalfOpen), (HalfOpen, Open), (HalfOpen, Closed)];
        ensure!(known.contains(&(from, to)), "S8", "told of a change from {from:?} to {to:?}");
        self.told = to;
        Ok(())
    }

    /// After a poll: whether all was told, but that the time of an open one is up.
    pub fn is_told(&self) -> bool {
        self.told == self.circuit || (self.told, self.circuit) == (Circuit::Open, Circuit::HalfOpen)
    }

    /// Since when, for certain, it is what it is.
    pub const fn surely_since(&self) -> u64 {
        self.since.1
    }

    fn left(&self, budget: &BudgetRules, now: u64) -> u128 {
        let back = u128::from(now.saturating_sub(self.spent.1)) * u128::from(budget.per_second);
        u128::from(budget.capacity) * THOUSANDTHS - self.spent.0.saturating_sub(back)
    }

    /// Whether retries cost something at present, and there is nothing to pay with.
    pub fn is_broke(&self, now: u64) -> bool {
        self.tokens(now) == 0
    }

    /// How many retries can be paid for; all of them where they cost nothing.
    pub fn tokens(&self, now: u64) -> u32 {
        match &self.rules.budget {
            Some(budget) if self.circuit != Circuit::HalfOpen => {
                (self.left(budget, now) / THOUSANDTHS / TOKEN) as u32
            }
            _ => u32::MAX,
        }
    }

    /// A retry pays, if it costs something and there is enough; whether it did.
    pub fn pay(&mut self, now: u64) -> bool {
        let Some(budget) = self.rules.budget else { return false };
        if self.circuit == Circuit::HalfOpen || self.is_broke(now) {
            return false;
        }
        let spent = u128::from(budget.capacity) * THOUSANDTHS - self.left(&budget, now);
        self.spent = (spent + TOKEN * THOUSANDTHS, now);
        true
    }

    /// Tokens come back: one that was not used, and a success's share.
    pub fn earn(&mut self, unused: bool, succeeded: bool) {
        let Some(budget) = self.rules.budget else { return };
        let back =
            if unused { TOKEN } else { 0 } + if succeeded { u128::from(budget.per_success) } else { 0 };
        self.spent.0 = self.spent.0.saturating_sub(back * THOUSANDTHS);
    }
}
