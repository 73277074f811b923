//! The checks of a policy's numbers.
//!
//! They are looked at as the row that crosses the boundary, and by a table: what each number has
//! to be stands once, and one loop asks. Twenty optional numbers handed on by name, each with its
//! own check, were the largest function of the wasm.
#![forbid(unsafe_code)]

use super::curve::{Curve, Growth};
use super::fields::{FIELD_COUNT, Field, JitterCode, NUMBERS, Row, StrategyCode};
use super::{Jitter, LONGEST_MS, Policy, PolicyOptions, Share, StatusSet, Strategy};
use crate::error::PolicyError;
use crate::time::Millis;

/// One day.
const DAY: u64 = 86_400_000;
/// Longest wait of exponential and linear unless said otherwise, or their first one where that is longer: a caller waits for 30 s.
pub(super) const DEFAULT_CAP: u64 = 8_000;
/// Longest wait that an answer calls for by its meaning, unless the longest one of the curve is given.
const PATIENCE: u64 = 30_000;
/// Longest wait of spread: 47 s shares no small ratio with a minute, so waits on the cap do not fall into
/// step with what happens every minute anyway.
const SPREAD_CAP: u64 = 47_000;
/// How long a call may take to answer unless said otherwise; the host adds what the body needs.
const TIMEOUT: u64 = 10_000;
/// More waits than a published schedule has, and a bound for what a policy weighs.
const MOST_DELAYS: usize = 1000;

/// The numbers that an option takes.
struct Range {
    expected: &'static str,
    least: f64,
    most: f64,
    whole: bool,
}

impl Range {
    const fn whole(expected: &'static str, least: f64, most: f64) -> Range {
        Range { expected, least, most, whole: true }
    }

    const fn any(expected: &'static str, least: f64, most: f64) -> Range {
        Range { expected, least, most, whole: false }
    }

    fn holds(&self, number: f64) -> bool {
        // Written so that NaN, which compares with nothing, is refused.
        number >= self.least && number <= self.most && (!self.whole || number as u64 as f64 == number)
    }

    fn check(&self, option: &'static str, number: f64) -> Result<(), PolicyError> {
        let error = PolicyError::Number { option, expected: self.expected, got: number };
        if self.holds(number) { Ok(()) } else { Err(error) }
    }
}

const DURATION: Range = Range::whole("a whole number of milliseconds, 0..=8640000000000000", 0.0, LONGEST_MS);

/// The options in the order of their fields, and what each has to be.
static RULES: [(&str, Range); NUMBERS] = [
    ("strategy", Range::whole("a known strategy", 0.0, (StrategyCode::ALL.len() - 1) as f64)),
    ("maxAttempts", Range::whole("a whole number, 1..=1000000", 1.0, 1_000_000.0)),
    ("initialDelayMs", DURATION),
    ("multiplier", Range::any(MULTIPLIER, 1.0, 100.0)),
    ("maxDelayMs", DURATION),
    ("totalBudgetMs", DURATION),
    ("jitterType", Range::whole("a known jitter", 0.0, (JitterCode::ALL.len() - 1) as f64)),
    ("jitterRatio", Range::any("a number, 0..=1", 0.0, 1.0)),
    ("freshJitter", Range::any("a number, 0..=0.5", 0.0, 0.5)),
    ("stepMs", DURATION),
    ("baseMs", DURATION),
    ("exponent", Range::any("a number, 0..=8", 0.0, 8.0)),
    ("jitterMs", DURATION),
    ("retryNetworkErrors", Range::whole("true or false", 0.0, 1.0)),
    ("attemptTimeoutMs", DURATION),
    ("estimatedCallMs", DURATION),
    ("maxRetryAfterMs", DURATION),
    ("keyTtlMs", DURATION),
    ("retryTimeouts", Range::whole("true or false", 0.0, 1.0)),
];
const MULTIPLIER: &str = "1, or a number 1.01..=100";

/// The error about a field that holds this number, whatever the number.
fn wrong(field: usize, got: f64) -> PolicyError {
    let (option, expected) = RULES.get(field).map_or(("", ""), |(option, range)| (*option, range.expected));
    PolicyError::Number { option, expected, got }
}

