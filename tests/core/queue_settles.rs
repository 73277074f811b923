//! What becomes of a task when its attempt ends, and when it ends without one.

use crate::gated::{gated, roomy};
use crate::rig::{NOTHING, Rig, ended, retry_after, retry_in, setup};
use redrive::gates::Gates;
use redrive::queue::{Action, Ended, Long, Queue, Verdict};
use redrive::rng::SplitMix64;
use redrive::slots::NONE;
use redrive::task::{Flags, Outcome, Reason};
use redrive::time::Millis;
use serde_json::json;

#[test]
fn s8_the_last_attempt_is_the_last() {
    let mut rig = setup(json!({ "maxAttempts": 3 }));
    let slot = rig.add();
    for attempt in 1..=3 {
        assert_eq!(rig.start_one(), slot);
        assert_eq!(rig.queue.attempts(slot), attempt);
        let expected = if attempt < 3 { retry_in(1000) } else { Verdict::Exhausted(Reason::MaxAttempts) };
        assert_eq!(rig.answer(slot, 503), expected);
        rig.wait(1000);
    }
    assert_eq!(rig.queue.depth(), 0);
    assert_eq!(rig.answer(slot, 200), Verdict::Stale);
}

#[test]
fn s8_a_callers_first_attempt_counts_as_the_first() {
    let mut rig = setup(json!({ "maxAttempts": 1 }));
    let slot = rig.begun();
    assert_eq!(rig.fail(slot), Verdict::Exhausted(Reason::MaxAttempts));
}

#[test]
fn s9_the_server_is_never_undercut_and_those_told_the_same_are_spread() {
    let start_phase = SplitMix64::new(7).next_u32();
    for (server, window) in [(1, 1000), (9_999, 1000), (30_000, 3000), (3_600_000, 5000)] {
        let mut rig = setup(json!({}));
        for n in 0..20 {
            let slot = rig.begun();
            let phase = start_phase.wrapping_add(0x9E37_79B9_u32.wrapping_mul(n));
            let spread = (window * u64::from(phase)) >> 32;
            assert_eq!(rig.refuse(slot, 502, server), retry_after(1000, server, spread));
        }
    }
}

/// How much later than its server asked a caller's task is sent that has just failed.
fn late(rig: &mut Rig, server: u64) -> u64 {
    let slot = rig.called(Rig::at(600_000));
    let Verdict::Retry { delay, .. } = rig.refuse(slot, 503, server) else { panic!() };
    delay.get() - server
}

fn exact() -> Gates {
    Gates { exact_alone: true, ..Gates::default() }
}

#[test]
fn s9_a_caller_that_waits_alone_is_sent_at_the_moment_that_its_server_named() {
    for server in [1000, 2500, 60_000, 400_000] {
        let mut rig = gated(exact(), roomy(), json!({}));
        assert_eq!(late(&mut rig, server), 0, "{server}");
        assert!((0..9).all(|_| late(&mut rig, server) > 0), "{server}: the others of a crowd are spread");
        rig.wait(server + 10_000);
        rig.starts().into_iter().for_each(|slot| assert_eq!(rig.answer(slot, 200), Verdict::Succeeded));
        assert_eq!(late(&mut rig, server.min(10_000)), 0, "{server}: alone again");
    }
}

#[test]
fn s9_of_twenty_thousand_pages_that_are_told_the_same_few_come_back_in_the_same_tenth_of_a_second() {
    // Each of them has one caller. By whether that one is exact: most of them in one of the tenths.
    for (gates, expected) in [(exact(), 20_000..=20_000), (Gates::default(), 400..=450)] {
        let mut tenths = [0; 50];
        for page in 0..20_000 {
            let mut rig = Rig { queue: Queue::new(roomy(), page), ..setup(json!({})) };
            rig.policy = rig.queue.intern(crate::common::policy(json!({})));
            rig.lane = rig.queue.open_lane();
            rig.queue.set_gates(gates);
            tenths[late(&mut rig, 60_000) as usize / 100] += 1;
        }
        let fullest = tenths.into_iter().max().unwrap();
        assert!(expected.contains(&fullest), "{fullest}");
    }
}

