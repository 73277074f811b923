//! A place in the text, and the few ways to move it.

use super::error::{JsonError, JsonErrorKind};

pub(super) struct Scanner<'a> {
    text: &'a [u8],
    at: usize,
}

impl<'a> Scanner<'a> {
    pub(super) fn new(text: &'a [u8]) -> Scanner<'a> {
        Scanner { text, at: 0 }
    }

    /// Refuses what is not UTF-8 at once, so that strings may be copied unlooked at.
    pub(super) fn check_encoding(&self) -> Result<(), JsonError> {
        if let Err(error) = core::str::from_utf8(self.text) {
            return Err(JsonError { at: error.valid_up_to(), kind: JsonErrorKind::NotUtf8 });
        }
        if self.text.starts_with(b"\xEF\xBB\xBF") {
            return Err(JsonError { at: 0, kind: JsonErrorKind::ByteOrderMark });
        }
        Ok(())
    }

    pub(super) fn at(&self) -> usize {
        self.at
    }

    pub(super) fn peek(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }

    /// The text from here on.
    pub(super) fn rest(&self) -> &'a [u8] {
        self.text.get(self.at..).unwrap_or(&[])
    }

    /// The text from an earlier place up to here.
    pub(super) fn since(&self, from: usize) -> &'a [u8] {
        self.text.get(from..self.at).unwrap_or(&[])
    }

    pub(super) fn advance(&mut self, bytes: usize) {
        self.at = self.at.saturating_add(bytes);
    }

    /// Passes `byte` if it stands here.
    pub(super) fn take(&mut self, byte: u8) -> bool {
        let stands = self.peek() == Some(byte);
        if stands {
            self.advance(1);
        }
        stands
    }

    pub(super) fn expect(&mut self, byte: u8) -> Result<(), JsonError> {
        if self.take(byte) { Ok(()) } else { Err(self.fault(JsonErrorKind::UnexpectedByte)) }
    }

    /// Passes the four bytes that RFC 8259, 2 calls whitespace.
    pub(super) fn space(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.advance(1);
        }
    }

    /// Passes one of the three words of JSON.
    pub(super) fn literal(&mut self) -> Result<&'static [u8], JsonError> {
        const WORDS: [&[u8]; 3] = [b"true", b"false", b"null"];
        for word in WORDS {
            if self.rest().starts_with(word) {
                self.advance(word.len());
                return Ok(word);
            }
        }
        Err(self.fault(JsonErrorKind::UnexpectedByte))
    }

    pub(super) fn end(&self) -> Result<(), JsonError> {
        match self.peek() {
            None => Ok(()),
            Some(_) => Err(self.fault(JsonErrorKind::TrailingData)),
        }
    }

    /// The fault at this place; at the end of the text it is always that it ends.
    pub(super) fn fault(&self, kind: JsonErrorKind) -> JsonError {
        let kind = if self.peek().is_none() { JsonErrorKind::UnexpectedEnd } else { kind };
        JsonError { at: self.at, kind }
    }
}
