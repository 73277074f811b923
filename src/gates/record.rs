//! The record of one server: how likely it is that chance made it fail so often in a row.
//!
//! Answers and failures of the past are counted and forgotten by halves. From them follows how often the server fails;
//! to be on the safe side the odds are taken to be twice as bad. Each failure after the last success multiplies the chance
//! that so many come in a row by that share. The share is never less than a quarter, so that five failures are the fewest
//! that mean anything, nor more than what a server fails that still answers its fair share.
//!
//! Integers alone: the same on every machine.
#![forbid(unsafe_code)]

use crate::time::Millis;

/// Certainty, as chances are counted here.
const CERTAIN: u32 = 1 << 30;
/// More doubt than this: an event that comes by chance less often than once in a thousand times is none of chance.
const UNLIKELY: u32 = CERTAIN - CERTAIN / 1000;
/// More than this: one that comes by chance less often than once in fifty times is odd.
const ODD: u32 = CERTAIN - CERTAIN / 50;
/// Counts are halved when they come to so much.
const MOST: u32 = 64;
/// Counts are halved when so much time has passed.
const HALF_LIFE: Millis = Millis::new(30_000);
/// The least and, with a server that answers nothing, the most that a server is taken to fail, of a million.
const LEAST_FAILING: u32 = 250_000;
const MILLION: u32 = 1_000_000;

/// One server's record; nothing is known at first.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Record {
    answered: u32,
    /// Without those of the present row.
    failed: u32,
    /// The half-life in which they were last halved for time, counted from the epoch.
    halved_in: u64,
    /// Failures since the last answer: how many, and when the first attempt of them began.
    row: u32,
    failing_since: Millis,
    /// How unlikely such a row is by the record.
    doubt: Doubt,
    /// And by a server that answers no more than its fair share.
    least_doubt: Doubt,
}

/// How unlikely an event is: what is missing to certainty.
#[derive(Clone, Copy, Debug, Default)]
struct Doubt(u32);

impl Doubt {
    /// That of the same event, and of another that happens so many times in a million.
    fn and(self, per_million: u32) -> Doubt {
        let chance = u64::from(CERTAIN.saturating_sub(self.0)).saturating_mul(u64::from(per_million));
        let chance = chance.checked_div(u64::from(MILLION)).and_then(|chance| u32::try_from(chance).ok());
        Doubt(CERTAIN.saturating_sub(chance.unwrap_or(CERTAIN)))
    }
}

impl Record {
    /// The server has answered as one that works.
    pub fn succeed(&mut self, now: Millis) {
        self.age(now);
        self.failed = self.failed.saturating_add(self.row.min(MOST));
        self.answered = self.answered.saturating_add(1);
        self.row = 0;
        self.doubt = Doubt::default();
        self.least_doubt = Doubt::default();
        while self.answered.saturating_add(self.failed) > MOST {
            self.halve();
        }
    }

    /// Counts a failure of an attempt that began at `began`; the server answers a fair share of so many of a million attempts.
    pub fn fail(&mut self, now: Millis, began: Millis, fair_per_million: u32) {
        self.age(now);
        if self.row == 0 {
            self.failing_since = began;
        }
        self.row = self.row.saturating_add(1);
        let most = MILLION.saturating_sub(fair_per_million);
        self.doubt = self.doubt.and(self.failing().min(most));
        self.least_doubt = self.least_doubt.and(most);
    }

    /// Whether nothing has succeeded for `after`, and chance alone hardly ever makes so many failures.
    pub fn shows_outage(&self, now: Millis, after: Millis) -> bool {
        self.row > 0 && now >= self.failing_since.plus(after) && self.doubt.0 > UNLIKELY
    }

    /// Whether a server that answers its fair share may have failed so often in a row.
    pub const fn may_be_chance(&self) -> bool {
        self.least_doubt.0 <= UNLIKELY
    }

    /// Whether it has just failed more often in a row than it does by chance, so that there is reason to ask less.
    pub const fn is_odd(&self) -> bool {
        self.doubt.0 > ODD
    }

    /// How many of a million attempts it is taken to fail while it works.
    fn failing(&self) -> u32 {
        let odds = self.failed.saturating_mul(2).saturating_add(1);
        let all = odds.saturating_add(self.answered).saturating_add(3);
        let share = odds.saturating_mul(MILLION).checked_div(all).unwrap_or(0);
        share.max(LEAST_FAILING)
    }

    fn age(&mut self, now: Millis) {
        let half_life = now.get().checked_div(HALF_LIFE.get()).unwrap_or(0);
        let halves = half_life.saturating_sub(self.halved_in);
        (0..halves.min(u64::from(u32::BITS))).for_each(|_| self.halve());
        self.halved_in = half_life.max(self.halved_in);
    }

    const fn halve(&mut self) {
        self.answered /= 2;
        self.failed /= 2;
    }
}
