//! Attempts that credentials are missing for, or that a 401 refuses: when new ones are asked for, and when the task is parked.

use crate::rig::{NOTHING, Rig, credentialed, ended, retry_in, second, setup};
use redrive::queue::{Action, Admission, Next, Past, Verdict, Wait};
use redrive::task::{Outcome, Reason};
use redrive::time::Millis;
use serde_json::json;

const AUTHORIZE: Verdict = Verdict::Retry {
    delay: Millis::ZERO,
    wait: Wait { curve: Millis::ZERO, server: None, spread: Millis::ZERO },
    authorize: true,
};

/// A task with credentials, whose first attempt runs.
fn running(rig: &mut Rig) -> u32 {
    let slot = rig.admit(credentialed);
    assert_eq!(rig.starts(), [slot]);
    slot
}

/// One that two 401 have parked.
fn parked(rig: &mut Rig) -> u32 {
    let slot = running(rig);
    assert_eq!(rig.answer(slot, 401), AUTHORIZE);
    assert_eq!(rig.starts(), [slot]);
    assert_eq!(rig.answer(slot, 401), Verdict::Parked);
    slot
}

/// A caller's own first attempt, with credentials.
fn own(admission: &mut Admission) {
    credentialed(admission);
    admission.started = true;
}

#[test]
fn missing_credentials_are_asked_for_less_and_less_often() {
    let mut rig = setup(json!({ "strategy": "exponential", "maxDelayMs": 30_000, "maxAttempts": 1 }));
    let slot = rig.add();
    let mut waited = Vec::new();
    for _ in 0..20 {
        assert_eq!(rig.start_one(), slot);
        let verdict = rig.settle(slot, Outcome::CredentialsFailed, 0, None);
        let Verdict::Retry { delay, authorize: false, .. } = verdict else { panic!("{verdict:?}") };
        waited.push(delay.get());
        rig.wait(delay.get());
    }
    assert_eq!(waited[..7], [1000, 2000, 4000, 8000, 16_000, 30_000, 30_000]);
    assert_eq!(rig.start_one(), slot);
    let last = rig.settle(slot, Outcome::CredentialsFailed, 0, None);
    assert_eq!(last, Verdict::Exhausted(Reason::MaxAttempts));
}

#[test]
fn missing_credentials_are_asked_for_with_a_pause_where_the_curve_has_none() {
    let mut rig = setup(json!({ "initialDelayMs": 0, "maxAttempts": 9 }));
    let slot = rig.add();
    for _ in 0..25 {
        assert_eq!(rig.start_one(), slot);
        let verdict = rig.settle(slot, Outcome::CredentialsFailed, 0, None);
        assert_eq!(verdict, retry_in(100));
        rig.wait(100);
    }
}

/// A caller's own first attempt that met a 401, and asks for fresh credentials.
fn refused(rig: &mut Rig) -> u32 {
    let slot = rig.admit(own);
    assert_eq!(rig.answer(slot, 401), AUTHORIZE);
    assert_eq!(rig.queue.attempts(slot), 1, "it counts");
    assert_eq!(rig.starts(), [slot]);
    slot
}

#[test]
fn s8_a_callers_own_401_has_one_more_attempt_and_the_next_401_is_the_callers() {
    let mut rig = setup(json!({}));
    let slot = refused(&mut rig);
    assert_eq!(rig.queue.attempts(slot), 2);
    assert_eq!(rig.answer(slot, 401), Verdict::Exhausted(Reason::NotRetryable));

    let slot = refused(&mut rig);
    assert_eq!(rig.answer(slot, 200), Verdict::Succeeded);
}

#[test]
fn s8_after_fresh_credentials_a_task_is_tried_as_any_other_but_for_a_401() {
    let mut rig = setup(json!({}));
    let slot = refused(&mut rig);
    assert_eq!(rig.answer(slot, 503), retry_in(1000));
    rig.wait(1000);
    assert_eq!(rig.starts(), [slot]);
    let verdict = rig.settle(slot, Outcome::CredentialsFailed, 0, None);
    assert!(matches!(verdict, Verdict::Retry { authorize: false, .. }), "{verdict:?}");
    rig.wait(30_000);
    assert_eq!(rig.starts(), [slot]);
    assert_eq!(rig.answer(slot, 401), Verdict::Exhausted(Reason::NotRetryable));
}

