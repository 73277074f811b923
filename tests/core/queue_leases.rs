//! Tasks that a store keeps and leases for one attempt each.

use crate::rig::{NOTHING, Rig, credentialed, ended, limits, retry_in, second, setup, setup_with};
use redrive::queue::{Admission, Cancelled, Carry, Gate, Limits, Past, Verdict};
use redrive::slots::NONE;
use redrive::task::{Outcome, Reason};
use redrive::time::Millis;
use serde_json::json;

#[test]
fn s7_a_leased_attempt_runs_at_once_and_takes_the_place_of_one_of_the_queues_own() {
    let mut rig = setup_with(Limits { concurrency: 2, per_lane: 1, ..limits() }, json!({}));
    let leased = rig.adopt();
    assert_eq!(rig.queue.gate_status(leased).unwrap().gate, Gate::InFlight);
    assert_eq!(rig.queue.attempts(leased), 2, "as its store has counted them");
    let own = rig.add();
    assert_eq!(rig.starts(), NOTHING, "its lane is full");
    assert_eq!(rig.queue.gate_status(own).unwrap().gate, Gate::LaneLimit);
    rig.answer(leased, 200);
    assert_eq!(rig.starts(), [own]);
}

#[test]
fn s7_what_a_store_has_leased_is_not_refused_by_the_limits_here() {
    let narrow = Limits { concurrency: 1, per_lane: 1, capacity: 1, capacity_bytes: 10, ..limits() };
    let mut rig = setup_with(narrow, json!({}));
    let own = rig.admit(|admission| admission.bytes = 10);
    rig.starts();
    rig.queue.pause(None);
    rig.queue.set_online(rig.time(), false);
    rig.queue.hold(rig.time(), rig.lane, Millis::new(5_000));
    let leased = [0, 1].map(|_| rig.adopt_with(&second(), |admission| admission.bytes = 1_000));
    assert_eq!(rig.queue.in_flight(), 3);
    assert_eq!(rig.answer(own, 200), Verdict::Succeeded);
    for slot in leased {
        assert_eq!(rig.answer(slot, 200), Verdict::Succeeded);
    }
    assert_eq!(rig.queue.in_flight(), 0);
}

#[test]
fn s17_a_leased_task_takes_no_room_from_the_queues_own() {
    let mut rig = setup_with(Limits { capacity: 1, capacity_bytes: 10, ..limits() }, json!({}));
    let leased = rig.adopt_with(&second(), |admission| admission.bytes = 10);
    assert_eq!((rig.queue.depth(), rig.queue.bytes(), rig.queue.in_flight()), (0, 0, 1));
    let own = rig.admit(|admission| admission.bytes = 10);
    let admission = rig.admission();
    assert_eq!(rig.queue.admit(rig.time(), &admission), None, "full");
    let stats = rig.queue.stats(Millis::ZERO);
    assert_eq!((stats.depth, stats.in_flight), (1, 1));
    assert_eq!((stats.lanes[0].depth, stats.lanes[0].in_flight), (1, 1));
    rig.answer(leased, 503);
    let stats = rig.queue.stats(Millis::ZERO);
    assert_eq!((stats.depth, stats.in_flight, rig.queue.bytes()), (1, 0, 10));
    assert_eq!((stats.lanes[0].depth, stats.lanes[0].in_flight), (1, 0));
    assert_eq!(rig.queue.cancel(own), Cancelled::Done);
    assert_eq!((rig.queue.depth(), rig.queue.bytes()), (0, 0));
}

#[test]
fn s3_whatever_the_verdict_the_slot_is_free_and_nothing_waits_for_it() {
    let parks = Past { carry: Carry { marks: 1, ..Carry::default() }, ..second() };
    let rows = [
        (second(), ended(Outcome::Response, 200), Verdict::Succeeded),
        (second(), ended(Outcome::Response, 503), retry_in(1000)),
        (second(), ended(Outcome::Released, 0), retry_in(0)),
        (second(), ended(Outcome::Response, 404), Verdict::Exhausted(Reason::NotRetryable)),
        (parks, ended(Outcome::Response, 401), Verdict::Parked),
    ];
    for (past, ended, verdict) in rows {
        let mut rig = setup(json!({}));
        let slot = rig.adopt_with(&past, credentialed);
        assert_eq!(rig.end(slot, &ended), verdict);
        assert_eq!(rig.end(slot, &ended), Verdict::Stale, "S14: {verdict:?}");
        assert_eq!((rig.queue.gate_status(slot), rig.queue.lane_of(slot)), (None, None));
        assert_eq!(rig.queue.wake_at(), Millis::MAX, "{verdict:?}: its store wakes it");
        rig.wait(86_400_000);
        assert_eq!(rig.poll(), []);
        rig.queue.resume(rig.time(), None);
        assert_eq!(rig.poll(), []);
        assert!(rig.queue.drop_lane(rig.lane), "{verdict:?}");
    }
}

#[test]
fn s8_no_attempt_follows_the_last_that_the_store_has_counted() {
    let mut rig = setup(json!({ "maxAttempts": 4 }));
    for (attempts, verdict) in [
        (3, retry_in(1000)),
        (4, Verdict::Exhausted(Reason::MaxAttempts)),
        (u32::MAX, Verdict::Exhausted(Reason::MaxAttempts)),
    ] {
        let slot = rig.adopt_with(&Past { attempts, ..second() }, |_| {});
        assert_eq!(rig.answer(slot, 503), verdict, "attempt {attempts}");
    }
}

