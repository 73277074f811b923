//! What servers say in headers, row by row.

use crate::common::vectors;
use redrive::ratelimit::parse_rate_limit;
use redrive::reset::reset_delay;
use redrive::retry_after::{Asked, parse_retry_after, parse_retry_after_ms, server_delay};
use redrive::time::Millis;
use serde_json::Value;

fn now(row: &Value) -> Millis {
    Millis::new(row["now"].as_u64().unwrap())
}

fn bytes<'a>(row: &'a Value, name: &str) -> Option<&'a [u8]> {
    row[name].as_str().map(str::as_bytes)
}

#[test]
fn s9_retry_after_is_read_to_the_letter() {
    let rows = vectors("retry-after.json");
    assert!(rows.len() >= 140);
    for row in rows {
        let got = parse_retry_after(bytes(&row, "header").unwrap(), bytes(&row, "date"), now(&row));
        assert_eq!(got.map(Millis::get), row["ms"].as_u64(), "{row}");
    }
}

#[test]
fn s9_of_two_headers_the_finer_counts_where_it_can_be_used() {
    let rows = vectors("server-delay.json");
    assert!(rows.len() >= 60);
    for row in rows {
        let (seconds, ms) = (bytes(&row, "retryAfter"), bytes(&row, "retryAfterMs"));
        let expected = match row["asked"].as_str().unwrap() {
            "nothing" => Asked::Nothing,
            "unusable" => Asked::Unusable,
            "wait" => Asked::Wait(Millis::new(row["ms"].as_u64().unwrap())),
            other => panic!("{other}"),
        };
        assert_eq!(server_delay(seconds, ms, bytes(&row, "date"), now(&row)), expected, "{row}");
        if let (None, Some(ms)) = (seconds, ms) {
            assert_eq!(parse_retry_after_ms(ms).map(Millis::get), row["ms"].as_u64(), "{row}");
        }
    }
}

#[test]
fn s9_a_reset_is_read_as_a_delay_or_a_time_where_the_quota_is_used_up() {
    let rows = vectors("rate-limit-reset.json");
    assert!(rows.len() >= 30);
    for row in rows {
        let (reset, remaining) = (bytes(&row, "reset").unwrap(), bytes(&row, "remaining"));
        let status = u32::try_from(row["status"].as_u64().unwrap()).unwrap();
        let got = reset_delay(reset, remaining, status, bytes(&row, "date"), now(&row));
        assert_eq!(got.map(Millis::get), row["ms"].as_u64(), "{row}");
    }
}

#[test]
fn rate_limits_are_read_whole_or_not_at_all() {
    let rows = vectors("ratelimit.json");
    assert!(rows.len() >= 60);
    for row in rows {
        let got = parse_rate_limit(bytes(&row, "header").unwrap());
        assert_eq!(got.map(|limit| limit.remaining), row["remaining"].as_u64(), "{row}");
        assert_eq!(got.and_then(|limit| limit.reset).map(Millis::get), row["resetMs"].as_u64(), "{row}");
        assert_eq!(got.is_some_and(|limit| limit.partitioned), row["partitioned"] == true, "{row}");
    }
}

#[test]
fn bytes_that_are_no_text_are_refused_like_any_other() {
    for header in [&b"\xFF"[..], b"12\xFF", b"\xD9\xA1", b"Sat, 21 Nov 2026 08:02:00 GMT\xFF"] {
        assert_eq!(parse_retry_after(header, None, Millis::ZERO), None);
        assert_eq!(parse_retry_after_ms(header), None);
    }
    for header in [&b"\"a\xFF\";r=1"[..], b"\"a\";r=1;x=%\"\xC3\xBC\"", b"\"a\";r=1\xA0"] {
        assert_eq!(parse_rate_limit(header), None);
    }
}
