//! RFC 8785: one canonical text for equal JSON. Numbers that are not small integers are normalized by the host, since a
//! float parser and printer would cost more than all the rest of this file.

use crate::text::{push_hex, sort_by, unhex};
use core::str::FromStr;

const DEPTH: u32 = 512;

struct Scanner<'a> {
    text: &'a [u8],
    at: usize,
}

/// Where the text stops being I-JSON.
type Step<T> = Result<T, usize>;

impl Scanner<'_> {
    fn peek(&self) -> u8 {
        self.text.get(self.at).copied().unwrap_or(0)
    }

    fn take(&mut self, byte: u8) -> bool {
        let hit = self.peek() == byte;
        self.at += usize::from(hit);
        hit
    }

    fn must(&mut self, byte: u8) -> Step<()> {
        if self.take(byte) { Ok(()) } else { Err(self.at) }
    }

    fn space(&mut self) {
        while matches!(self.peek(), b' ' | b'\t' | b'\n' | b'\r') {
            self.at += 1;
        }
    }

    fn hex4(&mut self) -> Step<u32> {
        let mut value = 0;
        for _ in 0..4 {
            value = value << 4 | u32::from(unhex(self.peek()).ok_or(self.at)?);
            self.at += 1;
        }
        Ok(value)
    }

    fn symbol(&mut self) -> Step<u32> {
        let escape = self.peek();
        self.at += 1;
        Ok(match escape {
            b'"' | b'\\' | b'/' => u32::from(escape),
            b'b' => 8,
            b'f' => 12,
            b'n' => 10,
            b'r' => 13,
            b't' => 9,
            b'u' => {
                let high = self.hex4()?;
                match high {
                    0xD800..0xDC00 => {
                        self.must(b'\\')?;
                        self.must(b'u')?;
                        let low = self.hex4()?;
                        if !(0xDC00..0xE000).contains(&low) {
                            return Err(self.at);
                        }
                        0x10000 + ((high - 0xD800) << 10) + (low - 0xDC00)
                    }
                    0xDC00..0xE000 => return Err(self.at),
                    _ => high,
                }
            }
            _ => return Err(self.at),
        })
    }

    /// The text between the quotes, as UTF-8 without escapes.
    fn string(&mut self, out: &mut Vec<u8>) -> Step<()> {
        self.must(b'"')?;
        loop {
            let byte = self.peek();
            match byte {
                0..=0x1F => return Err(self.at),
                b'"' => {
                    self.at += 1;
                    return Ok(());
                }
                b'\\' => {
                    self.at += 1;
                    utf8(self.symbol()?, out);
                }
                _ => {
                    out.push(byte);
                    self.at += 1;
                }
            }
        }
    }

    fn digits(&mut self) -> Step<()> {
        let from = self.at;
        while self.peek().is_ascii_digit() {
            self.at += 1;
        }
        if self.at == from { Err(from) } else { Ok(()) }
    }

    fn number(&mut self, out: &mut Vec<u8>) -> Step<()> {
        let from = self.at;
        let negative = self.take(b'-');
        let first = self.at;
        if !self.take(b'0') {
            self.digits()?;
        }
        let small = self.at - first <= 15 && !(negative && self.text.get(first) == Some(&b'0'));
        let whole = self.at;
        if self.take(b'.') {
            self.digits()?;
        }
        if matches!(self.peek(), b'e' | b'E') {
            self.at += 1;
            if !self.take(b'+') {
                self.take(b'-');
            }
            self.digits()?;
        }
        let token = self.text.get(from..self.at).unwrap_or(&[]);
        if small && self.at == whole {
            out.extend_from_slice(token);
            return Ok(());
        }
        let number = core::str::from_utf8(token)
            .ok()
            .and_then(|token| js_sys::Number::from_str(token).ok())
            .ok_or(from)?;
        if !number.value_of().is_finite() {
            return Err(from);
        }
        let text = number.to_string_with_radix(10).map_err(|_| from)?;
        out.extend_from_slice(String::from(text).as_bytes());
        Ok(())
    }

    fn value(&mut self, depth: u32, out: &mut Vec<u8>) -> Step<()> {
        self.space();
        let depth = depth.checked_sub(1).ok_or(self.at)?;
        match self.peek() {
            b'{' => self.object(depth, out)?,
            b'[' => self.array(depth, out)?,
            b'"' => {
                let mut text = Vec::new();
                self.string(&mut text)?;
                write_string(&text, out);
            }
            b'-' | b'0'..=b'9' => self.number(out)?,
            _ => {
                let rest = self.text.get(self.at..).unwrap_or(&[]);
                let word = [&b"true"[..], b"false", b"null"]
                    .into_iter()
                    .find(|word| rest.starts_with(word))
                    .ok_or(self.at)?;
                out.extend_from_slice(word);
                self.at += word.len();
            }
        }
        self.space();
        Ok(())
    }

    fn array(&mut self, depth: u32, out: &mut Vec<u8>) -> Step<()> {
        self.at += 1;
        out.push(b'[');
        self.space();
        if !self.take(b']') {
            loop {
                self.value(depth, out)?;
                if !self.take(b',') {
                    break;
                }
                out.push(b',');
            }
            self.must(b']')?;
        }
        out.push(b']');
        Ok(())
    }

    fn object(&mut self, depth: u32, out: &mut Vec<u8>) -> Step<()> {
        self.at += 1;
        self.space();
        let mut members: Vec<(Vec<u8>, Vec<u8>)> = Vec::new();
        if !self.take(b'}') {
            loop {
                self.space();
                let (mut name, mut value) = (Vec::new(), Vec::new());
                self.string(&mut name)?;
                self.space();
                self.must(b':')?;
                self.value(depth, &mut value)?;
                members.push((name, value));
                if !self.take(b',') {
                    break;
                }
            }
            self.must(b'}')?;
        }
        sort_by(&mut members, |a, b| utf16_before(&a.0, &b.0));
        out.push(b'{');
        let mut last: Option<&[u8]> = None;
        for (name, value) in &members {
            if last == Some(name) {
                return Err(self.at);
            }
            if last.is_some() {
                out.push(b',');
            }
            write_string(name, out);
            out.push(b':');
            out.extend_from_slice(value);
            last = Some(name);
        }
        out.push(b'}');
        Ok(())
    }
}

