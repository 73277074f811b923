//! How long to wait before the next attempt.
//!
//! An upstream that fails usually fails for everyone, and clients that wait the same time come
//! back together. Jitter spreads them. Nothing here reads a clock or draws entropy: the draw
//! arrives as an argument, `u = r32 / 2^32`, in `[0, 1)`. Every result is rounded down to the
//! millisecond once, and the cap is applied last, jitter included.
#![forbid(unsafe_code)]

use crate::curve::{Curve, Exact};
use crate::policy::{Jitter, Policy};
use crate::time::Millis;

/// The wait before retry `n` (1 is the first, and 0 counts as 1), in milliseconds.
///
/// `r32` is one uniform draw. `previous` is the wait before the retry before, of which only
/// `DECORRELATED` takes note; `None` before the first.
pub fn delay(policy: &Policy, n: u32, r32: u32, previous: Option<Millis>) -> Millis {
    let curve = policy.curve();
    let chosen = match policy.jitter() {
        Jitter::None => curve.at(n).floor(),
        Jitter::Full => full(curve.at(n), r32),
        Jitter::Equal => equal(curve.at(n), r32),
        Jitter::Decorrelated => decorrelated(curve, r32, previous),
    };
    chosen.min(curve.cap)
}

/// `u * v`: anything from nothing to the whole wait.
/// Source: "Exponential Backoff and Jitter", AWS Architecture Blog, full jitter.
fn full(value: Exact, r32: u32) -> Millis {
    value.share(u64::from(r32), 32)
}

/// `v/2 + u * v/2`: never less than half of the wait. Source: the same, equal jitter.
fn equal(value: Exact, r32: u32) -> Millis {
    // v/2 + u*v/2 = v * (2^32 + r32) / 2^33: one rounding instead of two.
    value.share(u64::from(r32).saturating_add(1 << 32), 33)
}

/// `lo + u * (hi - lo)` with `lo = base` and `hi = max(base, min(cap, 3 * previous))`: the last
/// wait, not the retry's number, sets the range, and the growth rule has no part in it.
/// Source: the same, decorrelated jitter, with the cap inside so that waits do not pile up on it.
fn decorrelated(curve: &Curve, r32: u32, previous: Option<Millis>) -> Millis {
    let low = curve.base.get();
    let previous = previous.unwrap_or(curve.base).get();
    let high = previous.saturating_mul(3).min(curve.cap.get()).max(low);
    let span = u128::from(high.saturating_sub(low));
    let offset = (span.saturating_mul(u128::from(r32)) >> 32) as u64;
    Millis::new(low.saturating_add(offset))
}
