//! The retry budget's place among the gates: last before the limits.
//!
//! A token bucket per origin, from which a retry takes one and a success gives back a fifth,
//! comes with a later version; empty, it puts a retry off and never drops it. Until then the
//! gate is in place and always full.
#![forbid(unsafe_code)]

use crate::time::Millis;

/// One lane's retry budget. Holds no state yet.
#[derive(Clone, Copy, Debug, Default)]
pub struct RetryBudget;

impl RetryBudget {
    /// Takes what one retry costs at `now`, or says that there is not enough. Never, for now.
    pub const fn take(&mut self, _now: Millis) -> bool {
        true
    }

    /// Hears of a success, which gives some back.
    pub const fn replenish(&mut self, _now: Millis) {}
}
