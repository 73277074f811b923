//! The commands that print what the lab shows: `sim crowd`, and `sim spread` and `sim storm` with `--json`.

use std::fmt::Display;
use std::str::FromStr;

use redrive::policy::Policy;
use sim::crowd::draws::Waits;
use sim::lab;
use sim::storm::model::{Backlog, GATES, OUTAGE_MS, Outage, Setup, WAIT_MS, sound};
use sim::storm::run::Storm;

/// The value behind a flag.
pub trait Flags: Fn(&str) -> Option<String> {}
impl<F: Fn(&str) -> Option<String>> Flags for F {}

/// The value of a flag that lies in `low..=high`.
fn within<T: FromStr + PartialOrd + Display>(
    flag: &impl Flags,
    name: &str,
    default: T,
    (low, high): (T, T),
) -> Result<T, String> {
    let Some(text) = flag(name) else { return Ok(default) };
    let number = text.parse().ok().filter(|number| *number >= low && *number <= high);
    number.ok_or_else(|| format!("{name}: expected a number from {low} to {high}, got '{text}'"))
}

/// One of two words; whether it is the second.
fn second(flag: &impl Flags, name: &str, words: [&str; 2]) -> Result<bool, String> {
    match flag(name).as_deref() {
        None => Ok(false),
        Some(word) if words.contains(&word) => Ok(word == words[1]),
        Some(word) => Err(format!("{name}: expected {} or {}, got '{word}'", words[0], words[1])),
    }
}

/// The policy of `--fields`, a row of numbers as TypeScript's `policyFields` makes it.
fn row(flag: &impl Flags) -> Result<Option<Policy>, String> {
    let Some(text) = flag("--fields") else { return Ok(None) };
    let numbers: Result<Vec<f64>, _> = text.split(',').map(str::parse).collect();
    let numbers = numbers.map_err(|_| format!("--fields: expected numbers and commas, got '{text}'"))?;
    Policy::from_fields(&numbers).map(Some).map_err(|error| format!("--fields: {error}"))
}

const SEEDS: (u64, u64) = (0, (1 << 53) - 1);

/// `sim crowd`.
pub fn crowd(flag: impl Flags) -> Result<(), String> {
    let name = flag("--policy").unwrap_or("interactive".to_owned());
    let waits = match row(&flag)? {
        Some(policy) => Waits::Core(policy),
        None => lab::waits_named(&name).ok_or_else(|| {
            format!("--policy: expected a preset or a strategy of `sim spread`, got '{name}'")
        })?,
    };
    if waits.retries() == 0 {
        return Err("a policy of one attempt makes no retry".to_owned());
    }
    let jobs = within(&flag, "--jobs", 100, (1, 1_000_000))?;
    let retries = within(&flag, "--retries", 10, (1, 25))?;
    let seed = within(&flag, "--seed", 1, SEEDS)?;
    println!("{}", lab::crowd(&lab::crowd_of(waits, jobs, retries, seed)));
    Ok(())
}

/// `sim storm --json`.
pub fn outage(flag: impl Flags) -> Result<(), String> {
    let name = flag("--policy").unwrap_or("patient".to_owned());
    let policy = match row(&flag)? {
        Some(policy) => policy,
        None => sound(
            &lab::policy_named(&name)
                .ok_or_else(|| format!("--policy: expected patient or a preset, got '{name}'"))?,
        ),
    };
    let clients = within(&flag, "--clients", 200, (1, 20_000))?;
    let backlog = if second(&flag, "--backlog", ["deep", "short"])? { Backlog::Short } else { Backlog::Deep };
    let kind = match second(&flag, "--outage", ["hanging", "refusing"])? {
        true => Outage::Refusing,
        false => Outage::Hanging,
    };
    let setup = Setup::new(clients, backlog, kind);
    let setup = Setup {
        capacity: within(&flag, "--capacity", setup.capacity, (10.0, 10_000.0))?,
        load: within(&flag, "--load", setup.load, (0.01, 0.99))?,
        outage_ms: within(&flag, "--down", OUTAGE_MS / 1000, (1, 600))? * 1000,
        policy,
        wait_ms: second(&flag, "--calls", ["enqueued", "awaited"])?.then_some(WAIT_MS),
        ..setup
    };
    let gates = flag("--gates").unwrap_or("shipped".to_owned());
    let setup = lab::setup_behind(&gates, setup)
        .ok_or_else(|| format!("--gates: expected one of {}, got '{gates}'", GATES.join(", ")))?;
    let mut storm = Storm::new(setup.clone(), within(&flag, "--seed", 1, SEEDS)?);
    while !storm.advance(u64::MAX) {}
    println!("{}", lab::outage(&setup, &storm));
    Ok(())
}
