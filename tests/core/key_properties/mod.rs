//! What holds for every JSON text, URL and request, beside implementations that are plainly right.

mod json;
mod malice;

use crate::common::cases;
use json::{Scribe, json, naive, number, text};
use proptest::prelude::*;
use redrive::json::{JsonErrorKind, NativeNumbers, Numbers, canonicalize, canonicalize_exact};
use redrive::key::{KeyScope, Request, content_key, fingerprint};
use redrive::url::normalize;

fn canonical(text: &[u8]) -> Vec<u8> {
    canonicalize(text, &mut NativeNumbers).unwrap()
}

fn shortest(token: &str) -> String {
    let mut out = Vec::new();
    assert!(NativeNumbers.shortest(token.as_bytes(), &mut out), "{token}");
    String::from_utf8(out).unwrap()
}

/// Pieces that URLs, and what is nearly one, are made of.
const PIECES: [&str; 44] = [
    "http:",
    "https:",
    "HTTP:",
    "//",
    "//",
    "//",
    "/",
    "/",
    "\\",
    "?",
    "#",
    "@",
    ":",
    ":80",
    ":443",
    ":0",
    ".",
    "..",
    "%2e",
    "%2E",
    "%",
    "%a",
    "%c3%a9",
    "a",
    "B",
    "example.com",
    "1.2.3.4",
    "0x7f",
    "09",
    "256",
    "[::1]",
    "[1::2",
    "]",
    "::",
    "é",
    "😀",
    " ",
    "\t",
    "\n",
    "\0",
    "'",
    "\"",
    "^",
    "{|}",
];

