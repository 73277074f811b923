//! Secrets in a URL.
//!
//! A URL is stored, logged and shown as a whole, and some carry their credential with them: signed
//! links, API keys, tokens in a fragment, user and password before the host, addresses of webhooks. They are found
//! here by the parameter's name, by the form of its value, also where it is packed into another, and by the hosts
//! and paths that services are known to use; whether such a task stays in memory or the
//! parameters are taken out is the host's decision.
#![forbid(unsafe_code)]

mod path;
mod place;
mod value;

pub use place::UrlSecret;
use place::place_of;
use value::{LEVELS, Unpacking};

/// Reports each secret of an absolute `url`, in order: user and password (no name), those of the path, then the
/// parameters of the query and of a fragment that is written like one. An empty value is no secret.
pub fn url_secrets(url: &[u8], found: &mut impl FnMut(UrlSecret)) {
    find(url, Unpacking { levels: LEVELS, holds_url }, &mut |secret| found(secret));
}

/// By reference, since values ask it again.
fn find(url: &[u8], unpacking: Unpacking, mut found: &mut dyn FnMut(UrlSecret)) {
    let query_end = place_of(url, 0, b'#');
    let path_end = place_of(url, 0, b'?').min(query_end);
    let authority = authority_of(url, path_end);
    user_info(url, authority, &mut found);
    let host = url.get(authority.0..authority.1).unwrap_or(&[]);
    let host = host.rsplit(|byte| *byte == b'@').next().unwrap_or(&[]);
    let host = host.split(|byte| *byte == b':').next().unwrap_or(&[]);
    path::path(url, host, authority.1, path_end, unpacking, &mut found);
    parameters(url, path_end.saturating_add(1), query_end, unpacking, &mut found);
    parameters(url, query_end.saturating_add(1), url.len(), unpacking, &mut found);
}

/// `url` without its secrets: without their parameters, user and password. Those of its path are left, as it would
/// lead elsewhere without them.
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
        if secret.in_path {
            return;
        }
        kept.extend_from_slice(url.get(from..secret.start).unwrap_or(&[]));
        from = secret.end;
        if kept.last() == Some(&b';') && matches!(url.get(secret.end), None | Some(b';' | b'/' | b'?' | b'#'))
        {
            // Of a segment of the path: the separator stands before it.
            kept.pop();
        } else if matches!(url.get(secret.end), Some(b'&' | b'@')) {
            from = from.saturating_add(1);
        } else {
            // The last of its kind: what led to it leads to nothing now.
            kept.pop_if(|byte| matches!(byte, b'&' | b'?' | b'#'));
        }
    });
    kept.extend_from_slice(url.get(from..).unwrap_or(&[]));
    kept
}

/// Whether a text that is a URL, or the query of one, has secrets.
fn holds_url(text: &[u8], unpacking: Unpacking) -> bool {
    let mut found = false;
    find(text, unpacking, &mut |_| found = true);
    // The padding of base64 gives nothing a value.
    let end = text.iter().rposition(|byte| *byte != b'=').map_or(0, |last| last.saturating_add(1));
    let query = text.get(..end).unwrap_or(text);
    if !found && query.contains(&b'=') && !query.contains(&b'?') {
        parameters(query, 0, end, unpacking, &mut |_| found = true);
    }
    found
}

/// From where to where user, host and port stand; from 0 to 0 where there is no `scheme://`.
fn authority_of(url: &[u8], path_end: usize) -> (usize, usize) {
    let scheme = place_of(url, 0, b':');
    if url.get(scheme..).is_none_or(|rest| !rest.starts_with(b"://")) {
        return (0, 0);
    }
    let start = scheme.saturating_add(3);
    let rest = url.get(start..path_end).unwrap_or(&[]);
    let length = rest.iter().position(|byte| matches!(byte, b'/' | b'\\')).unwrap_or(rest.len());
    (start, start.saturating_add(length))
}

fn user_info(url: &[u8], (start, end): (usize, usize), found: &mut impl FnMut(UrlSecret)) {
    let authority = url.get(start..end).unwrap_or(&[]);
    if let Some(length @ 1..) = authority.iter().rposition(|&byte| byte == b'@') {
        found(UrlSecret { start, value: start, end: start.saturating_add(length), in_path: false });
    }
}

fn parameters(
    url: &[u8],
    mut start: usize,
    end: usize,
    unpacking: Unpacking,
    found: &mut impl FnMut(UrlSecret),
) {
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
        if !value.is_empty() && (value::is_name(name, LEVELS) || value::is_secret(value, unpacking)) {
            found(UrlSecret {
                start: start.saturating_add(path),
                value: next.saturating_sub(value.len()),
                end: next,
                in_path: false,
            });
        }
        start = next.saturating_add(1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_cover_the_value_and_the_parameter() {
        let url = b"https://a.test/?a=1&sig=xyz&b=2";
        let mut seen = Vec::new();
        url_secrets(url, &mut |secret| seen.push(secret));
        assert_eq!(seen, [UrlSecret { start: 20, value: 24, end: 27, in_path: false }]);
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
            ("https://a.test/a;jsessionid=x", "https://a.test/a"),
            ("https://a.test/a;jsessionid=x;v=1/b?c=1", "https://a.test/a;v=1/b?c=1"),
            ("https://a.test/a;v=1;jsessionid=x?c=1", "https://a.test/a;v=1?c=1"),
            // Without it the request would go elsewhere.
            (
                "https://hooks.slack.com/services/T0/B0/x?a=1&sig=x",
                "https://hooks.slack.com/services/T0/B0/x?a=1",
            ),
            // What came before the parameters is a value once they are gone.
            ("https://a.test/#Bearer+abcdefgh?sig=x", "https://a.test/"),
            ("https://a.test/?a=1&Bearer+abcdefgh?sig=x#top", "https://a.test/?a=1#top"),
        ] {
            assert_eq!(String::from_utf8(without_secrets(url.as_bytes())).unwrap(), left, "{url}");
        }
    }
}
