//! What servers say in headers, row by row.

use crate::common::vectors;
use redrive::asked::{Asked, said};
use redrive::ratelimit::parse_rate_limit;
use redrive::reset::reset_delay;
use redrive::retry_after::{parse_retry_after, parse_retry_after_ms};
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

fn asked(row: &Value) -> Asked {
    match row["asked"].as_str().unwrap() {
        "nothing" => Asked::Nothing,
        "unusable" => Asked::Unusable,
        "wait" => Asked::Wait(Millis::new(row["ms"].as_u64().unwrap())),
        other => panic!("{other}"),
    }
}

#[test]
fn s9_of_two_headers_the_finer_counts_where_it_can_be_used() {
    let rows = vectors("server-delay.json");
    assert!(rows.len() >= 60);
    for row in rows {
        let fields = [("retry-after", "retryAfter"), ("retry-after-ms", "retryAfterMs"), ("date", "date")];
        // A line feed would end the line; no client hands one on, and it is as unusable as any other control character.
        let line = |(name, key): (&str, &str)| {
            row[key].as_str().map(|value| format!("{name}:{}\n", value.replace('\n', "\0")))
        };
        let lines: String = fields.into_iter().filter_map(line).collect();
        assert_eq!(said(lines.as_bytes(), 503, true, now(&row)).delay, asked(&row), "{row}");
        if let (None, Some(ms)) = (bytes(&row, "retryAfter"), bytes(&row, "retryAfterMs")) {
            assert_eq!(parse_retry_after_ms(ms).map(Millis::get), row["ms"].as_u64(), "{row}");
        }
    }
}

#[test]
fn s9_of_all_that_servers_send_one_wait_is_read() {
    let rows = vectors("asked.json");
    assert!(rows.len() >= 40);
    for row in rows {
        let line = |pair: &Value| format!("{}:{}\n", pair[0].as_str().unwrap(), pair[1].as_str().unwrap());
        let lines: String = row["lines"].as_array().unwrap().iter().map(line).collect();
        let status = u32::try_from(row["status"].as_u64().unwrap()).unwrap();
        let got = said(lines.as_bytes(), status, status >= 400, now(&row));
        assert_eq!(got.delay, asked(&row), "{row}");
        let limit = got.limit.and_then(|limit| limit.reset).map(Millis::get);
        assert_eq!(limit, row["limitMs"].as_u64(), "{row}");
        let by_default = status >= 400 && lines.lines().any(|line| line.starts_with("retry-after:"));
        assert_eq!(got.asks, row["asks"].as_bool().unwrap_or(by_default), "{row}");
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
        assert_eq!(got.map(|reset| reset.wait.get()), row["ms"].as_u64(), "{row}");
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
