//! The three forms of an HTTP date, as an instant.
//!
//! A date of a header decides when a request may be sent again, so a guess is worse than none:
//! what is not one of RFC 9110's three forms to the byte is refused, and so is a day that its
//! month does not have. No other form, zone or spelling is taken, and no clock is read: the
//! only form that leaves something open, a year of two digits, is settled by an argument.
#![forbid(unsafe_code)]

/// RFC 9110, 5.6.7, in its order: IMF-fixdate, rfc850-date, asctime-date. A lower-case letter
/// stands for a part (see [`Fields::read`]), everything else for itself.
const FORMS: [&[u8]; 3] = [b"a, d b y h:m:s GMT", b"w, d-b-c h:m:s GMT", b"a b e h:m:s y"];

const DAYS: [&[u8]; 7] =
    [b"Sunday", b"Monday", b"Tuesday", b"Wednesday", b"Thursday", b"Friday", b"Saturday"];
const MONTHS: &[u8] = b"JanFebMarAprMayJunJulAugSepOctNovDec";

/// The length of a year of the calendar on average, in ms: 146,097 days in 400 years.
const YEAR: i64 = 31_556_952_000;

/// `text` in epoch milliseconds, negative before 1970; `None` if it is not an HTTP date.
///
/// Every form is UTC. Case counts (RFC 9110, 5.6.7: "HTTP-date is case sensitive"). A weekday
/// that does not match is ignored: the date is what was meant. Second 60, a leap second, is the
/// second after 59. A year of two digits is the latest that is not more than 50 years after
/// `reference` (epoch ms), 50 years before a leap day being the same time of 1 March.
pub(crate) fn parse_http_date(text: &[u8], reference: i64) -> Option<i64> {
    FORMS.iter().find_map(|form| Fields::read(text, form)?.instant(reference))
}

/// `text` in epoch milliseconds, if it is a date and a time of UTC in this form, with a letter `n` for a month of two digits.
pub(super) fn parse_date(text: &[u8], form: &[u8]) -> Option<i64> {
    Fields::read(text, form)?.instant(0)
}

/// Hours and minutes, `02:00`, in ms.
pub(super) fn parse_offset(text: &[u8]) -> Option<i64> {
    let read = Fields::read(text, b"h:m")?;
    let minutes = read.hour.wrapping_mul(60).wrapping_add(read.minute);
    read.is_of_day().then(|| i64::from(minutes).wrapping_mul(60_000))
}

#[derive(Clone, Copy, Default)]
struct Fields {
    year: i32,
    /// The year has its last two digits only.
    short: bool,
    month: i32,
    day: i32,
    hour: i32,
    minute: i32,
    second: i32,
}

impl Fields {
    /// The parts of `text` as `form` has them, their ranges not looked at yet.
    #[inline(never)]
    fn read(mut text: &[u8], form: &[u8]) -> Option<Fields> {
        let mut fields = Fields::default();
        for part in form {
            let (number, count) = match part {
                b'a' | b'w' => {
                    let length = if *part == b'a' { 3 } else { usize::MAX };
                    let name = |day: &'static [u8]| day.get(..length.min(day.len()));
                    text = DAYS.iter().find_map(|day| text.strip_prefix(name(day)?))?;
                    continue;
                }
                b'b' => {
                    let (name, rest) = text.split_at_checked(3)?;
                    let at = MONTHS.chunks_exact(3).position(|month| month == name)?;
                    fields.month = (at as i32).wrapping_add(1);
                    text = rest;
                    continue;
                }
                b'c' => {
                    fields.short = true;
                    (&mut fields.year, 2)
                }
                b'd' => (&mut fields.day, 2),
                // asctime fills the day with a space: "Nov  6".
                b'e' => {
                    let padded = text.strip_prefix(b" ");
                    text = padded.unwrap_or(text);
                    (&mut fields.day, if padded.is_some() { 1 } else { 2 })
                }
                b'y' => (&mut fields.year, 4),
                b'n' => (&mut fields.month, 2),
                b'h' => (&mut fields.hour, 2),
                b'm' => (&mut fields.minute, 2),
                b's' => (&mut fields.second, 2),
                literal => {
                    text = text.strip_prefix(&[*literal])?;
                    continue;
                }
            };
            *number = digits(&mut text, count)?;
        }
        text.is_empty().then_some(fields)
    }

