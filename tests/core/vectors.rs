//! Every row of `tests/vectors/`, natively. The same rows go through the wasm in `tests/js`.

use crate::common::{options, policy, vectors};
use redrive::backoff::{Draw, delay};
use redrive::breaker::Circuit;
use redrive::classify::{Beside, Class, RetryDecision, classify, evaluate_retry_status};
use redrive::curve::Growth;
use redrive::policy::{Jitter, Policy, PolicyOptions, Share, Strategy};
use redrive::rng::SplitMix64;
use redrive::task::{Flags, Outcome, Reason};
use redrive::time::Millis;
use serde_json::{Value, json};

fn u32_of(value: &Value) -> u32 {
    u32::try_from(value.as_u64().unwrap()).unwrap()
}

/// The options that a row's strategy and params stand for.
fn options_of(row: &Value) -> Value {
    let params = &row["params"];
    let exponential = |jitter: &str| {
        json!({
            "strategy": "exponential", "initialDelayMs": params["base"], "multiplier": params["mult"],
            "maxDelayMs": params["cap"], "jitterType": jitter, "jitterRatio": params["ratio"],
        })
    };
    match row["strategy"].as_str().unwrap() {
        "exponential" => exponential("NONE"),
        "full" => exponential("FULL"),
        "equal" => exponential("EQUAL"),
        "additive" => exponential("ADDITIVE"),
        "proportional" => exponential("PROPORTIONAL"),
        "decorrelated" => exponential("DECORRELATED"),
        "decorrelated_clamped" => exponential("DECORRELATED_CLAMPED"),
        "linear" => json!({
            "strategy": "linear", "initialDelayMs": params["base"], "stepMs": params["step"],
            "maxDelayMs": params["cap"], "jitterType": "NONE",
        }),
        "fixed" => json!({ "strategy": "fixed", "initialDelayMs": params["delay"], "jitterType": "NONE" }),
        "zizq" => json!({
            "strategy": "polynomial", "baseMs": params["base"], "exponent": params["exponent"],
            "jitterMs": params["jitter"],
        }),
        "spread" => json!({
            "strategy": "spread", "initialDelayMs": params["base"], "multiplier": params["mult"],
            "maxDelayMs": params["cap"],
        }),
        published => json!({ "strategy": published }),
    }
}

#[test]
fn s10_every_backoff_row_holds_to_the_millisecond() {
    let rows = vectors("backoff.json");
    assert_eq!(rows.len(), 1291);
    for row in rows {
        let u32 = u32_of(&row["u32"]);
        let previous = row["prevDelayMs"].as_u64().map(Millis::new);
        // A row of spread gives the phase, and has no fresh jitter.
        let draw = match row["strategy"].as_str() {
            Some("spread") => Draw { r32: 1 << 31, phase: u32, previous },
            _ => Draw { r32: u32, phase: 0, previous },
        };
        let got = delay(&policy(options_of(&row)), u32_of(&row["attempt"]), draw);
        assert_eq!(got.get(), row["delayMs"].as_u64().unwrap(), "{row}");
    }
}

#[test]
fn s10_our_own_backoff_rows_hold_to_the_millisecond() {
    let rows = vectors("backoff-own.json");
    assert_eq!(rows.len(), 2049);
    for row in rows {
        let phase = if row["phase"].is_null() { 0 } else { u32_of(&row["phase"]) };
        let previous = row["prevDelayMs"].as_u64().map(Millis::new);
        let draw = Draw { r32: u32_of(&row["u32"]), phase, previous };
        let got = delay(&policy(row["options"].clone()), u32_of(&row["attempt"]), draw);
        assert_eq!(got.get(), row["delayMs"].as_u64().unwrap(), "{row}");
    }
}

fn decimal(share: Share) -> f64 {
    f64::from(share.parts()) / 1e9
}

/// The shape of the waits, as the vectors put it.
fn shape(strategy: &Strategy) -> Value {
    match strategy {
        Strategy::Curved(curve, jitter) => {
            let (strategy, multiplier, step) = match curve.growth {
                Growth::Exponential { multiplier } => ("exponential", Some(multiplier), None),
                Growth::Linear { step } => ("linear", None, Some(step.get())),
                Growth::Fixed => ("fixed", None, None),
            };
            let (jitter, ratio) = match jitter {
                Jitter::None => ("NONE", None),
                Jitter::Full => ("FULL", None),
                Jitter::Equal => ("EQUAL", None),
                Jitter::Decorrelated => ("DECORRELATED", None),
                Jitter::Additive => ("ADDITIVE", None),
                Jitter::Proportional(share) => ("PROPORTIONAL", Some(decimal(*share))),
                Jitter::DecorrelatedClamped => ("DECORRELATED_CLAMPED", None),
            };
            json!({
                "strategy": strategy, "initialDelayMs": curve.base.get(), "multiplier": multiplier,
                "stepMs": step, "jitterType": jitter, "jitterRatio": ratio,
            })
        }
        Strategy::Polynomial { base, exponent, jitter } => json!({
            "strategy": "polynomial", "baseMs": base.get(), "exponent": exponent, "jitterMs": jitter.get(),
        }),
        Strategy::Sidekiq => json!({ "strategy": "sidekiq" }),
        Strategy::Buckets => json!({ "strategy": "buckets" }),
        Strategy::PaddedExponential => json!({ "strategy": "padded_exponential" }),
        Strategy::Spread(curve, fresh) => {
            let Growth::Exponential { multiplier } = curve.growth else { panic!("{curve:?}") };
            json!({
                "strategy": "spread", "initialDelayMs": curve.base.get(), "multiplier": multiplier,
                "freshJitter": decimal(*fresh),
            })
        }
        Strategy::Table(delays) => json!({
            "strategy": "table", "delaysMs": delays.iter().map(|delay| delay.get()).collect::<Vec<_>>(),
        }),
    }
}

