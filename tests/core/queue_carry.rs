//! What a task takes along from lease to lease: it must be judged as one that stays.

use crate::rig::{Rig, credentialed, ended, retry_after, retry_in, second, setup};
use redrive::queue::{Carry, Ended, Next, Past, Verdict, Wait};
use redrive::task::{Outcome, Reason};
use redrive::time::Millis;
use serde_json::json;

fn judge(rig: &mut Rig, slot: u32, ended: &Ended) -> (Verdict, Carry) {
    let Next { verdict, carry, .. } = rig.queue.next(rig.time(), slot, ended);
    (verdict, carry)
}

/// How the attempts of a long story end: a second 401 parks it, and the last one is its sixth that counts.
fn story() -> Vec<Ended> {
    let server = |status, ms| Ended {
        server_delay: Some(Millis::new(ms)),
        duration: Some(Millis::new(70)),
        ..ended(Outcome::Response, status)
    };
    vec![
        ended(Outcome::CredentialsFailed, 0),
        server(503, 4_000),
        ended(Outcome::Response, 401),
        ended(Outcome::Released, 0),
        server(401, 2_000),
        ended(Outcome::NetworkError, 0),
        Ended { rate_limit: Some(Millis::new(9_000)), ..ended(Outcome::Response, 429) },
        ended(Outcome::Offline, 0),
        ended(Outcome::TimedOut, 0),
        ended(Outcome::Response, 502),
        ended(Outcome::Response, 503),
    ]
}

#[test]
fn s8_s9_a_task_leased_for_each_attempt_is_judged_as_one_that_stays() {
    for jitter in ["NONE", "FULL", "EQUAL", "DECORRELATED", "DECORRELATED_CLAMPED"] {
        let policy = json!({ "strategy": "exponential", "initialDelayMs": 300, "jitterType": jitter,
            "maxAttempts": 6, "keyTtlMs": 600_000, "totalBudgetMs": 600_000 });
        judged_alike(&policy);
    }
    judged_alike(&json!({ "strategy": "spread", "initialDelayMs": 300, "maxDelayMs": 20_000,
        "jitterType": null, "maxAttempts": 6, "keyTtlMs": 600_000, "totalBudgetMs": 600_000 }));
}

/// Two queues with one seed go through one story: here the task stays, there it is leased anew each time.
fn judged_alike(policy: &serde_json::Value) {
    let (mut stays, mut leases) = (setup(policy.clone()), setup(policy.clone()));
    let resident = stays.admit(credentialed);
    let created_at = stays.time();
    let mut past = Past { attempts: 0, ..second() };
    let mut verdicts = Vec::new();
    for ended in story() {
        assert_eq!(stays.starts(), [resident], "{ended:?}");
        past.attempts += 1;
        let slot = leases.adopt_with(&past, |admission| {
            credentialed(admission);
            admission.created_at = created_at;
        });
        stays.wait(20);
        leases.wait(20);
        let online = ended.outcome != Outcome::Offline;
        for rig in [&mut stays, &mut leases] {
            rig.queue.set_online(rig.time(), online);
        }
        let there = judge(&mut stays, resident, &ended);
        assert_eq!(judge(&mut leases, slot, &ended), there, "{ended:?}");
        for rig in [&mut stays, &mut leases] {
            rig.queue.set_online(rig.time(), true);
        }
        let (verdict, carry) = there;
        verdicts.push(verdict);
        let unsent = matches!(ended.outcome, Outcome::CredentialsFailed | Outcome::Released);
        if !unsent {
            past.first_attempt_at = past.first_attempt_at.min(stays.time().minus(Millis::new(20)));
        }
        past.attempts -= u32::from(carry.refunded);
        past.refunds += u32::from(carry.refunded);
        past.carry = Carry { refunded: false, server_wait: Millis::ZERO, ..carry };
        let held = stays.queue.held_until(stays.lane, stays.time());
        assert_eq!(leases.queue.held_until(leases.lane, leases.time()), held);
        if verdict == Verdict::Parked {
            stays.queue.resume(stays.time(), None);
        }
        if !matches!(verdict, Verdict::Exhausted(_)) {
            assert_eq!(stays.queue.attempts(resident), past.attempts);
            let due = stays.queue.due_at(resident).unwrap().get();
            (stays.now, leases.now) = (due.max(stays.now), due.max(stays.now));
        }
    }
    assert!(verdicts.contains(&Verdict::Parked), "{verdicts:?}");
    assert_eq!(verdicts.last(), Some(&Verdict::Exhausted(Reason::MaxAttempts)), "{verdicts:?}");
}

#[test]
fn s8_refunds_of_earlier_leases_count() {
    let mut rig = setup(json!({}));
    let released = ended(Outcome::Released, 0);
    let used_up = Past { refunds: 20, ..second() };
    let slot = rig.adopt_with(&Past { refunds: 19, ..second() }, |_| {});
    assert!(judge(&mut rig, slot, &released).1.refunded);
    for refunds in [20, 31, u32::MAX] {
        let slot = rig.adopt_with(&Past { refunds, ..used_up }, |_| {});
        let (verdict, carry) = judge(&mut rig, slot, &released);
        assert_eq!((verdict, carry.refunded), (retry_in(1000), false), "after {refunds} it counts");
    }
}