#[test]
fn s9_what_is_handed_over_is_spread_and_so_is_a_caller_beside_it() {
    let mut rig = gated(exact(), roomy(), json!({}));
    let slot = rig.begun();
    let Verdict::Retry { wait, .. } = rig.refuse(slot, 503, 10_000) else { panic!() };
    assert!(wait.spread > Millis::ZERO);
    assert!(late(&mut rig, 10_000) > 0);
}

#[test]
fn s9_a_longer_curve_is_not_shortened_by_the_server() {
    let mut rig = setup(json!({ "initialDelayMs": 20_000 }));
    let slot = rig.begun();
    let Verdict::Retry { delay, .. } = rig.refuse(slot, 503, 2_000) else { panic!() };
    assert!((20_000..=21_000).contains(&delay.get()), "{delay:?}");
}

#[test]
fn a_server_that_asks_too_much_ends_the_task_and_holds_nothing() {
    let mut rig = setup(json!({ "maxRetryAfterMs": 10_000 }));
    let [long, longest, limited] = [(); 3].map(|()| rig.add());
    rig.starts();
    assert!(matches!(rig.refuse(longest, 502, 10_000), Verdict::Retry { .. }));
    assert_eq!(rig.refuse(long, 503, 10_001), Verdict::Exhausted(Reason::RetryAfterTooLong));
    assert_eq!(rig.limit(limited, 503, 10_001), Verdict::Exhausted(Reason::RetryAfterTooLong));
    assert_eq!(rig.held(), None);
}

#[test]
fn a_task_that_could_not_end_in_its_budget_ends_before_the_wait() {
    let policy = json!({ "totalBudgetMs": 1500, "estimatedCallMs": 100 });
    let mut rig = setup(policy);
    let (in_time, late) = (rig.add(), rig.add());
    rig.starts();
    rig.wait(400);
    assert_eq!(rig.answer(in_time, 503), retry_in(1000));
    rig.wait(1);
    assert_eq!(rig.answer(late, 503), Verdict::Exhausted(Reason::TotalBudget));
}

#[test]
fn without_an_estimate_the_lane_learns_what_calls_take_and_of_responses_alone() {
    let (late, again) = (Verdict::Exhausted(Reason::TotalBudget), retry_in(1000));
    for (outcome, verdict) in [(Outcome::Response, late), (Outcome::NetworkError, again)] {
        let mut rig = setup(json!({ "totalBudgetMs": 2000 }));
        let slot = rig.running();
        let slow = Ended { duration: Some(Millis::new(1001)), ..ended(outcome, 503) };
        assert_eq!(rig.end(slot, &slow), verdict, "{outcome:?}");
    }
}

#[test]
fn deadlines_are_named_by_what_set_them() {
    let mut rig = setup(json!({ "totalBudgetMs": 100_000, "keyTtlMs": 100_000 }));
    let expired = rig.admit(|admission| admission.expires_at = Rig::at(999));
    let impatient = rig.admit(|admission| admission.wait_until = Rig::at(999));
    let patient = rig.admit(|admission| admission.wait_until = Rig::at(1100));
    rig.starts();
    assert_eq!(rig.answer(expired, 503), Verdict::Exhausted(Reason::Expired));
    assert_eq!(rig.answer(impatient, 503), Verdict::Exhausted(Reason::WaitExceeded));
    assert_eq!(rig.answer(patient, 503), retry_in(1000));
}

