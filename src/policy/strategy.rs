//! The strategies there are, with the numbers each of them takes and no others.
#![forbid(unsafe_code)]

use super::curve::Curve;
use crate::time::Millis;

/// How the waits of a policy are shaped. Their formulas are in [`super::Window`].
#[derive(Clone, Debug, PartialEq)]
pub enum Strategy {
    /// `exponential`, `linear` or `fixed`: a curve and a jitter.
    Curved(Curve, Jitter),
    /// `base + n^exponent seconds + n * u * jitter`. Source: Zizq, whose figures are 15 s, 4, 30 s.
    Polynomial {
        /// The least wait.
        base: Millis,
        /// `0..=8`, a fraction allowed.
        exponent: f64,
        /// The widest of the chance in the first wait; it grows with `n`.
        jitter: Millis,
    },
    /// `k^4 + 15 + u * 30 * (k + 1)` seconds, `k = n - 1`. Source: Sidekiq's retry delay.
    Sidekiq,
    /// `k^3 + u * ((k + 2)^3 - k^3)` seconds, `k = n - 1`.
    Buckets,
    /// `180 + 60 * 2^(n-1)` seconds.
    PaddedExponential,
    /// One phase per task, read as the position in the gap between this step and the next; and
    /// the share of a wait that is drawn anew each time, both ways.
    Spread(Curve, Share),
    /// These waits, the last of them for ever. Never empty.
    Table(Box<[Millis]>),
}

/// How chance changes the value `v` of a curve; `u` is the draw.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Jitter {
    /// `v`.
    None,
    /// `u * v`. Source: "Exponential Backoff and Jitter", AWS Architecture Blog.
    Full,
    /// `v/2 + u * v/2`. Source: the same.
    Equal,
    /// `base + u * (max(base, min(cap, 3 * previous)) - base)`: the last wait, not the retry's
    /// number, sets the range. Source: the same, with the cap inside so that waits do not pile
    /// up on it.
    Decorrelated,
    /// `v + u * base`.
    Additive,
    /// `v * (1 - r + 2 * r * u)`, `r` being the share. Source: gRFC A6, where `r` is 0.2.
    Proportional(Share),
    /// `base + u * (max(base, 3 * previous) - base)`, cut at the cap, on which a quarter of the
    /// waits end. Source: the simulator that belongs to the AWS article.
    DecorrelatedClamped,
}

/// A share of something, as the decimal that was written: 0.2 is exactly one fifth, although
/// no f64 is. In parts per 10^9, `0..=10^9`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Share(u32);

impl Share {
    /// Nothing.
    pub const NONE: Share = Share(0);
    /// Everything, in parts.
    pub(super) const WHOLE: u32 = 1_000_000_000;

    /// The share of `ratio`, `0..=1`, to nine decimals.
    pub fn new(ratio: f64) -> Share {
        Share(((ratio * f64::from(Share::WHOLE) + 0.5) as u32).min(Share::WHOLE))
    }

    /// The parts per 10^9.
    pub const fn parts(self) -> u32 {
        self.0
    }

    /// This share of `whole`, rounded down.
    pub fn of(self, whole: Millis) -> Millis {
        let parts = u128::from(whole.get()).wrapping_mul(u128::from(self.0)); // below 2^84
        Millis::new(per_billion(parts))
    }
}

/// `parts / 10^9`, rounded down, for `parts < 2^94`. By hand, in two digits of base 2^32: the
/// division of u128 is a large function.
pub(super) fn per_billion(parts: u128) -> u64 {
    let upper = (parts >> 32) as u64;
    let lower = ((upper % 1_000_000_000) << 32) | (parts as u64 & 0xFFFF_FFFF);
    ((upper / 1_000_000_000) << 32).wrapping_add(lower / 1_000_000_000)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimals_are_themselves() {
        for (ratio, of, expected) in [
            (0.1, 10, 1),
            (0.1, 9, 0),
            (0.2, 5, 1),
            (0.3, 10, 3),
            (0.7, 10, 7),
            (1.0, 1 << 53, 1 << 53),
            (0.5, (1 << 53) - 1, (1 << 52) - 1),
            (0.000_000_001, 999_999_999, 0),
            (0.000_000_001, 1_000_000_000, 1),
        ] {
            assert_eq!(Share::new(ratio).of(Millis::new(of)), Millis::new(expected), "{ratio} of {of}");
        }
    }

    #[test]
    fn division_by_a_billion_is_division() {
        let mut x: u128 = 1;
        while x < 1 << 94 {
            for parts in [x - 1, x, x + 1, x * 7 / 5] {
                assert_eq!(u128::from(per_billion(parts)), (parts / 1_000_000_000) & u128::from(u64::MAX));
            }
            x = x * 3 + 1;
        }
    }
}
