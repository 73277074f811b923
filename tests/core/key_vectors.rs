//! The rows of canonical JSON, URLs, keys and SHA-256, natively.

use std::collections::BTreeMap;

use crate::common::vectors;
use redrive::json::{JsonErrorKind, NativeNumbers, canonicalize, canonicalize_exact};
use redrive::key::{KeyError, KeyScope, Request, content_key, fingerprint, hmac_sha256_hex, sha256_hex};
use redrive::url::normalize;
use serde_json::Value;

/// The bytes of `name`, or those that `name` + `Hex` spells.
fn bytes(row: &Value, name: &str) -> Vec<u8> {
    match row[name].as_str() {
        Some(text) => text.as_bytes().to_vec(),
        None => hex::decode(row[format!("{name}Hex")].as_str().unwrap()).unwrap(),
    }
}

#[test]
fn every_text_is_canonical_or_refused_where_the_row_says() {
    let rows = vectors("canonical-json.json");
    let mut kinds = BTreeMap::new();
    for row in &rows {
        let text = bytes(row, "text");
        let got = canonicalize(&text, &mut NativeNumbers);
        let exact = canonicalize_exact(&text, &mut NativeNumbers);
        if row["error"] == Value::Bool(true) {
            let error = got.unwrap_err();
            let kind = format!("{:?}", error.kind);
            assert_eq!(
                (Some(kind.as_str()), Some(error.at as u64)),
                (row["kind"].as_str(), row["at"].as_u64()),
                "{row}"
            );
            assert_eq!(exact, Err(error), "{row}");
            *kinds.entry(kind).or_insert(0) += 1;
            continue;
        }
        let got = String::from_utf8(got.unwrap()).unwrap();
        assert_eq!(Some(got.as_str()), row["canonical"].as_str(), "{row}");
        if row["exact"] == Value::Bool(false) {
            assert_eq!(exact.unwrap_err().kind, JsonErrorKind::InexactNumber, "{row}");
        } else {
            assert_eq!(exact.unwrap(), got.as_bytes(), "{row}");
        }
        if let Some(bits) = row["bits"].as_str() {
            let number: f64 = row["text"].as_str().unwrap().parse().unwrap();
            assert_eq!(format!("{:016x}", number.to_bits()), bits, "the row itself: {row}");
        }
    }
    assert!(rows.len() >= 120);
    assert_eq!(kinds.len(), 11, "every kind but InexactNumber has a row: {kinds:?}");
}

#[test]
fn faults_are_told_with_their_place() {
    let error = canonicalize(br#"{"a":1,"a":2}"#, &mut NativeNumbers).unwrap_err();
    assert_eq!(error.to_string(), "a name twice in one object at byte 7");
}

#[test]
fn every_url_is_what_the_platform_says() {
    let rows = vectors("urls.json");
    for row in &rows {
        let got = normalize(row["url"].as_str().unwrap().as_bytes());
        let got = got.map(|url| String::from_utf8(url).unwrap());
        assert_eq!(got.as_deref(), row["normalized"].as_str(), "{row}");
    }
    assert!(rows.len() >= 60);
}

#[test]
fn hosts_beyond_ascii_keep_their_letters() {
    for (url, expected) in [
        ("http://BÜCHER.Example/", Some("http://bÜcher.example/")),
        ("http://b%C3%BCcher.example/", Some("http://bücher.example/")),
        ("http://XN--bcher-kva.example/", Some("http://xn--bcher-kva.example/")),
        ("http://b%FCcher.example/", None),
    ] {
        let got = normalize(url.as_bytes()).map(|url| String::from_utf8(url).unwrap());
        assert_eq!(got.as_deref(), expected, "{url}");
    }
    assert_eq!(normalize(b"http://a/\xFF"), None, "what is not UTF-8 is no URL");
}

#[test]
fn every_request_has_the_key_and_fingerprint_of_its_row() {
    let rows = vectors("keys.json");
    let mut groups = BTreeMap::new();
    for row in &rows {
        let body = bytes(row, "body");
        let request = Request {
            method: row["method"].as_str().unwrap().as_bytes(),
            url: row["url"].as_str().unwrap().as_bytes(),
            content_type: row["contentType"].as_str().map(str::as_bytes),
            body: &body,
        };
        let text = |name: &str| row[name].as_str().unwrap_or("").as_bytes();
        let principal = row["principal"].as_str().map(str::as_bytes);
        let scope =
            KeyScope { principal, scope: text("scope"), nonce: text("nonce"), secret: text("scopeKey") };
        let key = content_key(&request, &scope, &mut NativeNumbers);
        let print = fingerprint(&request, &mut NativeNumbers);
        if let Some(what) = row["error"].as_str() {
            let error = if what == "url" { KeyError::Url } else { KeyError::Method };
            assert_eq!((key, print), (Err(error), Err(error)), "{row}");
            continue;
        }
        let (key, print) = (key.unwrap(), print.unwrap());
        assert_eq!(
            (Some(key.as_str()), Some(print.as_str())),
            (row["key"].as_str(), row["fingerprint"].as_str()),
            "{row}"
        );
        let of_group = groups.entry(row["group"].as_str().unwrap()).or_insert_with(|| key.clone());
        assert_eq!(*of_group, key, "one group, one key: {row}");
    }
    assert!(rows.len() >= 60);
    let mut keys: Vec<_> = groups.values().collect();
    keys.sort();
    keys.dedup();
    assert_eq!(keys.len(), groups.len(), "two groups, two keys");
}

#[test]
fn a_request_without_a_key_is_told_what_it_lacks() {
    for (error, word) in [(KeyError::Method, "method"), (KeyError::Url, "URL")] {
        assert!(error.to_string().contains(word), "{error:?}: {error}");
    }
}

#[test]
fn every_message_has_the_digest_that_nist_gives() {
    let rows = vectors("sha256.json");
    for row in &rows {
        let repeat = row["repeat"].as_u64().unwrap_or(1) as usize;
        let message = bytes(row, "msg").repeat(repeat);
        assert_eq!(Some(sha256_hex(&message).as_str()), row["digest"].as_str(), "{row}");
    }
    assert_eq!(rows.len(), 70);
}

#[test]
fn every_message_has_the_code_that_rfc_4231_gives() {
    let rows = vectors("hmac.json");
    for row in &rows {
        let (secret, message) = (bytes(row, "key"), bytes(row, "msg"));
        assert_eq!(Some(hmac_sha256_hex(&secret, &message).as_str()), row["mac"].as_str(), "{row}");
    }
    assert_eq!(rows.len(), 11);
}