fn url() -> impl Strategy<Value = String> {
    let start = proptest::sample::select(vec!["http://", "https://a", "https://example.com/", "http:", ""]);
    let rest = proptest::collection::vec(proptest::sample::select(PIECES.to_vec()), 0..10);
    (start, rest).prop_map(|(start, rest)| [start, &rest.concat()].concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases()))]

    #[test]
    fn canonical_json_is_what_the_naive_way_gives(json in json(), seed: u64) {
        let text = Scribe::write(&json, seed, false);
        let mut expected = String::new();
        naive(&json, &mut expected);
        let got = canonical(text.as_bytes());
        prop_assert_eq!(String::from_utf8(got).unwrap(), expected, "{}", text);
    }

    #[test]
    fn canonical_json_is_canonical(json in json(), seed: u64) {
        let once = canonical(Scribe::write(&json, seed, false).as_bytes());
        prop_assert_eq!(&canonical(&once), &once);
        prop_assert_eq!(canonicalize_exact(&once, &mut NativeNumbers), Ok(once.clone()), "what is printed is exact");
    }

    #[test]
    fn json_is_refused_exactly_where_it_is_none(json in json(), seed: u64, edits in proptest::collection::vec((any::<u16>(), 0_u8..4, any::<u8>()), 1..4)) {
        let mut text = Scribe::write(&json, seed, false).into_bytes();
        for (at, edit, byte) in edits {
            let at = usize::from(at) % (text.len() + 1);
            // Half of the bytes are of JSON's own.
            let byte = if byte < 128 { b"{}[]:,\"\\u0019eE+-. \n"[usize::from(byte) % 20] } else { byte };
            match edit {
                0 => text.insert(at, byte),
                1 if at < text.len() => text[at] = byte,
                2 if at < text.len() => drop(text.remove(at)),
                _ => text.truncate(at),
            }
        }
        let got = canonicalize(&text, &mut NativeNumbers);
        match (serde_json::from_slice::<serde_json::Value>(&text), got) {
            (Ok(_), Ok(once)) => prop_assert_eq!(canonical(&once), once),
            (Ok(_), Err(error)) => prop_assert_eq!(error.kind, JsonErrorKind::DuplicateName),
            (Err(_), Err(error)) => prop_assert!(error.at <= text.len()),
            (Err(error), Ok(_)) => prop_assert!(false, "{error}"),
        }
    }

    #[test]
    fn no_bytes_make_it_panic(bytes: Vec<u8>, scope: Vec<u8>) {
        let _ = canonicalize(&bytes, &mut NativeNumbers);
        let _ = normalize(&bytes);
        let request = Request { method: b"POST", url: b"https://a/", content_type: Some(b"application/json"), body: &bytes };
        let scope = KeyScope { principal: Some(&scope), scope: &scope, nonce: &bytes, secret: &bytes };
        let key = content_key(&request, &scope, &mut NativeNumbers);
        prop_assert_eq!(key.unwrap().len(), 64, "no body makes a key fail");
    }

    #[test]
    fn native_numbers_are_those_of_ecmascript(numbers in proptest::collection::vec(number(), 8)) {
        for number in numbers {
            let expected = ryu_js::Buffer::new().format_finite(number).to_owned();
            prop_assert_eq!(shortest(&format!("{number:.17e}")), &expected[..]);
            prop_assert_eq!(shortest(&expected), &expected[..]);
        }
    }

    #[test]
    fn decimals_are_printed_as_ecmascript_prints_them(negative: bool, digits in "(0{0,8}[0-9]{1,17}|[0-9]{1,9}0{0,9})", point in 0_usize..18) {
        let (whole, fraction) = digits.split_at(point.min(digits.len()));
        let whole = whole.trim_start_matches('0');
        let whole = if whole.is_empty() { "0" } else { whole };
        let sign = if negative { "-" } else { "" };
        let token = if fraction.is_empty() { format!("{sign}{whole}") } else { format!("{sign}{whole}.{fraction}") };
        prop_assert_eq!(String::from_utf8(canonical(token.as_bytes())).unwrap(), shortest(&token));
    }

    /// Sixteen or seventeen digits may be what is printed, a neighbour of it, or more than is printed.
    #[test]
    fn long_decimals_near_a_double_are_printed_as_ecmascript_prints_them(
        bits in (1003_u64 << 52)..(1076 << 52), round in 0_u32..4, step in -30_i64..=30, places in 0_usize..20,
    ) {
        // Doubles beside powers of two above all: there the one below is nearer.
        let bits = if round == 0 { bits } else { (bits >> 50 << 50).wrapping_add_signed(step / 10) };
        let number = f64::from_bits(bits);
        let mut buffer = ryu_js::Buffer::new();
        let printed = buffer.format_finite(number);
        let longer = format!("{number:.places$}");
        for text in [printed, &longer] {
            let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
            let Ok(digits) = format!("{whole}{fraction}").parse::<u128>() else { continue };
            for near in [digits, digits.saturating_add_signed(i128::from(step)), digits.saturating_add_signed(-1)] {
                let digits = format!("{near:0>width$}", width = fraction.len() + 1);
                let (whole, fraction) = digits.split_at(digits.len() - fraction.len());
                let token = if fraction.is_empty() { whole.to_owned() } else { format!("{whole}.{fraction}") };
                prop_assert_eq!(String::from_utf8(canonical(token.as_bytes())).unwrap(), shortest(&token));
                let exact = canonicalize_exact(token.as_bytes(), &mut NativeNumbers).is_ok();
                let plain = |text: &str| text.trim_end_matches('0').trim_end_matches('.').to_owned();
                if shortest(&token) == token {
                    prop_assert!(exact, "{}", token);
                } else if token.contains('.') && plain(&token) != shortest(&token) && !shortest(&token).contains('e') {
                    prop_assert!(!exact, "{}", token);
                }
            }
        }
    }

    #[test]
    fn a_normal_url_is_normal(url in url()) {
        if let Some(once) = normalize(url.as_bytes()) {
            prop_assert_eq!(normalize(&once), Some(once.clone()), "{}", url);
            prop_assert!(once.starts_with(b"http"));
            prop_assert!(!once.contains(&b'#') && !once.contains(&b' ') && once.iter().filter(|byte| **byte == b'/').count() >= 3);
        }
    }

    #[test]
    fn what_a_request_does_not_change_by_keeps_its_key(
        json in json(), seeds: (u64, u64), scope in text(), nonce in text(),
        segments in proptest::collection::vec("[a-z%]{1,4}", 0..4), query in "[a-c=&+]{0,6}", chance: u16,
    ) {
        let may = |bit: u32| chance >> bit & 1 == 1;
        let plain = |text: &str| if text.is_empty() { String::new() } else { format!("?{text}") };
        let (body, same_body) = (Scribe::write(&json, seeds.0, true), Scribe::write(&json, seeds.1, true));
        let path: String = segments.iter().map(|segment| format!("/{}", segment.replace('%', "%c3%a9"))).collect();
        let path = if path.is_empty() { "/".to_owned() } else { path };
        let url = format!("https://api.test{path}{}", plain(&query));
        let same_url = format!(
            "{}{}{}{}{}{}{}",
            if may(0) { "HTTPS://" } else { "https:\\\\" },
            if may(1) { "user:word@" } else { "" },
            if may(2) { "API.test" } else { "api.TEST" },
            if may(3) { ":443" } else { "" },
            if may(4) { path.replace('/', "/x/../") } else { path.replace("%c3%a9", "%C3%A9") },
            plain(&query),
            if may(5) { "#part" } else { "" },
        );
        let request = Request { method: b"POST", url: url.as_bytes(), content_type: Some(b"application/json"), body: body.as_bytes() };
        let content_type: &[u8] = if may(6) { b"Application/JSON; charset=utf-8" } else { b"application/order+json" };
        let method: &[u8] = if may(7) { b"post" } else { b"POST" };
        let same = Request { method, url: same_url.as_bytes(), content_type: Some(content_type), body: same_body.as_bytes() };

        let key = |request: &Request, scope: &str, nonce: &str| {
            let scope = KeyScope { scope: scope.as_bytes(), nonce: nonce.as_bytes(), ..KeyScope::default() };
            content_key(request, &scope, &mut NativeNumbers).unwrap()
        };
        let print = |request: &Request| fingerprint(request, &mut NativeNumbers).unwrap();
        let own = key(&request, &scope, &nonce);
        prop_assert_eq!(&own, &key(&same, &scope, &nonce), "{} {}", url, same_url);
        prop_assert_eq!(print(&request), print(&same));

        let (longer_url, longer_body) = (format!("{url}{}", if query.is_empty() { "?" } else { "&" }), format!("[{body}]"));
        for other in [
            Request { method: b"PUT", ..request },
            Request { url: longer_url.as_bytes(), ..request },
            Request { content_type: Some(b"text/plain"), ..request },
            Request { content_type: None, ..request },
            Request { body: longer_body.as_bytes(), ..request },
        ] {
            prop_assert_ne!(&own, &key(&other, &scope, &nonce), "{:?}", other);
            prop_assert_ne!(print(&request), print(&other));
        }
        prop_assert_ne!(&own, &key(&request, &format!("{scope}x"), &nonce));
        prop_assert_ne!(&own, &key(&request, &scope, &format!("{nonce}x")));
        prop_assert_ne!(own, key(&request, &format!("{scope}{nonce}x"), ""));
    }
}

