//! What holds for every strategy, every attempt number and every draw.

use crate::common::cases;
use proptest::prelude::*;
use redrive::backoff::{Draw, delay};
use redrive::policy::{Policy, PolicyOptions};
use redrive::schedule::schedule;
use redrive::time::Millis;

const UNCOUNTABLE: f64 = 9_007_199_254_740_992.0;

fn ms() -> impl Strategy<Value = f64> {
    prop_oneof![Just(0), Just(1), Just(8_640_000_000_000_000), 0_u64..100_000, 0_u64..1 << 52]
        .prop_map(|ms: u64| ms as f64)
}

/// A decimal of nine places, which is as many as a share has.
fn share(parts: u32) -> impl Strategy<Value = f64> {
    (0..=parts).prop_map(|parts| f64::from(parts) / 1e9)
}

prop_compose! {
    fn options()(
        strategy in 0_u8..9, jitter in 0_u8..7, base in ms(), step in ms(), cap in prop::option::of(ms()),
        multiplier in prop_oneof![Just(1.0), Just(2.0), Just(1.5), 1.01..100.0_f64],
        ratio in prop_oneof![Just(0.0), Just(0.2), Just(1.0), share(1_000_000_000)],
        fresh in prop_oneof![Just(0.0), Just(0.1), Just(0.5), share(500_000_000)],
        exponent in prop_oneof![Just(0.0), Just(4.0), Just(8.0), Just(0.5), 0.0..8.0_f64],
        delays in prop::collection::vec(ms(), 1..20), attempts in 1_u32..=100,
    ) -> PolicyOptions {
        PolicyOptions {
            strategy: Some(f64::from(strategy)),
            jitter_type: Some(f64::from(jitter)),
            initial_delay_ms: Some(base),
            step_ms: Some(step),
            max_delay_ms: cap,
            multiplier: Some(multiplier),
            jitter_ratio: Some(ratio),
            fresh_jitter: Some(fresh),
            base_ms: Some(step),
            exponent: Some(exponent),
            jitter_ms: Some(base),
            delays_ms: Some(delays),
            max_attempts: Some(f64::from(attempts)),
            total_budget_ms: Some(1000.0),
            ..PolicyOptions::default()
        }
    }
}

fn attempt() -> impl Strategy<Value = u32> {
    prop_oneof![0_u32..40, Just(u32::MAX), any::<u32>()]
}

fn u32s() -> impl Strategy<Value = u32> {
    prop_oneof![Just(0), Just(1 << 31), Just(u32::MAX), any::<u32>()]
}

