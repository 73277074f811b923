//! The circuit breaker: stops asking a server that fails anyway, and finds out carefully when it works again.
//!
//! Backoff thins out the retries of one task; it does not see that all of them fail. A breaker
//! does: closed, it lets everything through and watches; open, it lets nothing through; half-open,
//! one attempt at a time goes to see. It hears of every attempt, the callers' own too, and keeps
//! back only the queue's, unless the host asks it about a call with [`Breaker::admit`].
//!
//! An attempt that began before the present state did says nothing about it: what hung for half a minute
//! is no news of a server that has been back for ten seconds.
#![forbid(unsafe_code)]

use super::recent::Recent;
use crate::numbered::numbered;
use crate::rng::SplitMix64;
use crate::time::Millis;

numbered! {
    /// The state of a circuit breaker.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub enum Circuit {
        /// Calls go through.
        #[default]
        Closed = 0,
        /// Calls are held back.
        Open = 1,
        /// One call goes through to see.
        HalfOpen = 2,
    }
}

/// When a breaker opens, for how long, and what closes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BreakerRules {
    /// Opens after so many failures in a row.
    pub consecutive_failures: u32,
    /// Opens where so many of a million recent attempts failed.
    pub failures_per_million: u32,
    /// But only of at least so many.
    pub minimum_attempts: u32,
    /// The time for which an ended attempt counts as recent.
    pub window: Millis,
    /// How long it stays open the first time; doubled each time a probe fails.
    pub open: Millis,
    /// The longest, before its share of chance: times 0.75 to 1.25.
    pub max_open: Millis,
    /// How many healthy answers in a row close it.
    pub close_after: u32,
}

impl BreakerRules {
    /// The rules of a breaker that nothing else was said about.
    pub const DEFAULT: BreakerRules = BreakerRules {
        consecutive_failures: 5,
        failures_per_million: 500_000,
        minimum_attempts: 20,
        window: Millis::new(10_000),
        open: Millis::new(5000),
        max_open: Millis::new(60_000),
        close_after: 5,
    };
}

impl Default for BreakerRules {
    fn default() -> BreakerRules {
        BreakerRules::DEFAULT
    }
}

/// From one state to another.
pub type Change = (Circuit, Circuit);

/// How an attempt ended, as a breaker hears it.
#[derive(Clone, Copy, Debug)]
pub struct Heard {
    /// When it began.
    pub began: Millis,
    /// Whether the server answered as one that works. `None`: nothing was learned about it.
    pub healthy: Option<bool>,
    /// The attempt was the queue's own.
    pub by_queue: bool,
}

/// One lane's breaker.
#[derive(Clone, Debug, Default)]
pub struct Breaker {
    circuit: Circuit,
    /// When that began.
    since: Millis,
    /// Closed: until when what was heard is recent. Open: until when. Half-open: until when it was open.
    until: Millis,
    /// Openings without a closing between them.
    openings: u32,
    /// Failures in a row while closed, healthy answers in a row while half-open.
    run: u32,
    /// Until when an attempt has the place of the probe to itself. The queue always hears how its own end, so it has
    /// it for ever; a caller's may never be heard of.
    probe_until: Millis,
    /// Healthy answers and failures.
    recent: Recent,
}

impl Breaker {
    /// The state at `now`: an open one whose time is up is half-open.
    pub fn circuit(&self, now: Millis) -> Circuit {
        match self.circuit {
            Circuit::Open if self.until <= now => Circuit::HalfOpen,
            circuit => circuit,
        }
    }

    /// How many attempts may start at `now`, as far as the breaker has a say.
    pub fn room(&self, now: Millis) -> u32 {
        match self.circuit(now) {
            Circuit::Closed => u32::MAX,
            Circuit::Open => 0,
            Circuit::HalfOpen => u32::from(self.probe_until <= now),
        }
    }

    /// Until when nothing may start, as far as the clock decides that; in the past: something may, or a probe's end
    /// decides.
    #[inline(never)]
    pub fn shut_until(&self, now: Millis) -> Millis {
        match self.circuit(now) {
            Circuit::Closed => Millis::ZERO,
            Circuit::Open => self.until,
            Circuit::HalfOpen if self.probe_until == Millis::MAX => Millis::ZERO,
            Circuit::HalfOpen => self.probe_until,
        }
    }

