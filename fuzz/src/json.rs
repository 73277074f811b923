//! Canonical JSON, beside `serde_json`. The bytes are the text.

use redrive::json::{JsonErrorKind, NativeNumbers, canonicalize, canonicalize_exact};
use serde_json::Value;

/// `serde_json` gives up beyond 128; ours has no such limit.
const DEEPEST: usize = 120;

pub fn check(text: &[u8]) {
    let canonical = canonicalize(text, &mut NativeNumbers);
    let exact = canonicalize_exact(text, &mut NativeNumbers);
    let theirs = (nesting(text) < DEEPEST).then(|| read(text)).flatten();
    let canonical = match canonical {
        Ok(canonical) => canonical,
        Err(error) => {
            assert!(error.at <= text.len(), "{error}");
            assert!(!error.to_string().is_empty());
            let exact = exact.expect_err("exact is stricter");
            assert!(exact == error || exact.kind == JsonErrorKind::InexactNumber, "{exact} {error}");
            // Theirs keep the last of two members of one name.
            let ours_alone =
                matches!(error.kind, JsonErrorKind::DuplicateName | JsonErrorKind::NumberTooLarge);
            assert!(ours_alone || theirs.is_none_or(|theirs| theirs.is_err()), "refused: {error}");
            return;
        }
    };

    assert!(canonical.len() * 4 <= text.len() * 21, "longer than 5.25 times the text");
    assert_eq!(canonicalize(&canonical, &mut NativeNumbers).as_ref(), Ok(&canonical), "idempotent");
    // What is printed is what a double holds, so it is exact.
    assert_eq!(canonicalize_exact(&canonical, &mut NativeNumbers).as_ref(), Ok(&canonical));
    match exact {
        Ok(exact) => assert_eq!(exact, canonical),
        Err(error) => assert_eq!(error.kind, JsonErrorKind::InexactNumber),
    }
    if let Some(theirs) = theirs {
        let theirs = theirs.expect("taken by us alone");
        let Some(again) = read(&canonical) else { return };
        assert!(alike(&theirs, &again.expect("canonical JSON is JSON")));
    }
}

/// What `serde_json` reads. Nothing where it gives up on a number: it rounds some that are next to the
/// largest double the wrong way, without its feature `float_roundtrip`.
fn read(text: &[u8]) -> Option<serde_json::Result<Value>> {
    let value = serde_json::from_slice::<Value>(text);
    let gave_up = value.as_ref().is_err_and(|error| error.to_string().starts_with("number out of range"));
    (!gave_up).then_some(value)
}

/// An upper bound of how deep a text is nested.
fn nesting(text: &[u8]) -> usize {
    text.iter().filter(|byte| matches!(byte, b'[' | b'{')).count()
}

fn alike(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Number(one), Value::Number(other)) => {
            // Without its feature `float_roundtrip` their parser may miss the nearest double by one or two.
            let (one, other) = (one.as_f64().unwrap(), other.as_f64().unwrap());
            one == other || (one - other).abs() <= one.abs() * 1e-15 + f64::MIN_POSITIVE * 1e-15
        }
        (Value::Array(one), Value::Array(other)) => {
            one.len() == other.len() && one.iter().zip(other).all(|(one, other)| alike(one, other))
        }
        (Value::Object(one), Value::Object(other)) => {
            let same = |(name, value)| other.get(name).is_some_and(|other| alike(value, other));
            one.len() == other.len() && one.iter().all(same)
        }
        _ => one == other,
    }
}
