//! How the wait grows from one retry to the next, before chance has its say.
//!
//! Jitter is a share of the curve's value, and the share is rounded once, at the end. So a
//! value here is exact: 500 * 1.5^3 is 1687.5 and half of it 843.75. Growth stops at the cap
//! by itself, step by step, because `multiplier^(n-1)` does not exist for most `n`.
#![forbid(unsafe_code)]

use crate::time::Millis;

/// The rule by which the wait grows.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Growth {
    /// `base * multiplier^(n-1)`; the multiplier is 1 or at least 1.01.
    Exponential {
        /// The factor from one wait to the next.
        multiplier: f64,
    },
    /// `base + step * (n-1)`.
    Linear {
        /// The time added for each retry.
        step: Millis,
    },
    /// `base`, always.
    Fixed,
}

/// A growth rule with its first value and its ceiling.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Curve {
    /// The rule.
    pub growth: Growth,
    /// The value at `n = 1`, before the cap.
    pub base: Millis,
    /// No value is above it. [`Millis::MAX`]: no ceiling but what can be counted.
    pub cap: Millis,
}

/// A value of a curve, exactly: `mantissa / 2^shift` milliseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exact {
    mantissa: u64,
    shift: u32,
}

impl Curve {
    /// The value before retry `n`, counted from 1 (0 counts as 1). Source: `v(n)` of the retry
    /// service's and AWS's exponential backoff; linear and fixed as their names say.
    pub fn at(&self, n: u32) -> Exact {
        let steps = n.saturating_sub(1);
        match self.growth {
            Growth::Fixed => Exact::whole(self.base.min(self.cap)),
            Growth::Linear { step } => {
                let added = step.get().saturating_mul(u64::from(steps));
                Exact::whole(self.base.plus(Millis::new(added)).min(self.cap))
            }
            Growth::Exponential { multiplier } => self.exponential(multiplier, steps),
        }
    }

    fn exponential(&self, multiplier: f64, steps: u32) -> Exact {
        let cap = self.cap.get() as f64;
        let (value, _) = climb(self.base.get() as f64, multiplier, cap, steps);
        if value >= cap { Exact::whole(self.cap) } else { Exact::from_f64(value) }
    }
}

/// `value * multiplier^steps`, or the first power that reaches `cap`, and how many
/// multiplications that took: at most [`MOST_MULTIPLICATIONS`], however many the steps.
fn climb(mut value: f64, multiplier: f64, cap: f64, steps: u32) -> (f64, u32) {
    let mut taken: u32 = 0;
    // Neither zero nor a multiplier of 1 would ever reach the cap. Any other multiplier does.
    if multiplier > 1.0 && value > 0.0 {
        while taken < steps.min(MOST_MULTIPLICATIONS) && value < cap {
            value *= multiplier;
            taken = taken.saturating_add(1);
        }
    }
    (value, taken)
}

/// From 1 ms to 2^53 by the smallest multiplier, 1.01, it is 3,693 steps.
const MOST_MULTIPLICATIONS: u32 = 3700;

impl Exact {
    const fn whole(ms: Millis) -> Exact {
        Exact { mantissa: ms.get(), shift: 0 }
    }

    /// `value` is 0, or at least 1; from 2^64 on it is taken for that.
    ///
    /// A hundred multiplications are off by less than 2^-46 of the value. What lies that close
    /// to a whole number is taken for it, so that 1000 * 1.1^3 is 1331 although 1.1 has no
    /// exact f64. Powers of two and of 1.5 are exact anyway.
    pub(crate) fn from_f64(value: f64) -> Exact {
        // From 2^52 on every f64 is whole, and adding a half would round to the neighbour.
        if !(1.0..4_503_599_627_370_496.0).contains(&value) {
            return Exact { mantissa: value as u64, shift: 0 };
        }
        let nearest = (value + 0.5) as u64;
        let off = (value - nearest as f64).abs();
        if off <= value / 70_368_744_177_664.0 {
            return Exact { mantissa: nearest, shift: 0 };
        }
        let bits = value.to_bits();
        let exponent = ((bits >> 52) & 0x7FF) as u32;
        let mantissa = (bits & ((1 << 52) - 1)) | (1 << 52);
        Exact { mantissa, shift: 1075_u32.saturating_sub(exponent) }
    }