#[test]
fn a_wait_that_chance_draws_past_its_callers_is_drawn_again_from_what_is_left() {
    let mut rig = setup(
        json!({ "strategy": "exponential", "jitterType": "FULL", "initialDelayMs": 8000, "maxAttempts": 2 }),
    );
    let mut waits: Vec<u64> = (0..200)
        .map(|_| {
            let call = rig.called(Rig::at(4000));
            match rig.answer(call, 503) {
                Verdict::Retry { delay, .. } => delay.get(),
                verdict => panic!("{verdict:?}"),
            }
        })
        .collect();
    waits.sort_unstable();
    assert!(waits[199] <= 3500, "time is left for an attempt: {waits:?}");
    assert!(waits[20] < 500 && waits[100].abs_diff(1750) < 500, "evenly: {waits:?}");
}

#[test]
fn attempts_do_not_follow_each_other_ever_faster_as_their_callers_wait_ends() {
    let mut rig = setup(json!({ "strategy": "exponential", "jitterType": "FULL", "maxAttempts": 99 }));
    let mut late = 0;
    for _ in 0..200 {
        let until = Millis::new(rig.now + 30_000);
        let call = rig.called(until);
        while let Verdict::Retry { delay, .. } = rig.answer(call, 503) {
            rig.wait(delay.get());
            assert_eq!(rig.starts(), [call]);
            late += u32::from(until.minus(rig.time()) < Millis::new(2000));
        }
    }
    assert!(late < 450, "{late} of 200 calls in their last 2 s");
}

#[test]
fn an_attempt_stays_at_a_silent_server_only_where_it_may_be_tried_again_and_its_time_is_not_over() {
    for (policy, flags, until) in [
        (json!({}), Flags::REPLAYABLE, Some(12_500)),
        (json!({ "totalBudgetMs": 11_000 }), Flags::REPLAYABLE, Some(11_000)),
        (json!({ "totalBudgetMs": 10_000 }), Flags::REPLAYABLE, None),
        (json!({ "retryTimeouts": false }), Flags::REPLAYABLE, None),
        (json!({ "maxAttempts": 1 }), Flags::REPLAYABLE, None),
        (json!({}), Flags::KEYED, None),
    ] {
        let mut rig = setup(policy.clone());
        let wait_until = Rig::at(30_000);
        let long = Long { flags, began: Rig::at(0), answered_at: Millis::ZERO, wait_until };
        rig.wait(10_000);
        let mut lasts = || rig.queue.lasts(Rig::at(10_000), rig.lane, rig.policy, &long);
        assert_eq!(lasts(), Millis::ZERO, "the first looks at the server: {policy}");
        assert_eq!(lasts(), until.map_or(Millis::ZERO, Rig::at), "{policy}");
    }
}

#[test]
fn after_an_attempt_without_an_answer_the_next_has_twice_its_limit_and_leaves_four_seconds_for_another() {
    for (wait_until, outcome, status, until) in [
        (Millis::MAX, Outcome::TimedOut, 0, Some(31_000)),
        (Millis::MAX, Outcome::NetworkError, 0, Some(31_000)),
        (Millis::MAX, Outcome::Response, 504, Some(31_000)),
        (Millis::MAX, Outcome::Response, 500, None),
        (Rig::at(30_000), Outcome::TimedOut, 0, Some(26_000)),
        (Rig::at(25_000), Outcome::TimedOut, 0, None),
    ] {
        let mut rig = setup(json!({ "retryableStatusCodes": [500, 504] }));
        rig.wait(10_000);
        let slot = rig.called(wait_until);
        assert_eq!(rig.settle(slot, outcome, status, None), retry_in(1000));
        rig.wait(1000);
        assert_eq!(rig.start_one(), slot);
        let mut extends = |at| rig.queue.extends(Rig::at(at), slot, Rig::at(11_000), Millis::new(10_000));
        let expected = until.map_or(Millis::ZERO, Rig::at);
        assert_eq!(extends(21_000), expected, "{outcome:?}");
        assert_eq!(until.map_or(Millis::ZERO, extends), Millis::ZERO, "once: {outcome:?}");
    }
}

