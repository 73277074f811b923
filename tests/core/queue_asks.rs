//! What may be asked of a wait from outside: by a hook, by "now", by the limit of one partition; and what a request without an
//! answer changes.

use crate::rig::{Rig, ended, retry_after, retry_in, second, setup};
use redrive::queue::{Carry, Ended, Next, Past, Verdict};
use redrive::task::{Outcome, Reason};
use redrive::time::Millis;
use serde_json::{Value, json};

fn policy() -> Value {
    json!({ "strategy": "fixed", "initialDelayMs": 800, "jitterType": "NONE", "maxAttempts": 100 })
}

fn next(rig: &mut Rig, slot: u32, verdict: &Verdict) {
    let Verdict::Retry { delay, .. } = verdict else { panic!("{verdict:?}") };
    rig.wait(delay.get());
    assert_eq!(rig.starts(), [slot]);
}

#[test]
fn s9_now_is_now_three_times_and_then_the_curve_again() {
    let mut rig = setup(policy());
    let slot = rig.running();
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
    let slot = rig.running();
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
        let verdict = rig.end(slot, &given(ms, server));
        let Verdict::Retry { delay, wait, .. } = verdict else { panic!("{verdict:?}") };
        assert_eq!(wait.curve.get(), ms);
        assert_eq!(delay.get(), expected + wait.spread.get());
        next(&mut rig, slot, &verdict);
    }
    let verdict = rig.end(slot, &given(10, Some(20_000)));
    assert!(matches!(verdict, Verdict::Retry { delay, .. } if delay >= Millis::new(20_000)), "{verdict:?}");
    next(&mut rig, slot, &verdict);
    let too_long = given(u64::MAX, None);
    assert_eq!(rig.end(slot, &too_long), Verdict::Exhausted(Reason::TotalBudget));
}

#[test]
fn s8_a_hook_ends_a_task_and_does_not_lift_its_limits() {
    let said = |word, status| Ended { said: Some(word), ..ended(Outcome::Response, status) };
    let mut rig = setup(json!({ "maxAttempts": 2, "jitterType": "NONE", "initialDelayMs": 500 }));
    let slot = rig.running();
    assert_eq!(rig.end(slot, &said(false, 503)), Verdict::Exhausted(Reason::Vetoed));
    let slot = rig.running();
    let verdict = rig.end(slot, &said(true, 500));
    assert_eq!(verdict, retry_in(500));
    next(&mut rig, slot, &verdict);
    assert_eq!(rig.end(slot, &said(true, 500)), Verdict::Exhausted(Reason::MaxAttempts));
    let slot = rig.running();
    assert_eq!(rig.end(slot, &said(false, 200)), Verdict::Succeeded);
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
    let verdict = rig.end(slot, &limited(true, 429));
    assert!(matches!(verdict, Verdict::Retry { delay, .. } if delay >= Millis::new(30_000)), "{verdict:?}");
    let third = rig.add();
    assert_eq!(rig.starts(), [third], "the lane is not held");
    assert_eq!(rig.end(other, &limited(false, 200)), Verdict::Succeeded);
    rig.add();
    assert!(rig.starts().is_empty(), "the limit of all holds it");
}

/// The wait of a verdict that has another attempt follow.
fn waits(verdict: &Verdict) -> u64 {
    let Verdict::Retry { delay, .. } = verdict else { panic!("{verdict:?}") };
    delay.get()
}

#[test]
fn s1_a_409_is_still_processed_where_an_attempt_before_may_have_reached_the_origin() {
    let lost = [Outcome::NetworkError, Outcome::TimedOut].map(|outcome| (outcome, 0));
    let gateways = [502, 503, 504, 520, 524].map(|status| (Outcome::Response, status));
    for (outcome, status) in lost.into_iter().chain(gateways) {
        let mut rig =
            setup(json!({ "maxAttempts": 100, "retryableStatusCodes": [429, 502, 503, 504, 520, 524] }));
        let slot = rig.running();
        let verdict = rig.end(slot, &ended(outcome, status));
        next(&mut rig, slot, &verdict);
        // a limit in between says nothing about it
        let verdict = rig.answer(slot, 429);
        next(&mut rig, slot, &verdict);
        for _ in 0..2 {
            let verdict = rig.answer(slot, 409);
            next(&mut rig, slot, &verdict);
        }
        assert_eq!(rig.answer(slot, 200), Verdict::Succeeded, "{outcome:?} {status}");
    }
    for status in [429, 500, 400, 200] {
        let mut rig = setup(json!({ "retryableStatusCodes": [200, 400, 429, 500] }));
        let slot = rig.running();
        let verdict = rig.answer(slot, status);
        next(&mut rig, slot, &verdict);
        assert_eq!(rig.answer(slot, 409), Verdict::Exhausted(Reason::NotRetryable), "{status}: its own");
    }
}

