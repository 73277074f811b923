//! Decimals that are printed as they are written.
//!
//! Most numbers of 16 or 17 digits were printed by a program from a double, in the fewest digits that
//! tell it from its neighbours, and come out again as they went in. To see that a decimal is such a
//! one takes a division, where printing takes tables that weigh more than this module, or a call of
//! the host for each number.
#![forbid(unsafe_code)]

/// No double is printed with more digits.
const MOST_DIGITS: u64 = 10_u64.pow(17);

/// Up to here distances stay below 2^63.
const MOST_PLACES: u32 = 18;

/// From a millionth on ECMAScript prints no exponent; a little more, since a quotient is rounded.
const SMALLEST: f64 = 1.1e-6;

/// The highest bit of a double's 53, which is implied.
const IMPLIED: u64 = 1 << 52;

/// Beyond the reach of rounding.
const CLEARLY: f64 = 1.0 + 1e-9;

/// Whether ECMAScript prints the double nearest to `digits / 10^places` as that decimal, without an
/// exponent. False also where that is so but takes more to see: if in doubt, print.
///
/// It does if no decimal of a digit less is nearest to the same double, and none of as many digits is closer to it.
pub(super) fn is_shortest(digits: u64, places: u32) -> bool {
    let last = digits.wrapping_rem(10);
    if last == 0 || digits >= MOST_DIGITS || places > MOST_PLACES {
        return false;
    }
    let power = 10_u64.wrapping_pow(places);
    // The nearest double, or a neighbour of it: `mantissa / 2^shift`.
    let quotient = digits as f64 / power as f64;
    let bits = quotient.to_bits();
    let mut mantissa = bits & IMPLIED.wrapping_sub(1) | IMPLIED;
    let Some(shift) = 1075_u64.checked_sub(bits >> 52) else { return false };
    // How far the decimal is above the double. It counts `1 / (10^places * 2^shift)`, so that one unit of the mantissa
    // is `power` and one of the last digit `2^shift`. The two products agree in all bits but the lowest 63: others need not
    // be computed.
    let product = digits.checked_shl(shift as u32).unwrap_or(0);
    let mut above = product.wrapping_sub(mantissa.wrapping_mul(power)).cast_signed();
    if above.unsigned_abs().wrapping_mul(2) > power {
        let step = above.signum();
        mantissa = mantissa.wrapping_add_signed(step);
        above = above.wrapping_sub(power.cast_signed().wrapping_mul(step));
    }
    // At a power of two the double below is nearer than the one above.
    if quotient < SMALLEST || mantissa <= IMPLIED || mantissa >= IMPLIED << 1 {
        return false;
    }
    let above = above as f64;
    let half = power as f64 / 2.0;
    let digit = f64::from_bits(shift.wrapping_add(1023) << 52);
    let to_shorter_below = digit * last as f64 - above;
    let to_shorter_above = digit * 10_u64.wrapping_sub(last) as f64 + above;
    to_shorter_below > half * CLEARLY
        && to_shorter_above > half * CLEARLY
        && above.abs() * CLEARLY < half.min(digit / 2.0)
}
