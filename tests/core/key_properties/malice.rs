//! Texts that would hurt whoever recurses, copies at each level or compares at length.

use std::time::Duration;

use cpu_time::ThreadTime;
use redrive::json::{JsonErrorKind, NativeNumbers, canonicalize, canonicalize_exact};
use redrive::url::normalize;

use super::canonical;

#[test]
fn a_megabyte_of_malice_is_done_at_once() {
    const MB: usize = 1 << 20;
    let start = ThreadTime::now();

    let deep = "[".repeat(MB);
    let error = canonicalize(deep.as_bytes(), &mut NativeNumbers).unwrap_err();
    assert_eq!((error.at, error.kind), (MB, JsonErrorKind::UnexpectedEnd));
    let closed = "[".repeat(MB / 2) + &"]".repeat(MB / 2);
    assert!(canonical(closed.as_bytes()) == closed.as_bytes());

    // Each level out of order, so that each has to be moved.
    let levels = MB / 12;
    let text = r#"{"b":"#.repeat(levels) + "1" + &r#","a":2}"#.repeat(levels);
    let expected = r#"{"a":2,"b":"#.repeat(levels) + "1" + &"}".repeat(levels);
    assert!(canonical(text.as_bytes()) == expected.as_bytes());

    for prefix in [0, 1000] {
        let common = "x".repeat(prefix);
        let member = |number: usize| format!(r#""{common}{number:06}":0"#);
        let numbers = 0..MB / (prefix + 10);
        let list = |members: Vec<String>| format!("{{{}}}", members.join(","));
        let text = list(numbers.clone().rev().map(member).collect());
        assert!(canonical(text.as_bytes()) == list(numbers.map(member).collect()).as_bytes());
    }

    let escapes = format!(r#"["{}","{}"]"#, r"\u0041".repeat(MB / 12), r"\ud83d\ude00".repeat(MB / 24));
    let expected = format!(r#"["{}","{}"]"#, "A".repeat(MB / 12), "😀".repeat(MB / 24));
    assert!(canonical(escapes.as_bytes()) == expected.as_bytes());

    let numbers = format!("[{}1e20]", "1e20,".repeat(MB / 5));
    assert_eq!(canonical(numbers.as_bytes()).len(), 2 + 22 * (MB / 5) + 21);
    let small = format!("0.{}1", "0".repeat(MB));
    assert!(canonical(small.as_bytes()) == b"0");
    assert_eq!(
        canonicalize_exact(small.as_bytes(), &mut NativeNumbers).unwrap_err().kind,
        JsonErrorKind::InexactNumber
    );

    for path in ["/..", "/a/../", "/%2e%2e", "@", "é", "//", "\t"] {
        let url = format!("http://a/{}", path.repeat(MB / path.len()));
        assert!(normalize(url.as_bytes()).is_some());
    }
    assert!(normalize(format!("http://{}/", "1.".repeat(MB / 2)).as_bytes()).is_none());
    assert!(normalize(format!("http://[{}]/", "1:".repeat(MB / 2)).as_bytes()).is_none());

    let took = start.elapsed();
    assert!(took < Duration::from_secs(10), "about a third of a second when this was written, now {took:?}");
}