#[test]
fn s8_what_is_in_progress_is_asked_about_with_patience_and_up_to_twenty_times_without_an_attempt() {
    let mut rig = setup(json!({ "maxAttempts": 2 }));
    let slot = rig.running();
    let verdict = rig.answer(slot, 504);
    next(&mut rig, slot, &verdict);
    let mut all = Vec::new();
    for n in 0..20 {
        let verdict = rig.answer(slot, 409);
        assert_eq!(rig.queue.attempts(slot), 1, "{n}");
        all.push(waits(&verdict));
        next(&mut rig, slot, &verdict);
    }
    for (wait, least) in all.iter().zip([1000, 2000, 4000, 8000, 10_000]) {
        assert!((least..=10_000.min(2 * least)).contains(wait), "{all:?}");
    }
    assert_eq!(all[5..], [10_000; 15]);
    assert_eq!(rig.answer(slot, 409), Verdict::Exhausted(Reason::MaxAttempts));
}

#[test]
fn s8_a_409_to_the_only_attempt_is_the_last() {
    let mut rig = setup(json!({ "maxAttempts": 1 }));
    let slot = rig.running();
    let asked = Ended { asked: true, ..ended(Outcome::Response, 409) };
    assert_eq!(rig.end(slot, &asked), Verdict::Exhausted(Reason::MaxAttempts));
}

#[test]
fn s9_in_progress_and_now_is_no_loop() {
    let mut rig = setup(policy());
    let slot = rig.running();
    let now = Ended { asked: true, server_delay: Some(Millis::ZERO), ..ended(Outcome::Response, 409) };
    for _ in 0..25 {
        let verdict = rig.end(slot, &now);
        assert!(waits(&verdict) >= 1000, "{verdict:?}");
        next(&mut rig, slot, &verdict);
    }
}

#[test]
fn s10_a_limit_without_a_wait_is_asked_with_patience_up_to_the_policys_cap() {
    for (policy, ranges) in [
        (
            json!({ "initialDelayMs": 10, "maxAttempts": 100 }),
            [1000..=2000, 2000..=4000, 4000..=8000, 8000..=16_000, 16_000..=30_000, 30_000..=30_000],
        ),
        (
            json!({ "initialDelayMs": 10, "maxAttempts": 100, "maxDelayMs": 3000 }),
            [1000..=2000, 2000..=3000, 3000..=3000, 3000..=3000, 3000..=3000, 3000..=3000],
        ),
    ] {
        let mut rig = setup(policy);
        let slot = rig.running();
        for range in ranges {
            let verdict = rig.answer(slot, 429);
            assert!(range.contains(&waits(&verdict)), "{verdict:?} lies outside {range:?}");
            next(&mut rig, slot, &verdict);
        }
        assert_eq!(rig.answer(slot, 503), retry_in(10), "the curve decides of an outage");
    }
}

#[test]
fn a_failure_that_is_marked_as_stored_is_final_the_second_time() {
    let stored = Ended { replayed: true, ..ended(Outcome::Response, 503) };
    let mut rig = setup(policy());
    let slot = rig.running();
    // another failure between them, and the next lease, forget nothing
    for ended in [stored, ended(Outcome::NetworkError, 0)] {
        let verdict = rig.end(slot, &ended);
        next(&mut rig, slot, &verdict);
    }
    assert_eq!(rig.end(slot, &stored), Verdict::Exhausted(Reason::NotRetryable));
    let slot = rig.adopt();
    let Next { carry, .. } = rig.queue.next(rig.time(), slot, &stored);
    let slot = rig.adopt_with(&Past { carry, ..second() }, |_| {});
    assert_eq!(rig.end(slot, &stored), Verdict::Exhausted(Reason::NotRetryable));
    let insists = Ended { said: Some(true), ..stored };
    let slot = rig.running();
    for _ in 0..3 {
        let verdict = rig.end(slot, &insists);
        next(&mut rig, slot, &verdict);
    }
}

#[test]
fn s1_a_lease_takes_along_that_an_attempt_had_no_answer() {
    let mut rig = setup(policy());
    let slot = rig.adopt();
    let Next { verdict, carry, .. } = rig.queue.next(rig.time(), slot, &ended(Outcome::TimedOut, 0));
    assert_eq!((verdict, carry.marks), (retry_in(800), Carry::UNANSWERED));
    let slot = rig.adopt_with(&Past { carry, ..second() }, |_| {});
    assert!(matches!(rig.answer(slot, 409), Verdict::Retry { .. }));
    let slot = rig.adopt();
    assert_eq!(rig.answer(slot, 409), Verdict::Exhausted(Reason::NotRetryable));
}