    fn instant(mut self, reference: i64) -> Option<i64> {
        if self.short {
            // Of the years with these digits, the latest that can be meant at all ..
            let most = (reference.div_euclid(YEAR) as i32).wrapping_add(1970 + 51);
            self.year = most.wrapping_sub(most.wrapping_sub(self.year).rem_euclid(100));
            // .. and the one before it, if that is more than 50 years after the reference.
            if self.in_year(self.year.wrapping_sub(50)) > reference {
                self.year = self.year.wrapping_sub(100);
            }
        }
        let is_sound = (1..=12).contains(&self.month)
            && (1..=days_in(self.month, self.year)).contains(&self.day)
            && self.is_of_day();
        is_sound.then(|| self.in_year(self.year))
    }

    /// Whether a day has this time.
    const fn is_of_day(&self) -> bool {
        self.hour <= 23 && self.minute <= 59 && self.second <= 60
    }

    /// This day and time in `year`.
    #[inline(never)]
    fn in_year(&self, year: i32) -> i64 {
        let minutes = self.hour.wrapping_mul(60).wrapping_add(self.minute);
        let seconds = minutes.wrapping_mul(60).wrapping_add(self.second);
        let days = i64::from(days_from_epoch(year, self.month, self.day));
        days.wrapping_mul(86_400).wrapping_add(i64::from(seconds)).wrapping_mul(1000)
    }
}

/// Takes exactly `count` digits off the front.
fn digits(text: &mut &[u8], count: usize) -> Option<i32> {
    let (front, rest) = text.split_at_checked(count)?;
    *text = rest;
    front.iter().try_fold(0_i32, |number, byte| {
        let digit = byte.is_ascii_digit().then(|| i32::from(byte.wrapping_sub(b'0')))?;
        Some(number.wrapping_mul(10).wrapping_add(digit))
    })
}

const fn is_leap(year: i32) -> bool {
    year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
}

const fn days_in(month: i32, year: i32) -> i32 {
    match month {
        2 if is_leap(year) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// Days from 1970-01-01 in the proleptic Gregorian calendar, for years after -4000: a year begins
/// in March here, so that a leap day is its last and months have their lengths in a row.
/// Source: Howard Hinnant, "chrono-Compatible Low-Level Date Algorithms", `days_from_civil`.
fn days_from_epoch(year: i32, month: i32, day: i32) -> i32 {
    let (year, month) =
        if month > 2 { (year, month.wrapping_sub(3)) } else { (year.wrapping_sub(1), month.wrapping_add(9)) };
    let year = year.wrapping_add(4000); // ten cycles of 400 years, so that divisions round down
    let leap_days = (year / 4).wrapping_sub(year / 100).wrapping_add(year / 400);
    let before_month = month.wrapping_mul(153).wrapping_add(2) / 5;
    let days = year.wrapping_mul(365).wrapping_add(leap_days).wrapping_add(before_month).wrapping_add(day);
    days.wrapping_sub(719_469 + 1_460_970)
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
    fn the_standards_own_examples_are_one_instant() {
        let examples: [&[u8]; 3] = [
            b"Sun, 06 Nov 1994 08:49:37 GMT",
            b"Sunday, 06-Nov-94 08:49:37 GMT",
            b"Sun Nov  6 08:49:37 1994",
        ];
        for example in examples {
            assert_eq!(parse_http_date(example, 784_111_777_000), Some(784_111_777_000));
        }
    }

    #[test]
    fn two_digits_are_a_year_within_fifty_of_any_reference() {
        for year in 1900..=2300 {
            let reference = i64::from(days_from_epoch(year, 7, 1)) * 86_400_000;
            for (distance, meant) in [(50, 50), (51, -49), (-49, -49), (-50, 50), (0, 0)] {
                let text = format!("Monday, 01-Jul-{:02} 00:00:00 GMT", (year + distance) % 100);
                let expected = i64::from(days_from_epoch(year + meant, 7, 1)) * 86_400_000;
                assert_eq!(parse_http_date(text.as_bytes(), reference), Some(expected), "{year} {distance}");
            }
        }
    }
}
