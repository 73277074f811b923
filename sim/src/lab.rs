//! What the lab shows, as JSON: `sim crowd`, `sim spread --json` and `sim storm --json` print it for tests that compare the
//! element's tables, and `tests/vectors/lab.json` holds the built module to it.

use redrive::policy::{Field, Policy, PolicyOptions, presets};
use serde_json::{Value, json};

use crate::crowd::chart::{Crowd, Figures};
use crate::crowd::draws::Waits;
use crate::crowd::raster::Raster;
use crate::crowd::strategies;
use crate::spread::{self, Survey};
use crate::storm::measure::Second;
use crate::storm::model::{Backlog, GATES, Outage, Setup, WAIT_MS, patient, sound, variants};
use crate::storm::run::Storm;

/// The presets, and the policy of [`Setup::new`], by their names.
pub fn policy_named(name: &str) -> Option<PolicyOptions> {
    Some(match name {
        "patient" => patient(47_000.0),
        "interactive" => presets::interactive(),
        "background" => presets::background(),
        "zizq" => presets::zizq(),
        "sidekiq" => presets::sidekiq(),
        "aws" => presets::aws(),
        "grpc" => presets::grpc(),
        "svix" => presets::svix(),
        _ => return None,
    })
}

/// The waits of a strategy of the table, or else of a preset.
pub fn waits_named(name: &str) -> Option<Waits> {
    let known = strategies().into_iter().find(|strategy| strategy.name == name);
    known.map(|strategy| strategy.waits).or_else(|| Some(Waits::Core(sound(&policy_named(name)?))))
}

/// The gates under one of [`GATES`].
pub fn setup_behind(name: &str, setup: Setup) -> Option<Setup> {
    let place = GATES.iter().position(|gates| *gates == name)?;
    variants().get(place).map(|(_, gates)| setup.with(*gates))
}

/// A whole crowd.
pub fn crowd_of(waits: Waits, jobs: u32, retries: u32, seed: u64) -> Crowd {
    let mut crowd = Crowd::new(waits, jobs, retries, seed, None);
    while !crowd.advance(u32::MAX) {}
    crowd
}

/// The figures of a crowd, and those of each retry.
pub fn crowd(crowd: &Crowd) -> Value {
    let Figures { end_ms, wait_cv, bin_ms, idle, peak_count, mean_count, peak, load_cv } = crowd.figures();
    let retries: Vec<Value> = (1..)
        .zip(crowd.retries())
        .map(|(retry, of)| {
            json!({
                "retry": retry, "firstMs": of.first_ms, "meanMs": of.mean_ms, "lastMs": of.last_ms,
                "meanWaitMs": of.mean_wait_ms, "waitCv": of.wait_cv,
            })
        })
        .collect();
    json!({
        "endMs": end_ms, "waitCv": wait_cv, "idle": idle, "peak": peak, "peakCount": peak_count,
        "meanCount": mean_count, "binMs": bin_ms, "loadCv": load_cv, "retries": retries,
        "bins": crowd.bins().iter().map(|count| *count as u32).collect::<Vec<u32>>(),
    })
}

/// A row of the comparison. A lag without end is null.
pub fn row(name: &str, figures: &spread::Figures) -> Value {
    let spread::Figures { wait_cv, idle, idle_range, peak, load_cv, lag } = figures;
    json!({
        "name": name, "waitCv": wait_cv, "idle": idle, "idleRange": [idle_range.0, idle_range.1], "peak": peak,
        "loadCv": load_cv, "lagMean": lag.0, "lagWorst": lag.1,
    })
}

/// The comparison of all strategies, by `crowds` crowds each with the seeds from `first` on.
pub fn frontier(crowds: u64, first: u64) -> Value {
    let row =
        |strategy: crate::crowd::Strategy| row(strategy.name, &spread::figures(&strategy, crowds, first));
    strategies().into_iter().map(row).collect()
}

/// A storm: its figures, and its seconds.
pub fn outage(setup: &Setup, storm: &Storm) -> Value {
    let (figures, seconds) = (storm.figures(), storm.seconds());
    let column = |of: fn(&Second) -> u32| seconds.iter().map(of).collect::<Vec<u32>>();
    json!({
        "downAtS": setup.warm_up_ms as f64 / 1000.0, "backAtS": setup.back_ms() as f64 / 1000.0,
        "drainedS": figures.drained, "lastS": figures.last, "amplification": figures.amplification,
        "askedInVain": figures.asked_in_vain, "lost": figures.lost, "totalCalls": figures.calls,
        "collapsed": figures.collapsed, "idealS": setup.ideal_s(),
        "calls": column(|second| second.calls), "requests": column(|second| second.requests),
        "answered": column(|second| second.answered), "open": column(|second| second.open),
    })
}

/// A policy's row with these numbers given and no other.
fn fields(given: &[(Field, f64)]) -> Vec<Option<f64>> {
    let mut row = vec![None; redrive::policy::FIELD_COUNT];
    for (field, number) in given {
        row[*field as usize] = Some(*number);
    }
    row
}

/// The policy of a row, null standing for a number that is not given.
pub fn policy_of(row: &[Option<f64>]) -> Policy {
    let numbers: Vec<f64> = row.iter().map(|number| number.unwrap_or(f64::NAN)).collect();
    Policy::from_fields(&numbers).expect("the rows of the vectors are sound")
}

/// A policy as the vectors have it: a preset's name, or a row.
pub fn policy_in(vector: &Value) -> Policy {
    match vector["policy"].as_str() {
        Some(name) => sound(&policy_named(name).expect("the vectors name presets")),
        None => {
            policy_of(&serde_json::from_value::<Vec<Option<f64>>>(vector["fields"].clone()).expect("a row"))
        }
    }
}

