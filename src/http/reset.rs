//! When a quota begins anew, from the fields that servers send in place of `RateLimit` and `Retry-After`:
//! `RateLimit-Reset` of the older drafts, `X-RateLimit-Reset` of GitHub and many others.
//!
//! There is no standard for them. Some say in how many seconds, some at which second of the epoch, a
//! few in milliseconds, and the size of the number tells which. Servers send them with every answer,
//! so they name a wait only where the quota is said, or known, to be used up.
#![forbid(unsafe_code)]

use super::http_date::parse_http_date;
use super::retry_after::{largest, leading_digits};
use crate::time::Millis;

/// From here on a number of seconds is a time: as a delay it would be 31 years.
const EPOCH_SECONDS: u64 = 1_000_000_000;
/// From here on it is a time in milliseconds.
const EPOCH_MS: u64 = 1_000_000_000_000;
/// From here on, the year 2255, it is neither.
const BEYOND: u64 = 9_000_000_000_000;

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
) -> Option<Millis> {
    let used_up = match remaining {
        Some(left) => largest(left, &number) == Some(Millis::ZERO),
        None => matches!(status, 429 | 503),
    };
    let number = largest(reset, &number).filter(|_| used_up)?.get();
    let until = match number / 1000 {
        0..EPOCH_SECONDS => return (number > 0).then_some(Millis::new(number)),
        EPOCH_SECONDS..EPOCH_MS => number,
        EPOCH_MS..BEYOND => number / 1000,
        _ => return None,
    };
    let now = now.get() as i64;
    let from = date.and_then(|date| parse_http_date(date.trim_ascii(), now)).unwrap_or(now);
    let wait = (until as i64).saturating_sub(from);
    u64::try_from(wait).ok().filter(|wait| *wait > 0).map(Millis::new)
}

/// A number with three places after its point: seconds in ms, for one.
fn number(value: &[u8]) -> Option<Millis> {
    let (whole, rest) = leading_digits(value)?;
    let whole = Millis::new(whole).get().min(BEYOND).wrapping_mul(1000);
    let [b'.', fraction @ ..] = rest else {
        return rest.is_empty().then_some(Millis::new(whole));
    };
    let (_, rest) = leading_digits(fraction)?;
    let mut thousandths: u64 = 0;
    for place in 0..3 {
        let digit = fraction.get(place).map_or(0, |digit| digit.wrapping_sub(b'0'));
        thousandths = thousandths.wrapping_mul(10).wrapping_add(u64::from(digit));
    }
    let finer = fraction.get(3..).unwrap_or_default().iter().any(|digit| *digit != b'0');
    let thousandths = thousandths.wrapping_add(u64::from(finer));
    rest.is_empty().then_some(Millis::new(whole.wrapping_add(thousandths)))
}
