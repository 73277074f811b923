//! Every row of `tests/vectors/`, natively. The same rows go through the wasm in `tests/js`.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, clippy::arithmetic_side_effects)]

mod common;

use std::collections::BTreeMap;

use common::{options, policy, vectors};
use redrive::backoff::delay;
use redrive::classify::{Circuit, Class, RetryDecision, classify, evaluate_retry_status};
use redrive::curve::Growth;
use redrive::policy::{Jitter, Policy, PolicyOptions};
use redrive::retry_after::parse_retry_after;
use redrive::rng::SplitMix64;
use redrive::task::{Flags, Outcome, Reason};
use redrive::time::Millis;
use serde_json::{Value, json};

fn u32_of(value: &Value) -> u32 {
    u32::try_from(value.as_u64().unwrap()).unwrap()
}

/// The options that a row's strategy and params stand for; `None` for what comes later.
fn options_of(row: &Value) -> Option<Value> {
    let params = &row["params"];
    let exponential = |jitter: &str| {
        json!({
            "strategy": "exponential", "initialDelayMs": params["base"], "multiplier": params["mult"],
            "maxDelayMs": params["cap"], "jitterType": jitter,
        })
    };
    Some(match row["strategy"].as_str().unwrap() {
        "exponential" => exponential("NONE"),
        "full" => exponential("FULL"),
        "equal" => exponential("EQUAL"),
        "decorrelated" => exponential("DECORRELATED"),
        "linear" => json!({
            "strategy": "linear", "initialDelayMs": params["base"], "stepMs": params["step"],
            "maxDelayMs": params["cap"], "jitterType": "NONE",
        }),
        "fixed" => json!({ "strategy": "fixed", "initialDelayMs": params["delay"], "jitterType": "NONE" }),
        _ => return None,
    })
}

#[test]
fn s10_every_backoff_row_holds_to_the_millisecond() {
    let mut later = BTreeMap::new();
    let mut checked = 0;
    for row in vectors("backoff.json") {
        let Some(options) = options_of(&row) else {
            *later.entry(row["strategy"].as_str().unwrap().to_owned()).or_insert(0) += 1;
            continue;
        };
        let previous = row["prevDelayMs"].as_u64().map(Millis::new);
        let got = delay(&policy(options), u32_of(&row["attempt"]), u32_of(&row["u32"]), previous);
        assert_eq!(got.get(), row["delayMs"].as_u64().unwrap(), "{row}");
        checked += 1;
    }
    assert_eq!(checked, 608);
    let later: Vec<_> = later.keys().map(String::as_str).collect();
    let expected = [
        "additive",
        "buckets",
        "decorrelated_clamped",
        "padded_exponential",
        "proportional",
        "sidekiq",
        "spread",
        "zizq",
    ];
    assert_eq!(later, expected, "strategies that are not built yet");
}

#[test]
fn s10_other_multipliers_and_curves_hold_to_the_millisecond() {
    for row in vectors("backoff-own.json") {
        let policy = policy(row["options"].clone());
        let got = delay(&policy, u32_of(&row["attempt"]), u32_of(&row["u32"]), None);
        assert_eq!(got.get(), row["delayMs"].as_u64().unwrap(), "{row}");
    }
}

/// What the vectors say of a sound policy, from the policy.
fn resolved(policy: &Policy) -> Value {
    let curve = policy.curve();
    let (strategy, multiplier, step) = match curve.growth {
        Growth::Exponential { multiplier } => ("exponential", Some(multiplier), None),
        Growth::Linear { step } => ("linear", None, Some(step.get())),
        Growth::Fixed => ("fixed", None, None),
    };
    let jitter = match policy.jitter() {
        Jitter::None => "NONE",
        Jitter::Full => "FULL",
        Jitter::Equal => "EQUAL",
        Jitter::Decorrelated => "DECORRELATED",
    };
    json!({
        "strategy": strategy, "maxAttempts": policy.max_attempts(), "initialDelayMs": curve.base.get(),
        "multiplier": multiplier, "maxDelayMs": (curve.cap != Millis::MAX).then(|| curve.cap.get()),
        "totalBudgetMs": policy.total_budget().get(), "jitterType": jitter, "stepMs": step,
        "retryNetworkErrors": policy.retry_network_errors(),
        "attemptTimeoutMs": policy.attempt_timeout().get(),
        "estimatedCallMs": policy.estimated_call().map(Millis::get),
        "maxServerDelayMs": policy.max_server_delay().get(), "keyTtlMs": policy.key_ttl().get(),
        "retryableStatusCodes": policy.retryable().iter().collect::<Vec<_>>(),
    })
}

/// 2 and 2.0 are one number in JSON and two in serde_json.
fn same(a: &Value, b: &Value) -> bool {
    match (a.as_f64(), b.as_f64()) {
        (Some(a), Some(b)) => a == b,
        _ => a == b,
    }
}

#[test]
fn policies_resolve_or_are_refused_as_the_rows_say() {
    for row in vectors("policies.json") {
        match Policy::new(&options(&row["options"])) {
            Ok(policy) => {
                let got = resolved(&policy);
                let expected = row["ok"].as_object().unwrap_or_else(|| panic!("accepted: {row}"));
                for (name, value) in expected {
                    assert!(same(&got[name], value), "{}: {name} is {}", row["name"], got[name]);
                }
            }
            Err(error) => {
                assert_eq!(error.option, row["error"]["option"], "{}: {error}", row["name"]);
            }
        }
    }
}