/// What the vectors say of a sound policy, from the policy.
fn resolved(policy: &Policy) -> Value {
    let mut value = json!({
        "maxAttempts": policy.max_attempts(),
        "maxDelayMs": (policy.cap() != Millis::MAX).then(|| policy.cap().get()),
        "totalBudgetMs": policy.total_budget().get(),
        "retryNetworkErrors": policy.retry_network_errors(), "retryTimeouts": policy.retry_timeouts(),
        "attemptTimeoutMs": policy.attempt_timeout().get(),
        "estimatedCallMs": policy.estimated_call().map(Millis::get),
        "maxRetryAfterMs": policy.max_retry_after().get(), "keyTtlMs": policy.key_ttl().get(),
        "retryableStatusCodes": policy.retryable().iter().collect::<Vec<_>>(),
    });
    value.as_object_mut().unwrap().extend(shape(policy.strategy()).as_object().unwrap().clone());
    value
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
                assert_eq!(error.option(), row["error"]["option"], "{}: {error}", row["name"]);
            }
        }
    }
}

#[test]
fn a_curve_half_given_says_what_is_missing() {
    let three = PolicyOptions { strategy: Some(3.0), exponent: Some(2.0), ..Default::default() };
    let error = Policy::new(&three).unwrap_err();
    assert_eq!(
        error.to_string(),
        "baseMs: expected a number: baseMs, exponent and jitterMs, all three or none, got nothing"
    );
    let table = PolicyOptions { strategy: Some(8.0), ..Default::default() };
    let error = Policy::new(&table).unwrap_err();
    assert_eq!(error.to_string(), "delaysMs: expected a list of 1..=1000 delays, got 0");
}

#[test]
fn a_policy_crosses_as_a_row_of_numbers() {
    let mut fields = vec![f64::NAN; 21];
    fields[1] = 3.0;
    fields[19] = 2.0;
    fields[20] = 1.0;
    fields.extend([10.0, 20.0, 500.0]);
    let expected = Policy::new(&PolicyOptions {
        max_attempts: Some(3.0),
        delays_ms: Some(vec![10.0, 20.0]),
        retryable_status_codes: Some(vec![500.0]),
        ..PolicyOptions::default()
    });
    assert_eq!(Policy::from_fields(&fields), expected);
    assert_eq!(Policy::from_fields(&[]), Policy::new(&PolicyOptions::default()));
    for count in [4.0, 1e300, f64::INFINITY] {
        fields[20] = count;
        assert_eq!(Policy::from_fields(&fields).unwrap_err().option(), "retryableStatusCodes");
    }
}

#[test]
fn numbers_that_are_none_are_refused() {
    for wrong in [f64::INFINITY, f64::NEG_INFINITY, f64::NAN] {
        let refused = |options: PolicyOptions| Policy::new(&options).unwrap_err().option();
        let attempts = PolicyOptions { max_attempts: Some(wrong), ..Default::default() };
        assert_eq!(refused(attempts), "maxAttempts");
        let multiplier = PolicyOptions { multiplier: Some(wrong), ..Default::default() };
        assert_eq!(refused(multiplier), "multiplier");
        let strategy = PolicyOptions { strategy: Some(wrong), ..Default::default() };
        assert_eq!(refused(strategy), "strategy");
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
        "own_error",
        "aborted",
    ];
    let name = row["outcome"].as_str().unwrap();
    Outcome::from_code(u32::try_from(names.iter().position(|known| *known == name).unwrap()).unwrap())
}

#[test]
fn every_ended_call_is_classified_as_the_rows_say() {
    for row in vectors("classify.json") {
        let policy = policy(row["policy"].clone());
        let beside = Beside {
            unanswered: row["unanswered"] == true,
            asked: row["asked"] == true,
            said: row["shouldRetry"].as_bool(),
            handed_over: row["handedOver"] == true,
        };
        let got = match classify(&policy, outcome_of(&row), u32_of(&row["status"]), flags_of(&row), beside) {
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