#[test]
fn s8_a_401_is_asked_again_once_and_parked_the_second_time_over_leases() {
    let mut rig = setup(json!({}));
    let refused = ended(Outcome::Response, 401);
    let mut past = second();
    let mut marks = Vec::new();
    for _ in 0..3 {
        let slot = rig.adopt_with(&past, credentialed);
        let (verdict, carry) = judge(&mut rig, slot, &refused);
        marks.push((verdict, carry.marks, carry.refunded));
        past.carry = carry;
        past.refunds += u32::from(carry.refunded);
    }
    let again = Verdict::Retry { delay: Millis::ZERO, wait: Wait::default(), authorize: true };
    assert_eq!(
        marks,
        [
            (again, 0b011, true),
            (Verdict::Parked, 0b101, true),
            (Verdict::Exhausted(Reason::NotRetryable), 0, false),
        ]
    );
}

#[test]
fn s8_a_mark_of_a_401_goes_with_the_next_answer_that_is_none() {
    let mut rig = setup(json!({}));
    let past = Past { carry: Carry { marks: 0b011, ..Carry::default() }, ..second() };
    let slot = rig.adopt_with(&past, credentialed);
    let (_, carry) = judge(&mut rig, slot, &ended(Outcome::Response, 429));
    assert_eq!(carry.marks, 0b010, "how often it was given back stays");
}

#[test]
fn a_large_body_that_had_no_answer_waits_a_second_for_each_mib_and_attempt_30_s_at_most() {
    let longest = u64::from(u32::MAX) + 1;
    for (bytes, attempts, pause) in
        [(1 << 20, 2, 0), (3 << 20, 2, 6000), (3 << 20, 9, 27_000), (longest, 999_998, 30_000)]
    {
        let mut rig = setup(
            json!({ "maxDelayMs": 600_000, "maxAttempts": 1_000_000, "strategy": "fixed", "jitterType": "NONE" }),
        );
        for (outcome, expected) in
            [(Outcome::NetworkError, pause), (Outcome::TimedOut, pause), (Outcome::Response, 0)]
        {
            let slot = rig.adopt_with(&Past { attempts, ..second() }, |admission| admission.bytes = bytes);
            let verdict = judge(&mut rig, slot, &ended(outcome, 503)).0;
            assert_eq!(verdict, retry_in(1000 + expected), "{bytes} bytes, {attempts} attempts, {outcome:?}");
        }
    }
}

#[test]
fn marks_that_nobody_knows_are_dropped() {
    let mut rig = setup(json!({}));
    let past = Past { carry: Carry { marks: !0b1_1111, ..Carry::default() }, ..second() };
    let slot = rig.adopt_with(&past, credentialed);
    assert_eq!(judge(&mut rig, slot, &ended(Outcome::Released, 0)).1.marks, 0);
}

#[test]
fn s9_what_a_server_asked_for_is_told_apart_from_the_curve() {
    let mut rig = setup(json!({}));
    for leased in [true, false] {
        let slot = if leased { rig.adopt() } else { rig.begun() };
        let asked = Ended { server_delay: Some(Millis::new(400)), ..ended(Outcome::Response, 502) };
        let (verdict, carry) = judge(&mut rig, slot, &asked);
        let Verdict::Retry { wait, .. } = verdict else { panic!("{verdict:?}") };
        assert_eq!(verdict, retry_after(1000, 400, wait.spread.get()));
        assert_eq!(carry.server_wait, Millis::new(400).plus(wait.spread));
        assert!(carry.phase.is_some());
        assert_eq!(carry.previous_delay, Millis::new(1000));
    }
    let slot = rig.adopt();
    assert_eq!(judge(&mut rig, slot, &ended(Outcome::Response, 502)).1.server_wait, Millis::ZERO);
}

#[test]
fn s9_a_parked_task_takes_along_what_the_server_asked_for() {
    let mut rig = setup(json!({}));
    let past = Past { carry: Carry { marks: 1, phase: Some(1 << 31), ..Carry::default() }, ..second() };
    let slot = rig.adopt_with(&past, credentialed);
    let asked = Ended { server_delay: Some(Millis::new(6_000)), ..ended(Outcome::Response, 401) };
    let (verdict, carry) = judge(&mut rig, slot, &asked);
    assert_eq!((verdict, carry.server_wait), (Verdict::Parked, Millis::new(6_500)), "and half of a second");
}

#[test]
fn s10_decorrelated_jitter_sets_out_from_the_base_where_there_was_no_wait() {
    let policy = json!({ "strategy": "exponential", "initialDelayMs": 1000, "jitterType": "DECORRELATED" });
    let mut rig = setup(policy);
    let waits: Vec<u64> = (0..20)
        .map(|_| {
            let slot = rig.adopt();
            judge(&mut rig, slot, &ended(Outcome::Response, 502)).1.previous_delay.get()
        })
        .collect();
    assert!(waits.iter().all(|wait| (1000..=3000).contains(wait)), "{waits:?}");
    assert!(waits.iter().any(|wait| *wait > 1000), "{waits:?}");
}

#[test]
fn a_task_of_no_phase_gets_one_and_a_task_with_one_keeps_it() {
    let mut rig = setup(json!({}));
    for phase in [None, Some(0), Some(u32::MAX)] {
        let past = Past { carry: Carry { phase, ..Carry::default() }, ..second() };
        let slot = rig.adopt_with(&past, |_| {});
        let given_back = judge(&mut rig, slot, &ended(Outcome::Released, 0)).1;
        assert_eq!(given_back.phase, phase, "no failure needs none");
        let slot = rig.adopt_with(&past, |_| {});
        let failed = judge(&mut rig, slot, &ended(Outcome::Response, 502)).1;
        assert!(failed.phase.is_some() && phase.is_none_or(|phase| failed.phase == Some(phase)));
    }
}
