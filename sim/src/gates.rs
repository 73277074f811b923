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

/// Certainty, as the record of a server counts chances.
const CERTAIN: u64 = 1 << 30;
/// After so long half of what was counted is forgotten, and after so many times that, all of it.
const HALF_LIFE: u64 = 30_000;
const FORGOTTEN: u64 = 8 * HALF_LIFE;

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
    /// Since it was closed, each failure that opened it came soon.
    came_soon: bool,
    /// What was heard: when, of an attempt that began when, and whether the answer was a healthy one.
    heard: Vec<(u64, u64, bool)>,
    /// Until when what was heard is not known for certain: see `vague`.
    murky: u64,
    /// Some of the failures in the present row were heard until then, so that their chance and their number are not known either.
    row_is_murky: bool,
    /// Something was heard of which only the core knows whether it counts.
    vague: bool,
    /// How many probes there are is not known: a store has leased a task past the gates, or a caller's attempt
    /// ended that may have been one.
    pub mixed: bool,
    /// Until when a caller's probe has the place to itself.
    pub lapses: u64,
    /// Tokens spent, and when that was so.
    spent: (u128, u64),
    /// When the last healthy answer came.
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
            (self.lapses, self.vague, self.mixed) = (0, false, false);
        }
        let late = self.circuit == Circuit::Open && now >= self.ends.1;
        ensure!(!late, "L1", "open for {} ms too long", now - self.ends.1);
        self.ends.0 = self.ends.0.max(now + 1);
        ensure!(said == self.circuit, "S8", "the breaker is {said:?}, not {:?}", self.circuit);
        Ok(())
    }

    /// The part of an attempt's end that counts: a closed breaker does not hear of a task that had failed by `failed_by`, and fails
    /// again while others have succeeded since, nor of a server that has `limited` it until a moment that it said, nor of a failure
    /// that ended before an answer that was heard of already.
    pub fn count(
        &mut self,
        ended: u64,
        healthy: Option<bool>,
        failed_by: Option<u64>,
        limited: bool,
    ) -> Option<bool> {
        if healthy == Some(true) {
            self.healthy_at = self.healthy_at.max(Some(ended));
        }
        let is_late = self.healthy_at > Some(ended);
        let since = failed_by.zip(self.healthy_at).is_some_and(|(failed, well)| well >= failed);
        healthy
            .filter(|healthy| *healthy || !(since || limited || is_late) || self.circuit != Circuit::Closed)
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
        if began < self.since.1 {
            self.murky = now + FORGOTTEN;
        }
        if healthy && std::mem::take(&mut self.row_is_murky) {
            self.murky = now + FORGOTTEN;
        }
        self.row_is_murky |= !healthy && now < self.murky;
        self.heard.push((now, began, healthy));
        let murky = now < self.murky || self.row_is_murky;
        let opens = if murky { said == Circuit::Open } else { self.shows_outage(now, &rules) };
        let (may_open, may_close) =
            (self.vague && said == Circuit::Open, self.vague && said == Circuit::Closed);
        match self.circuit {
            Circuit::HalfOpen if !healthy && (may_open || !self.vague) => self.open(now, began, &rules),
            Circuit::HalfOpen if healthy && (may_close || !self.vague) => {
                self.change(Circuit::Closed, now);
                self.openings = 0;
            }
            Circuit::Closed if opens => self.open(now, began, &rules),
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

    /// All that was heard, gone through once more: whether chance alone hardly ever makes the failures at its end.
    fn shows_outage(&self, now: u64, rules: &BreakerRules) -> bool {
        let (mut answered, mut failed, mut half_life) = (0_u64, 0_u64, 0);
        let mut row: Vec<(u64, u64)> = Vec::new();
        let mut chance = CERTAIN;
        for (at, began, healthy) in &self.heard {
            let halves = (at / HALF_LIFE - half_life).min(32);
            half_life = at / HALF_LIFE;
            (answered, failed) = (answered >> halves, failed >> halves);
            if *healthy {
                answered += 1;
                failed += row.len().min(64) as u64;
                while answered + failed > 64 {
                    (answered, failed) = (answered / 2, failed / 2);
                }
                row.clear();
                chance = CERTAIN;
            } else {
                row.push((*at, *began));
                let odds = 2 * failed + 1;
                let share = (odds * 1_000_000 / (odds + answered + 3)).max(250_000);
                chance = chance * share.min(1_000_000 - u64::from(rules.fair_per_million)) / 1_000_000;
            }
        }
        let since = row.first().map(|(_, began)| began + rules.after.get());
        since.is_some_and(|since| now >= since) && chance < CERTAIN / 1000
    }

    /// Whether a server that answers its fair share may have made the failures in a row, each of which came soon. `None`: only the
    /// core knows.
    fn in_doubt(&self, now: u64) -> Option<bool> {
        let Some(rules) = self.rules.breaker.filter(|_| self.came_soon) else { return Some(false) };
        if now < self.murky || self.row_is_murky {
            return None;
        }
        let row = self.heard.iter().rev().take_while(|(_, _, healthy)| !healthy);
        let most = 1_000_000 - u64::from(rules.fair_per_million);
        Some(row.fold(CERTAIN, |chance, _| chance * most / 1_000_000) >= CERTAIN / 1000)
    }

    /// A caller has asked, and the core says so: an opening in doubt is over.
    pub fn give_way(&mut self, now: u64, said: Circuit) -> Result<(), Violation> {
        if self.circuit == Circuit::Open {
            let gave_way = said == Circuit::HalfOpen;
            ensure!(self.in_doubt(now).is_none_or(|it| it == gave_way), "S8", "gave way: {gave_way}");
            if gave_way {
                self.ends = (self.ends.0.min(now), self.ends.1.min(now));
            }
        }
        self.look(now, said)
    }

    /// A caller's attempt was let through, while a probe of the queue is under way or not.
    pub fn let_through(&mut self, now: u64, probing: bool) -> Result<(), Violation> {
        ensure!(self.circuit != Circuit::Open, "S8", "a call was let through an open breaker");
        if self.circuit == Circuit::Closed {
            return Ok(());
        }
        if self.lapses > now {
            ensure!(self.in_doubt(now) != Some(false), "S8", "a call was let through beside another's probe");
        } else if probing && self.in_doubt(now) != Some(false) {
            // It goes beside a probe of the queue, which keeps its place.
        } else {
            self.lapses = now + self.rules.breaker.map_or(0, |rules| rules.max_open.get());
        }
        Ok(())
    }

    fn open(&mut self, now: u64, began: u64, rules: &BreakerRules) {
        let came_soon = self.circuit == Circuit::Closed || self.came_soon;
        self.came_soon = came_soon && now < began + rules.after.get();
        let length = (rules.open.get() << self.openings.min(16)).min(rules.max_open.get());
        self.openings += 1;
        self.change(Circuit::Open, now);
        self.ends = (now + length / 2, now + length + 1);
    }

    fn change(&mut self, to: Circuit, now: u64) {
        self.circuit = to;
        self.since = (now, now);
        (self.lapses, self.vague, self.mixed) = (0, false, false);
    }

    /// One attempt may go to see how the server does: an opening is over with `now`.
    pub fn hasten(&mut self, now: u64) {
        self.ends = (self.ends.0.min(now + 1), self.ends.1.min(now + 1));
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

    /// Until when the breaker may be shut, as far as a clock decides that; 0: it is not.
    pub const fn shut_until_at_most(&self) -> u64 {
        match self.circuit {
            Circuit::Closed => 0,
            Circuit::Open => self.ends.1,
            Circuit::HalfOpen => self.lapses,
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

    /// Since when, at the earliest, it is what it is.
    pub const fn maybe_since(&self) -> u64 {
        self.since.0
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
