//! A task whose caller has left goes on as what was handed over.

use crate::rig::{retry_in, setup};
use redrive::policy::{Policy, PolicyOptions};
use redrive::queue::Verdict;
use redrive::slots::NONE;
use redrive::task::Reason;
use redrive::time::Millis;
use serde_json::json;

#[test]
fn s8_a_task_whose_caller_has_left_goes_on_under_another_policy_and_no_wait_ends_it() {
    let mut rig = setup(json!({ "maxAttempts": 2 }));
    let patient = PolicyOptions {
        strategy: Some(2.0),
        initial_delay_ms: Some(1000.0),
        jitter_type: Some(0.0),
        max_attempts: Some(300.0),
        ..PolicyOptions::default()
    };
    let patient = rig.queue.intern(Policy::new(&patient).unwrap());
    let waits_until = rig.time().plus(Millis::new(5_000));
    let slot = rig.called(waits_until);
    assert_eq!(rig.fail(slot), retry_in(1000));
    rig.queue.hand_over(slot, NONE);
    rig.queue.hand_over(slot, patient);
    rig.queue.release(patient);
    for attempt in 2..=300 {
        rig.wait(1000);
        assert_eq!(rig.starts(), [slot]);
        assert_eq!(rig.queue.attempts(slot), attempt);
        let expected = if attempt < 300 { retry_in(1000) } else { Verdict::Exhausted(Reason::MaxAttempts) };
        assert_eq!(rig.fail(slot), expected, "attempt {attempt}");
    }
    assert_eq!(rig.queue.depth(), 0);
}
