//! Keys made of what a request says, so that the same request gets the same key.
//!
//! A random key is lost when a page is closed before it is stored; a key made of the request is
//! found again. That merges two orders that are alike on purpose too, so it is never the default,
//! and a [`KeyScope`] sets apart what the request cannot: two users above all.
//!
//! # What is hashed
//!
//! SHA-256 (FIPS 180-4), for a key with a secret HMAC-SHA-256 (RFC 2104) under that secret, over
//! these fields, each as its length in bytes, a 64-bit integer with the highest byte first, and then
//! the bytes. No two lists of fields give the same bytes.
//!
//! | | content key | fingerprint |
//! |---|---|---|
//! | 1 tag | `redrive key 1` | `redrive fingerprint 1` |
//! | 2 method | in upper-case ASCII | the same |
//! | 3 URL | [`url::normalize`](super::url::normalize) | the same |
//! | 4 class | of the content type, see below | the same |
//! | 5 form | `canonical` or `raw` | the same |
//! | 6 body | in that form | the same |
//! | 7 principal | `=` and the user; empty if there is none | not hashed |
//! | 8 scope | a tenant or the like; empty if there is none | not hashed |
//! | 9 nonce | what tells equal requests apart; empty if there is none | not hashed |
//!
//! The class is the content type without parameters, without whitespace around it and in
//! lower-case; `text/json` and all of `*/*+json` count as `application/json`; without a content
//! type it is empty. A body is `canonical` where the class is `application/json` and
//! [`canonicalize_exact`] gives a result, else `raw`, as it is: no body makes a key fail, and none
//! whose meaning canonical JSON could change is taken for another.
//!
//! Stores keep fingerprints, and servers keys. So this layout does not change: another one would
//! get another number in its tag.
#![forbid(unsafe_code)]

use super::json::{Numbers, canonicalize_exact};
use super::mac::Mac;
use super::url::normalize;
use std::borrow::Cow;
use std::fmt;

/// The parts of a request that a key is made of.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    /// A token (RFC 9110, 5.6.2) in any case.
    pub method: &'a [u8],
    /// An absolute `http` or `https` URL in UTF-8.
    pub url: &'a [u8],
    /// The value of `Content-Type`. None and an empty one are the same.
    pub content_type: Option<&'a [u8]>,
    /// The body as it is sent; empty if there is none.
    pub body: &'a [u8],
}

/// Sets equal requests apart that are not meant as one.
#[derive(Clone, Copy, Default)]
pub struct KeyScope<'a> {
    /// The user on whose behalf the request is made. None: there is none, who is another than
    /// one without a name.
    pub principal: Option<&'a [u8]>,
    /// A tenant, an installation; empty if there is none.
    pub scope: &'a [u8],
    /// Anything else that tells equal requests apart, such as a window of time; empty if there is none.
    pub nonce: &'a [u8],
    /// A secret, so that others cannot make the key of a body that is easily guessed; empty if there is none.
    pub secret: &'a [u8],
}

/// A request that no key can be made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyError {
    /// The method is no token.
    Method,
    /// The URL is not absolute, not `http` or `https`, or not UTF-8.
    Url,
}

impl fmt::Display for KeyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            KeyError::Method => "the method is not a token",
            KeyError::Url => "the URL is not an absolute http or https URL",
        })
    }
}

impl std::error::Error for KeyError {}

/// The content key of a request: 64 lower-case hexadecimal digits.
///
/// # Errors
///
/// If the method or the URL is none; see [`KeyError`].
pub fn content_key(
    request: &Request<'_>,
    scope: &KeyScope<'_>,
    numbers: &mut dyn Numbers,
) -> Result<String, KeyError> {
    hash(scope.secret, &mut |take| content_fields(request, scope, numbers, take))
}

/// Gives `take` piece by piece what [`content_key`] hashes, for a host with a faster SHA-256.
///
/// # Errors
///
/// As [`content_key`].
pub fn content_fields(
    request: &Request<'_>,
    scope: &KeyScope<'_>,
    numbers: &mut dyn Numbers,
    take: &mut dyn FnMut(&[u8]),
) -> Result<(), KeyError> {
    let mut fields = Fields(take);
    fields.push(b"redrive key 1");
    fields.request(request, numbers)?;
    match scope.principal {
        Some(principal) => fields.push_both(b"=", principal),
        None => fields.push(&[]),
    }
    fields.push(scope.scope);
    fields.push(scope.nonce);
    Ok(())
}

