//! The waits of a policy before any of them is waited: the least, the mean and the most.
//!
//! A user who chooses a policy wants to know when the last retry comes and how long that is on
//! average. The ends are the waits really reached. The means belong to the formulas as they are
//! written, without the rounding down, so that full jitter of 500 ms means 250 ms.
#![forbid(unsafe_code)]

use super::backoff::{Draw, delay};
use crate::policy::{Jitter, Policy, Strategy};
use crate::time::Millis;

/// The wait before one retry.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Step {
    /// The retry's number; 1 follows the first attempt.
    pub attempt: u32,
    /// The shortest wait there can be.
    pub min: Millis,
    /// The mean wait, in ms, not rounded.
    pub mean: f64,
    /// The longest wait there can be, after the longest ones before it.
    pub max: Millis,
    /// The sum of the means up to here.
    pub total_mean: f64,
    /// The sum of the longest waits up to here.
    pub total_max: Millis,
}

/// Retries that are shown: without a limit of attempts there would be a million.
const MOST_SHOWN: u32 = 1000;

/// The waits before the retries `1..maxAttempts`, the first thousand of them; empty where nothing is tried again.
///
/// Means are exact, but for decorrelated jitter, where each wait depends on the one before: there
/// they are exact until the longest wait meets the cap, and within 0.2 % from then on.
pub fn schedule(policy: &Policy) -> Vec<Step> {
    let mut waits = Decorrelated::new(policy);
    let mut steps: Vec<Step> = Vec::new();
    let (mut total_mean, mut total_max) = (0.0, Millis::ZERO);
    let mut longest = policy.first_previous();
    for attempt in 1..policy.max_attempts().min(MOST_SHOWN + 1) {
        let min = delay(policy, attempt, Draw::default());
        let last = Draw { r32: u32::MAX, phase: u32::MAX, previous: Some(longest) };
        longest = delay(policy, attempt, last);
        let mean = match &mut waits {
            Some(waits) => waits.next_mean(),
            None => policy.window(attempt, None).mean(),
        };
        total_mean += mean;
        total_max = total_max.plus(longest);
        steps.push(Step { attempt, min, mean, max: longest, total_mean, total_max });
    }
    steps
}

/// How much wider each bin reaches than the one before.
const RATIO: f64 = 1.02;

/// The distribution of decorrelated waits, in bins from the base to the cap.
///
/// A wait is uniform above the base, up to three times the one before. So each bin spreads its
/// mass evenly over the bins up to there, and it is enough to add up densities from the top down.
/// Each bin keeps its mass and its first moment, which makes means exact as long as no cap cuts.
/// Simulated chains see too little of the few long waits that most of the mean is made of when the
/// cap is far away: a thousand chains, sorted and drawing from a lattice, were 20 % off.
struct Decorrelated {
    bins: Vec<Bin>,
    base: f64,
    cap: f64,
    /// Whether the cap cuts the wait, not the range it is drawn from.
    clamped: bool,
}

#[derive(Clone, Copy, Default)]
struct Bin {
    low: f64,
    high: f64,
    mass: f64,
    moment: f64,
    /// The densities that end in this bin, and so cover all bins below.
    density: f64,
}

impl Bin {
    fn add(&mut self, density: f64, up_to: f64) {
        let width = up_to - self.low;
        self.mass += density * width;
        self.moment += density * width * f64::midpoint(self.low, up_to);
    }

    fn put(&mut self, mass: f64, wait: f64) {
        self.mass += mass;
        self.moment += mass * wait;
    }
}

impl Decorrelated {
    fn new(policy: &Policy) -> Option<Decorrelated> {
        let Strategy::Curved(curve, jitter @ (Jitter::Decorrelated | Jitter::DecorrelatedClamped)) =
            policy.strategy()
        else {
            return None;
        };
        let cap = curve.cap.get() as f64;
        let base = (curve.base.get() as f64).min(cap);
        let mut bins = Vec::new();
        let mut low = base;
        // At most 1,856 bins, from 1 ms to 2^53. A base of 0 stays 0 and needs none.
        while low > 0.0 && low < cap {
            let high = (low * RATIO).min(cap);
            bins.push(Bin { low, high, ..Bin::default() });
            low = high;
        }
        // What is cut at the cap lies on the cap.
        bins.push(Bin { low: cap, high: f64::INFINITY, ..Bin::default() });
        if let Some(first) = bins.first_mut() {
            first.put(1.0, base);
        }
        Some(Decorrelated { bins, base, cap, clamped: *jitter == Jitter::DecorrelatedClamped })
    }

    /// How far the next wait may lie above the base.
    fn span(&self, previous: f64) -> f64 {
        let tripled = previous * 3.0;
        let high = if self.clamped { tripled } else { tripled.min(self.cap) };
        (high - self.base).max(0.0)
    }

    /// The mean of the next wait.
    fn next_mean(&mut self) -> f64 {
        let before = self.bins.clone();
        for bin in &mut self.bins {
            *bin = Bin { low: bin.low, high: bin.high, ..Bin::default() };
        }
        let mut top = 0;
        for Bin { mass, moment, .. } in before.iter().filter(|bin| bin.mass > 0.0) {
            let span = self.span(moment / mass);
            let high = (self.base + span).min(self.cap);
            // The means rise from bin to bin, so the ends do.
            while self.bins.get(top).is_some_and(|bin| bin.high < high) {
                top = top.saturating_add(1);
            }
            let Some(bin) = self.bins.get_mut(top) else { break };
            if span == 0.0 {
                bin.put(*mass, high);
                continue;
            }
            let density = mass / span;
            bin.density += density;
            bin.add(density, high);
            if let Some(last) = self.bins.last_mut() {
                last.put(density * (self.base + span - high), self.cap);
            }
        }
        let (mut density, mut mean) = (0.0, 0.0);
        for bin in self.bins.iter_mut().rev() {
            if density > 0.0 {
                bin.add(density, bin.high);
            }
            density += bin.density;
            mean += bin.moment;
        }
        mean
    }
}
