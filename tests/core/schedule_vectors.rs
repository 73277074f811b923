//! Schedules, presets and written durations, row by row, and the simulated means against brute force.

use crate::common::{options, policy, vectors};
use redrive::duration::parse_duration;
use redrive::policy::{Policy, presets};
use redrive::rng::SplitMix64;
use redrive::schedule::{Step, schedule};
use redrive::time::Millis;
use serde_json::{Value, json};

fn close(got: f64, expected: &Value) -> bool {
    let expected = expected.as_f64().unwrap();
    (got - expected).abs() <= expected * 1e-12
}

#[test]
fn schedules_are_as_worked_out_by_hand() {
    let rows = vectors("schedule.json");
    assert_eq!(rows.len(), 21);
    for row in rows {
        let got = schedule(&policy(row["options"].clone()));
        let expected = row["steps"].as_array().unwrap();
        assert_eq!(got.len(), expected.len(), "{}", row["name"]);
        for (got, expected) in got.iter().zip(expected) {
            let whole = json!([got.attempt, got.min.get(), got.max.get(), got.total_max.get()]);
            let names = ["attempt", "minMs", "maxMs", "totalMaxMs"];
            assert_eq!(whole, json!(names.map(|name| &expected[name])), "{}", row["name"]);
            let means =
                close(got.mean, &expected["meanMs"]) && close(got.total_mean, &expected["totalMeanMs"]);
            assert!(means, "{}: {got:?}", row["name"]);
        }
    }
}

#[test]
fn presets_are_as_published_and_nothing_cuts_their_schedule() {
    let own = [
        ("interactive", presets::interactive()),
        ("background", presets::background()),
        ("zizq", presets::zizq()),
        ("sidekiq", presets::sidekiq()),
        ("aws", presets::aws()),
        ("grpc", presets::grpc()),
        ("svix", presets::svix()),
    ];
    let rows = vectors("presets.json");
    assert_eq!(rows.len(), own.len());
    for (row, (name, preset)) in rows.iter().zip(own) {
        assert_eq!(row["name"], name);
        assert_eq!(options(&row["policy"]), preset, "{name}");
        let policy = Policy::new(&preset).unwrap();
        // Without a limit of attempts there is no longest: the budget ends it.
        if row["longestTotalMs"].is_null() {
            continue;
        }
        let longest = policy.longest_schedule();
        assert_eq!(longest.get(), row["longestTotalMs"].as_u64().unwrap(), "{name}");
        // Every attempt may also take as long as it is allowed to.
        let attempts = policy.attempt_timeout().get() * u64::from(policy.max_attempts());
        let room = longest.plus(Millis::new(attempts));
        assert!(room <= policy.total_budget() && room <= policy.key_ttl(), "{name}");
        assert_eq!(policy.total_budget().get() % 86_400_000, 0, "{name}");
        if let Some(days) = row["meanTotalDays"].as_f64() {
            let mean = schedule(&policy).last().unwrap().total_mean / 86_400_000.0;
            assert!((mean - days).abs() < 0.005, "{name}: {mean}");
        }
    }
}

#[test]
fn durations_are_read_to_the_letter() {
    for row in vectors("durations.json") {
        let got = parse_duration(row["text"].as_str().unwrap().as_bytes());
        assert_eq!(got.map(Millis::get), row["ms"].as_u64(), "{row}");
    }
    assert_eq!(parse_duration(b"\xFF1s"), None);
}

/// The mean of each wait over eight million independent tasks.
fn brute_force(base: f64, cap: f64, clamped: bool, retries: usize) -> Vec<f64> {
    const TASKS: usize = 8_000_000;
    let mut dice = SplitMix64::new(0x5EED);
    let mut sums = vec![0.0; retries];
    for _ in 0..TASKS {
        let mut wait = base;
        for sum in &mut sums {
            let high = if clamped { 3.0 * wait } else { (3.0 * wait).min(cap) };
            let u = f64::from(dice.next_u32()) / 4_294_967_296.0;
            wait = (base + u * (high.max(base) - base)).min(cap);
            *sum += wait;
        }
    }
    sums.iter().map(|sum| sum / TASKS as f64).collect()
}

fn decorrelated(jitter: &str, base: u32, cap: u64, attempts: usize) -> Vec<Step> {
    // A budget within the key's lifetime, so that no schedule is too long.
    schedule(&policy(json!({
        "initialDelayMs": base, "maxDelayMs": cap, "maxAttempts": attempts, "jitterType": jitter,
        "totalBudgetMs": 1000,
    })))
}

#[test]
fn decorrelated_means_are_within_a_fifth_of_a_percent_of_brute_force() {
    for (base, cap, attempts) in [(100, 30_000, 16), (500, 30_000, 11), (500, 900, 5), (400, 1200, 5)] {
        for (jitter, clamped) in [("DECORRELATED", false), ("DECORRELATED_CLAMPED", true)] {
            let steps = decorrelated(jitter, base, cap, attempts);
            let means = brute_force(f64::from(base), cap as f64, clamped, attempts - 1);
            for (step, mean) in steps.iter().zip(means) {
                let off = (step.mean / mean - 1.0).abs();
                assert!(off < 0.002, "{jitter} {base}..{cap}: {step:?} against {mean} ({off})");
            }
        }
    }
}

#[test]
fn decorrelated_means_are_exact_below_the_cap_and_never_pass_it() {
    for jitter in ["DECORRELATED", "DECORRELATED_CLAMPED"] {
        let mut mean = 1.0;
        for (n, step) in (1_i32..).zip(decorrelated(jitter, 1, 1 << 52, 100)) {
            mean = f64::midpoint(1.0, mean * 3.0);
            if 3.0_f64.powi(n) <= (1_u64 << 52) as f64 {
                assert!((step.mean / mean - 1.0).abs() < 1e-9, "{jitter}: {step:?} against {mean}");
            }
            assert!(step.mean <= mean * (1.0 + 1e-9) && step.mean <= (1_u64 << 52) as f64, "{step:?}");
        }
        for (base, cap) in [(0, 30_000), (0, 0), (500, 500), (500, 0), (40_000, 30_000)] {
            for step in decorrelated(jitter, base, cap, 4) {
                assert_eq!(step.mean, f64::from(base).min(cap as f64), "{jitter} {base}..{cap}");
            }
        }
    }
}
