//! Between which waits a policy may choose, from the published formulas and not from the core (S10).
//!
//! Plain f64, so a result may be off by a rounding: [`Range::holds`] forgives a millisecond and one part in 10^9.

use crate::event::Spec;

/// A closed range of waits in ms.
#[derive(Clone, Copy, Debug)]
pub struct Range {
    /// The shortest.
    pub low: f64,
    /// The longest.
    pub high: f64,
    /// How much of a millisecond roundings may take.
    slack: f64,
}

impl Range {
    /// No wait at all.
    pub const NONE: Range = Range { low: 0.0, high: 0.0, slack: 0.0 };

    /// That wait and no other.
    pub fn exactly(ms: u64) -> Range {
        Range { low: ms as f64, high: ms as f64, slack: 0.0 }
    }

    fn between(low: f64, high: f64) -> Range {
        Range { low, high, slack: 1.0 }
    }

    /// Whether a wait lies in it.
    pub fn holds(&self, ms: u64) -> bool {
        let ms = ms as f64;
        ms >= self.low * (1.0 - 1e-9) - self.slack && ms <= self.high * (1.0 + 1e-9) + self.slack
    }

    /// No less than the patience that an answer calls for: from a second, doubled up to `cap`, each time up to twice that. A cap that the
    /// policy names holds.
    pub fn at_least(self, n: u32, cap: f64, spec: &Spec) -> Range {
        let step = 1000.0 * 2_f64.powi(n.min(30) as i32 - 1);
        let most = cap.min(spec.fields[4].unwrap_or(30_000.0));
        let (low, high) = (self.low.max(step.min(most)), self.high.max((2.0 * step).min(most)));
        Range { low, high, slack: 1.0 }
    }

    /// From a second on, and no less than `least`: what chance would have later than its caller waits, it draws again.
    pub fn or_sooner(self, least: f64) -> Range {
        Range { low: self.low.min(least.max(1000.0)), ..self }
    }

    /// No less than what is waited after an attempt that its credentials kept from being made.
    pub fn unmade(self) -> Range {
        Range { low: self.low.max(100.0), high: self.high.max(100.0), ..self }
    }

    fn cut(self, cap: f64) -> Range {
        Range { low: self.low.min(cap), high: self.high.min(cap), ..self }
    }
}

fn cap_of(spec: &Spec) -> f64 {
    spec.fields[4].unwrap_or(match spec.fields[0].unwrap_or(0.0) as u32 {
        0 | 1 => spec.fields[2].unwrap_or(500.0).max(8_000.0),
        7 => 47_000.0,
        _ => f64::INFINITY,
    })
}

/// What [`Spec`] allows before retry `n`, from 1; `previous` is the curve's wait before the retry before.
pub fn range(spec: &Spec, n: u32, previous: Option<u64>) -> Range {
    let field = |index: usize| spec.fields[index];
    let code = field(0).unwrap_or(0.0) as u32;
    let base = field(2).unwrap_or(500.0);
    let mult = field(3).unwrap_or(2.0);
    let cap = cap_of(spec);
    let (steps, k) = (f64::from(n), f64::from(n) - 1.0);
    let exponential = |n: f64| (base * mult.powf(n - 1.0)).min(cap);
    let both = Range::between;
    match code {
        0 => jittered(spec, exponential(steps), base, cap, previous),
        1 => jittered(spec, (base + field(9).unwrap_or(base) * k).min(cap), base, cap, previous),
        2 => jittered(spec, base.min(cap), base, cap, previous),
        3 => {
            let low = field(10).unwrap_or(15_000.0) + steps.powf(field(11).unwrap_or(4.0)) * 1000.0;
            both(low, low + steps * field(12).unwrap_or(30_000.0)).cut(cap)
        }
        4 => both(k.powi(4) * 1000.0 + 15_000.0, k.powi(4) * 1000.0 + 15_000.0 + 30_000.0 * steps).cut(cap),
        5 => both(k.powi(3) * 1000.0, (k + 2.0).powi(3) * 1000.0).cut(cap),
        6 => both(180_000.0 + 60_000.0 * 2_f64.powf(k), 180_000.0 + 60_000.0 * 2_f64.powf(k)).cut(cap),
        7 => {
            let fresh = field(8).unwrap_or(0.1);
            let gap = if n == 1 {
                both(exponential(1.0), exponential(1.0) + exponential(2.0))
            } else {
                both(exponential(steps), exponential(steps + 1.0))
            };
            let gap = gap.cut(cap);
            both(gap.low * (1.0 - fresh), gap.high * (1.0 + fresh))
        }
        _ => {
            let delays = spec.delays.as_deref().unwrap_or(&[]);
            let delay = delays.get(k as usize).or(delays.last()).copied().unwrap_or(0.0);
            both(delay, delay).cut(cap)
        }
    }
}

fn jittered(spec: &Spec, value: f64, base: f64, cap: f64, previous: Option<u64>) -> Range {
    let tripled = 3.0 * previous.map_or(base, |previous| previous as f64);
    let ratio = spec.fields[7].unwrap_or(0.2);
    let (low, high) = match spec.fields[6].unwrap_or(1.0) as u32 {
        0 => (value, value),
        1 => (0.0, value),
        2 => (value / 2.0, value),
        3 => (base, base.max(tripled.min(cap))),
        4 => (value, value + base),
        5 => (value * (1.0 - ratio), value * (1.0 + ratio)),
        _ => (base, base.max(tripled)),
    };
    Range::between(low, high).cut(cap)
}
