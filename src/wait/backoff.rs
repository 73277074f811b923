//! How long to wait before the next attempt.
//!
//! An upstream that fails usually fails for everyone, and clients that wait the same time come
//! back together. Jitter spreads them. Nothing here reads a clock or draws entropy: the draws
//! arrive as an argument, each as `u = u32 / 2^32`, in `[0, 1)`. Every result is rounded down to
//! the millisecond once, and the cap is applied last, jitter included. What the draw chooses
//! from, strategy by strategy, is in [`crate::policy::Strategy`] and [`crate::policy::Jitter`].
//!
//! # Spread
//!
//! A function without memory that draws anew for each attempt leaves some stretches of time
//! idle and crowds others. Spread draws once per task and reads the number, the phase, as the
//! position in the gap between this step and the next: on the curve `w`, retry `n` comes
//! `w(1) + .. + w(n) + u * w(n+1)` after the first failure. At `u = 1` that is where retry
//! `n + 1` has its `u = 0`, so the windows of successive retries abut: no gap, no overlap. (With
//! a cap below `w(1) + w(2)` the first window is cut short, since the cap comes last.) A fresh
//! jitter of a tenth both ways keeps tasks of one phase, and anything periodic, from staying in
//! step; it alone may pass the cap. Limits: phases that are spaced evenly help within one queue
//! only, in log time a staircase remains, and the fresh jitter costs part of the evenness.
#![forbid(unsafe_code)]

use crate::policy::{Policy, Share, Strategy};
use crate::time::Millis;

/// The parts that chance and the task's own past put in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Draw {
    /// One uniform draw for this wait. With spread it is the fresh jitter alone, and `1 << 31`
    /// leaves the wait exactly where the phase puts it.
    pub r32: u32,
    /// The task's position in spread's windows, drawn once per task. No other strategy looks at it.
    pub phase: u32,
    /// The wait before the retry before, for decorrelated jitter; `None` before the first.
    pub previous: Option<Millis>,
}

/// The wait before retry `n` (1 is the first, and 0 counts as 1), in milliseconds.
pub fn delay(policy: &Policy, n: u32, draw: Draw) -> Millis {
    let window = policy.window(n, draw.previous);
    match policy.strategy() {
        Strategy::Spread(_, fresh) => freshened(window.at(u64::from(draw.phase)), *fresh, draw.r32),
        _ => window.at(u64::from(draw.r32)),
    }
}

/// `d - f + u * 2f` with `f` the share of `d`: as far below as above, and `d` itself in the middle.
fn freshened(wait: Millis, fresh: Share, r32: u32) -> Millis {
    let share = fresh.of(wait);
    let span = u128::from(share.get()).wrapping_mul(2).wrapping_mul(u128::from(r32)); // below 2^86
    wait.minus(share).plus(Millis::new((span >> 32) as u64))
}