#[test]
fn s8_a_key_is_as_old_as_the_first_attempt_of_all() {
    let mut rig = setup(json!({ "keyTtlMs": 10_000 }));
    for (ago, verdict) in [(9_000, retry_in(1000)), (9_001, Verdict::Exhausted(Reason::KeyExpired))] {
        let past = Past { first_attempt_at: rig.time().minus(Millis::new(ago)), ..second() };
        let slot = rig.adopt_with(&past, |_| {});
        assert_eq!(rig.answer(slot, 503), verdict, "sent {ago} ms ago");
    }
    let slot = rig.adopt();
    rig.wait(9_000);
    assert_eq!(rig.answer(slot, 503), retry_in(1000), "as far as is known, this one was the first");
}

#[test]
fn s8_a_lease_says_until_when_the_next_attempt_may_start_and_why() {
    let reasons = [Reason::TotalBudget, Reason::KeyExpired, Reason::Expired];
    for (left, reason) in reasons.into_iter().flat_map(|reason| [(1_000, reason), (999, reason)]) {
        let mut rig = setup(json!({ "totalBudgetMs": 600_000, "keyTtlMs": 600_000 }));
        let deadline = Some((rig.time().plus(Millis::new(left)), reason));
        let slot = rig.adopt_with(&Past { deadline, ..second() }, |_| {});
        let verdict = if left < 1_000 { Verdict::Exhausted(reason) } else { retry_in(1000) };
        assert_eq!(rig.answer(slot, 503), verdict, "{left} ms left");
    }
}

#[test]
fn s8_deadlines_are_those_that_the_lease_brings() {
    let mut rig = setup(json!({ "totalBudgetMs": 60_000 }));
    let soon = Rig::at(999);
    let old = rig.time().minus(Millis::new(59_500));
    for reason in [Reason::Expired, Reason::WaitExceeded, Reason::TotalBudget] {
        let slot = rig.adopt_with(&second(), |admission| match reason {
            Reason::Expired => admission.expires_at = soon,
            Reason::WaitExceeded => admission.wait_until = soon,
            _ => admission.created_at = old,
        });
        assert_eq!(rig.answer(slot, 503), Verdict::Exhausted(reason));
    }
}

#[test]
fn a_callers_own_first_attempt_given_to_a_store_is_not_counted() {
    let mut rig = setup(json!({}));
    let first = Past { attempts: 1, ..second() };
    let started = |admission: &mut Admission| {
        credentialed(admission);
        admission.started = true;
        admission.created_at = Rig::at(0);
    };
    let slot = rig.adopt_with(&first, started);
    assert_eq!((rig.queue.in_flight(), rig.queue.depth()), (0, 0));
    assert_eq!(rig.queue.gate_status(slot).unwrap().gate, Gate::Started);
    assert_eq!(rig.answer(slot, 404), Verdict::Exhausted(Reason::NotRetryable));
    rig.wait(500);
    let slot = rig.adopt_with(&first, started);
    assert_eq!(rig.answer(slot, 503), retry_in(1000));
    assert_eq!((rig.queue.wake_at(), rig.queue.in_flight()), (Millis::MAX, 0));
}

#[test]
fn s8_a_lane_or_policy_that_is_not_there_takes_no_lease() {
    let mut rig = setup(json!({}));
    for change in [
        |admission: &mut Admission| admission.lane = NONE,
        |admission: &mut Admission| admission.policy = NONE,
    ] {
        let mut admission = rig.admission();
        change(&mut admission);
        assert_eq!(rig.queue.adopt(rig.time(), &admission, &second()), None);
    }
    assert_eq!((rig.queue.depth(), rig.queue.in_flight(), rig.queue.room(rig.time(), rig.lane)), (0, 0, 3));
}

#[test]
fn a_lease_keeps_its_lane_and_its_policy() {
    let mut rig = setup(json!({}));
    let slot = rig.adopt();
    rig.queue.release(rig.policy);
    assert!(!rig.queue.drop_lane(rig.lane));
    assert!(rig.queue.policy(rig.policy).is_some());
    assert_eq!(rig.answer(slot, 503), retry_in(1000));
    assert!(rig.queue.policy(rig.policy).is_none());
    assert!(rig.queue.drop_lane(rig.lane));
}

#[test]
fn s8_a_cancelled_lease_still_counts_a_success_and_nothing_else() {
    for (status, verdict) in [(200, Verdict::Succeeded), (503, Verdict::Cancelled)] {
        let mut rig = setup(json!({}));
        let slot = rig.adopt();
        assert_eq!(rig.queue.cancel(slot), Cancelled::Requested);
        assert_eq!(rig.answer(slot, status), verdict);
        assert_eq!(rig.queue.cancel(slot), Cancelled::Gone);
    }
}

#[test]
fn pause_resume_and_flush_leave_leases_alone() {
    let mut rig = setup(json!({}));
    let slot = rig.adopt();
    rig.queue.pause(Some(rig.lane));
    assert_eq!(rig.queue.flush(rig.time(), None), 0);
    assert_eq!(rig.poll(), []);
    rig.queue.resume(rig.time(), None);
    assert_eq!(rig.poll(), []);
    assert_eq!(rig.queue.in_flight(), 1);
    assert_eq!(rig.answer(slot, 200), Verdict::Succeeded);
}

#[test]
fn a_clock_set_back_by_an_hour_takes_a_leases_instants_along() {
    let mut rig = setup(json!({ "keyTtlMs": 10_000 }));
    let slot = rig.adopt();
    rig.now -= 3_600_000;
    assert_eq!(rig.answer(slot, 503), retry_in(1000));
    let past = Past { first_attempt_at: rig.time().minus(Millis::new(9_001)), ..second() };
    let slot = rig.adopt_with(&past, |_| {});
    assert_eq!(rig.answer(slot, 503), Verdict::Exhausted(Reason::KeyExpired));
}
