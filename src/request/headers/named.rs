//! Secrets that a text names: `"access_token":"..."`, `password: ...`, `apiKey=...`.
//!
//! Messages of errors quote configurations, bodies and headers, and values of a URL hold JSON. What stands behind the name of a
//! secret is one, quoted or not. Its own form does not matter, and the text is read once.
#![forbid(unsafe_code)]

use super::words;

/// Where a text comes from.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Text {
    /// A value of a URL: there `code` and `key` are names of secrets.
    Query,
    /// A message for people: there they are ordinary words.
    Message,
}

/// Stands for a secret of a URL that the host has hidden.
const REDACTED: &[u8] = b"REDACTED";

/// Longer words are no names.
const LONGEST: usize = 64;

/// Whether `text` gives a value to the name of a secret, by `:` or `=`.
pub fn holds_named(text: &[u8], of: Text) -> bool {
    let mut at = 0;
    while at < text.len() {
        let rest = text.get(at..).unwrap_or(&[]);
        let length = rest.iter().take_while(|byte| is_of_name(**byte)).count();
        if length == 0 {
            at = at.saturating_add(1);
            continue;
        }
        let (name, after) = rest.split_at_checked(length).unwrap_or((rest, &[]));
        at = at.saturating_add(length);
        if length <= LONGEST && gives_value(after) && is_name(name, of) {
            return true;
        }
    }
    false
}

fn is_name(name: &[u8], of: Text) -> bool {
    match of {
        Text::Query => words::in_query(name),
        Text::Message => words::in_message(name),
    }
}

fn is_of_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.' | b'$' | b'%')
}

/// Whether `:` or `=` comes first, and something behind it. The name's own quote may be escaped, as in JSON within a text.
fn gives_value(after: &[u8]) -> bool {
    let closed = skip(after, |byte| matches!(byte, b'\\' | b'"' | b'\'' | b'`' | b']'));
    let [b':' | b'=', value @ ..] = skip(closed, |byte| byte.is_ascii_whitespace()) else { return false };
    let value =
        skip(value, |byte| byte.is_ascii_whitespace() || matches!(byte, b'\\' | b'"' | b'\'' | b'`' | b'='));
    let is_there =
        value.first().is_some_and(|first| !matches!(first, b',' | b'}' | b']' | b')' | b';' | b'&'));
    is_there && !value.starts_with(REDACTED)
}

/// The rest behind the bytes at the start that `are` so, of which eight are skipped at most.
fn skip(text: &[u8], are: impl Fn(u8) -> bool) -> &[u8] {
    let length = text.iter().take(8).take_while(|byte| are(**byte)).count();
    text.get(length..).unwrap_or(&[])
}
