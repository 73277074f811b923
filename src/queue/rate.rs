//! How many attempts of a lane may start in a time.
//!
//! Some servers allow so many requests a second. A limit on how many run at a time does not keep to that, since quick answers make
//! room for many. So a lane may have a bucket: it holds `burst` tokens, an attempt takes one, and they come back evenly.
//! Amounts are counted in parts of a token so small that each millisecond brings a whole number of them: nothing is ever
//! rounded, however often it is asked.
#![forbid(unsafe_code)]

use crate::time::Millis;

/// A token, in the unit that buckets are kept in.
const TOKEN: u64 = 1_000_000_000_000;

/// How fast a bucket fills, and what it holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rate {
    per_ms: u64,
    capacity: u64,
}

impl Rate {
    /// `per_second` attempts, at most a million; at least one in 32 years. After a pause `burst` may start at once: at least 1, at most a million.
    pub fn new(per_second: f64, burst: u32) -> Rate {
        // A token is a thousand times what a rate of one brings in a millisecond.
        let per_ms = (per_second.clamp(0.0, 1e6) * (TOKEN / 1000) as f64) as u64;
        Rate { per_ms: per_ms.max(1), capacity: u64::from(burst.clamp(1, 1_000_000)).saturating_mul(TOKEN) }
    }
}

/// One lane's tokens; all of them at first. Without a rate it never runs out.
#[derive(Clone, Copy, Debug, Default)]
pub struct Bucket {
    rate: Option<Rate>,
    /// The amount it lacks to be full, at `at`.
    spent: u64,
    at: Millis,
    /// The last moment at which an attempt found it full.
    full_at: Millis,
}

impl Bucket {
    /// A full bucket.
    pub fn new(rate: Option<Rate>) -> Bucket {
        Bucket { rate, ..Bucket::default() }
    }

    /// How many attempts may start at `now`.
    pub fn room(&self, now: Millis) -> u32 {
        let Some(rate) = self.rate else { return u32::MAX };
        let left = rate.capacity.saturating_sub(self.spent_at(rate, now));
        u32::try_from(left / TOKEN).unwrap_or(u32::MAX)
    }

    /// When the next attempt may start; zero: at once.
    pub fn opens_at(&self, now: Millis) -> Millis {
        let Some(rate) = self.rate else { return Millis::ZERO };
        let lacks = self.spent.saturating_add(TOKEN).saturating_sub(rate.capacity);
        let at = self.at.plus(Millis::new(lacks.div_ceil(rate.per_ms)));
        if lacks == 0 || at <= now { Millis::ZERO } else { at }
    }

    /// An attempt starts. One that a store has granted takes its token even where there is none: the next waits the longer.
    pub fn take(&mut self, now: Millis) {
        let Some(rate) = self.rate else { return };
        let spent = self.spent_at(rate, now);
        if spent == 0 {
            self.full_at = now;
        }
        self.spent = spent.saturating_add(TOKEN);
        self.at = self.at.max(now);
    }

    /// The attempt that took its token at `taken_at` was not sent. Where the bucket has been full since, the token has come back by itself.
    pub fn give_back(&mut self, taken_at: Millis) {
        if self.full_at <= taken_at {
            self.spent = self.spent.saturating_sub(TOKEN);
        }
    }

    /// Whether nothing that matters would be forgotten with it.
    pub fn is_full(&self, now: Millis) -> bool {
        self.rate.is_none_or(|rate| self.spent_at(rate, now) == 0)
    }

    fn spent_at(&self, rate: Rate, now: Millis) -> u64 {
        self.spent.saturating_sub(now.minus(self.at).get().saturating_mul(rate.per_ms))
    }
}