#[test]
fn a_schedule_that_outlives_its_key_names_both() {
    let error = Policy::new(&PolicyOptions {
        jitter_type: Some(0.0),
        max_attempts: Some(3.0),
        key_ttl_ms: Some(1499.0),
        ..PolicyOptions::default()
    })
    .unwrap_err();
    assert_eq!(error.option, "keyTtlMs");
    assert_eq!(error.got, "1499");
    for part in ["1500", "totalBudgetMs", "86400000"] {
        assert!(error.expected.contains(part), "{error}");
    }
}

#[test]
fn what_comes_later_says_so() {
    for (options, got) in [
        (PolicyOptions { strategy: Some(7.0), ..Default::default() }, "spread, not available yet"),
        (PolicyOptions { jitter_type: Some(5.0), ..Default::default() }, "PROPORTIONAL, not available yet"),
    ] {
        assert_eq!(Policy::new(&options).unwrap_err().got, got);
    }
}

#[test]
fn a_policy_crosses_as_a_row_of_numbers() {
    let mut fields = vec![f64::NAN; 20];
    fields[1] = 3.0;
    fields[18] = 2.0;
    fields[19] = 1.0;
    fields.extend([10.0, 20.0, 500.0]);
    let read = PolicyOptions::from_fields(&fields).unwrap();
    let expected = PolicyOptions {
        max_attempts: Some(3.0),
        delays_ms: Some(vec![10.0, 20.0]),
        retryable_status_codes: Some(vec![500.0]),
        ..PolicyOptions::default()
    };
    assert_eq!(read, expected);
    assert_eq!(PolicyOptions::from_fields(&[]).unwrap(), PolicyOptions::default());
    for count in [4.0, 1e300, f64::INFINITY] {
        fields[19] = count;
        assert_eq!(PolicyOptions::from_fields(&fields).unwrap_err().option, "retryableStatusCodes");
    }
}

#[test]
fn numbers_that_are_none_are_refused() {
    for wrong in [f64::INFINITY, f64::NEG_INFINITY, f64::NAN] {
        let refused = |options: PolicyOptions| Policy::new(&options).unwrap_err().option;
        let attempts = PolicyOptions { max_attempts: Some(wrong), ..Default::default() };
        assert_eq!(refused(attempts), "maxAttempts");
        let multiplier = PolicyOptions { multiplier: Some(wrong), ..Default::default() };
        assert_eq!(refused(multiplier), "multiplier");
        let strategy = PolicyOptions { strategy: Some(wrong), ..Default::default() };
        assert_eq!(refused(strategy), "strategy");
    }
}

#[test]
fn s9_retry_after_is_read_to_the_letter() {
    let rows = vectors("retry-after.json");
    assert!(rows.len() >= 40);
    for row in rows {
        let now = Millis::new(row["now"].as_u64().unwrap());
        let got = parse_retry_after(row["header"].as_str().unwrap(), row["date"].as_str(), now);
        assert_eq!(got.map(Millis::get), row["ms"].as_u64(), "{row}");
    }
}

fn flags_of(row: &Value) -> Flags {
    let names = row["flags"].as_array().unwrap().iter();
    names.fold(Flags::default(), |flags, name| {
        flags.with(match name.as_str().unwrap() {
            "replayable" => Flags::REPLAYABLE,
            "key" => Flags::KEYED,
            "credentials" => Flags::CREDENTIALED,
            other => panic!("{other}"),
        })
    })
}

fn outcome_of(row: &Value) -> Outcome {
    let names = [
        "response",
        "network_error",
        "timed_out",
        "offline",
        "credentials_failed",
        "vetoed",
        "released",
        "redirect_refused",
    ];
    let name = row["outcome"].as_str().unwrap();
    Outcome::from_code(u32::try_from(names.iter().position(|known| *known == name).unwrap()).unwrap())
}

#[test]
fn every_ended_call_is_classified_as_the_rows_say() {
    for row in vectors("classify.json") {
        let policy = policy(row["policy"].clone());
        let got = match classify(&policy, outcome_of(&row), u32_of(&row["status"]), flags_of(&row)) {
            Class::Success => "success",
            Class::Retry => "retry",
            Class::Fail(Reason::NotRetryable) => "not_retryable",
            Class::Fail(Reason::KeyConflict) => "key_conflict",
            Class::Fail(Reason::Vetoed) => "vetoed",
            Class::Fail(other) => panic!("{other:?}: {row}"),
        };
        assert_eq!(got, row["decision"], "{row}");
    }
}

#[test]
fn bare_statuses_are_decided_as_the_rows_say() {
    for row in vectors("retry-status.json") {
        let circuit = match row["circuit"].as_str().unwrap() {
            "CLOSED" => Circuit::Closed,
            "OPEN" => Circuit::Open,
            _ => Circuit::HalfOpen,
        };
        let listed: Vec<u16> =
            row["codes"].as_array().unwrap().iter().map(|code| code.as_u64().unwrap() as u16).collect();
        let (count, most) = (u32_of(&row["retryCount"]), u32_of(&row["maxRetries"]));
        let got = match evaluate_retry_status(u32_of(&row["status"]), circuit, count, most, &listed) {
            RetryDecision::Enqueue => "ENQUEUE",
            RetryDecision::FailFast => "FAIL_FAST",
            RetryDecision::CircuitOpen => "CIRCUIT_OPEN",
        };
        assert_eq!(got, row["decision"], "{row}");
    }
}

#[test]
fn the_dice_fall_as_published() {
    for row in vectors("splitmix64.json") {
        let seed = u64::from_str_radix(row["seed"].as_str().unwrap(), 16).unwrap();
        let mut rng = SplitMix64::new(seed);
        for output in row["outputs"].as_array().unwrap() {
            assert_eq!(format!("{:016x}", rng.next_u64()), output.as_str().unwrap(), "{row}");
        }
    }
}
