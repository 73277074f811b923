//! The wait a server asked for in `Retry-After` or `retry-after-ms`, if it is usable.
//!
//! Takes seconds and the three HTTP dates, to the letter of RFC 9110 but for one thing: seconds may have a fraction, since
//! servers send it (`3.98`, in the example of rate-limiter-flexible) and undici, axios-retry and OpenAI's client wait for it. The
//! rest is refused rather than guessed at: `parseInt` reads `12abc` as 12 and a date as nothing. What is refused falls back to
//! the policy's curve. `now` is an argument, and so is the response's own `Date`:
//! a date minus a date of the same clock needs no agreement between clocks.
//!
//! Several values reach us as one: `fetch` joins repeated header lines with a comma. The largest
//! that is valid counts, since a wait may be too long but never shorter than asked for.
#![forbid(unsafe_code)]

use super::http_date::parse_http_date;
use crate::time::Millis;

/// How long `Retry-After` says to wait from `now`, or `None` if the value is unusable.
///
/// `Retry-After = HTTP-date / delay-seconds` (RFC 9110, 10.2.3). Of several values the largest
/// valid one counts, and those beside it that are not valid are ignored. Seconds have no sign
/// or unit; a fraction is rounded up to the millisecond, and beyond counting they are [`Millis::MAX`]. Dates are as RFC 9110, 5.6.7,
/// has them, in any of the three forms, and case counts; one in the past is no wait. Spaces and
/// tabs around a value are not part of it (RFC 9110, 5.5).
///
/// A date counts from `date`, the response's `Date` header, where that is itself an HTTP date,
/// else from the local `now`. The same instant settles which century a year of two digits is in
/// (RFC 9110: not more than 50 years ahead), so that a client whose clock is wrong by decades
/// still waits; that of `Date` itself can only be settled by `now`.
pub fn parse_retry_after(header: &[u8], date: Option<&[u8]>, now: Millis) -> Option<Millis> {
    // At most 2^53 on both sides, so no difference can overflow.
    let now = now.get() as i64;
    let from = date.and_then(|date| parse_http_date(trim(date), now)).unwrap_or(now);
    largest(header, &|value| {
        number(value, 1000).or_else(|| {
            let until = parse_http_date(value, from)?;
            Some(Millis::new(u64::try_from(until.saturating_sub(from)).unwrap_or(0)))
        })
    })
}

/// How long `retry-after-ms` says to wait, or `None` if the value is unusable.
///
/// No standard has this header. Azure's services send it and Azure's and OpenAI's clients read
/// it, before `Retry-After`, whose seconds are too coarse for them. It is a number of
/// milliseconds, rounded up, since those clients read it as a float. No sign, exponent, unit or date.
/// Several values, spaces and numbers beyond counting are as in [`parse_retry_after`].
pub fn parse_retry_after_ms(header: &[u8]) -> Option<Millis> {
    largest(header, &|value| number(value, 1))
}

/// The largest that `read` makes of the members of `header`.
///
/// Two of the three dates hold a comma themselves, so a member is what stands between two
/// commas, or between the commas on either side of one. Nothing is valid both as half of a date
/// and on its own. Every byte is looked at a fixed number of times, however many commas there are.
pub(super) fn largest(header: &[u8], read: &dyn Fn(&[u8]) -> Option<Millis>) -> Option<Millis> {
    let mut longest = None;
    // Where the piece before this one began, and where this one does.
    let (mut before, mut start) = (0, 0);
    for piece in header.split(|byte| *byte == b',') {
        let end = piece.len().saturating_add(start);
        for member in [Some(piece), header.get(before..end)] {
            longest = longest.max(member.and_then(|member| read(trim(member))));
        }
        (before, start) = (start, end.saturating_add(1));
    }
    longest
}

/// Without the spaces and tabs around it.
fn trim(mut value: &[u8]) -> &[u8] {
    while let [b' ' | b'\t', rest @ ..] | [rest @ .., b' ' | b'\t'] = value {
        value = rest;
    }
    value
}

/// A number of units of `unit` ms, and nothing else.
pub(super) fn number(value: &[u8], unit: u64) -> Option<Millis> {
    let (number, rest) = Decimal::leading(value)?;
    rest.is_empty().then(|| number.times(unit))
}

/// `1*DIGIT [ "." 1*DIGIT ]`.
pub(super) struct Decimal {
    /// At most 2^53.
    whole: u64,
    /// The fraction in millionths, rounded up.
    millionths: u64,
}

impl Decimal {
    /// The number that `text` begins with, and what follows it. In one copy.
    #[inline(never)]
    pub(super) fn leading(text: &[u8]) -> Option<(Decimal, &[u8])> {
        let (whole, rest) = leading_digits(text)?;
        let [b'.', fraction @ ..] = rest else { return Some((Decimal { whole, millionths: 0 }, rest)) };
        let (_, rest) = leading_digits(fraction)?;
        let digits = fraction.get(..fraction.len().saturating_sub(rest.len()))?;
        let (mut millionths, mut place) = (0_u64, 100_000_u64);
        let mut is_finer = false;
        for digit in digits.iter().map(|digit| u64::from(digit.wrapping_sub(b'0'))) {
            millionths = millionths.wrapping_add(digit.wrapping_mul(place));
            is_finer |= place == 0 && digit > 0;
            place /= 10;
        }
        Some((Decimal { whole, millionths: millionths.wrapping_add(u64::from(is_finer)) }, rest))
    }

    /// In ms as a number of units of `unit` ms, of an hour at most; rounded up.
    pub(super) fn times(&self, unit: u64) -> Millis {
        let part = self.millionths.wrapping_mul(unit).div_ceil(1_000_000);
        Millis::new(self.whole.saturating_mul(unit).saturating_add(part))
    }
}

/// The number that `text` begins with, at least one digit of it, and what follows.
fn leading_digits(text: &[u8]) -> Option<(u64, &[u8])> {
    let (mut number, mut rest) = (0_u64, text);
    while let [digit @ b'0'..=b'9', after @ ..] = rest {
        // Beyond 2^53 it only matters that it stays there.
        number = Millis::new(number).get().wrapping_mul(10).wrapping_add(u64::from(digit.wrapping_sub(b'0')));
        rest = after;
    }
    (rest.len() < text.len()).then_some((number, rest))
}