impl Policy {
    /// A policy from a row: `FIELD_COUNT` numbers, NaN for what is not given, the last two being
    /// the lengths of the lists that follow (`delaysMs`, then `retryableStatusCodes`).
    ///
    /// Order: strategy, maxAttempts, initialDelayMs, multiplier, maxDelayMs, totalBudgetMs,
    /// jitterType, jitterRatio, freshJitter, stepMs, baseMs, exponent, jitterMs,
    /// retryNetworkErrors, attemptTimeoutMs, estimatedCallMs, maxRetryAfterMs, keyTtlMs, retryTimeouts.
    ///
    /// # Errors
    /// As [`Policy::new`], and a list shorter than its length says.
    pub fn from_fields(fields: &[f64]) -> Result<Policy, PolicyError> {
        let mut lists = fields.get(FIELD_COUNT..).unwrap_or(&[]);
        let delays = take_list("delaysMs", &mut lists, fields.get(NUMBERS))?;
        let statuses = take_list("retryableStatusCodes", &mut lists, fields.get(NUMBERS + 1))?;
        let numbers = fields.get(..NUMBERS).unwrap_or(fields);
        Policy::from_row(&Row { numbers, delays: delays.unwrap_or(&[]), statuses })
    }

    /// Checks every option, the ones of other strategies too: a wrong number that is not used
    /// today would be a surprise on the day it is.
    ///
    /// # Errors
    /// The first option that cannot be used.
    pub fn new(options: &PolicyOptions) -> Result<Policy, PolicyError> {
        let mut numbers = [f64::NAN; NUMBERS];
        for (field, (number, given)) in numbers.iter_mut().zip(options.numbers()).enumerate() {
            match given {
                // In a row that would be nothing given.
                Some(nan) if nan.is_nan() => return Err(wrong(field, nan)),
                Some(given) => *number = given,
                None => {}
            }
        }
        let delays = options.delays_ms.as_deref().unwrap_or(&[]);
        let statuses = options.retryable_status_codes.as_deref();
        Policy::from_row(&Row { numbers: &numbers, delays, statuses })
    }

    /// Checks every number, those of other strategies too: a wrong number that is not used today
    /// would be a surprise on the day it is.
    fn from_row(row: &Row<'_>) -> Result<Policy, PolicyError> {
        for ((option, range), &number) in RULES.iter().zip(row.numbers) {
            if !number.is_nan() {
                range.check(option, number)?;
            }
        }
        let retryable = StatusSet::new(row.statuses)?;
        let strategy = row.strategy()?;
        let key_ttl = row.ms(Field::KeyTtlMs, DAY);
        // A task is worth its attempts for as long as its key is safe.
        let total_budget = row.ms(Field::TotalBudgetMs, key_ttl.get());
        if total_budget > key_ttl {
            let got = total_budget.get() as f64;
            return Err(PolicyError::Number { option: "totalBudgetMs", expected: "keyTtlMs at most", got });
        }
        let default_cap = match strategy {
            Strategy::Curved(Curve { growth: Growth::Fixed, .. }, _) => Millis::MAX.get(),
            Strategy::Curved(Curve { base, .. }, _) => base.get().max(DEFAULT_CAP),
            Strategy::Spread(..) => SPREAD_CAP,
            _ => Millis::MAX.get(),
        };
        let mut policy = Policy {
            strategy,
            cap: row.ms(Field::MaxDelayMs, default_cap),
            patience: row.ms(Field::MaxDelayMs, PATIENCE),
            max_attempts: row.has(Field::MaxAttempts).then(|| row.or(Field::MaxAttempts, 0.0) as u32),
            total_budget,
            retry_network_errors: row.or(Field::RetryNetworkErrors, 1.0) > 0.0,
            retry_timeouts: row.or(Field::RetryTimeouts, 1.0) > 0.0,
            attempt_timeout: row.ms(Field::AttemptTimeoutMs, TIMEOUT),
            estimated_call: row.has(Field::EstimatedCallMs).then(|| row.ms(Field::EstimatedCallMs, 0)),
            max_retry_after: row.ms(Field::MaxRetryAfterMs, DAY),
            key_ttl,
            retryable,
        };
        if let Strategy::Curved(curve, _) | Strategy::Spread(curve, _) = &mut policy.strategy {
            curve.cap = policy.cap;
        }
        Ok(policy)
    }
}

