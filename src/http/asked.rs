//! The wait that an answer asks for, from all of its header fields that may name one.
//!
//! One field is standard, `Retry-After`, and servers send a dozen others in its place. The host passes every line whose name may be
//! one of them; which are, and which counts, is decided here alone:
//!
//! | field | its value | counts |
//! |---|---|---|
//! | any that holds `retry-after` and ends with `-ms`: `retry-after-ms`, `x-ms-retry-after-ms` (Azure, OpenAI) | milliseconds | before all others |
//! | `retry-after` | seconds, or an HTTP date | next |
//! | any other that holds `retry-after`: `retry-after-short` (named throttlers of @nestjs/throttler) | the same | next |
//! | `ratelimit` with nothing left (`ratelimit.rs`) | seconds | where none of the above can be read, or it says 0 |
//! | any that holds `ratelimit` or `rate-limit`, and `reset` or `retry-after` (`reset.rs`) | seconds, a time, or a duration | where `ratelimit` names no wait either |
//!
//! Of several lines of one row the largest that is valid counts, since a wait may be too long but never shorter than asked
//! for; of resets, one that is a delay comes before one that is a time, as it needs no agreement between clocks.
#![forbid(unsafe_code)]

use super::ratelimit::{RateLimit, parse_rate_limit};
use super::reset::{Reset, reset_delay};
use super::retry_after::{parse_retry_after, parse_retry_after_ms};
use crate::time::Millis;

/// Lines that are looked at, of each answer: servers send a handful, and the search for what remains beside each reset must not
/// grow with the square of what a hostile one sends.
const MOST_LINES: usize = 64;

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

/// All that a response says of when to come again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Said {
    /// The wait that a failure asks for.
    pub delay: Asked,
    /// The quota of its `RateLimit`, where nothing of it is left.
    pub limit: Option<RateLimit>,
    /// Whether it asks for another attempt, whatever its status says by itself: it has a `Retry-After`, readable or not, or it is a 403 that
    /// says that a quota is used up and when it begins anew (GitHub's primary rate limit).
    pub asks: bool,
}

/// Reads `lines`, each a name in lower case, a colon and a value, between line feeds.
///
/// `failed`: the response is a failure; of any other only `RateLimit` counts, since servers send the rest with every answer.
/// `status` and `now` are as in [`reset_delay`]. A zero beside a quota that is used up, as servers that round down send in the
/// last second, gives way to the quota's reset. The field `date` is the response's `Date`.
pub fn said(lines: &[u8], status: u32, failed: bool, now: Millis) -> Said {
    let fields = || lines.split(|byte| *byte == b'\n').take(MOST_LINES).filter_map(field);
    let value_of =
        |wanted: &dyn Fn(&[u8]) -> bool| fields().find(|(name, _)| wanted(name)).map(|(_, value)| value);
    let limit = value_of(&|name| name == b"ratelimit").and_then(parse_rate_limit);
    let limit = limit.filter(|limit| limit.remaining == 0);
    if !failed {
        return Said { delay: Asked::Nothing, limit, asks: false };
    }
    let date = value_of(&|name| name == b"date");
    // With the rank of its row: the highest counts, and of equals the longest wait.
    let (mut ranked, mut is_there, mut asks, mut reset) = (None, false, false, None);
    for (name, value) in fields() {
        if find(name, b"ratelimit").or(find(name, b"rate-limit")).is_some() {
            let Some((before, after)) = around_reset(name) else { continue };
            let remains = |name: &[u8]| {
                name.strip_prefix(before).and_then(|rest| rest.strip_prefix(b"remaining")) == Some(after)
            };
            reset = reset.max(reset_delay(value, value_of(&remains), status, date, now));
        } else if find(name, b"retry-after").is_some() {
            is_there = true;
            asks |= name == b"retry-after" && !value.is_empty();
            let (rank, wait) = match name.strip_suffix(b"-ms") {
                Some(_) => (2, parse_retry_after_ms(value)),
                None => (u8::from(name == b"retry-after"), parse_retry_after(value, date, now)),
            };
            ranked = ranked.max(wait.map(|wait| (rank, wait)));
        }
    }
    let delay = match ranked.map(|(_, wait)| wait) {
        Some(wait) if wait > Millis::ZERO => Asked::Wait(wait),
        rounded => match (limit.and_then(|limit| limit.reset), reset, rounded) {
            // The limit speaks for itself: it may be that of one partition.
            (Some(wait), _, Some(_)) if wait > Millis::ZERO => Asked::Nothing,
            (None, Some(Reset { wait, .. }), _) | (_, _, Some(wait)) => Asked::Wait(wait),
            _ if is_there => Asked::Unusable,
            _ => Asked::Nothing,
        },
    };
    let renewed = limit.and_then(|limit| limit.reset).or(reset.map(|reset| reset.wait));
    let is_limit = status == 403 && renewed > Some(Millis::ZERO);
    Said { delay, limit, asks: asks || is_limit }
}

/// The name and the value of a line.
fn field(line: &[u8]) -> Option<(&[u8], &[u8])> {
    let (name, value) = line.split_at_checked(find(line, b":")?)?;
    Some((name, value.get(1..)?))
}

/// The name of a field that says when its quota begins anew, without the word for that: the field that says what remains
/// has `remaining` in its place.
fn around_reset(name: &[u8]) -> Option<(&[u8], &[u8])> {
    let words: [&[u8]; 3] = [b"reset-after", b"reset", b"retry-after"];
    words.into_iter().find_map(|word| {
        let (before, rest) = name.split_at_checked(find(name, word)?)?;
        Some((before, rest.strip_prefix(word)?))
    })
}

/// Where `word` begins in `text`. In one copy.
#[inline(never)]
fn find(text: &[u8], word: &[u8]) -> Option<usize> {
    text.windows(word.len()).position(|part| part == word)
}
