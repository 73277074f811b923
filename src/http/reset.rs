//! When a quota begins anew, from the fields that servers send in place of `RateLimit` and `Retry-After`:
//! `RateLimit-Reset` of the older drafts, `X-RateLimit-Reset` of GitHub and many others, `X-RateLimit-Reset-After` of Discord,
//! `X-RateLimit-Reset-Requests` of OpenAI and Groq.
//!
//! There is no standard for them. Some say in how many seconds, some at which second of the epoch, a
//! few in milliseconds, and the size of the number tells which; some write a duration as Go prints it (`1m30s`, `20ms`), some a time of
//! RFC 3339 (Anthropic). Servers
//! send them with every answer, so they name a wait only where the quota is said, or known, to be used up.
#![forbid(unsafe_code)]

use super::http_date::{parse_date, parse_http_date, parse_offset};
use super::retry_after::{Decimal, largest, number};
use crate::time::Millis;

/// From here on a number of seconds is a time: as a delay it would be 31 years.
const EPOCH_SECONDS: u64 = 1_000_000_000;
/// From here on it is a time in milliseconds.
const EPOCH_MS: u64 = 1_000_000_000_000;
/// From here on, the year 2255, it is neither.
const BEYOND: u64 = 9_000_000_000_000;

/// A wait until a quota begins anew. In order: a delay is more than any time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Reset {
    /// Whether it was said as a delay, so that clocks do not matter.
    pub is_delay: bool,
    /// More than none.
    pub wait: Millis,
}

/// How long to wait from `now` until the quota begins anew; `None` where it is not used up, or nothing can be read.
///
/// `remaining` is what the field beside it says is left; where that is absent, the statuses 429 and 503
/// say the same. A number may have a fraction, which is rounded up; of several the largest counts. A
/// time counts from `date`, the response's `Date`, as with `Retry-After`. A time that has passed names
/// no wait.
pub fn reset_delay(
    reset: &[u8],
    remaining: Option<&[u8]>,
    status: u32,
    date: Option<&[u8]>,
    now: Millis,
) -> Option<Reset> {
    let seconds = |value: &[u8]| number(value, 1000);
    let used_up = match remaining {
        Some(left) => largest(left, &seconds) == Some(Millis::ZERO),
        None => matches!(status, 429 | 503),
    };
    let read = |value: &[u8]| seconds(value).or_else(|| duration(value)).or_else(|| time(value));
    let number = largest(reset, &read).filter(|_| used_up)?.get();
    let until = match number / 1000 {
        0..EPOCH_SECONDS => {
            return (number > 0).then_some(Reset { is_delay: true, wait: Millis::new(number) });
        }
        EPOCH_SECONDS..EPOCH_MS => number,
        EPOCH_MS..BEYOND => number / 1000,
        _ => return None,
    };
    let now = now.get() as i64;
    let from = date.and_then(|date| parse_http_date(date.trim_ascii(), now)).unwrap_or(now);
    let wait = (until as i64).saturating_sub(from);
    let wait = Millis::new(u64::try_from(wait).ok()?);
    (wait > Millis::ZERO).then_some(Reset { is_delay: false, wait })
}

/// A sum of numbers with units, such as `1m30s` or `2m59.56s`, in ms. A sign, a space, and what is finer than `ms` are not read, nor is 31 years.
fn duration(mut text: &[u8]) -> Option<Millis> {
    let mut sum = Millis::ZERO;
    while !text.is_empty() {
        let (number, rest) = Decimal::leading(text)?;
        let (unit, rest) = match rest {
            [b'm', b's', rest @ ..] => (1, rest),
            [b's', rest @ ..] => (1000, rest),
            [b'm', rest @ ..] => (60_000, rest),
            [b'h', rest @ ..] => (3_600_000, rest),
            _ => return None,
        };
        sum = sum.plus(number.times(unit));
        text = rest;
    }
    (sum.get() / 1000 < EPOCH_SECONDS).then_some(sum)
}

/// A time of RFC 3339, such as `2026-11-28T12:00:00Z`, in epoch ms; one before 2001, where numbers are delays, is not read. A space may stand
/// between date and time, as Python and SQL write it, but a zone has to be there. A fraction of the second is rounded up.
fn time(text: &[u8]) -> Option<Millis> {
    const FORMS: [&[u8]; 3] = [b"y-n-dTh:m:", b"y-n-dth:m:", b"y-n-d h:m:"];
    let (minute, rest) = text.split_at_checked(17)?;
    let minute = FORMS.iter().find_map(|form| parse_date(minute, form))?;
    let ([b'0'..=b'5', b'0'..=b'9', after, ..] | [b'6', b'0', after, ..]) = rest else { return None };
    let (seconds, zone) = Decimal::leading(rest).filter(|_| !after.is_ascii_digit())?;
    let east = match zone {
        b"Z" | b"z" => 0,
        [sign @ (b'+' | b'-'), offset @ ..] => {
            let offset = parse_offset(offset)?;
            if *sign == b'+' { offset } else { offset.wrapping_neg() }
        }
        _ => return None,
    };
    let utc = minute.wrapping_add(seconds.times(1000).get() as i64).wrapping_sub(east);
    u64::try_from(utc).ok().filter(|ms| ms / 1000 >= EPOCH_SECONDS).map(Millis::new)
}
