//! Bytes as they stand, or as the form-encoding in a URL means them.
//!
//! One type for both, so that what looks for secrets in names is compiled once.
#![forbid(unsafe_code)]

/// The bytes of a text.
pub(crate) struct Decoded<'a> {
    rest: &'a [u8],
    form: bool,
}

impl<'a> Decoded<'a> {
    /// The bytes as they stand.
    pub fn plain(text: &'a [u8]) -> Decoded<'a> {
        Decoded { rest: text, form: false }
    }

    /// Decoded (URL Standard, application/x-www-form-urlencoded).
    pub fn form(text: &'a [u8]) -> Decoded<'a> {
        Decoded { rest: text, form: true }
    }
}

impl Iterator for Decoded<'_> {
    type Item = u8;

    fn next(&mut self) -> Option<u8> {
        let (&first, rest) = self.rest.split_first()?;
        self.rest = rest;
        match first {
            b'+' if self.form => Some(b' '),
            b'%' if self.form => {
                let Some((digits, rest)) = rest.split_at_checked(2) else { return Some(first) };
                let Some(byte) = from_hex(digits) else { return Some(first) };
                self.rest = rest;
                Some(byte)
            }
            _ => Some(first),
        }
    }
}

fn from_hex(digits: &[u8]) -> Option<u8> {
    let mut byte: u8 = 0;
    for &digit in digits {
        let digit = char::from(digit).to_digit(16)?;
        byte = byte << 4 | u8::try_from(digit).ok()?;
    }
    Some(byte)
}
