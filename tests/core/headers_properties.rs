//! Headers and URLs beside an obviously right model, and what must hold for every input.

use crate::common::{cases, vectors};
use proptest::prelude::*;
use proptest::sample::select;
use redrive::headers::{Class, Rules, check_value, classify_name, looks_secret};
use redrive::url_secrets::{url_secrets, without_secrets};

const KEPT: [&str; 13] = [
    "accept",
    "content-type",
    "content-language",
    "content-encoding",
    "prefer",
    "range",
    "idempotency-key",
    "x-requested-with",
    "x-request-id",
    "x-correlation-id",
    "traceparent",
    "tracestate",
    "baggage",
];
const KEPT_PREFIXES: [&str; 2] = ["accept-", "if-"];
const DROPPED: [&str; 15] = [
    "connection",
    "keep-alive",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
    "http2-settings",
    "content-length",
    "host",
    "origin",
    "referer",
    "date",
    "expect",
    "via",
    "dnt",
];
const DROPPED_PREFIXES: [&str; 3] = ["access-control-request-", "sec-", "proxy-"];
const WITHHELD: [&str; 42] = [
    "dpop",
    "x-wsse",
    "x-amz-mfa",
    "x-amzn-oidc-data",
    "x-amzn-oidc-identity",
    "aeg-sas-key",
    "ocp-apim-subscription-key",
    "x-functions-key",
    "x-ms-encryption-key",
    "x-ms-source-encryption-key",
    "x-firebase-appcheck",
    "x-goog-encryption-key",
    "x-goog-copy-source-encryption-key",
    "dd-application-key",
    "signoz-ingestion-key",
    "uptrace-dsn",
    "x-honeycomb-team",
    "x-insert-key",
    "x-instana-key",
    "x-license-key",
    "x-query-key",
    "x-appwrite-key",
    "x-lc-key",
    "x-parse-client-key",
    "x-parse-javascript-key",
    "fastly-key",
    "jenkins-crumb",
    "x-account-meta-temp-url-key",
    "x-container-meta-temp-url-key",
    "x-gotify-key",
    "x-ha-access",
    "x-hassio-key",
    "x-jfrog-art-api",
    "x-ovh-consumer",
    "x-registry-config",
    "api-sign",
    "cb-access-sign",
    "kc-api-sign",
    "ok-access-sign",
    "x-bapi-sign",
    "cookie",
    "authorization",
];
const WITHHELD_PREFIXES: [&str; 4] = [
    "cf-access-",
    "x-ms-client-principal",
    "x-amz-server-side-encryption-customer-key",
    "x-amz-copy-source-server-side-encryption-customer-key",
];
const ANYWHERE: [&str; 18] = [
    "token",
    "secret",
    "session",
    "sessid",
    "passw",
    "passphrase",
    "passcode",
    "pwd",
    "jwt",
    "bearer",
    "csrf",
    "xsrf",
    "credential",
    "signature",
    "assertion",
    "cookie",
    "hmac",
    "saml",
];
const JOINED: [&str; 8] =
    ["apikey", "accesskey", "privatekey", "masterkey", "sharedkey", "signingkey", "passkey", "clientcert"];
const WHOLE: [&str; 6] = ["sid", "otp", "totp", "sig", "cred", "creds"];
const NO_SECRETS: [&str; 3] = ["author", "x-side", "options"];

/// Whether `auth` stands in `text` other than as the beginning of author, authority and their like.
fn has_auth(text: &str) -> bool {
    let rest = text.match_indices("auth").map(|(at, _)| &text[at + 4..]);
    rest.into_iter()
        .any(|rest| !rest.starts_with("or") || rest.starts_with("oris") || rest.starts_with("oriz"))
}

fn has_word(text: &str) -> bool {
    let letters: String = text.chars().filter(char::is_ascii_alphanumeric).collect();
    has_auth(text)
        || ANYWHERE.iter().any(|word| text.contains(word))
        || JOINED.iter().any(|word| letters.contains(word))
        || text.split(|c: char| !c.is_ascii_alphanumeric()).any(|word| WHOLE.contains(&word))
}

fn is_match(pattern: &str, name: &str) -> bool {
    let pattern = pattern.to_lowercase();
    let inner = pattern.trim_matches('*');
    match (pattern.starts_with('*'), pattern.ends_with('*')) {
        (false, false) => name == inner,
        (true, false) => name.ends_with(inner),
        (false, true) => name.starts_with(inner),
        (true, true) => name.contains(inner),
    }
}

