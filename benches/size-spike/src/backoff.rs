//! Every curve and every jitter, in integers; `libm` only for a fractional exponent.

use crate::policy::Policy;
use crate::time::{LATEST, scale};

fn doubled(base: u64, multiplier_milli: u64, cap: u64, n: u32) -> u64 {
    if multiplier_milli == 1_000 {
        return base.min(cap);
    }
    let mut value = u128::from(base) * 1_000_000;
    let limit = u128::from(cap) * 1_000_000;
    for _ in 1..n {
        if value >= limit || value == 0 {
            break;
        }
        value = value * u128::from(multiplier_milli) / 1_000;
    }
    (value.min(limit) / 1_000_000) as u64
}

fn jittered(policy: &Policy, value: u64, previous: u64, r32: u32) -> u64 {
    let (base, cap) = (policy.initial_ms, policy.cap_ms);
    match policy.jitter {
        1 => scale(value, r32),
        2 => value / 2 + scale(value - value / 2, r32),
        3 => {
            let high = base.max(cap.min(previous.max(base).saturating_mul(3)));
            base.saturating_add(scale(high.saturating_sub(base), r32))
        }
        4 => value.saturating_add(scale(base, r32)).min(cap),
        5 => {
            let share = (u128::from(value) * u128::from(policy.ratio_milli) / 1_000) as u64;
            value.saturating_sub(share).saturating_add(scale(share.saturating_mul(2), r32)).min(cap)
        }
        6 => base
            .saturating_add(scale(base.max(previous.saturating_mul(3)).saturating_sub(base), r32))
            .min(cap),
        _ => value,
    }
}

fn powers(k: u64, exponent: u32) -> u64 {
    (0..exponent).fold(1_u64, |product, _| product.saturating_mul(k))
}

pub fn delay(policy: &Policy, n: u32, r32: u32, phase: u32, previous: u64) -> u64 {
    let (cap, k) = (policy.cap_ms, u64::from(n.saturating_sub(1)));
    let ms = match policy.strategy {
        0 => jittered(policy, doubled(policy.initial_ms, policy.multiplier_milli, cap, n), previous, r32),
        1 => jittered(
            policy,
            policy.initial_ms.saturating_add(policy.step_ms.saturating_mul(k)).min(cap),
            previous,
            r32,
        ),
        2 => jittered(policy, policy.initial_ms, previous, r32),
        3 => {
            let power = libm::pow(f64::from(n), policy.exponent) * 1_000.0;
            let curve = if power < LATEST as f64 { power as u64 } else { LATEST };
            policy
                .base_ms
                .saturating_add(curve)
                .saturating_add(scale(policy.jitter_ms.saturating_mul(u64::from(n)), r32))
        }
        4 => powers(k, 4)
            .saturating_add(15)
            .saturating_mul(1_000)
            .saturating_add(scale(k.saturating_add(1).saturating_mul(30_000), r32)),
        5 => {
            let low = powers(k, 3);
            let span = powers(k.saturating_add(2), 3).saturating_sub(low);
            low.saturating_mul(1_000).saturating_add(scale(span.saturating_mul(1_000), r32))
        }
        6 => 180_000_u64.saturating_add(doubled(60_000, 2_000, LATEST, n)),
        7 => {
            let (here, next) = (
                doubled(policy.initial_ms, 2_000, cap, n),
                doubled(policy.initial_ms, 2_000, cap, n.saturating_add(1)),
            );
            let d = here.saturating_add(scale(if n <= 1 { next } else { next.saturating_sub(here) }, phase));
            let f = (u128::from(d) * u128::from(policy.fresh_milli) / 1_000) as u64;
            d.saturating_sub(f).saturating_add(scale(f.saturating_mul(2), r32))
        }
        _ => policy.delays.get(k as usize).or(policy.delays.last()).copied().unwrap_or(0),
    };
    ms.min(if policy.strategy == 7 { LATEST } else { cap })
}

/// Lowest, mean, highest delay and running sums, for each retry of a policy.
pub fn schedule(policy: &Policy) -> Vec<f64> {
    let (mut rows, mut mean_sum, mut high_sum, mut previous) = (Vec::new(), 0_u64, 0_u64, 0);
    for n in 1..policy.max_attempts {
        let low = delay(policy, n, 0, 0, 0);
        let high = delay(policy, n, u32::MAX, u32::MAX, previous);
        previous = high;
        let mean = low / 2 + high / 2;
        mean_sum = mean_sum.saturating_add(mean);
        high_sum = high_sum.saturating_add(high);
        rows.extend([low as f64, mean as f64, high as f64, mean_sum as f64, high_sum as f64]);
    }
    rows
}
