//! Policies: a row of numbers, as it crosses the boundary, and the waits that come of it.
//!
//! Four numbers of the draw, then a byte for each field that says how the next bytes are one.

use redrive::backoff::{Draw, delay};
use redrive::policy::{FIELD_COUNT, LONGEST_MS, Policy, Strategy, WHOLE};
use redrive::schedule::schedule;
use redrive::time::Millis;

use super::input::Input;

/// More numbers than a row may use: 20, and two lists.
const MOST_FIELDS: usize = FIELD_COUNT + 1100;

pub fn check(bytes: &[u8]) {
    let mut input = Input(bytes);
    let (n, r32, phase) = (input.u32(), input.u32(), input.u32());
    let previous = Millis::from_f64(number(&mut input));
    let mut fields = Vec::new();
    while !input.0.is_empty() && fields.len() < MOST_FIELDS {
        fields.push(number(&mut input));
    }
    let policy = match Policy::from_fields(&fields) {
        Ok(policy) => policy,
        Err(error) => {
            assert!(!error.option().is_empty() && !error.to_string().is_empty());
            return;
        }
    };
    assert!((1..=1_000_000).contains(&policy.max_attempts()));
    for n in [0, 1, 2, n % 101, n, u32::MAX - 1, u32::MAX] {
        for previous in [None, Some(previous), Some(Millis::ZERO), Some(Millis::MAX)] {
            wait(&policy, n, Draw { r32, phase, previous });
        }
    }
    whole(&policy);
}

/// S10: a wait lies in the closed range of its window, and more of the draw is no shorter a wait.
fn wait(policy: &Policy, n: u32, draw: Draw) {
    let got = delay(policy, n, draw);
    let window = policy.window(n, draw.previous);
    let (low, high) = (window.at(0), window.at(WHOLE));
    assert!(low <= high && high <= policy.cap());
    if let Strategy::Spread(_, fresh) = policy.strategy() {
        let middle = window.at(u64::from(draw.phase));
        assert!(low <= middle && middle <= high);
        let share = fresh.of(middle);
        assert!(middle.minus(share) <= got && got <= middle.plus(share));
    } else {
        assert!(low <= got && got <= high, "{low:?} {got:?} {high:?}");
    }
    let longest = delay(policy, n, Draw { r32: u32::MAX, phase: u32::MAX, ..draw });
    let shortest = delay(policy, n, Draw { r32: 0, phase: 0, ..draw });
    assert!(shortest <= got && got <= longest);
    let mean = window.mean();
    assert!(between(low, mean, high), "{low:?} {mean} {high:?}");
}

/// What the waits come to, and that they are the waits.
fn whole(policy: &Policy) {
    let steps = schedule(policy);
    assert_eq!(steps.len(), policy.max_attempts().min(1001) as usize - 1);
    let mut total = Millis::ZERO;
    for (step, attempt) in steps.iter().zip(1..) {
        assert_eq!(step.attempt, attempt);
        assert!(step.min <= step.max && between(step.min, step.mean, step.max), "{step:?}");
        total = total.plus(step.max);
        assert_eq!(step.total_max, total);
        assert!(step.total_mean >= step.mean && step.total_mean.is_finite());
    }
    assert!(total <= policy.longest_schedule());
}

/// `mean` in `low..=high + 1`, but for the last bits of a float, and for the fifth of a percent
/// that decorrelated means may be off. Waits are rounded down, means are not.
fn between(low: Millis, mean: f64, high: Millis) -> bool {
    let (low, high) = (low.get() as f64, high.get() as f64);
    low <= mean * 1.002 && mean <= (high + 1.0) * 1.002
}

/// Not given, small, any u32, a decimal, a limit or any bits at all.
fn number(input: &mut Input) -> f64 {
    match input.u8() {
        0 => f64::NAN,
        1 => f64::from(input.u8()),
        2 => f64::from(input.u16()),
        3 => f64::from(input.u32()),
        4 => f64::from(input.u32()) / 1e9,
        5 => f64::from(input.u16()) / 100.0,
        6 => LONGEST_MS - f64::from(input.u8()),
        7 => f64::from(input.u32()) * 1000.0,
        8 => (input.u64() >> 11) as f64,
        9 => f64::from_bits(input.u64()),
        10 => -f64::from(input.u8()),
        small => f64::from(small - 11),
    }
}
