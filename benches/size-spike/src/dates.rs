//! Retry-After: delay-seconds, or one of the three HTTP dates.

const MONTHS: &[u8] = b"JanFebMarAprMayJunJulAugSepOctNovDec";
const DAYS: &[u8] = b"Monday Tuesday Wednesday Thursday Friday Saturday Sunday";

fn day_name(name: &[u8]) -> bool {
    DAYS.split(|byte| *byte == b' ').any(|day| day == name || (name.len() == 3 && day.starts_with(name)))
}

struct Cursor<'a>(&'a [u8]);

impl<'a> Cursor<'a> {
    fn eat(&mut self, text: &[u8]) -> Option<()> {
        self.0 = self.0.strip_prefix(text)?;
        Some(())
    }

    fn digits(&mut self, count: usize) -> Option<u64> {
        let mut value = 0;
        for _ in 0..count {
            let (digit, rest) = self.0.split_first()?;
            value = value * 10 + u64::from(digit.wrapping_sub(b'0'));
            self.0 = rest;
            if !digit.is_ascii_digit() {
                return None;
            }
        }
        Some(value)
    }

    fn month(&mut self) -> Option<u64> {
        let name = self.0.get(..3)?;
        self.0 = self.0.get(3..)?;
        MONTHS.chunks_exact(3).position(|month| month == name).map(|at| at as u64 + 1)
    }

    fn clock(&mut self) -> Option<u64> {
        let hours = self.digits(2)?;
        self.eat(b":")?;
        let minutes = self.digits(2)?;
        self.eat(b":")?;
        let seconds = self.digits(2)?;
        (hours < 24 && minutes < 60 && seconds <= 60).then_some(hours * 3_600 + minutes * 60 + seconds)
    }
}

fn days(year: u64, month: u64, day: u64) -> Option<u64> {
    let leap = year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    let length = match month {
        2 => 28 + u64::from(leap),
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    };
    if day == 0 || day > length {
        return None;
    }
    let (y, m) = if month <= 2 { (year.checked_sub(1)?, month + 9) } else { (year, month - 3) };
    (y * 365 + y / 4 - y / 100 + y / 400 + (m * 153 + 2) / 5 + day - 1).checked_sub(719_468)
}

fn date(text: &[u8], now: u64) -> Option<u64> {
    let comma = text.iter().position(|byte| *byte == b',');
    let name = text.get(..comma.unwrap_or(3))?;
    let mut at = Cursor(text.get(name.len()..)?);
    let (year, month, day, clock);
    if !day_name(name) {
        return None;
    }
    if comma.is_none() {
        at.eat(b" ")?;
        month = at.month()?;
        at.eat(b" ")?;
        day = if at.eat(b" ").is_some() { at.digits(1)? } else { at.digits(2)? };
        at.eat(b" ")?;
        clock = at.clock()?;
        at.eat(b" ")?;
        year = at.digits(4)?;
    } else if name.len() == 3 {
        at.eat(b", ")?;
        day = at.digits(2)?;
        at.eat(b" ")?;
        month = at.month()?;
        at.eat(b" ")?;
        year = at.digits(4)?;
        at.eat(b" ")?;
        clock = at.clock()?;
        at.eat(b" GMT")?;
    } else {
        at.eat(b", ")?;
        day = at.digits(2)?;
        at.eat(b"-")?;
        month = at.month()?;
        at.eat(b"-")?;
        let short = at.digits(2)?;
        at.eat(b" ")?;
        clock = at.clock()?;
        at.eat(b" GMT")?;
        let this = 1970 + now / 31_556_952_000;
        let guess = this / 100 * 100 + short;
        year = if guess > this + 50 { guess - 100 } else { guess };
    }
    if !at.0.is_empty() {
        return None;
    }
    Some((days(year, month, day)? * 86_400 + clock) * 1_000)
}

pub fn wait_ms(header: &[u8], response_date: &[u8], now: u64) -> Option<u64> {
    let mut longest = None;
    for part in header.split(|byte| *byte == b',') {
        let part = part.trim_ascii();
        if !part.is_empty() && part.iter().all(u8::is_ascii_digit) {
            let seconds = part
                .iter()
                .fold(0_u64, |sum, byte| sum.saturating_mul(10).saturating_add(u64::from(byte - b'0')));
            longest = longest.max(Some(seconds.saturating_mul(1_000)));
        }
    }
    longest.or_else(|| {
        let at = date(header.trim_ascii(), now)?;
        Some(at.saturating_sub(date(response_date, now).unwrap_or(now)))
    })
}
