//! The gates between a due task and its attempt, beyond its own deadline and the limits: one lane's breaker, ramp, retry
//! budget and storm detector, and the rules that all lanes share.
#![forbid(unsafe_code)]

pub mod breaker;
pub mod budget;
mod door;
mod pace;
mod ramp;
mod recent;
mod record;
mod silence;
mod storm;

use crate::numbered::numbered;
use crate::rng::SplitMix64;
use crate::time::Millis;
use breaker::{Breaker, BreakerRules, Change, Circuit, Heard};
use budget::{BudgetRules, RetryBudget};
pub(crate) use door::Door;
pub use door::{Entry, WhenOpen};
pub use pace::Pace;
pub use ramp::Comeback;
use ramp::{Course, Ramp};
pub(crate) use silence::Silence;
use storm::Storm;
pub use storm::TASKS_PER_SUCCESS;

/// The rules of all lanes. Nothing keeps anything back by default.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Gates {
    /// `None`: there is no breaker.
    pub breaker: Option<BreakerRules>,
    /// From three failures in a row on a lane runs only as much as goes well.
    pub ramp: Comeback,
    /// `None`: retries cost nothing.
    pub budget: Option<BudgetRules>,
    /// The consequence of a retry storm.
    pub on_storm: OnStorm,
    /// The lane's server has few such clients: a caller that waits alone is sent at the very moment that was named to it.
    pub exact_alone: bool,
}

numbered! {
    /// The consequence of a retry storm.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub enum OnStorm {
        /// Nothing; storms are not looked for.
        #[default]
        Nothing = 0,
        /// The host reports it.
        Tell = 1,
        /// The host reports it, and the breaker opens, where there is one.
        Open = 2,
    }
}

/// The facts about an ended attempt that the gates of its lane hear.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ending {
    /// The part of it that the breaker hears.
    pub heard: Heard,
    /// When it ended, which may be long before it is heard of: a host that was loading its core tells of all attempts at once.
    pub ended: Millis,
    /// The attempt was a success, which is more than a healthy answer.
    pub succeeded: bool,
    /// The attempt had paid a token.
    pub paid: bool,
    /// The attempt was never sent.
    pub unsent: bool,
    /// How long the answer took.
    pub pace: Pace,
    /// The attempt was the first of a task, and failed.
    pub first_failure: bool,
    /// A failure that is no sign of an outage: its task had failed before, and the lane has answered another since, or the
    /// server has said until when it takes no more.
    pub excused: bool,
}

/// One lane's gates.
#[derive(Clone, Debug, Default)]
pub(crate) struct LaneGates {
    pub breaker: Breaker,
    pub ramp: Ramp,
    budget: RetryBudget,
    storm: Storm,
    /// When the last healthy answer came.
    healthy_at: Option<Millis>,
    /// How many times another task took the place of a probe since the last healthy answer.
    spared: u8,
    /// Other tasks wait in the lane.
    pub others: bool,
}

/// The most of them.
const SPARED: u8 = 3;

/// News of a lane for the host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Notice {
    Circuit(Change),
    /// So many tasks failed for the first time for each success.
    Storm(u32),
}

impl LaneGates {
    /// How many retries may start, as far as breaker and budget have a say.
    pub fn retries(&self, rules: &Gates, now: Millis) -> u32 {
        let room = self.breaker.room(now);
        self.price(rules, now).map_or(room, |budget| room.min(self.budget.whole(budget, now)))
    }

    /// When the budget pays for a retry, if nothing succeeds before; `now`, or before it: it does.
    pub fn pays_at(&self, rules: &Gates, now: Millis) -> Millis {
        self.price(rules, now).map_or(Millis::ZERO, |budget| self.budget.pays_at(budget, now))
    }

    /// A retry pays what it costs; whether it could. `None`: it costs nothing.
    pub fn pay(&mut self, rules: &Gates, now: Millis) -> Option<bool> {
        Some(self.budget.take(self.price(rules, now)?, now))
    }

    /// Tokens left; infinity where there is no budget.
    pub fn tokens(&self, rules: &Gates, now: Millis) -> f64 {
        rules.budget.as_ref().map_or(f64::INFINITY, |budget| self.budget.tokens(budget, now))
    }

    /// Whether nothing that matters would be forgotten with it.
    pub fn is_quiet(&self, rules: &Gates, now: Millis) -> bool {
        (rules.breaker.is_none() || self.breaker.is_quiet(now))
            && rules.budget.as_ref().is_none_or(|budget| self.budget.is_full(budget, now))
    }

    /// How many attempts may run at a time. A probe is not kept back by attempts that hang since before.
    pub fn limit(&self, now: Millis) -> u32 {
        if self.breaker.circuit(now) == Circuit::Closed { self.ramp.limit() } else { u32::MAX }
    }