#[test]
fn where_calls_take_longer_than_half_the_limit_every_attempt_has_twice_as_long() {
    for (took, slow) in [(6_000, true), (5_000, false)] {
        let mut rig = setup(json!({}));
        let answered = Ended { duration: Some(Millis::new(took)), ..ended(Outcome::Response, 200) };
        rig.queue.heard(Rig::at(6_000), rig.lane, rig.policy, Rig::at(0), &answered);
        let (flags, wait_until) = (Flags::REPLAYABLE, Rig::at(30_000));
        let long = Long { flags, began: Rig::at(1_000), answered_at: Rig::at(6_000), wait_until };
        let until = if slow { Rig::at(21_000) } else { Millis::ZERO };
        assert_eq!(rig.queue.lasts(Rig::at(11_000), rig.lane, rig.policy, &long), until, "{took}");
        assert_eq!(rig.queue.lasts(Rig::at(21_000), rig.lane, rig.policy, &long), Millis::ZERO, "once");
        rig.wait(21_000);
        let slot = rig.add();
        assert_eq!(rig.start_one(), slot);
        let extended = rig.queue.extends(Rig::at(31_000), slot, Rig::at(21_000), Millis::new(10_000));
        assert_eq!(extended, if slow { Rig::at(41_000) } else { Millis::ZERO }, "{took}");
    }
}

#[test]
fn an_attempt_is_sent_only_while_its_caller_waits_for_at_least_100_ms_or_an_eighth_of_the_wait() {
    for (waits, at, in_time) in [(2000, 1900, true), (2000, 1901, false), (200, 175, true), (200, 176, false)]
    {
        let mut rig = setup(json!({ "initialDelayMs": at }));
        let call = rig.called(Rig::at(waits));
        let late = Verdict::Exhausted(Reason::WaitExceeded);
        assert_eq!(rig.answer(call, 503), if in_time { retry_in(at) } else { late }, "{at} of {waits}");
    }
}

#[test]
fn the_attempts_of_a_caller_who_waits_for_longer_are_more_unless_their_number_is_given() {
    let sent = |policy, waits| {
        let mut rig = setup(policy);
        let call = rig.called(Rig::at(waits));
        let mut sent = 1;
        while rig.answer(call, 503) != Verdict::Exhausted(Reason::MaxAttempts) {
            rig.wait(1000);
            assert_eq!(rig.starts(), [call]);
            sent += 1;
        }
        sent
    };
    assert_eq!(sent(json!({}), 30_000), 12);
    assert_eq!(sent(json!({}), 60_000), 24);
    assert_eq!(sent(json!({ "maxAttempts": 3 }), 60_000), 3);
}

#[test]
fn s8_a_blocked_task_ends_by_itself_at_its_deadline_and_so_does_one_behind_others() {
    for behind in [false, true] {
        let mut rig = setup(json!({ "totalBudgetMs": 5000, "estimatedCallMs": 500 }));
        let order = if behind { rig.queue.open_order() } else { NONE };
        let first = behind.then(|| rig.admit(|admission| admission.order = order));
        if let Some(first) = first {
            assert_eq!(rig.starts(), [first]);
        } else {
            rig.queue.pause(Some(rig.lane));
        }
        let by_budget = rig.admit(|admission| admission.order = order);
        let by_expiry =
            rig.admit(|admission| (admission.order, admission.expires_at) = (order, Rig::at(3000)));
        let by_patience =
            rig.admit(|admission| (admission.order, admission.wait_until) = (order, Rig::at(2000)));
        if !behind {
            assert_eq!(rig.poll(), []);
        }
        for (at, slot, reason) in [
            (2000, by_patience, Reason::WaitExceeded),
            (3000, by_expiry, Reason::Expired),
            (4500, by_budget, Reason::TotalBudget),
        ] {
            assert_eq!(rig.queue.wake_at(), Rig::at(at), "behind others: {behind}");
            rig.now = Rig::at(at).get() - 1;
            assert_eq!(rig.poll(), []);
            rig.wait(1);
            assert_eq!(rig.poll(), [Action::End(slot, reason)], "behind others: {behind}");
        }
        if let Some(first) = first {
            assert_eq!(rig.answer(first, 200), Verdict::Succeeded);
        }
        assert_eq!(rig.queue.depth(), 0);
        assert_eq!(rig.queue.wake_at(), Millis::MAX);
    }
}

