//! The names and prefixes we know, each group with its source.
//!
//! Most credentials are caught by a word in their name (`words.rs`): `x-vault-token`,
//! `authorization`. Listed as withheld are only those whose name does not say what they are.
//! The table is laid out by length at compile time, so a look-up compares a few names of equal
//! length, and its text is stored once, without pointers.
#![forbid(unsafe_code)]

use crate::numbered::numbered;
use Class::{Dropped, Kept, Unknown, Withheld};

numbered! {
    /// The treatment of a header.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum Class {
        /// Stored: on the allow-list or named by `persistHeaders`.
        Kept = 0,
        /// A credential, or named by `denyHeaders`: only the name is stored. The host must supply the
        /// value again before the task is sent from the store.
        Withheld = 1,
        /// On neither list: not stored, and the request might mean something else without it.
        Unknown = 2,
        /// Belongs to one connection or is set by the sender (hop-by-hop, `host`, `sec-*`): the next
        /// attempt gets its own. Neither list changes that.
        Dropped = 3,
        /// Not a header name at all.
        Refused = 4,
    }
}

/// No listed name or prefix is longer, in bytes.
pub(super) const LONGEST: usize = 56;

const NAMES: &[(Class, &str)] = &[
    // What a request means: RFC 9110 (12.5, 8.3-8.5, 14.2), RFC 7240.
    (Kept, "accept"),
    (Kept, "content-encoding"),
    (Kept, "content-language"),
    (Kept, "content-type"),
    (Kept, "prefer"),
    (Kept, "range"),
    // Which request it is: the Idempotency-Key draft of the IETF; common usage.
    (Kept, "idempotency-key"),
    (Kept, "x-correlation-id"),
    (Kept, "x-request-id"),
    (Kept, "x-requested-with"),
    // W3C Trace Context and Baggage.
    (Kept, "baggage"),
    (Kept, "traceparent"),
    (Kept, "tracestate"),
    // Of one connection: RFC 9110 7.6.1, RFC 7540 3.2.1. `proxy-connection`: see the prefixes.
    (Dropped, "connection"),
    (Dropped, "http2-settings"),
    (Dropped, "keep-alive"),
    (Dropped, "te"),
    (Dropped, "trailer"),
    (Dropped, "transfer-encoding"),
    (Dropped, "upgrade"),
    // Set by the sender: Fetch, forbidden request-headers. Its cookies are credentials, and
    // accept-charset and accept-encoding say what the caller can read: they are kept.
    (Dropped, "content-length"),
    (Dropped, "date"),
    (Dropped, "dnt"),
    (Dropped, "expect"),
    (Dropped, "host"),
    (Dropped, "origin"),
    (Dropped, "referer"),
    (Dropped, "via"),
    // Proof of possession: RFC 9449. WSSE user name and digest.
    (Withheld, "dpop"),
    (Withheld, "x-wsse"),
    // AWS: Multi-Factor Authentication on S3; claims passed on by a load balancer.
    (Withheld, "x-amz-mfa"),
    (Withheld, "x-amzn-oidc-data"),
    (Withheld, "x-amzn-oidc-identity"),
    // Azure: API Management, Functions, Event Grid, customer-provided storage keys.
    (Withheld, "aeg-sas-key"),
    (Withheld, "ocp-apim-subscription-key"),
    (Withheld, "x-functions-key"),
    (Withheld, "x-ms-encryption-key"),
    (Withheld, "x-ms-source-encryption-key"),
    // Google: customer-supplied storage keys; Firebase App Check.
    (Withheld, "x-firebase-appcheck"),
    (Withheld, "x-goog-copy-source-encryption-key"),
    (Withheld, "x-goog-encryption-key"),
    // Monitoring: Datadog, Honeycomb, Instana, New Relic, SigNoz, Uptrace.
    (Withheld, "dd-application-key"),
    (Withheld, "signoz-ingestion-key"),
    (Withheld, "uptrace-dsn"),
    (Withheld, "x-honeycomb-team"),
    (Withheld, "x-insert-key"),
    (Withheld, "x-instana-key"),
    (Withheld, "x-license-key"),
    (Withheld, "x-query-key"),
    // Backends as a service: Appwrite, LeanCloud, Parse.
    (Withheld, "x-appwrite-key"),
    (Withheld, "x-lc-key"),
    (Withheld, "x-parse-client-key"),
    (Withheld, "x-parse-javascript-key"),
    // Hosts and tools: Docker, Fastly, Gotify, Home Assistant, Jenkins, JFrog, OVH, OpenStack Swift.
    (Withheld, "fastly-key"),
    (Withheld, "jenkins-crumb"),
    (Withheld, "x-account-meta-temp-url-key"),
    (Withheld, "x-container-meta-temp-url-key"),
    (Withheld, "x-gotify-key"),
    (Withheld, "x-ha-access"),
    (Withheld, "x-hassio-key"),
    (Withheld, "x-jfrog-art-api"),
    (Withheld, "x-ovh-consumer"),
    (Withheld, "x-registry-config"),
    // Request signatures of exchanges: Kraken, Coinbase, KuCoin, OKX, Bybit.
    (Withheld, "api-sign"),
    (Withheld, "cb-access-sign"),
    (Withheld, "kc-api-sign"),
    (Withheld, "ok-access-sign"),
    (Withheld, "x-bapi-sign"),
];

const PREFIXES: &[(Class, &str)] = &[
    // Content negotiation and conditional requests: RFC 9110 12.5 and 13.1.
    (Kept, "accept-"),
    (Kept, "if-"),
    // Fetch, forbidden request-headers: a browser sets them.
    (Dropped, "access-control-request-"),
    (Dropped, "proxy-"),
    (Dropped, "sec-"),
    // Cloudflare Access; Azure App Service authentication; S3 with keys of the customer.
    (Withheld, "cf-access-"),
    (Withheld, "x-amz-copy-source-server-side-encryption-customer-key"),
    (Withheld, "x-amz-server-side-encryption-customer-key"),
    (Withheld, "x-ms-client-principal"),
];