    /// Whether one attempt at a time is to show how the server does.
    pub fn tries_out(&self, now: Millis) -> bool {
        self.breaker.circuit(now) == Circuit::HalfOpen || self.ramp.pauses()
    }

    /// Lets one attempt go to see how the server does, whatever time its breaker or its ramp still had to wait.
    pub fn hasten(&mut self, now: Millis) {
        self.breaker.hasten(now);
        self.ramp.hasten();
    }

    /// A task was enqueued: an extra attempt may go, and see whether the circuit may close.
    pub fn visit(&mut self, now: Millis) {
        if let Some(at) = self.ramp.visit(now) {
            self.breaker.hasten(at.max(now));
        }
    }

    /// Whether the server has answered as one that works at `since` or later.
    pub fn went_well_since(&self, since: Millis) -> bool {
        self.healthy_at.is_some_and(|at| at >= since)
    }

    /// Hears how an attempt ended, where `most` may run at a time: how many tasks failed for the first time for each success, if that is a storm;
    /// and what became of the breaker.
    pub fn hear(
        &mut self,
        rules: &Gates,
        now: Millis,
        ending: &Ending,
        most: u32,
        rng: &mut SplitMix64,
    ) -> (Option<u32>, Option<Change>) {
        if ending.paid && ending.unsent {
            self.budget.give_back();
        }
        if let Some(budget) = rules.budget.as_ref().filter(|_| ending.succeeded) {
            self.budget.replenish(budget);
        }
        let mut storm = None;
        if rules.on_storm != OnStorm::Nothing && (ending.succeeded || ending.first_failure) {
            storm = self.storm.hear(now, ending.succeeded);
        }
        let mut heard = ending.heard;
        match heard.healthy {
            Some(true) => self.healthy_at = self.healthy_at.max(Some(ending.ended)),
            // No sign of an outage: a task that fails while others succeed, a server that sets limits, a failure from before the
            // last healthy answer. As the probe each counts: it is to show that this task, too, may be asked again.
            Some(false)
                if (ending.excused || self.healthy_at > Some(ending.ended))
                    && self.breaker.circuit(now) == Circuit::Closed =>
            {
                heard.healthy = None
            }
            _ => {}
        }
        let change = rules.breaker.as_ref().and_then(|breaker| {
            let recorded = self.breaker.record(breaker, now, heard, rng);
            let opens = storm.is_some() && rules.on_storm == OnStorm::Open;
            let opened = if opens { self.breaker.open(breaker, now, rng) } else { None };
            recorded.or(opened)
        });
        if ending.unsent && ending.heard.by_queue {
            self.ramp.take_back();
        }
        if let Some(healthy) = ending.heard.healthy {
            let by_queue = ending.heard.by_queue;
            // Without a breaker there is no record, and three in a row are odd.
            let odd = rules.breaker.is_none() || self.breaker.is_odd();
            let course = Course { healthy, pace: ending.pace, most, by_queue, odd, comeback: rules.ramp };
            // What is excused is load where there is too much of it already, and no sign of that.
            if rules.ramp != Comeback::AtOnce && (healthy || heard.healthy.is_some() || self.ramp.pauses()) {
                self.ramp.hear(now, course);
            }
        }
        if rules.ramp != Comeback::AtOnce && matches!(change, Some((_, Circuit::Open))) {
            self.ramp.begin();
            // A task was enqueued while that attempt ran.
            if let Some(at) = self.ramp.extra_at() {
                self.breaker.hasten(at.max(now));
            }
        }
        if rules.ramp != Comeback::AtOnce {
            self.spare(now, ending);
        }
        (storm, change)
    }

    /// An attempt that opened the breaker, or was to close it, and was refused at once may have failed by its own trouble: another task takes its place, three
    /// times until the server answers. More would use up the attempts of all, where it is down.
    fn spare(&mut self, now: Millis, ending: &Ending) {
        let Heard { healthy, by_queue, .. } = ending.heard;
        if healthy == Some(true) {
            self.spared = 0;
        }
        let refused = by_queue && self.others && healthy == Some(false) && ending.pace == Pace::Quick;
        if refused && self.spared < SPARED && self.breaker.circuit(now) == Circuit::Open {
            self.spared = self.spared.saturating_add(1);
            self.breaker.spare(now);
            self.ramp.spare(now);
        }
    }

    /// The budget that a retry draws on; none while the breaker is half-open: a probe that had to pay could leave it so for ever.
    fn price<'rules>(&self, rules: &'rules Gates, now: Millis) -> Option<&'rules BudgetRules> {
        rules.budget.as_ref().filter(|_| self.breaker.circuit(now) != Circuit::HalfOpen)
    }
}