#[test]
fn the_last_instant_is_still_in_time() {
    let mut rig = setup(json!({}));
    rig.queue.pause(None);
    let slot = rig.admit(|admission| admission.expires_at = Rig::at(100));
    assert_eq!(rig.poll(), []);
    rig.queue.resume(rig.time(), None);
    rig.wait(100);
    assert_eq!(rig.starts(), [slot]);
}

#[test]
fn s8_what_is_too_late_is_ended_and_not_started() {
    let mut rig = setup(json!({}));
    let slot = rig.admit(|admission| admission.expires_at = Rig::at(100));
    rig.wait(101);
    assert_eq!(rig.poll(), [Action::End(slot, Reason::Expired)]);
}

#[test]
fn a_held_lane_counts_when_the_wait_is_judged() {
    let mut rig = setup(json!({}));
    let first = rig.add();
    let second = rig.admit(|admission| admission.wait_until = Rig::at(20_000));
    rig.starts();
    rig.refuse(first, 429, 30_000);
    assert_eq!(rig.answer(second, 503), Verdict::Exhausted(Reason::WaitExceeded));
}

#[test]
fn an_attempt_that_reached_nobody_is_given_back() {
    let mut rig = setup(json!({ "maxAttempts": 1 }));
    let slot = rig.add();
    for _ in 0..20 {
        rig.starts();
        assert_eq!(rig.settle(slot, Outcome::Released, 0, None), retry_in(0));
        assert_eq!(rig.queue.attempts(slot), 0);
    }
    rig.starts();
    let last = rig.settle(slot, Outcome::Released, 0, None);
    assert_eq!(last, Verdict::Exhausted(Reason::MaxAttempts), "20 refunds, then attempts count");
}

#[test]
fn a_first_attempt_made_offline_does_not_count() {
    let mut rig = setup(json!({ "maxAttempts": 1 }));
    rig.queue.set_online(rig.time(), false);
    let slot = rig.begun();
    assert_eq!(rig.settle(slot, Outcome::Offline, 0, None), retry_in(0));
    assert_eq!(rig.queue.attempts(slot), 0);
    assert_eq!(rig.starts(), NOTHING);
    rig.queue.set_online(rig.time(), true);
    assert_eq!(rig.starts(), [slot]);
}

#[test]
fn what_must_not_be_repeated_is_not_repeated_offline_either() {
    let mut rig = setup(json!({}));
    let slot = rig.admit(|admission| admission.flags = Flags::default());
    rig.starts();
    let verdict = rig.settle(slot, Outcome::Offline, 0, None);
    assert_eq!(verdict, Verdict::Exhausted(Reason::NotRetryable), "it may have arrived");
}

#[test]
fn decorrelated_waits_remember_the_last_one() {
    let mut rig = setup(json!({
        "strategy": "exponential", "initialDelayMs": 100, "jitterType": "DECORRELATED", "maxAttempts": 100,
    }));
    let slot = rig.add();
    let mut previous = 100;
    for _ in 1..100 {
        assert_eq!(rig.start_one(), slot);
        let Verdict::Retry { delay, .. } = rig.answer(slot, 503) else { panic!() };
        assert!((100..=(3 * previous).min(30_000)).contains(&delay.get()), "{delay:?} after {previous}");
        previous = delay.get();
        rig.wait(previous);
    }
    assert!(previous > 100);
}
