//! What a server asked for in `Retry-After`: a wait in milliseconds, or nothing usable.
//!
//! Takes `1*DIGIT` seconds and an IMF-fixdate, to the letter of RFC 9110, and refuses the rest
//! rather than guess: `parseInt` reads `12abc` as 12 and a date as nothing. What is refused
//! falls back to the policy's curve. `now` is an argument, and so is the response's own `Date`:
//! a date minus a date of the same clock needs no agreement between clocks.
#![forbid(unsafe_code)]

use crate::time::Millis;

/// How long to wait from `now`, or `None` if the value is unusable.
///
/// `date` is the response's `Date` header where it can be read; if it is absent or malformed,
/// the local `now` stands in. A date in the past is no wait; seconds beyond counting are
/// [`Millis::MAX`]. Whitespace around the value is not part of it (RFC 9110, 5.5).
pub fn parse_retry_after(header: &str, date: Option<&str>, now: Millis) -> Option<Millis> {
    let value = trim(header);
    if let Some(seconds) = parse_seconds(value) {
        return Some(seconds);
    }
    let until = parse_imf_fixdate(value)?;
    let from = date.and_then(|date| parse_imf_fixdate(trim(date)));
    // Epoch milliseconds are below 2^53 on both sides, so the difference cannot overflow.
    let from = from.unwrap_or(now.get() as i64);
    Some(Millis::new(u64::try_from(until.saturating_sub(from)).unwrap_or(0)))
}

fn trim(value: &str) -> &str {
    value.trim_matches([' ', '\t'])
}

/// `delay-seconds = 1*DIGIT` (RFC 9110, 10.2.3): no sign, no fraction, no unit.
fn parse_seconds(value: &str) -> Option<Millis> {
    if value.is_empty() {
        return None;
    }
    let mut seconds: u64 = 0;
    for byte in value.bytes() {
        if !byte.is_ascii_digit() {
            return None;
        }
        let digit = u64::from(byte.wrapping_sub(b'0'));
        seconds = seconds.saturating_mul(10).saturating_add(digit);
    }
    Some(Millis::new(seconds.saturating_mul(1000)))
}

/// `Sun, 06 Nov 1994 08:49:37 GMT` (RFC 9110, 5.6.7) in epoch milliseconds; the only form a
/// server may send today. Case counts. A weekday that does not match the date is ignored: the
/// date is what was meant.
fn parse_imf_fixdate(value: &str) -> Option<i64> {
    let bytes: &[u8; 29] = value.as_bytes().try_into().ok()?;
    let text = |from: usize, to: usize| bytes.get(from..to).unwrap_or(&[]);
    let fixed = [(3, ", "), (7, " "), (11, " "), (16, " "), (19, ":"), (22, ":"), (25, " GMT")];
    for (at, expected) in fixed {
        if !bytes.get(at..).is_some_and(|rest| rest.starts_with(expected.as_bytes())) {
            return None;
        }
    }
    position(DAYS, text(0, 3))?;
    let day = number(text(5, 7))?;
    let month = position(MONTHS, text(8, 11))?;
    let year = number(text(12, 16))?;
    let (hour, minute, second) = (number(text(17, 19))?, number(text(20, 22))?, number(text(23, 25))?);
    // 60 is a leap second: the grammar allows it, and it counts as the second after.
    if day == 0 || day > days_in(month, year) || hour > 23 || minute > 59 || second > 60 {
        return None;
    }
    let hours = days_from_epoch(year, month, day).saturating_mul(24).saturating_add(hour);
    let seconds = hours.saturating_mul(60).saturating_add(minute).saturating_mul(60).saturating_add(second);
    Some(seconds.saturating_mul(1000))
}

const DAYS: &[u8] = b"SunMonTueWedThuFriSat";
const MONTHS: &[u8] = b"JanFebMarAprMayJunJulAugSepOctNovDec";

/// Which of the three-letter `names` is meant, from 1.
fn position(names: &[u8], name: &[u8]) -> Option<i64> {
    let found = names.chunks_exact(3).position(|known| known == name)?;
    i64::try_from(found.saturating_add(1)).ok()
}

fn number(digits: &[u8]) -> Option<i64> {
    digits.iter().try_fold(0_i64, |number, byte| {
        let digit = byte.is_ascii_digit().then(|| i64::from(byte.wrapping_sub(b'0')))?;
        Some(number.saturating_mul(10).saturating_add(digit))
    })
}

const fn is_leap(year: i64) -> bool {
    year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
}

const fn days_in(month: i64, year: i64) -> i64 {
    match month {
        2 if is_leap(year) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// Days from 1970-01-01 in the proleptic Gregorian calendar, `year` being `0..=9999`.
fn days_from_epoch(year: i64, month: i64, day: i64) -> i64 {
    let before_year = |year: i64| {
        let last = year.saturating_sub(1);
        year.saturating_mul(365)
            .saturating_add(last.div_euclid(4))
            .saturating_sub(last.div_euclid(100))
            .saturating_add(last.div_euclid(400))
    };
    let whole_months: i64 = (1..month).map(|month| days_in(month, year)).sum();
    before_year(year)
        .saturating_sub(before_year(1970))
        .saturating_add(whole_months)
        .saturating_add(day)
        .saturating_sub(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_day_of_ten_thousand_years_is_one_after_the_last() {
        let mut expected = days_from_epoch(0, 1, 1);
        assert_eq!(expected, -719_528);
        for year in 0..=9999 {
            for month in 1..=12 {
                for day in 1..=days_in(month, year) {
                    assert_eq!(days_from_epoch(year, month, day), expected, "{year}-{month}-{day}");
                    expected += 1;
                }
            }
        }
    }

    #[test]
    fn the_standards_own_example_is_read() {
        assert_eq!(parse_imf_fixdate("Sun, 06 Nov 1994 08:49:37 GMT"), Some(784_111_777_000));
    }
}
