//! Whether a value in a URL holds a secret: as it stands, or in what is packed into it.
//!
//! Values carry other URLs (`redirect=https%3A%2F%2Fa.test%2F%3Fcode%3D1`), queries and JSON, each escaped once more. They are
//! unpacked a few levels deep, each of which reads the text once.
#![forbid(unsafe_code)]

use crate::request::headers::{Decoded, Text, holds_named, in_query, looks_secret};

/// A URL in a URL in a URL, each escaped: no more is met in earnest.
pub(super) const LEVELS: u8 = 4;

/// The bytes of a value that are unpacked at most. Forms are looked for in all of it.
const LONGEST_PACKED: usize = 8192;

/// How far a value is still to be unpacked, and by which means.
#[derive(Clone, Copy)]
pub(super) struct Unpacking {
    /// How often it may go on.
    pub levels: u8,
    /// Whether a text that is a URL, or the query of one, has secrets: values lie in URLs, and URLs in values.
    pub holds_url: fn(&[u8], Unpacking) -> bool,
}

/// Whether the name of a parameter is a secret's, escaped once or oftener.
pub(super) fn is_name(name: &[u8], levels: u8) -> bool {
    if in_query(name) {
        return true;
    }
    let Some(levels) = levels.checked_sub(1) else { return false };
    name.contains(&b'%') && is_name(&decoded(name), levels)
}

/// Whether a value holds a secret.
pub(super) fn is_secret(value: &[u8], unpacking: Unpacking) -> bool {
    if looks_secret(value) {
        return true;
    }
    let Some(levels) = unpacking.levels.checked_sub(1) else { return false };
    let value = value.get(..LONGEST_PACKED).unwrap_or(value);
    let unpacking = Unpacking { levels, ..unpacking };
    if value.iter().any(|byte| matches!(byte, b'%' | b'+')) {
        let plain = decoded(value);
        if plain != value {
            return is_secret(&plain, unpacking);
        }
    }
    let has = |byte: u8| value.contains(&byte);
    let may_be_url = has(b'=') || has(b'/');
    (has(b'"') && holds_named(value, Text::Query)) || (may_be_url && (unpacking.holds_url)(value, unpacking))
}

pub(super) fn decoded(text: &[u8]) -> Vec<u8> {
    let mut plain = Vec::with_capacity(text.len());
    for byte in Decoded::form(text) {
        plain.push(byte);
    }
    plain
}
