//! URLs: the text a key is made of, and the secrets in them. The bytes are the URL.

use redrive::url::normalize;
use redrive::url_secrets::{UrlSecret, url_secrets, without_secrets};

pub fn check(url: &[u8]) {
    if let Some(normal) = normalize(url) {
        normalized(url, &normal);
    }
    let found = secrets(url);
    let mut from = 0;
    for secret in &found {
        assert!(from <= secret.start && secret.start <= secret.value, "{secret:?} after {from}");
        assert!(secret.value < secret.end && secret.end <= url.len(), "{secret:?}");
        from = secret.end;
    }
    let left = without_secrets(url);
    let length: usize =
        found.iter().filter(|secret| !secret.in_path).map(|secret| secret.end - secret.start).sum();
    assert!(left.len() + length <= url.len(), "more is left than was kept");
    if found.iter().all(|secret| secret.in_path) {
        assert_eq!(left, url, "nothing to take out");
    }
    assert!(secrets(&left).iter().all(|secret| secret.in_path), "of {}", text(&left));
}

fn normalized(url: &[u8], normal: &[u8]) {
    let shown = text(normal);
    assert_eq!(normalize(normal).as_deref(), Some(normal), "idempotent: {shown}");
    // Every byte is at most escaped, but for what a host of numbers and a missing `/` come to.
    assert!(normal.len() <= url.len() * 3 + 64, "{shown}");
    assert!(normal.starts_with(b"http://") || normal.starts_with(b"https://"), "{shown}");
    assert!(!normal.iter().any(|byte| *byte <= b' ' || *byte == 0x7F), "{shown}");
    assert!(!normal.contains(&b'#'), "{shown}");
    let start = normal.iter().position(|byte| *byte == b':').unwrap() + 3;
    let length = normal[start..].iter().position(|byte| *byte == b'/').expect("a path begins with /");
    let (authority, rest) = normal[start..].split_at(length);
    assert!(!authority.is_empty() && !authority.contains(&b'@'), "{shown}");
    assert!(!authority.iter().any(u8::is_ascii_uppercase), "{shown}");
    assert!(rest.is_ascii(), "{shown}");
    for at in 0..rest.len() {
        if let [b'%', high, low, ..] = &rest[at..]
            && high.is_ascii_hexdigit()
            && low.is_ascii_hexdigit()
        {
            assert!(!high.is_ascii_lowercase() && !low.is_ascii_lowercase(), "{shown}");
        }
    }
    // A fragment and a user change nothing.
    let scheme = &normal[..start];
    let dressed = [scheme, b"me:p@", &normal[start..], b"#top"].concat();
    assert_eq!(normalize(&dressed).as_deref(), Some(normal), "{shown}");
}

fn secrets(url: &[u8]) -> Vec<UrlSecret> {
    let mut found = Vec::new();
    url_secrets(url, &mut |secret| found.push(secret));
    found
}

fn text(url: &[u8]) -> String {
    String::from_utf8_lossy(url).into_owned()
}
