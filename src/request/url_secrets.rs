//! Secrets in a URL.
//!
//! A URL is stored, logged and shown as a whole, and some carry their credential with them: signed
//! links, API keys, tokens in a fragment, user and password before the host. They are found here by
//! the parameter's name or by the form of its value; whether such a task stays in memory or the
//! parameters are taken out is the host's decision.
//!
//! Paths are not looked at: nothing in them says which part is a secret. OAuth's `code` is not one
//! either, as it is used once, at once, and the name means too many other things.
#![forbid(unsafe_code)]

use super::headers::{Decoded, in_query, looks_secret};

/// Where a secret stands, as byte offsets into the URL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UrlSecret {
    /// Where the parameter begins; its name ends one byte before `value`, or it has none.
    pub start: usize,
    /// Where its value begins.
    pub value: usize,
    /// Where the value and the parameter end.
    pub end: usize,
}

/// Reports each secret of an absolute `url`, in order: user and password (no name), then the
/// parameters of the query and of a fragment that is written like one. An empty value is no secret.
pub fn url_secrets(url: &[u8], found: &mut impl FnMut(UrlSecret)) {
    let query_end = place_of(url, 0, b'#');
    let path_end = place_of(url, 0, b'?').min(query_end);
    user_info(url, path_end, found);
    parameters(url, path_end.saturating_add(1), query_end, found);
    parameters(url, query_end.saturating_add(1), url.len(), found);
}

/// `url` without its secrets: without their parameters, user and password.
pub fn without_secrets(url: &[u8]) -> Vec<u8> {
    let mut left = without_those_seen(url);
    // With its parameters gone, what `#path?sig=..` began with is a value itself, and may be a secret.
    loop {
        let fewer = without_those_seen(&left);
        if fewer.len() == left.len() {
            return left;
        }
        left = fewer;
    }
}

fn without_those_seen(url: &[u8]) -> Vec<u8> {
    let mut kept = Vec::with_capacity(url.len());
    let mut from = 0;
    url_secrets(url, &mut |secret| {
        kept.extend_from_slice(url.get(from..secret.start).unwrap_or(&[]));
        from = secret.end;
        if matches!(url.get(secret.end), Some(b'&' | b'@')) {
            from = from.saturating_add(1);
        } else {
            // The last of its kind: what led to it leads to nothing now.
            kept.pop_if(|byte| matches!(byte, b'&' | b'?' | b'#'));
        }
    });
    kept.extend_from_slice(url.get(from..).unwrap_or(&[]));
    kept
}

/// Where `byte` stands first at or after `from`; the end if nowhere.
fn place_of(url: &[u8], from: usize, byte: u8) -> usize {
    let place = url.get(from..).and_then(|rest| rest.iter().position(|&other| other == byte));
    place.map_or(url.len(), |place| from.saturating_add(place))
}

fn user_info(url: &[u8], path_end: usize, found: &mut impl FnMut(UrlSecret)) {
    let scheme = place_of(url, 0, b':');
    if url.get(scheme..).is_none_or(|rest| !rest.starts_with(b"://")) {
        return;
    }
    let start = scheme.saturating_add(3);
    let authority = url.get(start..path_end).unwrap_or(&[]);
    let authority = authority.split(|byte| matches!(byte, b'/' | b'\\')).next().unwrap_or(&[]);
    if let Some(length @ 1..) = authority.iter().rposition(|&byte| byte == b'@') {
        found(UrlSecret { start, value: start, end: start.saturating_add(length) });
    }
}

fn parameters(url: &[u8], mut start: usize, end: usize, found: &mut impl FnMut(UrlSecret)) {
    while start < end {
        let next = place_of(url.get(..end).unwrap_or(url), start, b'&').min(end);
        let parameter = url.get(start..next).unwrap_or(&[]);
        let (name, value) = match parameter.iter().position(|&byte| byte == b'=') {
            Some(equals) => (parameter.get(..equals), parameter.get(equals.saturating_add(1)..)),
            None => (None, Some(parameter)),
        };
        let (name, value) = (name.unwrap_or(&[]), value.unwrap_or(&[]));
        // `#/path?name=value`, as routers in pages have it.
        let path = name.iter().rposition(|&byte| byte == b'?').map_or(0, |mark| mark.saturating_add(1));
        let name = name.get(path..).unwrap_or(&[]);
        if !value.is_empty() && (in_query(name) || value_is_secret(value)) {
            found(UrlSecret {
                start: start.saturating_add(path),
                value: next.saturating_sub(value.len()),
                end: next,
            });
        }
        start = next.saturating_add(1);
    }
}

fn value_is_secret(value: &[u8]) -> bool {
    if !value.iter().any(|byte| matches!(byte, b'%' | b'+')) {
        return looks_secret(value);
    }
    let mut plain = Vec::with_capacity(value.len());
    for byte in Decoded::form(value) {
        plain.push(byte);
    }
    looks_secret(&plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_cover_the_value_and_the_parameter() {
        let url = b"https://a.test/?a=1&sig=xyz&b=2";
        let mut seen = Vec::new();
        url_secrets(url, &mut |secret| seen.push(secret));
        assert_eq!(seen, [UrlSecret { start: 20, value: 24, end: 27 }]);
        assert_eq!(&url[20..27], b"sig=xyz");
        assert_eq!(&url[24..27], b"xyz");
    }

    #[test]
    fn stripping_leaves_a_sound_url() {
        for (url, left) in [
            ("https://a.test/", "https://a.test/"),
            ("https://a.test/?", "https://a.test/?"),
            ("https://a.test/?sig=x", "https://a.test/"),
            ("https://a.test/?sig=x&a=1", "https://a.test/?a=1"),
            ("https://a.test/?a=1&sig=x", "https://a.test/?a=1"),
            ("https://a.test/?a=1&sig=x&b=2#top", "https://a.test/?a=1&b=2#top"),
            ("https://a.test/?a=1&sig=x&key=y", "https://a.test/?a=1"),
            ("https://a.test/?sig=x&key=y#top", "https://a.test/#top"),
            ("https://a.test/#access_token=x", "https://a.test/"),
            ("https://a.test/#/cb?id_token=x&a=1", "https://a.test/#/cb?a=1"),
            ("https://a.test/#/cb?id_token=x", "https://a.test/#/cb"),
            ("https://u:p@a.test/?a=1", "https://a.test/?a=1"),
            // What came before the parameters is a value once they are gone.
            ("https://a.test/#Bearer+abcdefgh?sig=x", "https://a.test/"),
            ("https://a.test/?a=1&Bearer+abcdefgh?sig=x#top", "https://a.test/?a=1#top"),
        ] {
            assert_eq!(String::from_utf8(without_secrets(url.as_bytes())).unwrap(), left, "{url}");
        }
    }
}
