//! Durations as people write them: `1500`, `250ms`, `12.5s`, `3m`, `1h`, `2d`.
//!
//! In whole numbers throughout, so that `0.3s` is 300 ms and never 299. What is not a whole
//! number of milliseconds is refused, not rounded.
#![forbid(unsafe_code)]

use crate::time::Millis;

/// The last instant a JavaScript `Date` can name, in ms.
const LONGEST: u64 = 8_640_000_000_000_000;

/// The duration that `text` writes down: digits, perhaps a point and more digits, and a unit of
/// `ms` (which none means too), `s`, `m`, `h` or `d`.
///
/// `None` for anything else (a sign, a space, an exponent, capitals), for a fraction of a
/// millisecond, and above 8,640,000,000,000,000 ms.
pub fn parse_duration(text: &[u8]) -> Option<Millis> {
    let (number, unit) = match text {
        [number @ .., b'm', b's'] => (number, 1),
        [number @ .., b's'] => (number, 1000),
        [number @ .., b'm'] => (number, 60_000),
        [number @ .., b'h'] => (number, 3_600_000),
        [number @ .., b'd'] => (number, 86_400_000),
        number => (number, 1),
    };
    let mut parts = number.splitn(2, |&byte| byte == b'.');
    let whole = digits(parts.next()?)?.checked_mul(unit)?;
    let ms = match parts.next() {
        Some(fraction) => whole.checked_add(part(fraction, unit)?)?,
        None => whole,
    };
    (ms <= LONGEST).then(|| Millis::new(ms))
}

/// `0.fraction * unit`, where that is whole.
fn part(mut fraction: &[u8], unit: u64) -> Option<u64> {
    // A zero at the end says nothing, unless it is the only digit.
    while let [rest @ .., b'0'] = fraction
        && !rest.is_empty()
    {
        fraction = rest;
    }
    // A day is 2^10 * 3^3 * 5^5 ms: with more than ten digits no product is whole.
    if fraction.len() > 10 {
        return None;
    }
    let product = digits(fraction)?.checked_mul(unit)?;
    let scale = fraction.iter().fold(1_u64, |scale, _| scale.saturating_mul(10));
    if product.checked_rem(scale)? == 0 { product.checked_div(scale) } else { None }
}

/// A number of one digit or more.
fn digits(text: &[u8]) -> Option<u64> {
    let mut number: u64 = 0;
    for byte in text {
        let digit = byte.checked_sub(b'0').filter(|digit| *digit < 10)?;
        number = number.checked_mul(10)?.checked_add(u64::from(digit))?;
    }
    (!text.is_empty()).then_some(number)
}
