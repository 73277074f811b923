//! Retries that somebody else makes, a Worker's while its request lives: the gates let them pass, and charge them, as
//! they do the queue's own.

use crate::gated::{OPEN_AT_MOST, breaker, gated, roomy};
use crate::rig::Rig;
use redrive::breaker::Circuit;
use redrive::budget::BudgetRules;
use redrive::gates::Gates;
use serde_json::json;

fn setup(per_success: f64) -> Rig {
    let gates = Gates { budget: Some(BudgetRules::new(2.0, per_success, 0.0)), ..breaker() };
    gated(gates, roomy(), json!({}))
}

fn pays(rig: &mut Rig) -> bool {
    rig.queue.pays(rig.time(), rig.lane)
}

#[test]
fn l6_two_tokens_are_two_retries_and_successes_bring_more() {
    let mut rig = setup(0.5);
    assert!(pays(&mut rig) && pays(&mut rig));
    assert!(!pays(&mut rig));
    rig.hear(true);
    assert!(!pays(&mut rig), "half a token is none");
    rig.hear(true);
    assert!(pays(&mut rig));
}

#[test]
fn s8_none_goes_while_the_breaker_is_not_closed_and_none_is_charged() {
    let mut rig = setup(0.0);
    rig.open_circuit();
    assert!(!pays(&mut rig));
    rig.wait(OPEN_AT_MOST);
    assert_eq!(rig.circuit(), Circuit::HalfOpen);
    assert!(!pays(&mut rig), "who sees whether the server is back is its first attempts");
    assert!((rig.tokens() - 2.0).abs() < f64::EPSILON);
}

#[test]
fn without_gates_and_without_the_lane_all_go() {
    let mut rig = gated(Gates::default(), roomy(), json!({}));
    for _ in 0..50 {
        rig.hear(false);
        assert!(pays(&mut rig));
    }
    assert!(rig.queue.drop_lane(rig.lane));
    assert!(pays(&mut rig));
}