/// Short texts of few letters, so that parts that run into each other are met often.
fn part() -> impl Strategy<Value = String> {
    "[=ab\\x00]{0,3}"
}

fn whose() -> impl Strategy<Value = (Option<String>, String, String, String)> {
    (proptest::option::of(part()), part(), part(), "|[ab]{16}")
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases()))]

    #[test]
    fn s16_two_users_scopes_or_secrets_never_share_a_key(one in whose(), other in whose(), bodies: (bool, bool)) {
        let key = |(principal, scope, nonce, secret): &(Option<String>, String, String, String), has_body: bool| {
            let request = Request {
                method: b"POST",
                url: b"https://api.test/orders",
                content_type: None,
                body: if has_body { b"=a" } else { b"" },
            };
            let scope = KeyScope {
                principal: principal.as_ref().map(String::as_bytes),
                scope: scope.as_bytes(),
                nonce: nonce.as_bytes(),
                secret: secret.as_bytes(),
            };
            content_key(&request, &scope, &mut NativeNumbers).unwrap()
        };
        let alike = (&one, bodies.0) == (&other, bodies.1);
        prop_assert_eq!(key(&one, bodies.0) == key(&other, bodies.1), alike, "{:?} {:?}", one, other);
    }
}

#[test]
fn native_numbers_are_those_of_ecmascript_at_every_power() {
    let tens = (-324..=308).map(|power| format!("1e{power}").parse::<f64>().unwrap());
    let twos = (0..2046).map(|exponent| f64::from_bits(exponent << 52));
    for number in tens.chain(twos) {
        for bits in [number.to_bits().saturating_sub(1), number.to_bits(), number.to_bits() + 1] {
            let number = f64::from_bits(bits);
            let expected = ryu_js::Buffer::new().format_finite(number).to_owned();
            assert_eq!(shortest(&format!("{number:.17e}")), expected);
            assert_eq!(shortest(&format!("-{number:.17e}")), ryu_js::Buffer::new().format_finite(-number));
        }
    }
    assert!(!NativeNumbers.shortest(b"1e309", &mut Vec::new()));
}
