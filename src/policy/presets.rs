//! Whole policies: this library's own two, and others under the names of those who published their schedules.
//!
//! A curve alone would mislead: 25 retries over 25 days are no use under the default budget of
//! one day. So attempts, budget and key lifetime come with it. Budget and key lifetime are the
//! longest schedule, the time the attempts themselves may take (at most 30 s each) and room for a
//! server that asks to wait, in whole days, and equal, so that no scheduled retry is cut.
//!
//! `keyTtlMs` says what the server does. Where a server documents a shorter memory than the
//! preset's, say so, and lower `totalBudgetMs` with it.
#![forbid(unsafe_code)]

use super::ATTEMPTS;
use super::PolicyOptions;
use super::check::DEFAULT_CAP;

const DAY_MS: f64 = 86_400_000.0;

/// For calls in the background: from 1 s up to 10 min, for as long as its key is safe.
pub fn background() -> PolicyOptions {
    PolicyOptions {
        strategy: Some(7.0),
        initial_delay_ms: Some(1000.0),
        multiplier: Some(1.5),
        max_delay_ms: Some(600_000.0),
        max_attempts: Some(1_000_000.0),
        ..PolicyOptions::default()
    }
}

/// For a call whose caller waits: 12 attempts from 500 ms to 8 s, full jitter. The defaults, by name.
pub fn interactive() -> PolicyOptions {
    PolicyOptions {
        strategy: Some(0.0),
        max_attempts: Some(f64::from(ATTEMPTS)),
        initial_delay_ms: Some(500.0),
        multiplier: Some(2.0),
        max_delay_ms: Some(DEFAULT_CAP as f64),
        jitter_type: Some(1.0),
        ..PolicyOptions::default()
    }
}

/// 25 retries in 24.99 days, by `15 + n^4 + u * 30 * n` seconds; 25.05 days at the longest.
/// Source: Zizq's documentation of its default backoff.
pub fn zizq() -> PolicyOptions {
    PolicyOptions {
        strategy: Some(3.0),
        base_ms: Some(15_000.0),
        exponent: Some(4.0),
        jitter_ms: Some(30_000.0),
        max_attempts: Some(26.0),
        ..lasting(30.0)
    }
}

/// 25 retries in 20.47 days, by `k^4 + 15 + u * 30 * (k + 1)` seconds from `k = 0`; 20.53 days
/// at the longest. Source: the wiki of Sidekiq, "Error Handling".
pub fn sidekiq() -> PolicyOptions {
    PolicyOptions { strategy: Some(4.0), max_attempts: Some(26.0), ..lasting(25.0) }
}

/// 3 attempts, full jitter of 1 s, then 2 s, with the cap at 20 s. The status codes are this
/// library's, not Amazon's. Source: AWS SDKs, retry behaviour, standard mode.
pub fn aws() -> PolicyOptions {
    PolicyOptions {
        strategy: Some(0.0),
        initial_delay_ms: Some(1000.0),
        multiplier: Some(2.0),
        max_delay_ms: Some(20_000.0),
        jitter_type: Some(1.0),
        max_attempts: Some(3.0),
        ..lasting(1.0)
    }
}

/// 4 attempts, 0.1 s doubling up to 1 s, a fifth more or less. `UNAVAILABLE` is what gRPC makes
/// of 429, 502, 503 and 504. Source: gRFC A6, the example of a retry policy, and gRPC's "HTTP to
/// gRPC status code mapping". Here the cap comes after the jitter, there before it.
pub fn grpc() -> PolicyOptions {
    PolicyOptions {
        strategy: Some(0.0),
        initial_delay_ms: Some(100.0),
        multiplier: Some(2.0),
        max_delay_ms: Some(1000.0),
        jitter_type: Some(5.0),
        jitter_ratio: Some(0.2),
        max_attempts: Some(4.0),
        retryable_status_codes: Some(vec![429.0, 502.0, 503.0, 504.0]),
        ..lasting(1.0)
    }
}

/// 8 attempts: at once, after 5 s, 5 min, 30 min, 2 h, 5 h, 10 h and 10 h, 27.6 hours in all.
/// Source: Svix's documentation of its retry schedule.
pub fn svix() -> PolicyOptions {
    let seconds = [5.0, 300.0, 1800.0, 7200.0, 18_000.0, 36_000.0, 36_000.0];
    PolicyOptions {
        strategy: Some(8.0),
        delays_ms: Some(seconds.map(|seconds: f64| seconds * 1000.0).to_vec()),
        max_attempts: Some(8.0),
        ..lasting(2.0)
    }
}

fn lasting(days: f64) -> PolicyOptions {
    PolicyOptions {
        total_budget_ms: Some(days * DAY_MS),
        key_ttl_ms: Some(days * DAY_MS),
        ..PolicyOptions::default()
    }
}
