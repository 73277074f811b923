//! The `RateLimit` header. The bytes are its value.

use redrive::ratelimit::{RateLimit, parse_rate_limit};
use redrive::time::Millis;

/// The largest Integer of a structured field.
const MOST: u64 = 999_999_999_999_999;

pub fn check(header: &[u8]) {
    let read = |parts: &[&[u8]]| parse_rate_limit(&parts.concat());
    let limit = parse_rate_limit(header);
    assert_eq!(read(&[b"  ", header, b" "]), limit, "spaces around a field are no part of it");
    let Some(limit) = limit else {
        // Whatever stands behind a fault, none of it is read.
        assert_eq!(read(&[b"\"a\";r=1;t=1,, ", header]), None);
        return;
    };
    assert!(header.is_ascii(), "a structured field is ASCII");
    assert!(limit.remaining <= MOST);
    assert!(limit.reset.is_none_or(|reset| reset.get() % 1000 == 0 || reset == Millis::MAX));

    assert_eq!(read(&[header, b" \t,\t", header]), Some(limit), "twice is once");
    // Spaces may follow an item, but not stand between it and its parameters.
    let trimmed = header.trim_ascii_end();
    assert_eq!(read(&[trimmed, b";zz=\"r=0\";*"]), Some(limit), "other parameters are comments");
    assert_eq!(read(&[header, b", \"more\";r=999999999999999"]), Some(limit), "the least binds");
    let empty = RateLimit { remaining: 0, reset: Some(Millis::MAX), partitioned: false };
    assert_eq!(read(&[header, b",\"none\";t=999999999999999;r=0"]), Some(empty), "the least binds");
    assert_eq!(read(&[header, b",\"none\";r=-1"]), None, "a fault anywhere makes nothing of everything");
    assert_eq!(read(&[header, b",none;r=1"]), None, "a name is a String");
    assert_eq!(read(&[header, b","]), None, "nothing may not follow a comma");
}