/// The documented range of a wait, closed, from the options as they were written and in plain
/// f64: the formulas once more, in another hand. (`powf` may overflow to infinity: the cap holds.)
fn range(o: &PolicyOptions, n: u32, previous: Option<f64>) -> (f64, f64) {
    let strategy = o.strategy.unwrap() as u8;
    let n = f64::from(n.max(1));
    let (k, base) = (n - 1.0, o.initial_delay_ms.unwrap());
    let default = [
        base.max(8_000.0),
        base.max(8_000.0),
        UNCOUNTABLE,
        UNCOUNTABLE,
        UNCOUNTABLE,
        UNCOUNTABLE,
        UNCOUNTABLE,
        47_000.0,
    ];
    let cap = o.max_delay_ms.unwrap_or_else(|| *default.get(usize::from(strategy)).unwrap_or(&UNCOUNTABLE));
    let grown = |k: f64| if base == 0.0 { 0.0 } else { (base * o.multiplier.unwrap().powf(k)).min(cap) };
    let cut = |low: f64, high: f64| (low.min(cap), high.min(cap));
    match strategy {
        0..=2 => {
            let v = match strategy {
                0 => grown(k),
                1 => (base + o.step_ms.unwrap() * k).min(cap),
                _ => base.min(cap),
            };
            let (r, p) = (o.jitter_ratio.unwrap(), previous.unwrap_or(base));
            match o.jitter_type.unwrap() as u8 {
                0 => (v, v),
                1 => (0.0, v),
                2 => (v / 2.0, v),
                3 => cut(base, base.max(cap.min(3.0 * p))),
                4 => cut(v, v + base),
                5 => cut(v * (1.0 - r), v * (1.0 + r)),
                _ => cut(base, base.max(3.0 * p)),
            }
        }
        3 => {
            let low = o.base_ms.unwrap() + n.powf(o.exponent.unwrap()) * 1000.0;
            cut(low, low + n * o.jitter_ms.unwrap())
        }
        4 => cut(k.powi(4) * 1000.0 + 15_000.0, k.powi(4) * 1000.0 + 15_000.0 + 30_000.0 * n),
        5 => cut(k.powi(3) * 1000.0, (k + 2.0).powi(3) * 1000.0),
        6 => cut(180_000.0 + 60_000.0 * 2_f64.powf(k), 180_000.0 + 60_000.0 * 2_f64.powf(k)),
        7 => {
            let high = if n == 1.0 { grown(0.0) + grown(1.0) } else { grown(n) };
            let (low, high) = cut(grown(k), high);
            let f = o.fresh_jitter.unwrap();
            (low * (1.0 - f), high * (1.0 + f))
        }
        _ => {
            let delays = o.delays_ms.as_ref().unwrap();
            let wait = delays[(k as usize).min(delays.len() - 1)];
            cut(wait, wait)
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases()))]

    #[test]
    fn s10_every_delay_lies_in_its_closed_range(
        options in options(), n in attempt(), r32 in u32s(), phase in u32s(), previous in prop::option::of(ms()),
    ) {
        let policy = Policy::new(&options).unwrap();
        let draw = Draw { r32, phase, previous: previous.map(Millis::from_f64) };
        let got = delay(&policy, n, draw).get() as f64;
        let (low, high) = range(&options, n, previous);
        // f64 is good to one part in 10^11 after all those steps; rounding down takes less than 1 ms,
        // and up to 2 in spread, which rounds twice.
        let (low, high) = (low.min(UNCOUNTABLE), high.min(UNCOUNTABLE));
        prop_assert!(got >= low * (1.0 - 1e-11) - 2.0, "{} below {}..{}", got, low, high);
        prop_assert!(got <= high * (1.0 + 1e-11), "{} above {}..{}", got, low, high);
    }

    #[test]
    fn s10_a_larger_draw_never_waits_less(
        options in options(), n in attempt(), a in (u32s(), u32s()), b in (u32s(), u32s()),
    ) {
        let policy = Policy::new(&options).unwrap();
        let at = |r32, phase| delay(&policy, n, Draw { r32, phase, previous: None });
        let least = at(a.0.min(b.0), a.1.min(b.1));
        prop_assert!(least <= at(a.0.max(b.0), a.1.max(b.1)));
    }

    #[test]
    fn s10_windows_of_spread_abut(base in 1_u32..100_000, factor in 3_u32..100_000, n in 1_u32..60) {
        let policy = Policy::new(&PolicyOptions {
            strategy: Some(7.0),
            initial_delay_ms: Some(f64::from(base)),
            max_delay_ms: Some(f64::from(base) * f64::from(factor)),
            fresh_jitter: Some(0.0),
            total_budget_ms: Some(1000.0),
            ..PolicyOptions::default()
        }).unwrap();
        let time = |retry, phase| -> u64 {
            (1..=retry).map(|n| delay(&policy, n, Draw { r32: 0, phase, previous: None }).get()).sum()
        };
        // The last phase is a hair short of 1, and each step is rounded down.
        let (end, next) = (time(n, u32::MAX), time(n + 1, 0));
        let hair = next / (1 << 32) + 1;
        prop_assert!(end <= next && next - end <= u64::from(n) + hair, "{} to {}", end, next);
    }

    #[test]
    fn s10_no_fresh_jitter_in_the_middle(options in options(), n in attempt(), phase in u32s()) {
        let of = |fresh| Policy::new(&PolicyOptions {
            strategy: Some(7.0), fresh_jitter: Some(fresh), ..options.clone()
        }).unwrap();
        let draw = Draw { r32: 1 << 31, phase, previous: None };
        prop_assert_eq!(delay(&of(0.5), n, draw), delay(&of(0.0), n, draw));
    }

    #[test]
    fn s10_a_schedule_holds_every_wait(options in options(), seed in any::<u64>()) {
        // Decorrelated means cost a thousand bins each: a few steps of them say as much.
        let few = PolicyOptions { max_attempts: options.max_attempts.map(|n| n.min(6.0)), ..options };
        let policy = Policy::new(&few).unwrap();
        let steps = schedule(&policy);
        prop_assert_eq!(steps.len(), policy.max_attempts() as usize - 1);
        let mut dice = redrive::rng::SplitMix64::new(seed);
        let phase = dice.next_u32();
        let mut previous = None;
        for step in &steps {
            let wait = delay(&policy, step.attempt, Draw { r32: dice.next_u32(), phase, previous });
            previous = Some(wait);
            prop_assert!(step.min <= wait && wait <= step.max, "{:?} {:?}", step, wait);
            let (low, high) = (step.min.get() as f64, step.max.get() as f64);
            let mean = step.mean * (1.0 - 1e-11);
            prop_assert!(step.mean.is_finite() && step.mean * (1.0 + 1e-11) >= low - 1.0 && mean <= high + 2.0, "{:?}", step);
        }
        if let Some(last) = steps.last() {
            prop_assert!(last.total_max <= policy.longest_schedule());
        }
    }
}
