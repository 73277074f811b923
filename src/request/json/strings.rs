//! Strings: RFC 8259, 7 in, RFC 8785, 3.2.2.2 out.

use super::error::{JsonError, JsonErrorKind};
use super::scanner::Scanner;

/// Reads a string and writes it as RFC 8785 prints it, quotes included.
pub(super) fn string(scanner: &mut Scanner<'_>, out: &mut Vec<u8>) -> Result<(), JsonError> {
    scanner.expect(b'"')?;
    out.push(b'"');
    loop {
        let rest = scanner.rest();
        let is_plain = |byte: &u8| !matches!(byte, 0..=0x1F | b'"' | b'\\');
        let plain = rest.iter().position(|byte| !is_plain(byte)).unwrap_or(rest.len());
        out.extend_from_slice(rest.get(..plain).unwrap_or(&[]));
        scanner.advance(plain);
        match scanner.peek() {
            Some(b'"') => {
                scanner.advance(1);
                out.push(b'"');
                return Ok(());
            }
            Some(b'\\') => push_symbol(symbol(scanner)?, out),
            _ => return Err(scanner.fault(JsonErrorKind::ControlCharacter)),
        }
    }
}

/// Reads one escape, or the two of a surrogate pair.
fn symbol(scanner: &mut Scanner<'_>) -> Result<char, JsonError> {
    let start = scanner.at();
    scanner.advance(1);
    let Some(letter) = scanner.peek() else {
        return Err(scanner.fault(JsonErrorKind::BadEscape));
    };
    scanner.advance(1);
    Ok(match letter {
        b'"' | b'\\' | b'/' => char::from(letter),
        b'b' => '\u{8}',
        b'f' => '\u{C}',
        b'n' => '\n',
        b'r' => '\r',
        b't' => '\t',
        b'u' => {
            let first = code_unit(scanner, start)?;
            let code = match first {
                0xD800..0xDC00 => pair(scanner, start, first)?,
                _ => first,
            };
            let lone = JsonError { at: start, kind: JsonErrorKind::LoneSurrogate };
            char::from_u32(code).ok_or(lone)?
        }
        _ => return Err(JsonError { at: start, kind: JsonErrorKind::BadEscape }),
    })
}

/// The code point of a high surrogate and the escape after it, which has to be a low one.
fn pair(scanner: &mut Scanner<'_>, start: usize, high: u32) -> Result<u32, JsonError> {
    let second = scanner.at();
    if scanner.take(b'\\') && scanner.take(b'u') {
        let low = code_unit(scanner, second)?;
        if (0xDC00..0xE000).contains(&low) {
            return Ok(((high & 0x3FF) << 10 | low & 0x3FF).saturating_add(0x10000));
        }
    }
    Err(JsonError { at: start, kind: JsonErrorKind::LoneSurrogate })
}

/// Four hexadecimal digits; `start` is the escape they belong to.
fn code_unit(scanner: &mut Scanner<'_>, start: usize) -> Result<u32, JsonError> {
    let mut unit = 0;
    for _ in 0..4 {
        let Some(byte) = scanner.peek() else {
            return Err(scanner.fault(JsonErrorKind::BadEscape));
        };
        let bad = JsonError { at: start, kind: JsonErrorKind::BadEscape };
        unit = unit << 4 | char::from(byte).to_digit(16).ok_or(bad)?;
        scanner.advance(1);
    }
    Ok(unit)
}

/// Writes one character: only what must be is escaped, in the shortest form there is.
fn push_symbol(symbol: char, out: &mut Vec<u8>) {
    let letter = match symbol {
        '"' => b'"',
        '\\' => b'\\',
        '\u{8}' => b'b',
        '\t' => b't',
        '\n' => b'n',
        '\u{C}' => b'f',
        '\r' => b'r',
        '\0'..='\u{1F}' => {
            let digit = b"0123456789abcdef".get(symbol as usize & 15).copied().unwrap_or(b'0');
            let tens = if symbol < '\u{10}' { b'0' } else { b'1' };
            return out.extend_from_slice(&[b'\\', b'u', b'0', b'0', tens, digit]);
        }
        _ => return out.extend_from_slice(symbol.encode_utf8(&mut [0; 4]).as_bytes()),
    };
    out.extend_from_slice(&[b'\\', letter]);
}

/// The sort keys of member names: numbers in the order of UTF-16 code units (RFC 8785, 3.2.3).
///
/// Takes a string as this module writes it, from behind its opening quote. Bytes of UTF-8 are in
/// the order of code points already. UTF-16 differs from that in one thing: U+E000 to U+FFFF, whose
/// first byte is 0xEE or 0xEF, come after the surrogates, which stand for all that is beyond.
pub(super) struct SortUnits<'a>(pub(super) core::slice::Iter<'a, u8>);

impl Iterator for SortUnits<'_> {
    type Item = u16;

    fn next(&mut self) -> Option<u16> {
        let byte = *self.0.next()?;
        Some(match byte {
            b'"' => return None,
            b'\\' => match *self.0.next()? {
                b'b' => 8,
                b't' => 9,
                b'n' => 10,
                b'f' => 12,
                b'r' => 13,
                b'u' => {
                    let tens = self.0.nth(2).map(|tens| tens & 1)?;
                    let digit = char::from(*self.0.next()?).to_digit(16)?;
                    u16::from(tens) << 4 | digit as u16
                }
                other => u16::from(other),
            },
            0xEE | 0xEF => u16::from(byte) | 0x100,
            _ => u16::from(byte),
        })
    }
}
