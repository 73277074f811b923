//! The rest of a server's quota, from the `RateLimit` header.
//!
//! A server that says how much it will still take spares itself the refusals. The field is that
//! of draft-ietf-httpapi-ratelimit-headers (08 and later): a List of Strings with parameters, as
//! `"default";r=50;t=30`. Malformed fields must be ignored, says the draft, and a structured
//! field is read whole or not at all, so a fault anywhere makes nothing of everything. In draft 07 it
//! was a Dictionary, `limit=100, remaining=5, reset=3`, which servers still send. Not read: the names of
//! the policies and `RateLimit-Policy`. Fields of their own for each number are in `reset.rs`.
#![forbid(unsafe_code)]

use super::structured::{Bare, Scanner};
use crate::time::Millis;

/// The service limit that binds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RateLimit {
    /// The units of the quota, mostly requests, that may still be used.
    pub remaining: u64,
    /// For how long from the response on no more than that may be used; `None`: not said.
    pub reset: Option<Millis>,
    /// Whether that is left to one partition of the quota (`pk`), such as one user: other requests may have another.
    pub partitioned: bool,
}

/// Reads the value of a `RateLimit` header; `None` if it is malformed or empty.
///
/// Each item names a policy, by a String: a Token is as malformed as any other type (the draft
/// asks for a String, and a structured field of another type has to be ignored). Its parameters
/// are `r`, which has to be there, and `t`, in seconds, both Integers of at least 0, and `pk`, the
/// key of a partition: of what type does not matter. Others (`qu`, a vendor's) are comments, but
/// have to be well-formed. In a Dictionary `remaining` has to be there, and stands for `r` as `reset`
/// does for `t`. Of several items the one with the least left counts, among equals one that binds all
/// partitions, then the one with the longest reset; none is shorter than any.
pub fn parse_rate_limit(header: &[u8]) -> Option<RateLimit> {
    let mut scanner = Scanner::new(header);
    if !header.trim_ascii_start().starts_with(b"\"") {
        return dictionary(&mut scanner);
    }
    let mut binding = service_limit(&mut scanner)?;
    while scanner.goes_on()? {
        let limit = service_limit(&mut scanner)?;
        // Whole numbers below 2^53: what is left first, turned round, since the least counts.
        let rank = |limit: &RateLimit| (!limit.remaining, !limit.partitioned, limit.reset);
        if rank(&limit) > rank(&binding) {
            binding = limit;
        }
    }
    Some(binding)
}

fn service_limit(scanner: &mut Scanner<'_>) -> Option<RateLimit> {
    let (mut available, mut window, mut partitioned) = (None, None, false);
    let name = scanner.item(|key, value| match key {
        b"r" => available = Some(value),
        b"t" => window = Some(value),
        b"pk" => partitioned = true,
        _ => {}
    })?;
    let Bare::String = name else { return None };
    limited(available, window, partitioned)
}

/// The form of draft 07. Of equal keys the last counts (RFC 9651, 4.2.2).
fn dictionary(scanner: &mut Scanner<'_>) -> Option<RateLimit> {
    let (mut available, mut window) = (None, None);
    loop {
        match scanner.member()? {
            (b"remaining", value) => available = Some(value),
            (b"reset", value) => window = Some(value),
            _ => {}
        }
        if !scanner.goes_on()? {
            return limited(available, window, false);
        }
    }
}

fn limited(available: Option<Bare>, window: Option<Bare>, partitioned: bool) -> Option<RateLimit> {
    let reset = match window {
        Some(seconds) => Some(Millis::new(count(seconds)?.wrapping_mul(1000))),
        None => None,
    };
    Some(RateLimit { remaining: count(available?)?, reset, partitioned })
}

/// A non-negative Integer.
fn count(value: Bare) -> Option<u64> {
    match value {
        Bare::Integer(value) => u64::try_from(value).ok(),
        _ => None,
    }
}
