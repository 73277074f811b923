//! Headers' names, the user's patterns and values: four texts, zero bytes between them.

use redrive::headers::{Class, Rules, check_value, classify_name, looks_secret};

use super::input::Input;

pub fn check(bytes: &[u8]) {
    let mut input = Input(bytes);
    let (name, persist, deny) = (input.until(0), input.until(0), input.until(0));
    value(input.0);
    let none = Rules::default();
    let built_in = classify_name(&none, name);
    assert_eq!(built_in == Class::Refused, !is_token(name), "a name is a token, and a token is a name");

    let rules = match Rules::new(persist, deny) {
        Ok(rules) => rules,
        Err(error) => {
            let list = if error.option == "denyHeaders" { deny } else { persist };
            assert!(error.index < list.split(|byte| *byte == b'\n').count());
            assert!(error.to_string().starts_with(error.option));
            return;
        }
    };
    let class = classify_name(&rules, name);
    for other in [name.to_ascii_lowercase(), name.to_ascii_uppercase(), toggled(name)] {
        assert_eq!(classify_name(&rules, &other), class, "the case of letters says nothing");
    }
    match built_in {
        // No option lifts these.
        Class::Refused | Class::Withheld | Class::Dropped => assert_eq!(class, built_in),
        Class::Kept => assert!(matches!(class, Class::Kept | Class::Withheld)),
        Class::Unknown => assert!(!matches!(class, Class::Refused | Class::Dropped)),
    }
    let denying = Rules::new(b"", deny).unwrap();
    if classify_name(&denying, name) == Class::Withheld {
        assert_eq!(class, Class::Withheld, "what is denied is not kept, whatever else is said");
    }
    if is_token(name) && !name.contains(&b'*') {
        named(name);
    }
}

/// A name is a pattern that fits itself, in any case.
fn named(name: &[u8]) {
    let other = toggled(name);
    let halves = [&name[..name.len() / 2], b"*"].concat();
    for pattern in [&other[..], &[b"*", &other[..]].concat(), &[&other[..], b"*"].concat(), &halves] {
        let Ok(denied) = Rules::new(b"*a*\n*e*", pattern) else { continue };
        assert!(matches!(classify_name(&denied, name), Class::Withheld | Class::Dropped));
        let kept = Rules::new(pattern, b"").unwrap();
        assert_ne!(classify_name(&kept, name), Class::Unknown);
    }
}

fn value(value: &[u8]) {
    let text = String::from_utf8_lossy(value);
    assert_eq!(check_value(value), !text.contains(['\r', '\n', '\0']));
    if looks_secret(value) {
        assert!(looks_secret(&[value, b" and more"].concat()), "what follows hides nothing");
        assert!(looks_secret(&[b" \t", value].concat()), "nor do spaces before it");
    }
    for secret in [&b"Bearer abcdefghij"[..], b"ghp_0123456789012345678901234567890123456789"] {
        for between in [&b" "[..], b"=", b"\""] {
            assert!(looks_secret(&[value, between, secret].concat()), "hidden by what comes before it");
        }
    }
}

/// RFC 9110, 5.6.2.
fn is_token(name: &[u8]) -> bool {
    let is_tchar = |byte: &u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(byte);
    !name.is_empty() && name.iter().all(is_tchar)
}

/// Every other letter in the other case.
fn toggled(name: &[u8]) -> Vec<u8> {
    let flip = |(at, byte): (usize, &u8)| {
        if at % 2 == 0 && byte.is_ascii_alphabetic() { byte ^ 0x20 } else { *byte }
    };
    name.iter().enumerate().map(flip).collect()
}
