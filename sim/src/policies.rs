//! Random policies over every strategy and jitter, sound ones only.

use redrive::policy::{Policy, PolicyOptions, presets};

use crate::dice::Dice;
use crate::event::Spec;

fn sound(spec: &Spec) -> bool {
    Policy::from_fields(&spec.row()).is_ok()
}

/// One policy.
pub fn policy(dice: &mut Dice) -> Spec {
    if dice.chance(15) {
        let presets = [presets::zizq(), presets::sidekiq(), presets::aws(), presets::grpc(), presets::svix()];
        return from_options(&presets[dice.below(5) as usize]);
    }
    // Dice that are used up fall alike for ever.
    while !dice.is_spent() {
        let mut spec = draw(dice);
        if sound(&spec) {
            return spec;
        }
        // The key would be forgotten before the last retry: let the budget end first.
        spec.fields[5] = spec.fields[17].or(Some(86_400_000.0));
        if sound(&spec) {
            return spec;
        }
    }
    Spec::default()
}

fn draw(dice: &mut Dice) -> Spec {
    let mut spec = Spec::default();
    let code = dice.below(9);
    let brisk = dice.chance(60);
    let most = if brisk { 2000 } else { 3_600_000 };
    let mut set = |index: usize, value: f64| spec.fields[index] = Some(value);
    set(0, code as f64);
    if dice.chance(80) {
        let attempts = dice.pick(&[1, 2, 3, 4, 5, 8, 12, 26, 100]);
        set(1, f64::from(attempts));
    }
    set(2, dice.duration(most) as f64);
    if dice.chance(50) {
        set(3, dice.pick(&[1.0, 1.01, 1.1, 1.5, 2.0, 3.0, 10.0, 100.0]));
    }
    if dice.chance(50) || brisk {
        set(4, dice.duration(most * 8) as f64);
    }
    if dice.chance(25) {
        set(5, dice.within(most, dice_budget(brisk)) as f64);
    }
    set(6, dice.below(7) as f64);
    if dice.chance(30) {
        set(7, dice.below(101) as f64 / 100.0);
    }
    if dice.chance(30) {
        set(8, dice.below(51) as f64 / 100.0);
    }
    if dice.chance(50) {
        set(9, dice.duration(most) as f64);
    }
    if code == 3 && dice.chance(80) {
        set(10, dice.duration(most) as f64);
        set(11, dice.pick(&[0.0, 0.5, 1.0, 1.5, 2.0, 3.25, 4.0]));
        set(12, dice.duration(most) as f64);
    }
    if dice.chance(15) {
        set(13, dice.below(2) as f64);
    }
    if dice.chance(50) {
        set(15, dice.duration(1000) as f64);
    }
    if dice.chance(30) {
        set(16, dice.duration(if brisk { 5000 } else { 7_200_000 }) as f64);
    }
    if dice.chance(25) {
        set(17, dice.duration(dice_budget(brisk)) as f64);
    }
    if code == 8 {
        let count = dice.within(1, 6);
        spec.delays = Some((0..count).map(|_| dice.duration(most) as f64).collect());
    }
    if dice.chance(20) {
        let all = [401.0, 408.0, 409.0, 422.0, 425.0, 429.0, 500.0, 502.0, 503.0, 504.0, 599.0];
        spec.statuses = Some(all.into_iter().filter(|_| dice.chance(60)).collect());
    }
    spec
}

const fn dice_budget(brisk: bool) -> u64 {
    if brisk { 60_000 } else { 30 * 86_400_000 }
}

fn from_options(options: &PolicyOptions) -> Spec {
    let fields = [
        options.strategy,
        options.max_attempts,
        options.initial_delay_ms,
        options.multiplier,
        options.max_delay_ms,
        options.total_budget_ms,
        options.jitter_type,
        options.jitter_ratio,
        options.fresh_jitter,
        options.step_ms,
        options.base_ms,
        options.exponent,
        options.jitter_ms,
        options.retry_network_errors,
        options.attempt_timeout_ms,
        options.estimated_call_ms,
        options.max_retry_after_ms,
        options.key_ttl_ms,
        options.retry_timeouts,
    ];
    Spec { fields, delays: options.delays_ms.clone(), statuses: options.retryable_status_codes.clone() }
}
