//! `Retry-After`, `retry-after-ms`, HTTP dates, and what a response says in all of its lines.
//!
//! A byte that says which headers are there, `now` as eight, then the values between line feeds. All of the bytes are lines, too.

use redrive::asked::{Asked, Said, said};
use redrive::reset::reset_delay;
use redrive::retry_after::{parse_retry_after, parse_retry_after_ms};
use redrive::time::Millis;

use super::input::Input;

pub fn check(bytes: &[u8]) {
    let mut input = Input(bytes);
    let (there, now) = (input.u8(), Millis::new(input.u64() % (1 << 54)));
    let mut value = |bit: u8| {
        let value = input.until(b'\n');
        (there & bit != 0).then_some(value)
    };
    let (header, ms, date) = (value(1), value(2), value(4));
    asked(header, ms, date, now);
    lines(bytes, now);
    seconds(header.unwrap_or(&[]), date, now);
    milliseconds(ms.unwrap_or(&[]));
    // Any number made of all bytes does for the date.
    let away = bytes.iter().fold(0, |sum, byte| sum * 31 % 0xFFFF_FFFF + u64::from(*byte));
    dates(now, away);
}

/// The finer header wins where it can be used; what is there and not used is told from nothing.
fn asked(header: Option<&[u8]>, ms: Option<&[u8]>, date: Option<&[u8]>, now: Millis) {
    let fine = ms.and_then(parse_retry_after_ms);
    let wait = fine.or(header.and_then(|header| parse_retry_after(header, date, now)));
    let expected = match wait {
        Some(wait) => Asked::Wait(wait),
        None if header.is_none() && ms.is_none() => Asked::Nothing,
        None => Asked::Unusable,
    };
    let fields = [("retry-after:", header), ("retry-after-ms:", ms), ("date:", date)];
    let line =
        |(name, value): (&str, Option<&[u8]>)| value.map(|value| [name.as_bytes(), value, b"\n"].concat());
    let lines: Vec<u8> = fields.into_iter().filter_map(line).flatten().collect();
    assert_eq!(said(&lines, 503, true, now).delay, expected);
}

/// Any bytes are lines: saying them twice is saying them once, a longer wait beside them is heard, and a success asks for nothing.
fn lines(lines: &[u8], now: Millis) {
    let read = |lines: &[u8], failed| said(lines, 429, failed, now);
    let all = read(lines, true);
    assert_eq!(read(lines, false), Said { delay: Asked::Nothing, limit: all.limit, asks: false });
    assert!(all.limit.is_none_or(|limit| limit.remaining == 0));
    if lines.iter().filter(|byte| **byte == b'\n').count() < 20 {
        assert_eq!(read(&[lines, b"\n", lines].concat(), true), all);
        let most = [lines, b"\nx-ms-retry-after-ms:9007199254740992"].concat();
        assert_eq!(read(&most, true).delay, Asked::Wait(Millis::MAX));
    }
}

fn seconds(header: &[u8], date: Option<&[u8]>, now: Millis) {
    let read = |header: &[u8]| parse_retry_after(header, date, now);
    let wait = read(header);
    if let Some(plain) = plain_digits(header) {
        assert_eq!(wait, Some(Millis::new(plain.saturating_mul(1000))));
    }
    if wait.is_some() {
        assert!(header.iter().any(u8::is_ascii_digit), "a wait out of nothing");
    }
    same_around_and_twice(header, &read);
    let longer = read(&[header, b",,120"].concat());
    assert_eq!(longer, wait.max(Some(Millis::new(120_000))), "a value beside others changed them");
}

fn milliseconds(header: &[u8]) {
    let wait = parse_retry_after_ms(header);
    if let Some(plain) = plain_digits(header) {
        assert_eq!(wait, Some(Millis::new(plain)));
    }
    same_around_and_twice(header, &parse_retry_after_ms);
    let longer = parse_retry_after_ms(&[header, b",,7.5"].concat());
    assert_eq!(longer, wait.max(Some(Millis::new(8))));
}

/// Spaces around a value are no part of it, and saying it twice is saying it once.
fn same_around_and_twice(header: &[u8], read: &dyn Fn(&[u8]) -> Option<Millis>) {
    let wait = read(header);
    assert_eq!(read(&[b" \t", header, b"\t "].concat()), wait);
    assert_eq!(read(&[header, b",,", header].concat()), wait);
}

/// What is nothing but digits, read the obvious way.
fn plain_digits(header: &[u8]) -> Option<u64> {
    let digits = std::str::from_utf8(header).ok()?.trim_matches([' ', '\t']);
    let plain = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    plain.then(|| digits.parse().unwrap_or(u64::MAX))
}

/// An instant written in each of the three forms is that instant again, and counts from `Date`.
fn dates(now: Millis, away: u64) {
    // Within fifty years, or two digits would mean another century; and up to the year 9999.
    let now = Millis::new(now.get().min(253_402_300_799_000 - 50 * 366 * 86_400_000));
    let until = now.get() / 1000 + away % (49 * 365 * 86_400);
    let wait = Millis::new((until * 1000).saturating_sub(now.get()));
    for text in written(until) {
        assert_eq!(parse_retry_after(text.as_bytes(), None, now), Some(wait), "{text} from {now:?}");
        assert_eq!(parse_retry_after(text.as_bytes(), Some(b"yesterday"), now), Some(wait));
        let zero = parse_retry_after(text.as_bytes(), Some(text.as_bytes()), now);
        assert_eq!(zero, Some(Millis::ZERO), "{text} from itself");
    }
    // A reset may be a time of RFC 3339, in any zone; before 2001 none is read.
    for (text, minutes) in [("Z", 0), ("-00:00", 0), ("+05:30", 330), ("-11:59", -719)] {
        let text = format!("{}{text}", stamp(until.saturating_add_signed(minutes * 60)));
        let reset = reset_delay(text.as_bytes(), Some(b"0"), 200, None, now).map(|reset| reset.wait);
        assert_eq!(reset, Some(wait).filter(|wait| *wait > Millis::ZERO && until >= 1_000_000_000), "{text}");
    }
}

/// The instant, in seconds, in the forms of RFC 9110, 5.6.7, with a weekday that need not be right.
fn written(seconds: u64) -> [String; 3] {
    const MONTHS: [&str; 12] =
        ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    let (year, month, day) = civil(seconds);
    let month = MONTHS[month as usize - 1];
    let time = time_of_day(seconds);
    [
        format!("Sun, {day:02} {month} {year:04} {time} GMT"),
        format!("Sunday, {day:02}-{month}-{:02} {time} GMT", year % 100),
        format!("Sun {month} {day:2} {time} {year:04}"),
    ]
}

/// The same in the form of RFC 3339, without its zone.
fn stamp(seconds: u64) -> String {
    let (year, month, day) = civil(seconds);
    format!("{year:04}-{month:02}-{day:02}T{}", time_of_day(seconds))
}

fn time_of_day(seconds: u64) -> String {
    format!("{:02}:{:02}:{:02}", seconds / 3600 % 24, seconds / 60 % 60, seconds % 60)
}

/// Year, month and day of a second. The calendar is Howard Hinnant's `civil_from_days`, which counts years from March.
fn civil(seconds: u64) -> (u64, u64, u64) {
    let days = seconds / 86_400 + 719_468;
    let (era, day_of_era) = (days / 146_097, days % 146_097);
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted + 2) / 5 + 1;
    (year_of_era + era * 400 + u64::from(shifted >= 10), (shifted + 2) % 12 + 1, day)
}
