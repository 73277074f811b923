//! Whether a list of members holds a secret: `baggage: userToken=..., plan=free`.
//!
//! W3C Baggage and Trace Context carry named members, percent-encoded, and so do the parameters of
//! other headers. There a secret has a name as a header or a parameter of a URL has, and its form,
//! if it has one, may be hidden behind escapes.
#![forbid(unsafe_code)]

use super::decoded::Decoded;
use super::{values, words};

/// Whether `value` holds a credential: of a known form, that is an authentication scheme with what
/// follows it, a JWT or JWE, a vendor's token or key, or PEM; or as a member with the name of one,
/// such as `userToken=...` in `baggage`, whose value may be percent-encoded.
pub fn looks_secret(value: &[u8]) -> bool {
    values::have_form(value) || hold_secret(value)
}

/// Whether a member, between `,` or `;`, has the name of a secret and a value, or a value that is
/// one once it is decoded.
fn hold_secret(value: &[u8]) -> bool {
    value.split(|byte| matches!(byte, b',' | b';')).any(|member| {
        let Some(equals) = member.iter().position(|&byte| byte == b'=') else { return false };
        let (name, value) = member.split_at(equals);
        let value = value.get(1..).unwrap_or(&[]);
        if words::in_header(name.trim_ascii()) {
            return !value.trim_ascii().is_empty();
        }
        value.contains(&b'%') && values::have_form(&decoded(value))
    })
}

fn decoded(value: &[u8]) -> Vec<u8> {
    let mut plain = Vec::with_capacity(value.len());
    for byte in Decoded::form(value) {
        plain.push(byte);
    }
    plain
}
