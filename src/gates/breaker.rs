//! The circuit breaker: stops asking a server that is down, and finds out carefully when it works again.
//!
//! Backoff thins out the retries of one task; it does not see that all of them fail. A breaker does: closed, it lets
//! everything through and watches; open, it lets nothing through; half-open, one attempt at a time goes to see. It hears of
//! every attempt, the callers' own too, and keeps back only the queue's, unless the host asks it about a call with
//! [`Breaker::admit`].
//!
//! It tells an outage from bad luck by evidence. A server that fails three times in ten fails five times in a row every
//! few minutes; one that is down never does anything else. So it opens when three things hold: nothing has succeeded for
//! some time, all that was asked meanwhile has failed, and chance alone would make a server with its record, or one that still
//! answers a fair share, fail so often in a row less than once in a thousand times. One healthy answer is far likelier from a
//! server that works than from one that is down, so one closes it; how fast the load returns is the ramp's matter.
//!
//! Such a row is unlikely, and still it happens. So an opening is in doubt for as long as a server that answers its fair share
//! may have made the row by chance, and each failure in it came soon: the queue's attempts wait, while a caller's own call is sent,
//! as the probe, and not retried. A caller that calls again at once would otherwise fail hundreds of times for one row of bad luck.
//!
//! An attempt that began before the present state did says nothing about it: what hung for half a minute is no news of a
//! server that has been back for ten seconds.
#![forbid(unsafe_code)]

use super::record::Record;
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

/// When a breaker opens, and for how long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BreakerRules {
    /// A server that answers so many of a million attempts, or more, does its work however often it fails.
    pub fair_per_million: u32,
    /// A breaker stays closed until nothing has succeeded for so long.
    pub after: Millis,
    /// The longest that it stays open the first time; doubled each time a probe fails. Chance takes up to half of it.
    pub open: Millis,
    /// The longest that it ever stays open.
    pub max_open: Millis,
}

