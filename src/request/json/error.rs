//! Where a text stops being JSON that has a canonical form, and why.

use std::fmt;

/// A text that has no canonical form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JsonError {
    /// The place, in bytes from the start of the text.
    pub at: usize,
    /// The fault at that place.
    pub kind: JsonErrorKind,
}

/// The faults of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JsonErrorKind {
    /// A byte that is no part of UTF-8, encoded surrogates included (RFC 8259, 8.1).
    NotUtf8,
    /// A byte order mark in front (RFC 8259, 8.1: not added; here not ignored either).
    ByteOrderMark,
    /// The text ends inside a value, or holds none.
    UnexpectedEnd,
    /// A byte that cannot stand here.
    UnexpectedByte,
    /// More text after the value.
    TrailingData,
    /// U+0000 to U+001F unescaped in a string (RFC 8259, 7).
    ControlCharacter,
    /// A backslash that begins no escape of RFC 8259, 7; `at` is the backslash.
    BadEscape,
    /// Half of a surrogate pair as an escape (RFC 8785, 3.2.2.2); `at` is its backslash.
    LoneSurrogate,
    /// A number with a leading zero, or without the digit that has to follow (RFC 8259, 6).
    BadNumber,
    /// A number beyond the largest double (RFC 8785, 3.1); `at` is its first byte.
    NumberTooLarge,
    /// A number that a double cannot hold as written; only [`canonicalize_exact`] asks.
    ///
    /// [`canonicalize_exact`]: super::canonicalize_exact
    InexactNumber,
    /// Two members of an object with one name, escapes undone (RFC 8785, 3.1); `at` is a later one.
    DuplicateName,
}

impl JsonErrorKind {
    /// The fault in a few words.
    pub const fn text(self) -> &'static str {
        match self {
            JsonErrorKind::NotUtf8 => "not UTF-8",
            JsonErrorKind::ByteOrderMark => "a byte order mark",
            JsonErrorKind::UnexpectedEnd => "the text ends too early",
            JsonErrorKind::UnexpectedByte => "not JSON",
            JsonErrorKind::TrailingData => "more text after the value",
            JsonErrorKind::ControlCharacter => "a control character in a string",
            JsonErrorKind::BadEscape => "an unknown escape",
            JsonErrorKind::LoneSurrogate => "a lone surrogate",
            JsonErrorKind::BadNumber => "not a number of JSON",
            JsonErrorKind::NumberTooLarge => "a number beyond the largest double",
            JsonErrorKind::InexactNumber => "a number that a double cannot hold",
            JsonErrorKind::DuplicateName => "a name twice in one object",
        }
    }
}

impl fmt::Display for JsonError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.kind.text())?;
        f.write_str(" at byte ")?;
        fmt::Display::fmt(&self.at, f)
    }
}

impl std::error::Error for JsonError {}
