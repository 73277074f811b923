//! Keys of requests, and canonical JSON.

use js_sys::Number;
use wasm_bindgen::prelude::*;

use super::text::{answer_with, with_text};
use crate::request::json::{Numbers, canonicalize};
use crate::request::key::{self, KeyScope, Request, WriteFields};
use crate::request::url::push_number;

/// ECMAScript's own form of a number is what RFC 8785 asks for, so the host writes it.
struct HostNumbers;

impl Numbers for HostNumbers {
    fn shortest(&mut self, token: &[u8], out: &mut Vec<u8>) -> bool {
        let Ok(text) = str::from_utf8(token) else { return false };
        let written = JsValue::from_str(text);
        // `+text`, as JSON.parse reads it.
        let Ok(number) = f64::try_from(written.clone()) else { return false };
        let Ok(printed) = Number::from(number).to_string_with_radix(10) else { return false };
        if !number.is_finite() {
            return false;
        }
        // Most numbers were printed by a host like this one: then nothing has to cross back.
        if *AsRef::<JsValue>::as_ref(&printed) == written {
            out.extend_from_slice(token);
        } else {
            // Digits, point, sign and e: one unit at a time costs less than a string that crosses.
            out.extend(printed.iter().map(|unit| unit as u8));
        }
        true
    }
}

/// Splits the text into parts of these lengths.
fn parts<'a, const N: usize>(mut text: &'a [u8], lengths: &[u32]) -> [&'a [u8]; N] {
    let mut parts: [&[u8]; N] = [&[]; N];
    for (part, length) in parts.iter_mut().zip(lengths) {
        let (head, tail) = text.split_at_checked(*length as usize).unwrap_or((text, &[]));
        *part = head;
        text = tail;
    }
    parts
}

fn total(lengths: &[u32]) -> usize {
    lengths.iter().fold(0, |sum, length| sum.saturating_add(*length as usize))
}

/// The content key of method, URL, content type, principal, scope, nonce, secret and body, of these
/// lengths, in hex: its length, 0 if the URL is not absolute http(s) or the method no token. If `framed`, what is to be hashed
/// instead; there must be no secret then.
#[wasm_bindgen]
pub fn content_key(lengths: &[u32], has_principal: bool, framed: bool) -> usize {
    let answer = with_text(total(lengths), |text| {
        let [method, url, content_type, principal, scope, nonce, secret, body] = parts(text, lengths);
        let request = Request { method, url, content_type: Some(content_type), body };
        let scope = KeyScope { principal: has_principal.then_some(principal), scope, nonce, secret };
        let answer =
            digest(framed, secret, &mut |take| key::content_fields(&request, &scope, &mut HostNumbers, take));
        // The buffer is kept, and the secret should not be.
        text.fill(0);
        answer
    });
    answer_with(&answer)
}

/// The fingerprint of method, URL, content type and body, or what is to be hashed for it.
#[wasm_bindgen]
pub fn fingerprint(lengths: &[u32], framed: bool) -> usize {
    let answer = with_text(total(lengths), |text| {
        let [method, url, content_type, body] = parts(text, lengths);
        let request = Request { method, url, content_type: Some(content_type), body };
        digest(framed, &[], &mut |take| key::fingerprint_fields(&request, &mut HostNumbers, take))
    });
    answer_with(&answer)
}

/// The fields in hex once they are hashed, or one behind the other; empty if there are none.
fn digest(framed: bool, secret: &[u8], fields: &mut WriteFields<'_>) -> Vec<u8> {
    if !framed {
        return key::hash(secret, fields).map(String::into_bytes).unwrap_or_default();
    }
    let mut frame = Vec::new();
    fields(&mut |bytes| frame.extend_from_slice(bytes)).map(|()| frame).unwrap_or_default()
}

/// RFC 8785 of the text: the length of the answer. Throws what is wrong and where.
#[wasm_bindgen]
pub fn canonical_json(length: usize) -> Result<usize, JsError> {
    let canonical = with_text(length, |text| canonicalize(text, &mut HostNumbers));
    match canonical {
        Ok(text) => Ok(answer_with(&text)),
        Err(error) => {
            // By hand: formatting a number as a program for people does weighs 1 KB of gzip.
            let mut text = Vec::from(error.kind.text());
            text.push(b'|');
            push_number(error.at as u32, 10, &mut text);
            Err(JsError::new(str::from_utf8(&text).unwrap_or_default()))
        }
    }
}

/// SHA-256 of the text in hex, for the published examples.
#[wasm_bindgen]
pub fn sha256(length: usize) -> usize {
    let digest = with_text(length, |text| key::sha256_hex(text));
    answer_with(digest.as_bytes())
}
