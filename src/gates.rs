//! What stands between a task that is due and its attempt, beyond its own deadline and the limits: one lane's breaker,
//! retry budget and eye for storms, and the rules that all lanes share.
#![forbid(unsafe_code)]

use crate::breaker::{Breaker, BreakerRules, Change, Circuit, Heard};
use crate::budget::{BudgetRules, RetryBudget};
use crate::storm::Storm;
use crate::time::Millis;

/// The rules of all lanes. Nothing keeps anything back by default.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Gates {
    /// `None`: there is no breaker.
    pub breaker: Option<BreakerRules>,
    /// `None`: retries cost nothing.
    pub budget: Option<BudgetRules>,
    /// What a retry storm does.
    pub on_storm: OnStorm,
}

/// What a retry storm does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnStorm {
    /// Nothing; nobody looks for one.
    #[default]
    Nothing,
    /// The host is told.
    Tell,
    /// The host is told, and the breaker opens, where there is one.
    Open,
}

/// What the gates of a lane hear of an attempt that has ended.
#[derive(Clone, Copy, Debug)]
pub struct Ending {
    /// What the breaker hears.
    pub heard: Heard,
    /// The attempt was a success, which is more than a healthy answer.
    pub succeeded: bool,
    /// A retry that was not sent in the end.
    pub unsent_retry: bool,
}

/// One lane's gates.
#[derive(Clone, Debug, Default)]
pub(crate) struct LaneGates {
    pub breaker: Breaker,
    budget: RetryBudget,
    storm: Storm,
}

/// What a lane has to tell the host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Notice {
    Circuit(Change),
    /// So many tasks came in for each success.
    Storm(u32),
}

impl LaneGates {
    /// How many attempts of the queue may start, as far as the breaker has a say.
    pub fn room(&self, rules: &Gates, now: Millis) -> u32 {
        if rules.breaker.is_some() { self.breaker.room(now) } else { u32::MAX }
    }

    /// How many retries may start, as far as breaker and budget have a say. A probe is exempt from the budget.
    pub fn retries(&self, rules: &Gates, now: Millis) -> u32 {
        let room = self.room(rules, now);
        match &rules.budget {
            Some(budget) if !self.is_probing(now) => room.min(self.budget.whole(budget, now)),
            _ => room,
        }
    }

    /// Until when the breaker lets nothing through; [`Millis::ZERO`]: it does, or no clock decides it.
    pub fn shut_until(&self, rules: &Gates, now: Millis) -> Millis {
        if rules.breaker.is_some() { self.breaker.shut_until(now) } else { Millis::ZERO }
    }

    /// When the budget pays for a retry, if nothing succeeds before; `now`, or before it: it does.
    pub fn pays_at(&self, rules: &Gates, now: Millis) -> Millis {
        match &rules.budget {
            Some(budget) if !self.is_probing(now) => self.budget.pays_at(budget, now),
            _ => Millis::ZERO,
        }
    }

    /// A retry takes its token, or there is none. Also says no word of the breaker, which was asked before.
    pub fn pays(&mut self, rules: &Gates, now: Millis) -> bool {
        match &rules.budget {
            Some(budget) if !self.is_probing(now) => self.budget.take(budget, now),
            _ => true,
        }
    }

    /// A retry that a store has granted takes its token.
    pub fn charge(&mut self, rules: &Gates, now: Millis) {
        if let Some(budget) = rules.budget.as_ref().filter(|_| !self.is_probing(now)) {
            self.budget.charge(budget, now);
        }
    }

    /// Tokens left; infinity where there is no budget.
    pub fn tokens(&self, rules: &Gates, now: Millis) -> f64 {
        rules.budget.as_ref().map_or(f64::INFINITY, |budget| self.budget.tokens(budget, now))
    }

    /// Whether nothing would be forgotten with it.
    pub fn is_quiet(&self, rules: &Gates, now: Millis) -> bool {
        self.breaker.is_quiet() && rules.budget.as_ref().is_none_or(|budget| self.budget.is_full(budget, now))
    }

    /// Hears how an attempt ended.
    pub fn hear(
        &mut self,
        rules: &Gates,
        now: Millis,
        ending: &Ending,
        draw: impl FnOnce() -> u32,
    ) -> Option<Change> {
        if let Some(budget) = rules.budget.as_ref().filter(|_| ending.succeeded) {
            self.budget.replenish(budget);
        }
        if ending.unsent_retry && !self.is_probing(now) {
            self.budget.give_back();
        }
        if ending.succeeded {
            self.storm.succeeded(now);
        }
        self.breaker.record(rules.breaker.as_ref()?, now, ending.heard, draw)
    }

    /// A task came in: how many did for each success, if that is a storm; and the breaker that it opened.
    pub fn queued(
        &mut self,
        rules: &Gates,
        now: Millis,
        draw: impl FnOnce() -> u32,
    ) -> (Option<u32>, Option<Change>) {
        if rules.on_storm == OnStorm::Nothing {
            return (None, None);
        }
        let storm = self.storm.queued(now);
        let breaker = rules.breaker.as_ref().filter(|_| storm.is_some() && rules.on_storm == OnStorm::Open);
        let opened = breaker.and_then(|breaker| self.breaker.open(breaker, now, draw()));
        (storm, opened)
    }

    fn is_probing(&self, now: Millis) -> bool {
        self.breaker.circuit(now) == Circuit::HalfOpen
    }
}
