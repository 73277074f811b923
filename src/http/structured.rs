//! The members of a structured field, one after another.
//!
//! Structured Fields (RFC 9651) exist so that a header is read in one way only: a reader
//! follows the parsing algorithms of its section 4.2, and drops the whole field at the
//! first fault. This reads what a List of Items, or a Dictionary of them, needs and hands on Integers and whether a value
//! is a String; the other types are checked to the letter and their values dropped. Inner Lists
//! are not read. Each byte is looked at once, and nothing is allocated.
#![forbid(unsafe_code)]

/// A bare item (RFC 9651, 3.3).
#[derive(Clone, Copy)]
pub(crate) enum Bare {
    /// At most 15 digits, so any difference of two fits as well.
    Integer(i64),
    String,
    /// A Decimal, Token, Byte Sequence, Boolean, Date or Display String.
    Other,
}

/// Where in a field reading has come to. Every method that gives an `Option` gives `None` for a
/// fault, after which the field is to be ignored.
pub(crate) struct Scanner<'a> {
    rest: &'a [u8],
}

impl<'a> Scanner<'a> {
    /// At the beginning of a field value. Spaces and tabs around are not part of it (RFC 9110, 5.5).
    pub(crate) fn new(field: &'a [u8]) -> Scanner<'a> {
        let mut scanner = Scanner { rest: field };
        scanner.run(BLANK);
        scanner
    }

    /// An Item, and for each of its parameters a call, in order; of equal keys the last counts
    /// (RFC 9651, 4.2.3 and 4.2.3.2).
    pub(crate) fn item(&mut self, mut parameter: impl FnMut(&[u8], Bare)) -> Option<Bare> {
        let item = self.bare()?;
        self.parameters(&mut parameter)?;
        Some(item)
    }

    /// A member of a Dictionary: its key and its value (RFC 9651, 4.2.2).
    pub(crate) fn member(&mut self) -> Option<(&'a [u8], Bare)> {
        let key = self.key()?;
        // A key alone is a Boolean, true.
        let value = if self.take(b'=') { self.bare()? } else { Bare::Other };
        self.parameters(&mut |_, _| {})?;
        Some((key, value))
    }

    fn parameters(&mut self, parameter: &mut dyn FnMut(&[u8], Bare)) -> Option<()> {
        while self.take(b';') {
            self.run(SPACE);
            let key = self.key()?;
            parameter(key, if self.take(b'=') { self.bare()? } else { Bare::Other });
        }
        Some(())
    }

    /// Reads the separator between two members of a List or a Dictionary: whether there is another (RFC 9651, 4.2.1, 4.2.2).
    pub(crate) fn goes_on(&mut self) -> Option<bool> {
        self.run(BLANK);
        if self.rest.is_empty() {
            return Some(false);
        }
        let found = self.take(b',');
        self.run(BLANK);
        found.then_some(true) // a comma at the end fails as a missing item
    }

    /// RFC 9651, 4.2.3.1.
    fn bare(&mut self) -> Option<Bare> {
        match self.rest.first()? {
            b'-' | b'0'..=b'9' => return self.number(),
            b'"' => return self.string(),
            b'%' => self.display_string()?,
            b':' => self.byte_sequence()?,
            b'@' => {
                self.next();
                // A Date is an Integer of seconds; a Decimal it may not be.
                let Bare::Integer(_) = self.number()? else { return None };
            }
            b'?' => {
                self.next();
                let (b'0' | b'1') = self.next()? else { return None };
            }
            b'A'..=b'Z' | b'a'..=b'z' | b'*' => {
                self.run(TOKEN);
            }
            _ => return None,
        }
        Some(Bare::Other)
    }

    /// RFC 9651, 4.2.3.3.
    fn key(&mut self) -> Option<&'a [u8]> {
        let (b'a'..=b'z' | b'*') = self.rest.first()? else { return None };
        Some(self.run(KEY))
    }

    /// An Integer of 1 to 15 digits, or a Decimal of 1 to 12 before and 1 to 3 after its point
    /// (RFC 9651, 4.2.4).
    fn number(&mut self) -> Option<Bare> {
        let negative = self.take(b'-');
        let whole = self.run(DIGIT);
        if self.take(b'.') {
            let fraction = self.run(DIGIT);
            let fits = (1..=12).contains(&whole.len()) && (1..=3).contains(&fraction.len());
            return fits.then_some(Bare::Other);
        }
        if !(1..=15).contains(&whole.len()) {
            return None;
        }
        let value = whole.iter().fold(0_i64, |value, byte| {
            value.wrapping_mul(10).wrapping_add(i64::from(byte.wrapping_sub(b'0')))
        });
        Some(Bare::Integer(if negative { value.saturating_neg() } else { value }))
    }

