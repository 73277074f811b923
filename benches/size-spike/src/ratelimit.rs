//! RateLimit and RateLimit-Policy: a structured-field list of items with parameters.

#[derive(Clone, Copy)]
enum Bare {
    Int(i64),
    Milli(i64),
    Name,
    Other,
}

struct Parser<'a> {
    text: &'a [u8],
    at: usize,
}

impl Parser<'_> {
    fn peek(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }

    fn take(&mut self, byte: u8) -> bool {
        let hit = self.peek() == Some(byte);
        self.at += usize::from(hit);
        hit
    }

    fn spaces(&mut self, tabs: bool) {
        while matches!(self.peek(), Some(b' ')) || (tabs && self.peek() == Some(b'\t')) {
            self.at += 1;
        }
    }

    fn key(&mut self) -> Option<&[u8]> {
        let from = self.at;
        if !matches!(self.peek()?, b'a'..=b'z' | b'*') {
            return None;
        }
        while matches!(self.peek(), Some(b'a'..=b'z' | b'0'..=b'9' | b'_' | b'-' | b'.' | b'*')) {
            self.at += 1;
        }
        self.text.get(from..self.at)
    }

    fn number(&mut self) -> Option<Bare> {
        let sign = if self.take(b'-') { -1 } else { 1 };
        let (mut value, mut digits, mut fraction) = (0_i64, 0, None);
        loop {
            match self.peek() {
                Some(byte @ b'0'..=b'9') => {
                    digits += 1;
                    if digits > 15 || fraction == Some(3) {
                        return None;
                    }
                    fraction = fraction.map(|count: u32| count + 1);
                    value = value.checked_mul(10)?.checked_add(i64::from(byte - b'0'))?;
                }
                Some(b'.') if fraction.is_none() && digits > 0 && digits <= 12 => fraction = Some(0),
                _ => break,
            }
            self.at += 1;
        }
        match fraction {
            _ if digits == 0 => None,
            None => Some(Bare::Int(sign * value)),
            Some(0) => None,
            Some(count) => Some(Bare::Milli(sign * value * 10_i64.pow(3 - count))),
        }
    }

    fn bare(&mut self) -> Option<Bare> {
        match self.peek()? {
            b'-' | b'0'..=b'9' => self.number(),
            b'"' => {
                self.at += 1;
                loop {
                    let byte = self.peek()?;
                    self.at += 1;
                    match byte {
                        b'"' => return Some(Bare::Name),
                        b'\\' if matches!(self.peek()?, b'"' | b'\\') => self.at += 1,
                        0x20..=0x5B | 0x5D..=0x7E => {}
                        _ => return None,
                    }
                }
            }
            b'?' => {
                self.at += 1;
                (self.take(b'1') || self.take(b'0')).then_some(Bare::Other)
            }
            b':' => {
                self.at += 1;
                while matches!(self.peek()?, b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'+' | b'/' | b'=') {
                    self.at += 1;
                }
                self.take(b':').then_some(Bare::Other)
            }
            b'a'..=b'z' | b'A'..=b'Z' | b'*' => {
                while self
                    .peek()
                    .is_some_and(|byte| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~:/".contains(&byte))
                {
                    self.at += 1;
                }
                Some(Bare::Name)
            }
            _ => None,
        }
    }

    /// Remaining calls and seconds to the reset, where the item names them.
    fn item(&mut self) -> Option<(Option<u64>, Option<u64>)> {
        let Bare::Name = self.bare()? else { return None };
        let (mut left, mut reset) = (None, None);
        while self.take(b';') {
            self.spaces(false);
            let which = match self.key()? {
                b"r" => Some(&mut left),
                b"t" => Some(&mut reset),
                _ => None,
            };
            let value = if self.take(b'=') { self.bare()? } else { Bare::Other };
            if let Some(cell) = which {
                *cell = match value {
                    Bare::Int(value) => u64::try_from(value).ok(),
                    Bare::Milli(value) => u64::try_from(value / 1_000).ok(),
                    _ => None,
                };
            }
        }
        Some((left, reset))
    }
}

/// Remaining calls and milliseconds to the reset, of the item with least left; malformed text is ignored whole.
pub fn tightest(header: &[u8]) -> Option<(u64, Option<u64>)> {
    let mut parser = Parser { text: header.trim_ascii(), at: 0 };
    let mut best: Option<(u64, Option<u64>)> = None;
    loop {
        if let (Some(left), reset) = parser.item()? {
            let row = (left, reset.map(|seconds| seconds.saturating_mul(1_000)));
            best = Some(best.map_or(row, |old| {
                if row.0 < old.0 || (row.0 == old.0 && row.1 > old.1) { row } else { old }
            }));
        }
        parser.spaces(true);
        if parser.at == parser.text.len() {
            return best;
        }
        if !parser.take(b',') {
            return None;
        }
        parser.spaces(true);
    }
}
