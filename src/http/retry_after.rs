//! The wait a server asked for in `Retry-After` or `retry-after-ms`, if it is usable.
//!
//! Takes `1*DIGIT` seconds and the three HTTP dates, to the letter of RFC 9110, and refuses the
//! rest rather than guess: `parseInt` reads `12abc` as 12 and a date as nothing. What is refused
//! falls back to the policy's curve. `now` is an argument, and so is the response's own `Date`:
//! a date minus a date of the same clock needs no agreement between clocks.
//!
//! Several values reach us as one: `fetch` joins repeated header lines with a comma. The largest
//! that is valid counts, since a wait may be too long but never shorter than asked for.
#![forbid(unsafe_code)]

use super::http_date::parse_http_date;
use crate::time::Millis;

/// The request that a response's headers make.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Asked {
    /// No header that names a wait was there.
    Nothing,
    /// There was one, and nothing in it could be used: worth counting, the curve decides.
    Unusable,
    /// Wait this long from now.
    Wait(Millis),
}

/// The wait that a response asks for, from the values of its headers (`None`: not there, or not
/// readable across origins; an empty value is there and unusable).
///
/// `retry-after-ms` wins where it is usable, since it is the finer of the two; else
/// `Retry-After`. `date` and `now` are as in [`parse_retry_after`].
pub fn server_delay(
    retry_after: Option<&[u8]>,
    retry_after_ms: Option<&[u8]>,
    date: Option<&[u8]>,
    now: Millis,
) -> Asked {
    let ms = retry_after_ms.and_then(parse_retry_after_ms);
    match ms.or_else(|| parse_retry_after(retry_after?, date, now)) {
        Some(wait) => Asked::Wait(wait),
        None if retry_after.is_some() || retry_after_ms.is_some() => Asked::Unusable,
        None => Asked::Nothing,
    }
}

/// How long `Retry-After` says to wait from `now`, or `None` if the value is unusable.
///
/// `Retry-After = HTTP-date / delay-seconds` (RFC 9110, 10.2.3). Of several values the largest
/// valid one counts, and those beside it that are not valid are ignored. Seconds have no sign,
/// fraction or unit; beyond counting they are [`Millis::MAX`]. Dates are as RFC 9110, 5.6.7,
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
        delay_seconds(value).or_else(|| {
            let until = parse_http_date(value, from)?;
            Some(Millis::new(u64::try_from(until.saturating_sub(from)).unwrap_or(0)))
        })
    })
}

/// How long `retry-after-ms` says to wait, or `None` if the value is unusable.
///
/// No standard has this header. Azure's services send it and Azure's and OpenAI's clients read
/// it, before `Retry-After`, whose seconds are too coarse for them. It is a number of
/// milliseconds, `1*DIGIT`; those clients read it as a float, so `1*DIGIT "." 1*DIGIT` is taken
/// too and rounded up, never to be earlier than asked for. No sign, exponent, unit or date.
/// Several values, spaces and numbers beyond counting are as in [`parse_retry_after`].
pub fn parse_retry_after_ms(header: &[u8]) -> Option<Millis> {
    largest(header, &|value| {
        let (whole, rest) = leading_digits(value)?;
        let [b'.', fraction @ ..] = rest else {
            return rest.is_empty().then_some(Millis::new(whole));
        };
        let (part, rest) = leading_digits(fraction)?;
        rest.is_empty().then_some(Millis::new(whole.saturating_add(u64::from(part > 0))))
    })
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

/// `delay-seconds = 1*DIGIT`, in ms.
fn delay_seconds(value: &[u8]) -> Option<Millis> {
    let (seconds, rest) = leading_digits(value)?;
    rest.is_empty().then_some(Millis::new(Millis::new(seconds).get().wrapping_mul(1000)))
}

/// The number that `text` begins with, at least one digit of it, and what follows.
pub(super) fn leading_digits(text: &[u8]) -> Option<(u64, &[u8])> {
    let (mut number, mut rest) = (0_u64, text);
    while let [digit @ b'0'..=b'9', after @ ..] = rest {
        // Beyond 2^53 it only matters that it stays there.
        number = Millis::new(number).get().wrapping_mul(10).wrapping_add(u64::from(digit.wrapping_sub(b'0')));
        rest = after;
    }
    (rest.len() < text.len()).then_some((number, rest))
}