    /// RFC 9651, 4.2.5.
    fn string(&mut self) -> Option<Bare> {
        self.next();
        loop {
            match self.next()? {
                b'"' => return Some(Bare::String),
                b'\\' => {
                    let (b'"' | b'\\') = self.next()? else { return None };
                }
                b' '..=b'~' => {}
                _ => return None,
            }
        }
    }

    /// RFC 9651, 4.2.7: base64, from which padding may be missing.
    fn byte_sequence(&mut self) -> Option<()> {
        self.next();
        let letters = self.run(BASE64);
        let most = match letters.len() % 4 {
            0 => 0,
            2 => 2,
            3 => 1,
            _ => return None,
        };
        let padding = self.run(PADDING);
        (padding.len() <= most && self.take(b':')).then_some(())
    }

    /// RFC 9651, 4.2.10: printable ASCII in quotes, `%` and two lower-case hex digits for an
    /// octet, and all of it UTF-8.
    fn display_string(&mut self) -> Option<()> {
        self.next();
        if !self.take(b'"') {
            return None;
        }
        // How many octets the character still lacks, and where the next one has to lie.
        let mut open = (0_u8, 0x80, 0xBF);
        loop {
            let octet = match self.next()? {
                b'"' => return (open.0 == 0).then_some(()),
                b'%' => self.hex_digit()?.wrapping_mul(16) | self.hex_digit()?,
                byte @ b' '..=b'~' => byte,
                _ => return None,
            };
            // The well-formed sequences of Unicode 16, table 3-7.
            open = match (open.0, octet) {
                (0, 0..=0x7F) => open,
                (0, 0xC2..=0xDF) => (1, 0x80, 0xBF),
                (0, 0xE0) => (2, 0xA0, 0xBF),
                (0, 0xED) => (2, 0x80, 0x9F),
                (0, 0xE1..=0xEF) => (2, 0x80, 0xBF),
                (0, 0xF0) => (3, 0x90, 0xBF),
                (0, 0xF1..=0xF3) => (3, 0x80, 0xBF),
                (0, 0xF4) => (3, 0x80, 0x8F),
                (lacks @ 1.., _) if (open.1..=open.2).contains(&octet) => (lacks.wrapping_sub(1), 0x80, 0xBF),
                _ => return None,
            };
        }
    }

    fn hex_digit(&mut self) -> Option<u8> {
        match self.next()? {
            digit @ b'0'..=b'9' => Some(digit.wrapping_sub(b'0')),
            letter @ b'a'..=b'f' => Some(letter.wrapping_sub(b'a').wrapping_add(10)),
            _ => None,
        }
    }

    fn next(&mut self) -> Option<u8> {
        let (first, rest) = self.rest.split_first()?;
        self.rest = rest;
        Some(*first)
    }

    fn take(&mut self, byte: u8) -> bool {
        let rest = self.rest.strip_prefix(&[byte]);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }

    /// Everything up to the first byte that is not of `class`.
    #[inline(never)]
    fn run(&mut self, class: u8) -> &'a [u8] {
        let of_class =
            |byte: &u8| CLASSES.get(usize::from(*byte)).is_some_and(|classes| classes & class != 0);
        let length = self.rest.iter().position(|byte| !of_class(byte)).unwrap_or(self.rest.len());
        let (run, rest) = self.rest.split_at_checked(length).unwrap_or((self.rest, &[]));
        self.rest = rest;
        run
    }
}

const DIGIT: u8 = 1;
/// The bytes of a Token after its first.
const TOKEN: u8 = 2;
const KEY: u8 = 4;
const BASE64: u8 = 8;
const PADDING: u8 = 16;
/// A space or tab.
const BLANK: u8 = 32;
const SPACE: u8 = 64;

/// The classes that each byte is in: a table is a third of the code that would ask.
static CLASSES: [u8; 128] = classes();

/// At compile time only.
#[allow(clippy::indexing_slicing, clippy::arithmetic_side_effects)]
const fn classes() -> [u8; 128] {
    let (mut table, mut at) = ([0; 128], 0);
    while at < 128 {
        table[at] = match at as u8 {
            b'0'..=b'9' => DIGIT | TOKEN | KEY | BASE64,
            b'a'..=b'z' => TOKEN | KEY | BASE64,
            b'A'..=b'Z' => TOKEN | BASE64,
            b'_' | b'-' | b'.' | b'*' => TOKEN | KEY,
            b'+' | b'/' => TOKEN | BASE64,
            b'!' | b'#' | b'$' | b'%' | b'&' | b'\'' | b'^' | b'`' | b'|' | b'~' | b':' => TOKEN,
            b'=' => PADDING,
            b' ' => BLANK | SPACE,
            b'\t' => BLANK,
            _ => 0,
        };
        at += 1;
    }
    table
}
