//! Retry storms inside a queue: what is one, whom it is told to, and what it opens.

use crate::gated::{BREAKER, gated, roomy, storms};
use Circuit::{Closed, HalfOpen, Open};
use redrive::breaker::{BreakerRules, Circuit};
use redrive::gates::{Gates, OnStorm};
use redrive::queue::{Action, Gate};
use redrive::time::Millis;
use serde_json::json;

#[test]
fn news_of_a_lane_is_told_before_it_may_be_forgotten() {
    let gates = Gates { breaker: None, ..storms(OnStorm::Tell) };
    let mut rig = gated(gates, roomy(), json!({}));
    for _ in 0..20 {
        let slot = rig.begun();
        rig.fail(slot);
        rig.queue.cancel(slot);
    }
    assert!(!rig.queue.drop_lane(rig.lane));
    let lane = rig.lane;
    assert_eq!(rig.poll(), [Action::Storm(lane, 20)]);
    assert!(rig.queue.drop_lane(rig.lane));
}

#[test]
fn many_tasks_whose_first_attempt_failed_and_hardly_a_success_are_a_storm() {
    let gates = Gates { breaker: None, ..storms(OnStorm::Tell) };
    let mut rig = gated(gates, roomy(), json!({ "maxAttempts": 9 }));
    for _ in 0..21 {
        rig.failed();
        rig.hear(true);
    }
    assert!(rig.poll().is_empty(), "one task a success is a bad day, not a storm");
    rig.wait(11_000);
    for _ in 0..20 {
        let slot = rig.add();
        rig.start();
        rig.answer(slot, 200);
    }
    for _ in 0..30 {
        rig.add();
    }
    assert!(rig.poll().iter().all(|action| matches!(action, Action::Start(_))), "many tasks alone are none");
}

#[test]
fn a_storm_opens_the_breaker_where_it_shall_and_is_told_once_in_ten_seconds() {
    let policy = json!({ "maxAttempts": 9 });
    let mut rig = gated(
        Gates {
            breaker: Some(BreakerRules { after: Millis::new(3_600_000), ..BREAKER }),
            ..storms(OnStorm::Open)
        },
        roomy(),
        policy,
    );
    let ready = rig.add();
    (0..19).for_each(|_| _ = rig.failed());
    assert_eq!(rig.circuit(), Closed);
    rig.failed();
    let lane = rig.lane;
    assert_eq!(rig.poll(), [Action::Storm(lane, 20), Action::Circuit(lane, (Closed, Open))]);
    assert_eq!(rig.gate(ready), Gate::CircuitOpen, "S8");
    (0..20).for_each(|_| _ = rig.failed());
    assert!(rig.poll().is_empty(), "it was told of");
    rig.wait(10_000);
    (0..20).for_each(|_| _ = rig.failed());
    let news: Vec<Action> =
        rig.poll().into_iter().filter(|action| crate::gated::start_of(*action).is_none()).collect();
    assert_eq!(
        news,
        [
            Action::Circuit(lane, (Open, HalfOpen)),
            Action::Circuit(lane, (HalfOpen, Open)),
            Action::Storm(lane, 20)
        ]
    );
}