    /// Mantissa and shift: the value is `mantissa / 2^shift`. Where the shift is not 0 the
    /// mantissa has 53 bits and the shift at most 52.
    pub const fn parts(self) -> (u64, u32) {
        (self.mantissa, self.shift)
    }

    /// The value rounded down.
    pub const fn floor(self) -> Millis {
        Millis::new(self.mantissa >> self.shift)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn exponential(base: u64, multiplier: f64, cap: u64) -> Curve {
        Curve { growth: Growth::Exponential { multiplier }, base: Millis::new(base), cap: Millis::new(cap) }
    }

    #[test]
    fn fractions_are_kept_until_the_end() {
        let value = exponential(500, 1.5, 30_000).at(4);
        assert_eq!(value.floor(), Millis::new(1687));
        let (mantissa, shift) = value.parts();
        assert_eq!(mantissa as f64 / (1_u64 << shift) as f64, 1687.5);
    }

    #[test]
    fn decimal_multipliers_mean_what_they_say() {
        for (base, multiplier, n, expected) in
            [(1000, 1.1, 4, 1331), (1000, 1.15, 2, 1150), (1000, 1.01, 3, 1020), (100, 1.3, 3, 169)]
        {
            let got = exponential(base, multiplier, 1 << 53).at(n).floor();
            assert_eq!(got, Millis::new(expected), "{base} * {multiplier}^({n}-1)");
        }
    }

    #[test]
    fn doubling_is_exact_up_to_the_last_countable_millisecond() {
        for n in 1..=52 {
            assert_eq!(exponential(3, 2.0, 1 << 53).at(n).floor(), Millis::new(3 << (n - 1)), "{n}");
        }
        assert_eq!(exponential(3, 2.0, 1 << 53).at(u32::MAX).floor(), Millis::MAX);
    }

    #[test]
    fn s10_the_last_attempt_number_is_reached_at_once() {
        for multiplier in [1.0, 1.01, 100.0] {
            for base in [0, 1, 1 << 53] {
                let got = exponential(base, multiplier, 1 << 53).at(u32::MAX).floor();
                assert!(got.get() >= base, "{base} * {multiplier}^n gave {got:?}");
            }
        }
    }

    #[test]
    fn s10_any_cap_is_reached_within_a_bounded_number_of_multiplications() {
        let cap = (1_u64 << 53) as f64;
        let (value, taken) = climb(1.0, 1.01, cap, u32::MAX);
        assert!(value >= cap, "the bound cuts the slowest climb short at {value}");
        assert_eq!(taken, 3693);
        for multiplier in [1.010_000_1, 1.5, 2.0, 100.0] {
            let (value, taken) = climb(1.0, multiplier, cap, u32::MAX);
            assert!(value >= cap && taken <= 3693, "{multiplier}: {taken}");
        }
        for (start, multiplier) in [(0.0, 2.0), (5.0, 1.0), (cap, 1.01)] {
            assert_eq!(climb(start, multiplier, cap, u32::MAX), (start, 0));
        }
    }

    #[test]
    fn linear_grows_by_its_step_and_stops_at_the_cap() {
        let curve = Curve {
            growth: Growth::Linear { step: Millis::new(250) },
            base: Millis::new(1000),
            cap: Millis::new(1600),
        };
        for (n, expected) in [(0, 1000), (1, 1000), (2, 1250), (3, 1500), (4, 1600), (u32::MAX, 1600)] {
            assert_eq!(curve.at(n).floor(), Millis::new(expected), "{n}");
        }
    }
}
