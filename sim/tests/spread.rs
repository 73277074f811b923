//! The figures that the documentation of spread names.

#![allow(clippy::unwrap_used)]

use sim::crowd::strategies;
use sim::spread::{Figures, figures};

fn of(name: &str) -> Figures {
    figures(strategies().iter().find(|strategy| strategy.name == name).unwrap(), 100, 1)
}

fn near(measured: f64, published: f64) {
    assert!((measured - published).abs() <= 0.02, "{measured}, published {published}");
}

#[test]
fn the_variation_of_one_wait() {
    near(of("spread, no fresh jitter").wait_cv, 0.19);
    near(of("spread").wait_cv, 0.20);
    near(of("exponential, full jitter").wait_cv, 0.58);
}

#[test]
fn the_share_of_idle_time() {
    near(of("spread on sidekiq's curve").idle, 0.02);
    near(of("sidekiq").idle, 0.78);
    near(of("zizq").idle, 0.83);
    near(of("exponential, full jitter").idle, 0.24);
    // Published is the chart of one crowd, and chance moves this one by more than two points.
    let Figures { idle, idle_range: (low, high), .. } = of("buckets");
    assert!(low <= 0.16 && high >= 0.16, "{low} to {high}");
    near(idle, 0.14);
}

#[test]
fn the_variation_of_the_load_and_what_fresh_jitter_costs() {
    near(of("spread, no fresh jitter").load_cv.unwrap(), 0.22);
    near(of("spread").load_cv.unwrap(), 0.37);
}

#[test]
fn nobody_returns_later_than_the_outage_was_long_and_one_base_delay() {
    let base = 10.0 / 3600.0;
    assert!(of("spread, no fresh jitter").lag.1 <= 1.0 + base);
    assert!(of("exponential, full jitter").lag.1 > 2.0);
}
