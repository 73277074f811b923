//! The checks of a policy's numbers.
//!
//! Each check gives the number or its default and takes note of the first that is wrong, so
//! that [`super::Policy::new`] reads as a list. A `Result` of every step instead is a large value
//! moved twenty times, and shows in the size of the wasm.
#![forbid(unsafe_code)]

use super::{Jitter, LONGEST_MS, Policy, PolicyOptions, StatusSet};
use crate::error::PolicyError;
use crate::time::Millis;

/// The curves there are, before they have their numbers.
pub(super) enum Strategy {
    Exponential,
    Linear,
    Fixed,
}

/// The first thing that is wrong, if anything is.
#[derive(Default)]
pub(super) struct Check {
    error: Option<PolicyError>,
}

impl Check {
    /// The policy, if everything was right.
    pub fn finish(self, policy: Policy) -> Result<Policy, PolicyError> {
        self.error.map_or(Ok(policy), Err)
    }

    pub fn strategy(&mut self, given: Option<f64>) -> Strategy {
        match self.whole("strategy", "a known strategy", given, 0.0, 8.0).unwrap_or(0) {
            0 => Strategy::Exponential,
            1 => Strategy::Linear,
            code => {
                let later = ["polynomial", "sidekiq", "buckets", "padded_exponential", "spread", "table"];
                self.not_yet("strategy", "exponential, linear or fixed", &later, code.checked_sub(3));
                Strategy::Fixed
            }
        }
    }

    pub fn jitter(&mut self, given: Option<f64>) -> Jitter {
        match self.whole("jitterType", "a known jitter", given, 0.0, 6.0).unwrap_or(1) {
            0 => Jitter::None,
            1 => Jitter::Full,
            2 => Jitter::Equal,
            code => {
                let later = ["ADDITIVE", "PROPORTIONAL", "DECORRELATED_CLAMPED"];
                let available = "NONE, FULL, EQUAL or DECORRELATED";
                self.not_yet("jitterType", available, &later, code.checked_sub(4));
                Jitter::Decorrelated
            }
        }
    }

    pub fn max_attempts(&mut self, given: Option<f64>) -> u8 {
        let attempts = self.whole("maxAttempts", "a whole number, 1..=100", given, 1.0, 100.0);
        attempts.map_or(5, |attempts| attempts as u8)
    }

    pub fn multiplier(&mut self, given: Option<f64>) -> f64 {
        let expected = "1, or a number 1.01..=100";
        let multiplier = self.between("multiplier", expected, given, 1.0, 100.0).unwrap_or(2.0);
        if multiplier > 1.0 && multiplier < 1.01 {
            self.wrong("multiplier", expected, multiplier);
        }
        multiplier
    }

    pub fn flag(&mut self, option: &'static str, given: Option<f64>) -> bool {
        self.whole(option, "true or false", given, 0.0, 1.0).is_none_or(|flag| flag == 1)
    }

    pub fn duration(&mut self, option: &'static str, given: Option<f64>, default: Millis) -> Millis {
        self.optional_duration(option, given).unwrap_or(default)
    }

    #[inline(never)]
    pub fn optional_duration(&mut self, option: &'static str, given: Option<f64>) -> Option<Millis> {
        let expected = "a whole number of milliseconds, 0..=8640000000000000";
        self.whole(option, expected, given, 0.0, LONGEST_MS).map(Millis::new)
    }

    pub fn statuses(&mut self, given: Option<&[f64]>) -> StatusSet {
        let (set, unknown) = StatusSet::new(given);
        if let Some(unknown) = unknown {
            self.wrong("retryableStatusCodes", "whole numbers, 100..=599", unknown);
        }
        set
    }

    /// Options of the curves to come.
    pub fn unused(&mut self, options: &PolicyOptions) {
        self.between("jitterRatio", "a number, 0..=1", options.jitter_ratio, 0.0, 1.0);
        self.between("freshJitter", "a number, 0..=0.5", options.fresh_jitter, 0.0, 0.5);
        self.between("exponent", "a number, 0..=8", options.exponent, 0.0, 8.0);
        self.optional_duration("baseMs", options.base_ms);
        self.optional_duration("jitterMs", options.jitter_ms);
        for &delay in options.delays_ms.as_deref().unwrap_or(&[]) {
            self.optional_duration("delaysMs", Some(delay));
        }
    }

    /// A retry that the server no longer recognizes as one would be a second effect. Only a
    /// schedule that both may and can outlive the key is refused: a shorter budget ends the
    /// task in time, and so does a shorter schedule.
    pub fn key_outlives_schedule(&mut self, policy: &Policy) {
        let longest = policy.longest_schedule();
        if policy.total_budget <= policy.key_ttl || longest <= policy.key_ttl {
            return;
        }
        let (longest, budget) = (longest.get().to_string(), policy.total_budget.get().to_string());
        let least = ["at least the ", &longest, " ms the retries may take"].concat();
        let expected = [&least, ", or a totalBudgetMs (now ", &budget, ") of at most keyTtlMs"].concat();
        self.note(PolicyError { option: "keyTtlMs", expected, got: policy.key_ttl.get().to_string() });
    }

    /// `later` are the names that are known and not available; `place` is which of them came.
    fn not_yet(&mut self, option: &'static str, available: &str, later: &[&str], place: Option<u64>) {
        let name = place.and_then(|place| later.get(place as usize));
        if let Some(name) = name {
            let got = [name, ", not available yet"].concat();
            self.note(PolicyError { option, expected: available.to_owned(), got });
        }
    }

    #[inline(never)]
    fn whole(
        &mut self,
        option: &'static str,
        expected: &str,
        given: Option<f64>,
        least: f64,
        most: f64,
    ) -> Option<u64> {
        let number = self.between(option, expected, given, least, most)?;
        if number as u64 as f64 != number {
            self.wrong(option, expected, number);
        }
        Some(number as u64)
    }

    #[inline(never)]
    fn between(
        &mut self,
        option: &'static str,
        expected: &str,
        given: Option<f64>,
        least: f64,
        most: f64,
    ) -> Option<f64> {
        let number = given?;
        // Written so that NaN, which compares with nothing, is refused.
        if number >= least && number <= most {
            return Some(number);
        }
        self.wrong(option, expected, number);
        None
    }

    #[inline(never)]
    fn wrong(&mut self, option: &'static str, expected: &str, got: f64) {
        self.note(PolicyError::number(option, expected, got));
    }

    fn note(&mut self, error: PolicyError) {
        if self.error.is_none() {
            self.error = Some(error);
        }
    }
}