fn model(name: &str, persist: &[String], deny: &[String]) -> Class {
    let token = |c: char| c.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~".contains(c);
    if name.is_empty() || !name.chars().all(token) {
        return Class::Refused;
    }
    let name = name.to_lowercase();
    let begins = |prefixes: &[&str]| prefixes.iter().any(|prefix| name.starts_with(prefix));
    let named = |patterns: &[String]| patterns.iter().any(|pattern| is_match(pattern, &name));
    let is_kept = KEPT.contains(&name.as_str());
    if DROPPED.contains(&name.as_str()) {
        return Class::Dropped;
    }
    if !is_kept && (WITHHELD.contains(&name.as_str()) || begins(&WITHHELD_PREFIXES) || has_word(&name)) {
        return Class::Withheld;
    }
    if begins(&DROPPED_PREFIXES) {
        return Class::Dropped;
    }
    if named(deny) {
        return Class::Withheld;
    }
    if is_kept || begins(&KEPT_PREFIXES) || named(persist) { Class::Kept } else { Class::Unknown }
}

/// Each letter in any case.
fn any_case(name: String) -> impl Strategy<Value = String> {
    (Just(name), any::<u128>()).prop_map(|(name, capitals)| {
        let capital = |at: usize| capitals >> (at % 128) & 1 == 1;
        let letters = name.chars().enumerate();
        letters.map(|(at, c)| if capital(at) { c.to_ascii_uppercase() } else { c }).collect()
    })
}

fn piece() -> impl Strategy<Value = String> {
    prop_oneof![
        3 => select(ANYWHERE.to_vec()),
        2 => select(JOINED.to_vec()),
        2 => select(WHOLE.to_vec()),
        2 => select(KEPT.to_vec()),
        1 => select(DROPPED.to_vec()),
        1 => select(WITHHELD.to_vec()),
        1 => select([KEPT_PREFIXES.as_slice(), &DROPPED_PREFIXES, &WITHHELD_PREFIXES].concat()),
        6 => select(vec!["auth", "au", "th", "or", "o", "i", "s", "z", "ity", "api", "access", "private", "key"]),
        4 => select(vec!["x", "-", "_", ".", "2", "to", "ken", "acme", "side", "n", "*", "s"]),
        1 => select(vec![" ", ":", "/", "\u{e9}"]),
    ]
    .prop_map(str::to_owned)
}

/// Names near the lists: theirs, pieces of theirs put together, cut off, in any case.
fn name() -> impl Strategy<Value = String> {
    let pieces = prop::collection::vec(piece(), 0..5);
    let name = (pieces, select(vec!["", "-"]), 0..4_usize).prop_map(|(pieces, between, cut)| {
        let joined = pieces.join(between);
        let length = joined.chars().count();
        // Mostly whole: a cut is the rarer case.
        joined.chars().take(if cut == 3 { length.saturating_sub(1) } else { length }).collect()
    });
    name.prop_flat_map(any_case)
}

fn patterns() -> impl Strategy<Value = Vec<String>> {
    let inner = prop_oneof![
        select([KEPT.as_slice(), &DROPPED, &WITHHELD, &ANYWHERE, &NO_SECRETS].concat()),
        select(vec!["x-", "-key", "a", "e", "o", "acme", "x-acme", "key", "to"]),
    ];
    let pattern = (select(vec!["", "*"]), inner, select(vec!["", "*"]))
        .prop_map(|(start, inner, end)| [start, inner, end].concat());
    prop::collection::vec(pattern.prop_flat_map(any_case), 0..4)
}

/// The nearest name that can be a pattern.
fn as_pattern(name: &str) -> String {
    let name: String = name.chars().filter(|&c| c.is_ascii_alphanumeric() || "-_.".contains(c)).collect();
    if name.is_empty() { "x".to_owned() } else { name }
}

fn rules(persist: &[String], deny: &[String]) -> Rules {
    Rules::new(persist.join("\n").as_bytes(), deny.join("\n").as_bytes()).unwrap()
}

/// Every name that the vectors call withheld by our own lists.
fn denied_names() -> Vec<String> {
    let rows = vectors("headers.json").into_iter();
    let own = rows.filter(|row| row["class"] == "withheld" && row["deny"].is_null());
    own.map(|row| row["name"].as_str().unwrap().to_lowercase()).collect()
}

