//! The waits that chance may choose from before one retry.
//!
//! Every strategy comes down to `low + u * span`, cut at the cap. Kept apart from the draw, that
//! gives one wait, the longest wait and the mean wait from the same numbers. They are exact
//! (whole numbers over a power of two, and over 10^9 where a decimal share is in play), so that
//! the rounding down at the end is the only one.
#![forbid(unsafe_code)]

use super::curve::{Curve, Exact};
use super::strategy::{Jitter, Share, Strategy, per_billion};
use crate::time::Millis;

/// `u = 1`, the end that a draw never quite reaches.
pub const WHOLE: u64 = 1 << 32;

/// `min(cap, low + u * span)` for `u` in `[0, 1]`.
#[derive(Clone, Copy, Debug)]
pub struct Window {
    /// In units of `2^-(32 + shift)`; below 2^118.
    low: u128,
    /// In units of `2^-shift`; below 2^86, so that 32 more bits fit.
    span: u128,
    shift: u32,
    /// Whether both are also in units of 10^-9.
    shares: bool,
    cap: Millis,
}

impl Window {
    /// The window before retry `n` (1 is the first, and 0 counts as 1). `previous` is the wait
    /// before the retry before; only decorrelated jitter looks at it. For spread `u` is the phase,
    /// and the fresh jitter comes on top.
    pub(super) fn new(strategy: &Strategy, cap: Millis, n: u32, previous: Option<Millis>) -> Window {
        let n = n.max(1);
        let k = u64::from(n).saturating_sub(1);
        let window = match strategy {
            Strategy::Curved(curve, jitter) => jittered(curve, *jitter, n, previous),
            Strategy::Polynomial { base, exponent, jitter } => {
                let low = (u128::from(base.get()) << 32).wrapping_add(seconds(n, *exponent));
                Window { low, ..whole(0, u128::from(jitter.get()).wrapping_mul(u128::from(n))) }
            }
            Strategy::Sidekiq => {
                let low = times(power(k, 4), 1000).saturating_add(15_000);
                whole(low, u128::from(n).wrapping_mul(30_000))
            }
            Strategy::Buckets => {
                let low = times(power(k, 3), 1000);
                let high = times(power(k.saturating_add(2), 3), 1000);
                whole(low, u128::from(high.saturating_sub(low)))
            }
            Strategy::PaddedExponential => {
                // From 2^40 on the sum is beyond what can be counted.
                let grown = if k < 40 { 60_000_u64 << k } else { Millis::MAX.get() };
                whole(grown.saturating_add(180_000), 0)
            }
            Strategy::Spread(curve, _) => gap(curve, n),
            Strategy::Table(delays) => {
                let delay = delays.get(k as usize).or(delays.last());
                whole(delay.map_or(0, |delay| delay.get()), 0)
            }
        };
        Window { cap, ..window }
    }

    /// The wait at `u = parts / 2^32`, `0..=2^32`, rounded down and cut at the cap.
    pub fn at(&self, parts: u64) -> Millis {
        let sum = self.low.wrapping_add(self.span.wrapping_mul(u128::from(parts)));
        let sum = sum >> self.shift.saturating_add(32);
        let ms = if self.shares { per_billion(sum) } else { sum.min(u128::from(u64::MAX)) as u64 };
        Millis::new(ms).min(self.cap)
    }

    /// The mean over all `u`, not rounded, in milliseconds.
    pub fn mean(&self) -> f64 {
        let mut unit = (1_u128 << self.shift.saturating_add(32)) as f64;
        if self.shares {
            unit *= f64::from(Share::WHOLE);
        }
        mean_of_cut(self.low as f64 / unit, self.span as f64 * WHOLE as f64 / unit, self.cap.get() as f64)
    }
}

/// The mean of `min(cap, low + u * span)`, `u` uniform in `[0, 1]`: by parts, the mean of
/// `cap - low - u * span` where that is positive, taken from the cap.
fn mean_of_cut(low: f64, span: f64, cap: f64) -> f64 {
    let room = cap - low;
    if room <= 0.0 {
        cap
    } else if span <= room {
        low + span / 2.0
    } else {
        cap - room * room / (2.0 * span)
    }
}

/// Whole milliseconds.
fn whole(low: u64, span: u128) -> Window {
    Window { low: u128::from(low) << 32, span, shift: 0, shares: false, cap: Millis::MAX }
}