impl BreakerRules {
    /// The rules of a breaker that nothing else was said about.
    pub const DEFAULT: BreakerRules = BreakerRules {
        fair_per_million: 200_000,
        after: Millis::new(2500),
        open: Millis::new(1000),
        max_open: Millis::new(4000),
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

/// With many callers waiting it stays open for so long, in ms; half to all of it.
const SHORTEST: u64 = 500;

/// Knowledge of a server lasts for so long.
const MEMORY: Millis = Millis::new(60_000);

/// One lane's breaker.
#[derive(Clone, Debug, Default)]
pub struct Breaker {
    /// How many callers wait for it to let them through.
    pub callers: u32,
    circuit: Circuit,
    /// When that began.
    since: Millis,
    /// Closed: until when what was heard matters. Open: until when. Half-open: until when it was open.
    until: Millis,
    /// Openings without a closing between them.
    openings: u32,
    /// Since it was closed, each failure that opened it came soon after its attempt began.
    came_soon: bool,
    /// Until when an attempt has the place of the probe to itself. The queue always hears how its own end, so it has
    /// it for ever; a caller's may never be heard of.
    probe_until: Millis,
    /// How the server has done of late, and how many times in a row it has failed.
    record: Record,
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

    /// Whether its knowledge is too old to matter, so that it may be forgotten.
    pub fn is_quiet(&self, now: Millis) -> bool {
        let more = if self.circuit == Circuit::Closed { Millis::ZERO } else { MEMORY };
        self.until.plus(more) <= now
    }

    /// Makes an open one whose time is up half-open, since that moment.
    pub fn look(&mut self, now: Millis) -> Option<Change> {
        let ripe = self.circuit == Circuit::Open && self.until <= now;
        ripe.then(|| self.change(Circuit::HalfOpen, self.until))
    }

    /// Ends an opening by this millisecond: what began in that is no probe.
    pub fn hasten(&mut self, at: Millis) {
        if self.circuit == Circuit::Open {
            self.until = self.until.min(at.plus(Millis::new(1)));
        }
    }

    /// [`Breaker::hasten`] of an opening that counts as none.
    pub fn spare(&mut self, now: Millis) {
        self.hasten(now);
        self.openings = self.openings.saturating_sub(1);
    }

    /// Ends an opening that is in doubt: a caller's own attempt is about to ask [`Breaker::admit`].
    pub fn give_way(&mut self, now: Millis) {
        if self.circuit == Circuit::Open && self.is_in_doubt() {
            self.until = self.until.min(now);
        }
    }

    /// An attempt of the queue starts: where it is half-open, that is the probe.
    pub fn start(&mut self) {
        if self.circuit == Circuit::HalfOpen {
            self.probe_until = Millis::MAX;
        }
    }

    /// Whether a caller's own attempt may start now, where the host holds those back as well. Half-open it is the probe,
    /// until it is heard of, or for as long as a circuit stays open at most. In doubt others go beside it.
    /// [`Breaker::give_way`] and [`Breaker::look`] come first.
    pub fn admit(&mut self, rules: &BreakerRules, now: Millis) -> bool {
        let admitted = self.room(now) > 0;
        if admitted && self.circuit == Circuit::HalfOpen {
            self.probe_until = now.plus(rules.max_open);
        }
        admitted || self.is_in_doubt()
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
        if healthy {
            self.record.succeed(now);
        } else {
            self.record.fail(now, heard.began, rules.fair_per_million);
        }
        match self.circuit {
            Circuit::Open => None,
            Circuit::HalfOpen if healthy => {
                self.openings = 0;
                self.until = now.plus(MEMORY);
                Some(self.change(Circuit::Closed, now))
            }
            Circuit::HalfOpen => self.open_for(rules, now, heard.began, rng),
            Circuit::Closed if self.record.shows_outage(now, rules.after) => {
                self.open_for(rules, now, heard.began, rng)
            }
            Circuit::Closed => {
                self.until = now.plus(MEMORY);
                None
            }
        }
    }

    /// Whether the server has just failed more often in a row than it does by chance.
    pub const fn is_odd(&self) -> bool {
        self.record.is_odd()
    }

    /// Opens for the failure of an attempt that began at `began`.
    fn open_for(
        &mut self,
        rules: &BreakerRules,
        now: Millis,
        began: Millis,
        rng: &mut SplitMix64,
    ) -> Option<Change> {
        let came_soon = self.circuit == Circuit::Closed || self.came_soon;
        let change = self.open(rules, now, rng);
        self.came_soon = came_soon && now.minus(began) < rules.after;
        change
    }

    /// Whether chance may have opened it.
    const fn is_in_doubt(&self) -> bool {
        self.came_soon && self.record.may_be_chance()
    }

    /// Opens beyond doubt, unless it is open: each time without a closing between for twice as long as before. Where many callers wait it is
    /// for less: each of them would ask once, and together they ask no more than one that waits alone, each.
    pub fn open(&mut self, rules: &BreakerRules, now: Millis, rng: &mut SplitMix64) -> Option<Change> {
        if self.circuit == Circuit::Open {
            return None;
        }
        self.came_soon = false;
        let doubled = rules.open.get().saturating_mul(1 << self.openings.min(32));
        let most = rules.max_open.get();
        let share = most.checked_div(u64::from(self.callers)).unwrap_or(most).max(SHORTEST);
        let length = doubled.min(most).min(share);
        self.openings = self.openings.saturating_add(1);
        let change = self.change(Circuit::Open, now);
        // Half to all of it, so that those who were turned away together do not come back together.
        let chance = length.saturating_mul(u64::from(rng.next_u32())) >> 33;
        self.until = now.plus(Millis::new((length / 2).saturating_add(chance)));
        Some(change)
    }

    fn change(&mut self, to: Circuit, since: Millis) -> Change {
        let from = std::mem::replace(&mut self.circuit, to);
        self.since = since;
        self.probe_until = Millis::ZERO;
        (from, to)
    }
}
