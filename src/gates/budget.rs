//! The retry budget: how much a server that struggles is asked on top of what it is asked anyway.
//!
//! Where everything fails, retries multiply the load just when less would help. So each costs a token, and
//! tokens come back with successes and, slowly, with time: then retries add at most their share to the load (L6). An
//! empty budget puts a retry off and never drops it. First attempts and the probe of a breaker cost nothing; a probe
//! that needed a token could leave the breaker open for ever.
//!
//! Source of the idea: gRPC A6, "Throttling Retry Attempts and Hedged RPCs"; it charges failures and drops retries.
#![forbid(unsafe_code)]

use crate::time::Millis;

/// A token, in the unit that budgets are kept in.
const TOKEN: u64 = 1_000_000_000;

/// The size of a budget and how it fills, in billionths of a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BudgetRules {
    /// The most it holds, and holds at first; a retry costs 1,000,000,000.
    pub capacity: u64,
    /// Comes back with a success.
    pub per_success: u64,
    /// Comes back with a second.
    pub per_second: u64,
}

impl Default for BudgetRules {
    /// The budget of a server or Worker that nothing else was said about.
    fn default() -> BudgetRules {
        BudgetRules { capacity: 100 * TOKEN, per_success: 2 * TOKEN, per_second: TOKEN }
    }
}

impl BudgetRules {
    /// Replaces parts of the rules by numbers of tokens; NaN leaves a part as it is.
    #[must_use]
    pub fn with(self, capacity: f64, per_success: f64, per_second: f64) -> BudgetRules {
        let or = |tokens: f64, default: u64| if tokens.is_nan() { default } else { billionths(tokens) };
        BudgetRules {
            capacity: or(capacity, self.capacity).max(TOKEN),
            per_success: or(per_success, self.per_success),
            per_second: or(per_second, self.per_second),
        }
    }

    /// From numbers of tokens, at most a million each; what is no number counts as 0. The capacity is at least one
    /// token: with less no retry could ever start.
    pub fn new(capacity: f64, per_success: f64, per_second: f64) -> BudgetRules {
        BudgetRules {
            capacity: billionths(capacity).max(TOKEN),
            per_success: billionths(per_success),
            per_second: billionths(per_second),
        }
    }
}

#[inline(never)]
fn billionths(tokens: f64) -> u64 {
    (tokens.clamp(0.0, 1e6) * TOKEN as f64) as u64
}

/// One lane's retry budget; full at first.
#[derive(Clone, Copy, Debug, Default)]
pub struct RetryBudget {
    /// The amount it lacks to be full, at `at`.
    spent: u64,
    at: Millis,
}

impl RetryBudget {
    /// How many retries it pays for at `now`.
    pub fn whole(&self, rules: &BudgetRules, now: Millis) -> u32 {
        u32::try_from(self.left(rules, now) / TOKEN).unwrap_or(u32::MAX)
    }

    /// The tokens at `now`, parts of one too.
    pub fn tokens(&self, rules: &BudgetRules, now: Millis) -> f64 {
        self.left(rules, now) as f64 / TOKEN as f64
    }

    /// Whether it holds all that it may.
    pub fn is_full(&self, rules: &BudgetRules, now: Millis) -> bool {
        self.spent_at(rules, now) == 0
    }

    /// When it pays for a retry, if nothing succeeds before; `now` if it does already, [`Millis::MAX`]: never.
    pub fn pays_at(&self, rules: &BudgetRules, now: Millis) -> Millis {
        // From `at`, where nothing is rounded yet: from a later moment it would be rounded twice, and come a millisecond late.
        let lacks = TOKEN.saturating_sub(rules.capacity.saturating_sub(self.spent));
        if lacks == 0 {
            return now;
        }
        if rules.per_second == 0 {
            return Millis::MAX;
        }
        self.at.plus(Millis::new(lacks.saturating_mul(1000).div_ceil(rules.per_second))).max(now)
    }

    /// Takes what a retry costs, or says that there is not enough.
    pub fn take(&mut self, rules: &BudgetRules, now: Millis) -> bool {
        let spent = self.spent_at(rules, now);
        let pays = rules.capacity.saturating_sub(spent) >= TOKEN;
        // What is refused changes nothing: each rounding down would put the moment off by a share of a millisecond.
        if pays {
            self.spent = spent.saturating_add(TOKEN);
            self.at = self.at.max(now);
        }
        pays
    }

    /// Gives back what a retry cost that was not sent.
    pub const fn give_back(&mut self) {
        self.spent = self.spent.saturating_sub(TOKEN);
    }

    /// Hears of a success, which gives some back.
    pub const fn replenish(&mut self, rules: &BudgetRules) {
        self.spent = self.spent.saturating_sub(rules.per_success);
    }

    fn left(&self, rules: &BudgetRules, now: Millis) -> u64 {
        rules.capacity.saturating_sub(self.spent_at(rules, now))
    }

    /// In one copy: five ask.
    #[inline(never)]
    fn spent_at(&self, rules: &BudgetRules, now: Millis) -> u64 {
        let passed = now.minus(self.at).get();
        self.spent.saturating_sub(passed.saturating_mul(rules.per_second) / 1000)
    }
}