/// The text that a request is recognized by, whatever its key: 64 lower-case hexadecimal digits. Two
/// requests under one key with two fingerprints are a conflict.
///
/// # Errors
///
/// If the method or the URL is none; see [`KeyError`].
pub fn fingerprint(request: &Request<'_>, numbers: &mut dyn Numbers) -> Result<String, KeyError> {
    hash(&[], &mut |take| fingerprint_fields(request, numbers, take))
}

/// Gives `take` piece by piece what [`fingerprint`] hashes.
///
/// # Errors
///
/// As [`fingerprint`].
pub fn fingerprint_fields(
    request: &Request<'_>,
    numbers: &mut dyn Numbers,
    take: &mut dyn FnMut(&[u8]),
) -> Result<(), KeyError> {
    let mut fields = Fields(take);
    fields.push(b"redrive fingerprint 1");
    fields.request(request, numbers)
}

/// Gives what is hashed to the function that it is given, piece by piece.
pub type WriteFields<'a> = dyn FnMut(&mut dyn FnMut(&[u8])) -> Result<(), KeyError> + 'a;

/// The digest of fields: 64 lower-case hexadecimal digits.
///
/// # Errors
///
/// As `fields`.
pub fn hash(secret: &[u8], fields: &mut WriteFields<'_>) -> Result<String, KeyError> {
    let mut mac = Mac::new(secret);
    fields(&mut |bytes| mac.update(bytes))?;
    Ok(mac.hex())
}

/// SHA-256 of bytes: 64 lower-case hexadecimal digits.
pub fn sha256_hex(bytes: &[u8]) -> String {
    hmac_sha256_hex(&[], bytes)
}

/// HMAC-SHA-256 of bytes under a secret, SHA-256 if that is empty: 64 lower-case hexadecimal digits.
pub fn hmac_sha256_hex(secret: &[u8], bytes: &[u8]) -> String {
    let mut mac = Mac::new(secret);
    mac.update(bytes);
    mac.hex()
}

/// Fields as they are hashed.
struct Fields<'a>(&'a mut dyn FnMut(&[u8]));

impl Fields<'_> {
    fn push(&mut self, field: &[u8]) {
        self.push_both(&[], field);
    }

    /// One field of two parts.
    fn push_both(&mut self, start: &[u8], rest: &[u8]) {
        let length = (start.len() as u64).saturating_add(rest.len() as u64);
        (self.0)(&length.to_be_bytes());
        (self.0)(start);
        (self.0)(rest);
    }

    /// In one copy for both digests.
    #[inline(never)]
    fn request(&mut self, request: &Request<'_>, numbers: &mut dyn Numbers) -> Result<(), KeyError> {
        if request.method.is_empty() || !request.method.iter().all(|byte| is_token(*byte)) {
            return Err(KeyError::Method);
        }
        let url = normalize(request.url).ok_or(KeyError::Url)?;
        self.push(&request.method.to_ascii_uppercase());
        self.push(&url);
        let class = class(request.content_type.unwrap_or(&[]));
        self.push(&class);
        let is_json = *class == *JSON;
        let canonical = is_json.then(|| canonicalize_exact(request.body, numbers).ok()).flatten();
        self.push(if canonical.is_some() { b"canonical" } else { b"raw" });
        self.push(canonical.as_deref().unwrap_or(request.body));
        Ok(())
    }
}

/// The class of all JSON.
const JSON: &[u8] = b"application/json";

/// The content type without what makes no other kind of body.
fn class(content_type: &[u8]) -> Cow<'static, [u8]> {
    let essence = content_type.split(|byte| *byte == b';').next().unwrap_or(&[]);
    let essence = essence.trim_ascii().to_ascii_lowercase();
    let is_json = essence == b"text/json" || (essence.ends_with(b"+json") && essence.contains(&b'/'));
    if is_json { Cow::Borrowed(JSON) } else { Cow::Owned(essence) }
}

/// `tchar` of RFC 9110, 5.6.2.
fn is_token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)
}