impl Row<'_> {
    /// The strategy with its numbers; a curve's cap follows. Looks at the options of the other
    /// strategies too.
    fn strategy(&self) -> Result<Strategy, PolicyError> {
        let code = self.or(Field::Strategy, 0.0) as usize;
        let code = StrategyCode::ALL.get(code).copied().unwrap_or(StrategyCode::Exponential);
        let multiplier = self.or(Field::Multiplier, 2.0);
        if multiplier > 1.0 && multiplier < 1.01 {
            return Err(wrong(Field::Multiplier as usize, multiplier));
        }
        self.check_delays(code == StrategyCode::Table)?;
        let base = self.ms(Field::InitialDelayMs, 500);
        let curved = |growth| Curve { growth, base, cap: Millis::MAX };
        let growth = match code {
            StrategyCode::Linear => Growth::Linear { step: self.ms(Field::StepMs, base.get()) },
            StrategyCode::Fixed => Growth::Fixed,
            _ => Growth::Exponential { multiplier },
        };
        Ok(match code {
            StrategyCode::Polynomial => self.polynomial()?,
            StrategyCode::Sidekiq => Strategy::Sidekiq,
            StrategyCode::Buckets => Strategy::Buckets,
            StrategyCode::PaddedExponential => Strategy::PaddedExponential,
            StrategyCode::Spread => {
                Strategy::Spread(curved(growth), Share::new(self.or(Field::FreshJitter, 0.1)))
            }
            StrategyCode::Table => {
                Strategy::Table(self.delays.iter().map(|&delay| Millis::from_f64(delay)).collect())
            }
            _ => Strategy::Curved(curved(growth), self.jitter()),
        })
    }

    fn jitter(&self) -> Jitter {
        match JitterCode::ALL
            .get(self.or(Field::JitterType, 1.0) as usize)
            .copied()
            .unwrap_or(JitterCode::Full)
        {
            JitterCode::None => Jitter::None,
            JitterCode::Full => Jitter::Full,
            JitterCode::Equal => Jitter::Equal,
            JitterCode::Decorrelated => Jitter::Decorrelated,
            JitterCode::Additive => Jitter::Additive,
            JitterCode::Proportional => Jitter::Proportional(Share::new(self.or(Field::JitterRatio, 0.2))),
            JitterCode::DecorrelatedClamped => Jitter::DecorrelatedClamped,
        }
    }

    /// All three or none: two of them and a default for the third would be a curve that the user
    /// has not chosen.
    fn polynomial(&self) -> Result<Strategy, PolicyError> {
        let three = [Field::BaseMs, Field::Exponent, Field::JitterMs];
        let missing = three.into_iter().find(|field| !self.has(*field));
        if let Some(field) = missing
            && three.into_iter().any(|field| self.has(field))
        {
            let (option, _) = RULES.get(field as usize).map_or(("", ""), |rule| (rule.0, ""));
            let expected = "a number: baseMs, exponent and jitterMs, all three or none";
            return Err(PolicyError::Missing { option, expected });
        }
        Ok(Strategy::Polynomial {
            base: self.ms(Field::BaseMs, 15_000),
            exponent: self.or(Field::Exponent, 4.0),
            jitter: self.ms(Field::JitterMs, 30_000),
        })
    }

    fn check_delays(&self, used: bool) -> Result<(), PolicyError> {
        let (option, count) = ("delaysMs", self.delays.len());
        if count > MOST_DELAYS || used && count == 0 {
            let expected = "a list of 1..=1000 delays";
            return Err(PolicyError::Number { option, expected, got: count as f64 });
        }
        self.delays.iter().try_for_each(|&delay| DURATION.check(option, delay))
    }
}

/// The next `count` numbers of `rest`; no count is no list.
fn take_list<'a>(
    option: &'static str,
    rest: &mut &'a [f64],
    count: Option<&f64>,
) -> Result<Option<&'a [f64]>, PolicyError> {
    let Some(&count) = count.filter(|count| !count.is_nan()) else { return Ok(None) };
    match rest.split_at_checked(count as usize) {
        Some((list, after)) => {
            *rest = after;
            Ok(Some(list))
        }
        None => Err(PolicyError::Number { option, expected: "a list as long as its count", got: count }),
    }
}
