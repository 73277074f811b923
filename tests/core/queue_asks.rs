//! What may be asked of a wait from outside: by a hook, by "now", by the limit of one partition; and what a request without an
//! answer changes.

use crate::rig::{Rig, ended, retry_after, retry_in, second, setup};
use redrive::queue::{Carry, Ended, Past, Verdict};
use redrive::task::{Outcome, Reason};
use redrive::time::Millis;
use serde_json::{Value, json};

fn policy() -> Value {
    json!({ "strategy": "fixed", "initialDelayMs": 800, "jitterType": "NONE", "maxAttempts": 100 })
}

/// A task whose attempt runs.
fn started(rig: &mut Rig) -> u32 {
    let slot = rig.add();
    assert_eq!(rig.starts(), [slot]);
    slot
}

fn next(rig: &mut Rig, slot: u32, verdict: &Verdict) {
    let Verdict::Retry { delay, .. } = verdict else { panic!("{verdict:?}") };
    rig.wait(delay.get());
    assert_eq!(rig.starts(), [slot]);
}

fn answer(rig: &mut Rig, slot: u32, ended: &Ended) -> Verdict {
    rig.queue.settle(rig.time(), slot, ended)
}

#[test]
fn s9_now_is_now_three_times_and_then_the_curve_again() {
    let mut rig = setup(policy());
    let slot = started(&mut rig);
    for _ in 1..=3 {
        let verdict = rig.refuse(slot, 503, 0);
        assert_eq!(verdict, retry_after(0, 0, 0));
        next(&mut rig, slot, &verdict);
    }
    for _ in 4..=6 {
        let verdict = rig.refuse(slot, 503, 0);
        assert_eq!(
            verdict,
            retry_after(800, 0, 0),
            "a server that always says so is not asked without a pause"
        );
        next(&mut rig, slot, &verdict);
    }
}

#[test]
fn s9_a_hook_names_the_wait_in_place_of_the_curve_and_never_less_than_the_server_asked() {
    let mut rig = setup(policy());
    let slot = started(&mut rig);
    let given = |ms, server: Option<u64>| Ended {
        delay: Some(Millis::new(ms)),
        server_delay: server.map(Millis::new),
        ..ended(Outcome::Response, 502)
    };
    for (ms, server, expected) in [
        (0, None, 0),
        (70, None, 70),
        (90_000, None, 90_000),
        (3_000, Some(0), 3_000),
        (9_000, Some(2_000), 9_000),
    ] {
        let verdict = answer(&mut rig, slot, &given(ms, server));
        let Verdict::Retry { delay, wait, .. } = verdict else { panic!("{verdict:?}") };
        assert_eq!(wait.curve.get(), ms);
        assert_eq!(delay.get(), expected + wait.spread.get());
        next(&mut rig, slot, &verdict);
    }
    let verdict = answer(&mut rig, slot, &given(10, Some(20_000)));
    assert!(matches!(verdict, Verdict::Retry { delay, .. } if delay >= Millis::new(20_000)), "{verdict:?}");
    next(&mut rig, slot, &verdict);
    let too_long = given(u64::MAX, None);
    assert_eq!(answer(&mut rig, slot, &too_long), Verdict::Exhausted(Reason::TotalBudget));
}

#[test]
fn s8_a_hook_ends_a_task_and_does_not_lift_its_limits() {
    let said = |word, status| Ended { said: Some(word), ..ended(Outcome::Response, status) };
    let mut rig = setup(json!({ "maxAttempts": 2, "jitterType": "NONE", "initialDelayMs": 500 }));
    let slot = started(&mut rig);
    assert_eq!(answer(&mut rig, slot, &said(false, 503)), Verdict::Exhausted(Reason::Vetoed));
    let slot = started(&mut rig);
    let verdict = answer(&mut rig, slot, &said(true, 500));
    assert_eq!(verdict, retry_in(500));
    next(&mut rig, slot, &verdict);
    assert_eq!(answer(&mut rig, slot, &said(true, 500)), Verdict::Exhausted(Reason::MaxAttempts));
    let slot = started(&mut rig);
    assert_eq!(answer(&mut rig, slot, &said(false, 200)), Verdict::Succeeded);
}

#[test]
fn a_partitions_limit_binds_its_request_and_no_other_of_the_lane() {
    let mut rig = setup(policy());
    let limited = |partitioned, status| Ended {
        rate_limit: Some(Millis::new(30_000)),
        partitioned,
        ..ended(Outcome::Response, status)
    };
    let (slot, other) = (rig.add(), rig.add());
    assert_eq!(rig.starts(), [slot, other]);
    let verdict = answer(&mut rig, slot, &limited(true, 429));
    assert!(matches!(verdict, Verdict::Retry { delay, .. } if delay >= Millis::new(30_000)), "{verdict:?}");
    let third = rig.add();
    assert_eq!(rig.starts(), [third], "the lane is not held");
    assert_eq!(answer(&mut rig, other, &limited(false, 200)), Verdict::Succeeded);
    rig.add();
    assert!(rig.starts().is_empty(), "the limit of all holds it");
}

#[test]
fn s1_a_409_is_still_processed_where_an_attempt_before_had_no_answer() {
    for lost in [Outcome::NetworkError, Outcome::TimedOut] {
        let mut rig = setup(policy());
        let slot = started(&mut rig);
        let verdict = answer(&mut rig, slot, &ended(lost, 0));
        next(&mut rig, slot, &verdict);
        // a gateway in between says nothing about it
        for status in [503, 409, 409] {
            let verdict = rig.answer(slot, status);
            assert_eq!(verdict, retry_in(800), "{lost:?}, {status}");
            next(&mut rig, slot, &verdict);
        }
        assert_eq!(rig.answer(slot, 200), Verdict::Succeeded);
        let slot = started(&mut rig);
        assert_eq!(rig.answer(slot, 409), Verdict::Exhausted(Reason::NotRetryable), "its own");
    }
}

#[test]
fn s1_a_lease_takes_along_that_an_attempt_had_no_answer() {
    let mut rig = setup(policy());
    let slot = rig.adopt();
    let (verdict, carry) = rig.queue.settle_and_carry(rig.time(), slot, &ended(Outcome::TimedOut, 0));
    assert_eq!((verdict, carry.marks), (retry_in(800), Carry::UNANSWERED));
    let slot = rig.adopt_with(&Past { carry, ..second() }, |_| {});
    assert_eq!(rig.answer(slot, 409), retry_in(800));
    let slot = rig.adopt();
    assert_eq!(rig.answer(slot, 409), Verdict::Exhausted(Reason::NotRetryable));
}