/// What is asked in `tests/vectors/lab.json`.
fn questions() -> Vec<Value> {
    use Field::{
        Exponent, FreshJitter, InitialDelayMs, JitterType, KeyTtlMs, MaxAttempts, MaxDelayMs, Strategy,
    };
    let long = [(MaxAttempts, 100.0), (KeyTtlMs, 8.64e15)];
    let row = |more: &[(Field, f64)]| fields(&[&long, more].concat());
    let decorrelated =
        row(&[(Strategy, 0.0), (JitterType, 3.0), (InitialDelayMs, 15_000.0), (MaxDelayMs, 6e6)]);
    let doubling =
        row(&[(Strategy, 7.0), (InitialDelayMs, 10_000.0), (MaxDelayMs, 8.64e15), (FreshJitter, 0.1)]);
    let fraction =
        row(&[(Strategy, 3.0), (Field::BaseMs, 1000.0), (Exponent, 2.5), (Field::JitterMs, 20_000.0)]);
    vec![
        json!({ "kind": "crowd", "policy": "interactive", "jobs": 5, "retries": 25, "seed": 1, "times": true }),
        json!({ "kind": "crowd", "policy": "sidekiq", "jobs": 100, "retries": 10, "seed": 3 }),
        json!({ "kind": "crowd", "policy": "svix", "jobs": 1, "retries": 7, "seed": 0 }),
        json!({ "kind": "crowd", "fields": doubling, "jobs": 100, "retries": 10, "seed": 1 }),
        json!({ "kind": "crowd", "fields": fraction, "jobs": 30, "retries": 4, "seed": 9, "times": true }),
        json!({
            "kind": "crowd", "fields": decorrelated, "jobs": 40, "retries": 12, "seed": 9_007_199_254_740_991_u64,
            "width": 16, "height": 8,
        }),
        json!({ "kind": "frontier", "policy": "background", "crowds": 2, "seed": 7 }),
        json!({
            "kind": "outage", "policy": "interactive", "clients": 20, "capacityPerSecond": 60, "load": 0.6,
            "outageMs": 5000, "backlog": "deep", "outage": "refusing", "calls": "enqueued", "gates": "shipped",
            "seed": 1,
        }),
        json!({
            "kind": "outage", "policy": "interactive", "clients": 30, "capacityPerSecond": 60, "load": 0.5,
            "outageMs": 40_000, "backlog": "deep", "outage": "hanging", "calls": "awaited", "gates": "shipped",
            "seed": 3,
        }),
        json!({
            "kind": "outage", "policy": "background", "clients": 2100, "capacityPerSecond": 2500.5, "load": 0.55,
            "outageMs": 2000, "backlog": "short", "outage": "hanging", "calls": "enqueued", "gates": "breaker-budget",
            "seed": 2,
        }),
    ]
}

/// The answer to a question of the vectors, in slices of `slice` arrivals or ms.
pub fn answer(question: &Value, slice: u32) -> Value {
    let number = |name: &str| question[name].as_f64().unwrap_or(0.0);
    let policy = policy_in(question);
    let seed = question["seed"].as_u64().unwrap_or(0);
    match question["kind"].as_str() {
        Some("crowd") => {
            let width = number("width") as u32;
            let picture = (width > 0).then(|| Raster::new(width, number("height") as u32));
            let (jobs, retries) = (number("jobs") as u32, number("retries") as u32);
            let mut run = Crowd::new(Waits::Core(policy), jobs, retries, seed, picture);
            while !run.advance(slice) {}
            let mut answer = crowd(&run);
            if question["times"] == true {
                answer["times"] = json!(run.times());
            }
            if let Some(picture) = run.picture() {
                answer["raster"] = json!(picture.pixels());
            }
            answer
        }
        Some("frontier") => {
            let crowds = number("crowds") as u64;
            let mut own = Survey::new(Waits::Core(policy), crowds, seed);
            while !own.advance(slice) {}
            json!({ "rows": frontier(crowds, seed), "own": row("", &own.figures()) })
        }
        _ => {
            let backlog = if question["backlog"] == "short" { Backlog::Short } else { Backlog::Deep };
            let kind = if question["outage"] == "refusing" { Outage::Refusing } else { Outage::Hanging };
            let setup = Setup {
                capacity: number("capacityPerSecond"),
                load: number("load"),
                outage_ms: number("outageMs") as u64,
                policy,
                wait_ms: (question["calls"] == "awaited").then_some(WAIT_MS),
                ..Setup::new(number("clients") as u32, backlog, kind)
            };
            let gates = question["gates"].as_str().unwrap_or_default();
            let setup = setup_behind(gates, setup).expect("the vectors name gates");
            let mut storm = Storm::new(setup.clone(), seed);
            while !storm.advance(u64::from(slice)) {}
            outage(&setup, &storm)
        }
    }
}

/// `tests/vectors/lab.json`.
pub fn vectors() -> String {
    let convention = "Written by `npm run sim:lab -- --vectors tests/vectors/lab.json`: what the lab answers natively, which its module must answer to the last bit. \
                      A policy is a preset's name or a row of numbers, null where none is given.";
    let rows: Vec<String> = questions()
        .into_iter()
        .map(|question| json!({ "ask": question, "answer": answer(&question, u32::MAX) }).to_string())
        .collect();
    format!("{{\n\"convention\": {},\n\"vectors\": [\n{}\n]\n}}\n", json!(convention), rows.join(",\n"))
}