/// UTF-8 order is code point order; UTF-16 order differs from it only in that U+E000 and up come after the surrogates.
fn utf16_before(a: &[u8], b: &[u8]) -> bool {
    for (x, y) in a.iter().zip(b) {
        if x != y {
            let weight = |byte: u8| {
                if matches!(byte, 0xEE | 0xEF) { u32::from(byte) + 0x100 } else { u32::from(byte) }
            };
            return weight(*x) < weight(*y);
        }
    }
    a.len() < b.len()
}

fn utf8(symbol: u32, out: &mut Vec<u8>) {
    let tail = |shift: u32| 0x80 | (symbol >> shift & 0x3F) as u8;
    match symbol {
        0..0x80 => out.push(symbol as u8),
        0x80..0x800 => out.extend([0xC0 | (symbol >> 6) as u8, tail(0)]),
        0x800..0x10000 => out.extend([0xE0 | (symbol >> 12) as u8, tail(6), tail(0)]),
        _ => out.extend([0xF0 | (symbol >> 18) as u8, tail(12), tail(6), tail(0)]),
    }
}

fn write_string(text: &[u8], out: &mut Vec<u8>) {
    out.push(b'"');
    for byte in text {
        let short = match byte {
            b'"' | b'\\' => *byte,
            8 => b'b',
            9 => b't',
            10 => b'n',
            12 => b'f',
            13 => b'r',
            0..=0x1F => {
                out.extend_from_slice(b"\\u00");
                push_hex(out, *byte);
                continue;
            }
            _ => {
                out.push(*byte);
                continue;
            }
        };
        out.extend([b'\\', short]);
    }
    out.push(b'"');
}

pub fn canonical(text: &[u8]) -> Result<Vec<u8>, usize> {
    let mut scanner = Scanner { text, at: 0 };
    let mut out = Vec::with_capacity(text.len());
    scanner.value(DEPTH, &mut out)?;
    if scanner.at == text.len() { Ok(out) } else { Err(scanner.at) }
}