    /// Whether its knowledge is too old to matter, so that it may be forgotten: of a server that has not been called
    /// for the length of the window, or for the longest opening after the last one was over.
    pub fn is_quiet(&self, rules: &BreakerRules, now: Millis) -> bool {
        let more = if self.circuit == Circuit::Closed { Millis::ZERO } else { rules.max_open };
        self.until.plus(more) <= now
    }

    /// Makes an open one whose time is up half-open, since that moment.
    pub fn look(&mut self, now: Millis) -> Option<Change> {
        let ripe = self.circuit == Circuit::Open && self.until <= now;
        ripe.then(|| self.change(Circuit::HalfOpen, self.until))
    }

    /// An attempt of the queue starts: where it is half-open, that is the probe.
    pub fn start(&mut self) {
        if self.circuit == Circuit::HalfOpen {
            self.probe_until = Millis::MAX;
        }
    }

    /// Whether a caller's own attempt may start now, where the host holds those back as well. Half-open it is the probe,
    /// until it is heard of, or for as long as a circuit stays open the first time. [`Breaker::look`] comes first.
    pub fn admit(&mut self, rules: &BreakerRules, now: Millis) -> bool {
        let admitted = self.room(now) > 0;
        if admitted && self.circuit == Circuit::HalfOpen {
            self.probe_until = now.plus(rules.open);
        }
        admitted
    }

    /// Hears how an attempt ended. [`Breaker::look`] comes first.
    pub fn record(
        &mut self,
        rules: &BreakerRules,
        now: Millis,
        heard: Heard,
        rng: &mut SplitMix64,
    ) -> Option<Change> {
        if heard.began < self.since {
            return None;
        }
        if heard.by_queue == (self.probe_until == Millis::MAX) {
            self.probe_until = Millis::ZERO;
        }
        let healthy = heard.healthy?;
        // Closed, a run is of failures; half-open, of healthy answers.
        let goes_on = healthy == (self.circuit == Circuit::HalfOpen);
        self.run = if goes_on { self.run.saturating_add(1) } else { 0 };
        match self.circuit {
            Circuit::Open => None,
            Circuit::HalfOpen if !healthy => self.open(rules, now, rng),
            Circuit::HalfOpen => {
                let closes = self.run >= rules.close_after;
                closes.then(|| {
                    self.openings = 0;
                    self.change(Circuit::Closed, now)
                })
            }
            Circuit::Closed => {
                self.recent.add(rules.window, now, healthy);
                self.until = now.plus(rules.window);
                if self.has_failed_enough(rules) { self.open(rules, now, rng) } else { None }
            }
        }
    }

    /// Opens, unless it is open: each time without a closing between for twice as long as before.
    pub fn open(&mut self, rules: &BreakerRules, now: Millis, rng: &mut SplitMix64) -> Option<Change> {
        if self.circuit == Circuit::Open {
            return None;
        }
        let doubled = rules.open.get().saturating_mul(1 << self.openings.min(32));
        let length = doubled.min(rules.max_open.get());
        self.openings = self.openings.saturating_add(1);
        let change = self.change(Circuit::Open, now);
        // Times 0.75 to 1.25, so that those who were turned away together do not come back together. It saturates where
        // an opening takes seven weeks.
        let chance = length.saturating_mul(u64::from(rng.next_u32())) >> 33;
        self.until = now.plus(Millis::new(length.saturating_sub(length / 4).saturating_add(chance)));
        Some(change)
    }

    // Products of two u32 fit.
    fn has_failed_enough(&self, rules: &BreakerRules) -> bool {
        let (healthy, failed) = self.recent.counts();
        let all = healthy.saturating_add(failed);
        let most = u64::from(all).wrapping_mul(u64::from(rules.failures_per_million));
        let ratio = all >= rules.minimum_attempts && u64::from(failed).wrapping_mul(1_000_000) >= most;
        self.run >= rules.consecutive_failures || (failed > 0 && ratio)
    }

    fn change(&mut self, to: Circuit, since: Millis) -> Change {
        let from = std::mem::replace(&mut self.circuit, to);
        self.since = since;
        self.run = 0;
        self.probe_until = Millis::ZERO;
        self.recent = Recent::default();
        (from, to)
    }
}