#[test]
fn a_callers_own_401_is_its_answer_where_no_credentials_come_or_no_attempt_is_left() {
    let mut rig = setup(json!({}));
    let slot = refused(&mut rig);
    let verdict = rig.settle(slot, Outcome::CredentialsFailed, 0, None);
    assert_eq!(verdict, Verdict::Exhausted(Reason::NotRetryable));

    let mut rig = setup(json!({ "maxAttempts": 1 }));
    let slot = rig.admit(own);
    assert_eq!(rig.answer(slot, 401), Verdict::Exhausted(Reason::MaxAttempts));
}

#[test]
fn s8_that_a_callers_401_was_answered_goes_along_over_leases() {
    let mut rig = setup(json!({}));
    let past = Past { attempts: 1, ..second() };
    let slot = rig.adopt_with(&past, own);
    let Next { verdict, carry, .. } = rig.queue.next(rig.time(), slot, &ended(Outcome::Response, 401));
    assert_eq!((verdict, carry.refunded), (AUTHORIZE, false));
    let slot = rig.adopt_with(&Past { attempts: 2, carry, ..past }, credentialed);
    assert_eq!(rig.answer(slot, 401), Verdict::Exhausted(Reason::NotRetryable));
}

#[test]
fn a_401_asks_for_credentials_once_and_then_parks() {
    let mut rig = setup(json!({}));
    let slot = parked(&mut rig);
    assert_eq!(rig.queue.attempts(slot), 0, "both were given back");
    assert_eq!(rig.queue.due_at(slot), None);
    rig.wait(60_000);
    assert_eq!(rig.starts(), NOTHING);
    rig.queue.resume(rig.time(), Some(rig.lane));
    assert_eq!(rig.starts(), [slot]);
    assert_eq!(rig.answer(slot, 401), Verdict::Exhausted(Reason::NotRetryable), "two refunds are all");
}

#[test]
fn two_401_that_do_not_follow_each_other_do_not_park() {
    let mut rig = setup(json!({}));
    let slot = running(&mut rig);
    assert_eq!(rig.answer(slot, 401), AUTHORIZE);
    rig.starts();
    assert_eq!(rig.answer(slot, 503), retry_in(1000));
    rig.wait(1000);
    rig.starts();
    assert_eq!(rig.answer(slot, 401), AUTHORIZE);
}

#[test]
fn a_401_is_final_without_credentials() {
    let mut rig = setup(json!({}));
    let slot = rig.running();
    assert_eq!(rig.answer(slot, 401), Verdict::Exhausted(Reason::NotRetryable));
    let own = rig.begun();
    assert_eq!(rig.answer(own, 401), Verdict::Exhausted(Reason::NotRetryable));
}

#[test]
fn a_parked_task_ends_at_its_deadline() {
    let mut rig = setup(json!({ "totalBudgetMs": 9000 }));
    let slot = parked(&mut rig);
    assert_eq!(rig.queue.wake_at(), Rig::at(9000));
    rig.wait(9000);
    assert_eq!(rig.poll(), [Action::End(slot, Reason::TotalBudget)]);
}

#[test]
fn a_parked_task_can_be_cancelled() {
    let mut rig = setup(json!({}));
    let slot = parked(&mut rig);
    assert_eq!(rig.queue.cancel(slot), redrive::queue::Cancelled::Done);
    assert_eq!(rig.queue.wake_at(), Millis::MAX);
}

#[test]
fn s9_a_401_that_names_a_wait_is_waited_for() {
    let mut rig = setup(json!({}));
    let slot = running(&mut rig);
    let Verdict::Retry { delay, authorize: true, .. } = rig.refuse(slot, 401, 5_000) else { panic!() };
    assert!((5_000..=6_000).contains(&delay.get()), "{delay:?}");
    assert_eq!(rig.queue.flush(rig.time(), None), 0, "not even a flush undercuts the server");
    rig.wait(delay.get());
    assert_eq!(rig.start_one(), slot);
    assert_eq!(rig.refuse(slot, 401, 5_000), Verdict::Parked);
    rig.queue.resume(rig.time(), None);
    let due = rig.queue.due_at(slot).unwrap();
    assert!(due.get() >= rig.now + 5_000, "nor does a resume");
}