fn jittered(curve: &Curve, jitter: Jitter, n: u32, previous: Option<Millis>) -> Window {
    let half = Share::WHOLE / 2;
    match jitter {
        Jitter::None => shares(curve.at(n), Share::WHOLE, 0),
        Jitter::Full => shares(curve.at(n), 0, Share::WHOLE),
        Jitter::Equal => shares(curve.at(n), half, half),
        Jitter::Proportional(share) => {
            let rest = Share::WHOLE.saturating_sub(share.parts());
            shares(curve.at(n), rest, share.parts().wrapping_mul(2))
        }
        Jitter::Additive => {
            let (mantissa, shift) = curve.at(n).parts();
            // Below 2^54: the base is at most the value, or the value is a whole cap.
            let span = u128::from(curve.base.get()) << shift;
            Window { low: u128::from(mantissa) << 32, span, shift, shares: false, cap: Millis::MAX }
        }
        Jitter::Decorrelated | Jitter::DecorrelatedClamped => {
            let tripled = previous.unwrap_or(curve.base).get().wrapping_mul(3); // below 2^55
            let inside = if jitter == Jitter::Decorrelated { curve.cap.get() } else { u64::MAX };
            let base = curve.base.get();
            whole(base, u128::from(tripled.min(inside).saturating_sub(base)))
        }
    }
}

/// From `low` of `value` on, `span` of it wide, both in parts per 10^9 and at most twice that. In one
/// copy: with u128 every line is long.
#[inline(never)]
fn shares(value: Exact, low: u32, span: u32) -> Window {
    let (mantissa, shift) = value.parts();
    let of = |parts: u32| u128::from(mantissa).wrapping_mul(u128::from(parts)); // below 2^85
    Window { low: of(low) << 32, span: of(span), shift, shares: true, cap: Millis::MAX }
}

/// The gap that a phase divides: retry `n` of spread comes `w(1) + .. + w(n) + u * w(n+1)` after
/// the first failure, so that the windows of successive retries abut.
fn gap(curve: &Curve, n: u32) -> Window {
    let (mantissa, this_shift) = curve.at(n).parts();
    let (next, next_shift) = curve.at(n.saturating_add(1)).parts();
    // A step is at most a hundredfold, so the finer unit holds both in 60 bits.
    let shift = this_shift.max(next_shift);
    let low = u128::from(mantissa) << shift.saturating_sub(this_shift);
    let next = u128::from(next) << shift.saturating_sub(next_shift);
    let span = if n == 1 { next } else { next.saturating_sub(low) };
    Window { low: low << 32, span, shift, shares: false, cap: Millis::MAX }
}

/// `n^exponent` seconds in units of 2^-32 ms. A whole exponent is computed in whole numbers.
fn seconds(n: u32, exponent: f64) -> u128 {
    let whole = exponent as u32;
    let fraction = exponent - f64::from(whole);
    let power = power(u64::from(n), whole);
    if fraction == 0.0 {
        return u128::from(times(power, 1000)) << 32;
    }
    let (mantissa, shift) = Exact::from_f64(power as f64 * root(f64::from(n), fraction) * 1000.0).parts();
    (u128::from(mantissa) << 32) >> shift
}

/// `n^fraction`, the fraction being in `[0, 1)`: a square root for each of its bits, the last one
/// first. Each root halves the error so far, so the result is within two units in the last place,
/// and the same natively and in wasm, whose `sqrt` is exact. `pow` of libm weighs 1 KB of gzip.
fn root(n: f64, fraction: f64) -> f64 {
    // What 60 bits do not hold changes nothing in the 53 of the result.
    let bits = (fraction * (1_u64 << 60) as f64) as u64;
    (bits.trailing_zeros()..60)
        .fold(1.0, |root, bit| if bits >> bit & 1 == 1 { root * n } else { root }.sqrt())
}

/// `k^exponent`, or `u64::MAX` where that is too much; the exponent is at most 8.
fn power(k: u64, exponent: u32) -> u64 {
    (0..exponent).fold(1, |product, _| times(product, k))
}

/// The product, at most `u64::MAX`. In one copy: each is an u128.
#[inline(never)]
fn times(a: u64, b: u64) -> u64 {
    a.saturating_mul(b)
}