/// The class of a whole lower-case name by the list.
pub(super) fn listed(name: &[u8]) -> Option<Class> {
    let length = name.len();
    let &(text, first) = STARTS.get(length)?;
    let &(text_end, _) = STARTS.get(length.saturating_add(1))?;
    let same_length = TEXT.get(usize::from(text)..usize::from(text_end))?;
    let place = same_length
        .chunks_exact(length.max(1))
        .position(|listed| listed.last() == name.last() && listed == name)?;
    CLASSES.get(usize::from(first).saturating_add(place)).copied()
}

/// The class of a lower-case name by its beginning; `Unknown` if no prefix fits.
pub(super) fn by_prefix(name: &[u8]) -> Class {
    let begins = |prefix: &[u8]| prefix.first() == name.first() && name.starts_with(prefix);
    let found = PREFIXES.iter().find(|(_, prefix)| begins(prefix.as_bytes()));
    found.map_or(Unknown, |&(class, _)| class)
}

/// Whether `name` is a token (RFC 9110 5.6.2), which every field name has to be.
pub(super) fn is_token(name: &[u8]) -> bool {
    !name.is_empty() && name.iter().all(|&byte| lower(byte) != 0)
}

/// A byte of a token in lower case; 0 for what no token holds.
pub(super) fn lower(byte: u8) -> u8 {
    LOWER.get(usize::from(byte)).copied().unwrap_or(0)
}

static LOWER: [u8; 256] = lower_case();

/// tchar of RFC 9110 5.6.2. At compile time only.
#[allow(clippy::indexing_slicing, clippy::arithmetic_side_effects)]
const fn lower_case() -> [u8; 256] {
    let (mut table, mut at) = ([0; 256], 0);
    while at < 256 {
        let byte = at as u8;
        let is_mark = matches!(
            byte,
            b'!' | b'#'
                | b'$'
                | b'%'
                | b'&'
                | b'\''
                | b'*'
                | b'+'
                | b'-'
                | b'.'
                | b'^'
                | b'_'
                | b'`'
                | b'|'
                | b'~'
        );
        if byte.is_ascii_alphanumeric() || is_mark {
            table[at] = byte.to_ascii_lowercase();
        }
        at += 1;
    }
    table
}

static TEXT: [u8; LAYOUT.text_length] = text();
static CLASSES: [Class; NAMES.len()] = LAYOUT.classes;
/// By length: where its names begin in `TEXT` and in `CLASSES`.
static STARTS: [(u16, u8); LONGEST + 2] = LAYOUT.starts;

const LAYOUT: Layout = lay_out();

struct Layout {
    text: [u8; NAMES.len() * LONGEST],
    text_length: usize,
    classes: [Class; NAMES.len()],
    starts: [(u16, u8); LONGEST + 2],
}

/// Runs at compile time only, where an index out of range is a build error.
#[allow(clippy::indexing_slicing, clippy::arithmetic_side_effects)]
const fn lay_out() -> Layout {
    let mut layout = Layout {
        text: [0; NAMES.len() * LONGEST],
        text_length: 0,
        classes: [Unknown; NAMES.len()],
        starts: [(0, 0); LONGEST + 2],
    };
    let (mut length, mut placed) = (0, 0);
    while length < LONGEST + 2 {
        layout.starts[length] = (layout.text_length as u16, placed as u8);
        let mut next = 0;
        while next < NAMES.len() {
            let (class, name) = NAMES[next];
            if name.len() == length {
                layout.classes[placed] = class;
                placed += 1;
                let mut at = 0;
                while at < length {
                    layout.text[layout.text_length] = name.as_bytes()[at];
                    layout.text_length += 1;
                    at += 1;
                }
            }
            next += 1;
        }
        length += 1;
    }
    assert!(placed == NAMES.len(), "a name is longer than LONGEST");
    layout
}

/// The part of the layout's text that is used.
#[allow(clippy::indexing_slicing, clippy::arithmetic_side_effects)]
const fn text() -> [u8; LAYOUT.text_length] {
    let layout = &LAYOUT;
    let (mut text, mut at) = ([0; LAYOUT.text_length], 0);
    while at < text.len() {
        text[at] = layout.text[at];
        at += 1;
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_listed_name_is_found_lower_case_and_once() {
        for (index, (class, name)) in NAMES.iter().enumerate() {
            assert_eq!(listed(name.as_bytes()), Some(*class), "{name}");
            assert!(
                is_token(name.as_bytes()) && !name.bytes().any(|byte| byte.is_ascii_uppercase()),
                "{name}"
            );
            assert!(NAMES.iter().skip(index + 1).all(|(_, other)| other != name), "{name} twice");
        }
        for (_, prefix) in PREFIXES {
            assert!(prefix.len() <= LONGEST, "{prefix}");
        }
    }

    #[test]
    fn what_is_not_listed_is_not_found() {
        for name in ["", "a", "hosts", "hos", "x-requested-wit", "x-requested-withx"] {
            assert_eq!(listed(name.as_bytes()), None, "{name}");
        }
    }

    /// The list holds only what neither word nor prefix would catch: else the entry is dead weight.
    #[test]
    fn no_withheld_name_is_caught_by_a_word_already() {
        for (class, name) in NAMES {
            assert!(!super::super::words::in_header(name.as_bytes()), "{name}");
            assert!(*class != Withheld || by_prefix(name.as_bytes()) != Withheld, "{name}");
        }
    }
}