fn secrets() -> Vec<String> {
    let rows = vectors("header-values.json").into_iter();
    let values = rows
        .filter(|row| row["secret"] == true && row["member"].is_null())
        .map(|row| row["value"].as_str().unwrap().to_owned());
    // At the start a scheme needs nothing like a token behind it; amid text only those count that have one.
    let scheme =
        |value: &String| ["b", "d"].contains(&value.trim_start().to_lowercase().get(..1).unwrap_or(""));
    values.filter(|value| !scheme(value) || value.starts_with("dop_v1_")).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases()))]

    #[test]
    fn s12_a_class_is_that_of_the_model(name in name(), persist in patterns(), deny in patterns()) {
        let got = classify_name(&rules(&persist, &deny), name.as_bytes());
        prop_assert_eq!(got, model(&name, &persist, &deny));
    }

    #[test]
    fn s12_no_denied_name_is_kept_whatever_is_persisted(
        name in select(denied_names()).prop_flat_map(any_case), mut persist in patterns(), deny in patterns(),
    ) {
        persist.push(name.clone());
        persist.push("*".to_owned() + &name[..1] + "*");
        let there = classify_name(&rules(&persist, &deny), name.as_bytes());
        persist.reverse();
        let back = classify_name(&rules(&persist, &deny), name.as_bytes());
        prop_assert_eq!((there, back), (Class::Withheld, Class::Withheld));
    }

    #[test]
    fn s12_what_a_user_denies_is_never_kept(name in name(), mut deny in patterns(), persist in patterns()) {
        let name = as_pattern(&name);
        deny.push(name.clone());
        let got = classify_name(&rules(&persist, &deny), name.as_bytes());
        prop_assert!(matches!(got, Class::Withheld | Class::Dropped), "{:?}", got);
    }

    #[test]
    fn the_allow_list_is_kept_in_any_case(name in select(KEPT.to_vec()), capitals in any::<u128>(), persist in patterns()) {
        let name: Vec<u8> = name.bytes().enumerate()
            .map(|(at, byte)| if capitals >> at & 1 == 1 { byte.to_ascii_uppercase() } else { byte }).collect();
        prop_assert_eq!(classify_name(&rules(&persist, &[]), &name), Class::Kept);
    }

    #[test]
    fn s12_a_secret_is_found_amid_any_text(
        secret in select(secrets()), before in "([^A-Za-z0-9_.-]|[a-z ]{0,9} )?", after in "([^A-Za-z0-9_-].{0,20})?",
    ) {
        let value = [before.as_str(), &secret, &after].concat();
        prop_assert!(looks_secret(value.as_bytes()), "{:?}", value);
    }

    #[test]
    fn s12_a_scheme_is_found_in_any_case_after_any_space(
        scheme in select(vec!["basic", "bearer", "digest", "dpop"]).prop_map(str::to_owned).prop_flat_map(any_case),
        outer in "[ \t]{0,3}", inner in "[ \t]{1,9}", short in "[!-~]{1,7}", long in "[A-Za-z0-9._~+/-]{8,40}=?",
        before in "[a-z ]{0,9}[ ,;=(\"]", after in "([ ,;)\"].{0,9})?",
    ) {
        let at_start = [outer.as_str(), &scheme, &inner, &short].concat();
        prop_assert!(looks_secret(at_start.as_bytes()), "{:?}", at_start);
        let amid = [before.as_str(), &scheme, &inner, &long, &after].concat();
        prop_assert!(looks_secret(amid.as_bytes()), "{:?}", amid);
    }

    #[test]
    fn no_bytes_panic(
        name in prop::collection::vec(any::<u8>(), 0..80), value in prop::collection::vec(any::<u8>(), 0..200),
        persist in prop::collection::vec(any::<u8>(), 0..20),
    ) {
        let rules = Rules::new(&persist, &value).or_else(|_| Rules::new(&persist, b"")).unwrap_or_default();
        classify_name(&rules, &name);
        looks_secret(&value);
        prop_assert_eq!(check_value(&value), !value.iter().any(|byte| [0, 10, 13].contains(byte)));
        url_secrets(&value, &mut |secret| assert!(secret.start <= secret.value && secret.value < secret.end && secret.end <= value.len()));
    }

    #[test]
    fn s12_a_stripped_url_has_no_secret_and_is_left_as_it_is(
        parts in prop::collection::vec(select(vec![
            "a=1", "sig=x", "token=y", "key=", "key=z", "q=Bearer+EXAMPLE", "n=%41KIA0000EXAMPLE00000", "&", "?", "#", "=",
            "%", "/", "@", "u:p@", ";", "%73ig=1", "userSid=1", "x", ";jsessionid=1", "code=1", "%2563ode=1", "n=%7B%22pin%22:1",
            "to=https%3A%2F%2Fb.test%2F%3Fcode%3D1", "hooks/0123456789abcdef", "bot1:AAAAAAAAAAAAAAAAAAAAA",
        ]), 0..8),
        between in select(vec!["&", "", "?"]), start in select(vec!["https://a.test/?", "https://a.test/#", "https://", "https://a.test/"]),
    ) {
        let url = [start, &parts.join(between)].concat();
        let mut ends = Vec::new();
        let mut in_path = 0;
        url_secrets(url.as_bytes(), &mut |secret| {
            if secret.in_path { in_path += 1 } else { ends.push((secret.start, secret.end)) }
        });
        prop_assert!(ends.windows(2).all(|pair| pair[0].1 < pair[1].0), "{} {:?}", url, ends);
        let left = without_secrets(url.as_bytes());
        prop_assert_eq!(ends.is_empty(), left == url.as_bytes());
        let mut more = 0;
        url_secrets(&left, &mut |secret| more += i32::from(!secret.in_path));
        prop_assert_eq!(more, 0, "{} -> {}", url, String::from_utf8_lossy(&left));
    }
}
