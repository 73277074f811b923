//! Every input that the fuzzers found worth keeping, held to the fuzzers' own assertions by any compiler.
//!
//! The assertions are in `fuzz/src/`, the inputs in `fuzz/corpus/`, a packed file a target (`fuzz/corpus.mjs` has the
//! format). New ones come from `npm run fuzz`. The queue's are worlds of the simulation: `sim/tests/core.rs`.

#[path = "../../fuzz/src/lib.rs"]
mod fuzz;

use std::path::Path;

/// Runs one target over its corpus. An input that fails is named.
fn over_the_corpus(target: &str, check: fn(&[u8])) {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/corpus").join(target).with_extension("bin");
    let packed = std::fs::read(file).unwrap();
    let inputs = fuzz::corpus::decode(&packed);
    assert!(inputs.len() >= 20, "{target}: only {} inputs", inputs.len());
    for (number, input) in inputs.iter().enumerate() {
        if std::panic::catch_unwind(|| check(input)).is_err() {
            panic!("{target}: input {number}, b\"{}\"", input.escape_ascii());
        }
    }
}

#[test]
fn s9_a_wait_is_the_largest_that_was_asked_for_and_dates_are_dates() {
    over_the_corpus("retry_after", fuzz::retry_after::check);
}

#[test]
fn a_rate_limit_is_read_whole_or_not_at_all() {
    over_the_corpus("ratelimit", fuzz::ratelimit::check);
}

#[test]
fn canonical_json_is_the_same_json_and_its_own_canonical_form() {
    over_the_corpus("json", fuzz::json::check);
}

#[test]
fn s12_urls_are_normal_once_and_without_secrets_after() {
    over_the_corpus("url", fuzz::url::check);
}

#[test]
fn s12_what_is_denied_is_kept_in_no_case_of_letters() {
    over_the_corpus("headers", fuzz::headers::check);
}

#[test]
fn s10_any_row_of_numbers_gives_no_policy_or_waits_in_their_range() {
    over_the_corpus("policy", fuzz::policy::check);
}
