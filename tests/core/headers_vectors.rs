//! The rows about headers and URLs, natively.

use std::time::Duration;

use crate::common::vectors;
use cpu_time::ThreadTime;
use redrive::headers::{Class, Rules, check_value, classify_name, looks_secret};
use redrive::url_secrets::{url_secrets, without_secrets};
use serde_json::Value;

fn list(value: &Value) -> String {
    let names =
        value.as_array().map(|names| names.iter().map(|name| name.as_str().unwrap()).collect::<Vec<_>>());
    names.unwrap_or_default().join("\n")
}

fn class(name: &str) -> Class {
    match name {
        "kept" => Class::Kept,
        "withheld" => Class::Withheld,
        "unknown" => Class::Unknown,
        "dropped" => Class::Dropped,
        "refused" => Class::Refused,
        other => panic!("no class {other}"),
    }
}

#[test]
fn s12_every_header_row_holds() {
    let rows = vectors("headers.json");
    assert!(rows.len() >= 260);
    for row in rows {
        let rules = Rules::new(list(&row["persist"]).as_bytes(), list(&row["deny"]).as_bytes()).unwrap();
        let got = classify_name(&rules, row["name"].as_str().unwrap().as_bytes());
        assert_eq!(got, class(row["class"].as_str().unwrap()), "{row}");
    }
}

#[test]
fn s12_every_value_row_holds() {
    let rows = vectors("header-values.json");
    assert!(rows.len() >= 80);
    for row in rows {
        let got = looks_secret(row["value"].as_str().unwrap().as_bytes());
        assert_eq!(got, row["secret"].as_bool().unwrap(), "{row}");
    }
}

#[test]
fn s12_every_url_row_holds_and_stripping_leaves_none() {
    let rows = vectors("url-secrets.json");
    assert!(rows.len() >= 50);
    for row in rows {
        let url = row["url"].as_str().unwrap();
        let mut names = Vec::new();
        url_secrets(url.as_bytes(), &mut |secret| {
            assert!(secret.start <= secret.value && secret.value < secret.end, "{row}");
            names.push(if url[secret.end..].starts_with('@') {
                "user info"
            } else {
                url[secret.start..secret.value].trim_end_matches('=')
            });
        });
        assert_eq!(
            names,
            row["secrets"].as_array().unwrap().iter().map(|name| name.as_str().unwrap()).collect::<Vec<_>>(),
            "{row}"
        );
        url_secrets(&without_secrets(url.as_bytes()), &mut |secret| {
            assert!(secret.in_path, "{row} is not stripped")
        });
    }
}

#[test]
fn a_value_that_would_end_its_header_is_refused() {
    for value in ["", "a", "a\tb", "\u{7f}", "\u{e9}"] {
        assert!(check_value(value.as_bytes()), "{value:?}");
    }
    for value in ["\r", "a\nb", "a\r\nx: y", "\0", "a\0"] {
        assert!(!check_value(value.as_bytes()), "{value:?}");
    }
}

/// One megabyte of what begins like a secret and never becomes one. Were a beginning to cost the
/// whole rest, one would take minutes; five seconds leave room for a slow machine. They are the
/// processor's, since a machine that does something else as well takes longer.
#[test]
fn a_megabyte_of_beginnings_takes_linear_time() {
    const SIZE: usize = 1 << 20;
    for piece in [
        "eyJ-",
        "eyJ.",
        "eyJhbGciOiJub25l.",
        "eyJhbGciOiJub25lIn0.a.",
        "AKIA",
        "AKIA-",
        "ghp_",
        "xoxb-0",
        "sk-",
        "-----BEGIN",
        "-",
        " ",
        "\t",
        "Bearer",
        "Bearer ",
        "a Basic a ",
        "basic\t\t",
        "a",
        "%",
        "%4",
        "=",
        "&",
        "?",
        "&a=b",
        "#",
        "@",
        "://",
        "auth",
        "author",
        "x-",
        "api-",
        "%61uthor",
    ] {
        let text: String = piece.chars().cycle().take(SIZE).collect();
        let started = ThreadTime::now();
        for before in ["", "a Bearer"] {
            looks_secret([before, &text].concat().as_bytes());
        }
        for before in ["", "https://a.test/?", "https://a.test/?a=", "https://a.test/#", "https://"] {
            let url = [before, &text].concat();
            assert!(without_secrets(url.as_bytes()).len() <= url.len());
        }
        let rules = Rules::new(b"x-a*\n*-key", b"*-deny").unwrap();
        classify_name(&rules, text.as_bytes());
        assert!(started.elapsed() < Duration::from_secs(5), "{piece:?}: {:?}", started.elapsed());
    }
}
