//! How a lane comes back once its breaker was open: as fast as goes well, and what that keeps back is woken in time.

use crate::gated::{BREAKER, HASTENS, OPEN_AT_MOST, breaker, gated, roomy};
use crate::rig::{Rig, ended, limits};
use redrive::breaker::{BreakerRules, Circuit};
use redrive::budget::BudgetRules;
use redrive::gates::{Comeback, Gates};
use redrive::queue::{Ended, Gate, Limits};
use redrive::task::Outcome;
use redrive::time::Millis;
use serde_json::json;

fn ramped() -> Gates {
    Gates { ramp: Comeback::OfFew, ..breaker() }
}

/// Longer than any opening.
const LONG: u64 = 75_001;

/// What an answer takes, of the default timeout.
const QUICK: u64 = 625;
const FAIR: u64 = 5_000;
const SLOW: u64 = 5_010;

/// An attempt of the queue has a success that took long.
fn answer_slowly(rig: &mut Rig, slot: u32) {
    let duration = Some(Millis::new(SLOW));
    rig.queue.settle(rig.time(), slot, &Ended { duration, ..ended(Outcome::Response, 200) });
}

/// A caller's own attempt has just had a success that took so long.
fn hear_in(rig: &mut Rig, took: u64) {
    let duration = Some(Millis::new(took));
    rig.hear_of(rig.time(), &Ended { duration, ..ended(Outcome::Response, 200) });
}

/// The breaker is half-open, and so many of the callers' calls have failed meanwhile, a second apart.
fn reopened(gates: Gates, limits: Limits, failures: u32) -> Rig {
    let mut rig = gated(gates, limits, json!({}));
    rig.open_circuit();
    for _ in 0..failures {
        rig.wait(1000);
        rig.hear(false);
    }
    rig.wait(LONG);
    rig
}

fn close(rig: &mut Rig) {
    (0..5).for_each(|_| rig.hear(true));
    assert_eq!(rig.circuit(), Circuit::Closed);
    rig.start();
}

#[test]
fn a_lane_that_comes_back_runs_few_at_a_time_and_one_more_for_each_round_that_goes_well() {
    let mut rig = reopened(ramped(), roomy(), 0);
    close(&mut rig);
    for _ in 0..50 {
        rig.add();
    }
    let mut rounds = Vec::new();
    for _ in 0..5 {
        let started = rig.start();
        rounds.push(started.len());
        for slot in started {
            rig.answer(slot, 200);
        }
    }
    assert_eq!(rounds[0], 3);
    assert!(rounds.windows(2).all(|pair| pair[0] <= pair[1] && pair[1] <= pair[0] + 1), "{rounds:?}");
}

#[test]
fn without_the_ramp_everything_goes_at_once() {
    let mut rig = reopened(breaker(), roomy(), 9);
    close(&mut rig);
    for _ in 0..50 {
        rig.add();
    }
    assert_eq!(rig.start().len(), 50);
}

#[test]
fn l1_a_pause_between_two_attempts_is_named_and_ends_by_the_clock() {
    let mut rig = reopened(ramped(), roomy(), 12);
    let (first, second) = (rig.add(), rig.add());
    assert_eq!(rig.start(), [first]);
    answer_slowly(&mut rig, first);
    assert!(rig.start().is_empty());
    let (gate, until) = (rig.gate(second), rig.until(second));
    assert_eq!(gate, Gate::Ramp);
    assert_eq!(rig.queue.shut_until(rig.time(), rig.lane), Some(until));
    assert_eq!(rig.queue.room(rig.time(), rig.lane), 0);
    rig.wake();
    assert_eq!(rig.time(), until, "it wakes for that and nothing before");
    assert_eq!(rig.start(), [second]);
}

#[test]
fn l1_healthy_answers_end_the_pause_before_its_time() {
    let mut rig = reopened(ramped(), roomy(), 12);
    let (first, second) = (rig.add(), rig.add());
    assert_eq!(rig.start(), [first]);
    answer_slowly(&mut rig, first);
    assert_eq!(rig.gate(second), Gate::Ramp);
    (0..4).for_each(|_| rig.hear(true));
    assert_eq!(rig.start(), [second]);
}

#[test]
fn l1_a_quick_answer_to_a_callers_own_call_ends_the_pause_at_once() {
    for (took, starts) in [(QUICK, true), (FAIR, false), (SLOW, false)] {
        let mut rig = reopened(ramped(), roomy(), 12);
        let (first, second) = (rig.add(), rig.add());
        assert_eq!(rig.start(), [first]);
        answer_slowly(&mut rig, first);
        assert_eq!(rig.gate(second), Gate::Ramp);
        hear_in(&mut rig, took);
        assert_eq!(rig.start().contains(&second), starts, "{took} ms");
    }
}

#[test]
fn l1_a_flush_and_the_network_let_one_attempt_go_whatever_the_ramp_still_had_to_wait() {
    for (name, hasten) in HASTENS {
        let mut rig = reopened(Gates { ramp: Comeback::OfMany, ..breaker() }, roomy(), 12);
        let tasks = [rig.add(), rig.add(), rig.add()];
        let first = rig.start();
        assert_eq!(first.len(), 1);
        rig.answer(first[0], 503);
        rig.wait(10_000);
        assert!(rig.start().is_empty(), "{name}: a long pause");
        for _ in 0..3 {
            hasten(&mut rig);
            rig.wait(1);
            let one = rig.start();
            assert_eq!(one.len(), 1, "{name}: one of {tasks:?}");
            hasten(&mut rig);
            rig.wait(1);
            assert!(rig.start().is_empty(), "{name}: and no other beside it");
            rig.answer(one[0], 503);
            rig.wait(5);
        }
    }
}

#[test]
fn l1_and_an_open_breaker_lets_it_go_as_its_probe() {
    for (name, hasten) in HASTENS {
        let mut rig = gated(ramped(), roomy(), json!({}));
        let (probe, other) = (rig.add(), rig.add());
        rig.open_circuit();
        assert!(rig.start().is_empty());
        hasten(&mut rig);
        rig.wait(1);
        assert_eq!(rig.start(), [probe], "{name}");
        assert_eq!((rig.circuit(), rig.gate(other)), (Circuit::HalfOpen, Gate::CircuitProbing));
        rig.answer(probe, 200);
        assert_eq!(rig.start(), [other], "{name}");
    }
}

#[test]
fn l1_a_task_that_is_handed_over_lets_one_attempt_go_through_a_long_pause() {
    let brief = BreakerRules { max_open: Millis::new(OPEN_AT_MOST), ..BREAKER };
    let mut rig = reopened(Gates { ramp: Comeback::OfMany, breaker: Some(brief), ..breaker() }, roomy(), 12);
    rig.add();
    let first = rig.start();
    rig.answer(first[0], 503);
    for _ in 0..3 {
        // the breaker has opened once more, for less than the pause
        rig.wait(OPEN_AT_MOST);
        rig.add();
        assert!(rig.start().is_empty(), "a long pause");
        rig.queue.visit(rig.time(), rig.lane);
        let one = rig.start();
        assert_eq!(one.len(), 1);
        assert!(rig.start().is_empty(), "and no other beside it");
        rig.answer(one[0], 503);
    }
}

#[test]
fn a_probe_that_was_not_sent_makes_no_pause() {
    let mut rig = reopened(ramped(), roomy(), 12);
    let (first, second) = (rig.add(), rig.add());
    assert_eq!(rig.start(), [first]);
    rig.settle(first, Outcome::Released, 0, None);
    assert!(!rig.start().is_empty(), "{second} or {first} again");
}

#[test]
fn a_probe_is_not_kept_back_by_attempts_that_hang() {
    let mut rig = gated(ramped(), roomy(), json!({}));
    let hanging: Vec<u32> = (0..10).map(|_| rig.add()).collect();
    assert_eq!(rig.start(), hanging);
    rig.wait(1);
    rig.open_circuit();
    rig.wait(LONG);
    let probe = rig.add();
    assert_eq!(rig.start(), [probe]);
}

#[test]
fn an_answer_after_half_of_its_timeout_narrows_it() {
    let policy = json!({ "attemptTimeoutMs": 1000 });
    let mut rig = gated(ramped(), roomy(), policy);
    rig.open_circuit();
    rig.wait(LONG);
    for _ in 0..5 {
        hear_in(&mut rig, SLOW / 10);
    }
    rig.start();
    assert_eq!(rig.circuit(), Circuit::Closed);
    for _ in 0..5 {
        rig.add();
    }
    assert_eq!(rig.start().len(), 1);
}

#[test]
fn another_lane_knows_nothing_of_it() {
    let mut rig = reopened(ramped(), roomy(), 12);
    let other = rig.queue.open_lane();
    for _ in 0..9 {
        rig.add_to(other);
    }
    assert_eq!(rig.start().len(), 9);
    assert_eq!(rig.queue.shut_until(rig.time(), other), None::<Millis>);
}

#[test]
fn three_failures_in_a_row_begin_it_and_a_lone_call_is_in_time() {
    let mut rig = gated(Gates { ramp: Comeback::OfFew, ..Gates::default() }, roomy(), json!({}));
    let slot = rig.begun();
    rig.answer(slot, 503);
    let began = rig.now;
    for attempt in 2..=5 {
        rig.start_next();
        assert_eq!(rig.queue.attempts(slot), attempt);
        rig.wait(1);
        rig.answer(slot, 503);
    }
    assert!(rig.now - began <= 30_000, "four retries in {} ms", rig.now - began);
    for _ in 0..9 {
        _ = rig.add();
    }
    assert_eq!(rig.start().len(), 0, "it has begun");
    // and keeps nothing back once all goes well: as many as the limit allows run again
    for _ in 0..10_000 {
        rig.hear(true);
    }
    assert_eq!(rig.start().len(), 9);
}

/// Answers `bad` tasks with 503 and all others with 200, until none of the others is left; says how long that took.
fn until_the_others_are_done(rig: &mut Rig, bad: &[u32], mut others: usize) -> u64 {
    let begin = rig.now;
    while others > 0 {
        for slot in rig.start() {
            let is_bad = bad.contains(&slot);
            rig.wait(1);
            rig.answer(slot, if is_bad { 503 } else { 200 });
            others -= usize::from(!is_bad);
        }
        if others > 0 && rig.queue.wake_at() > rig.time() {
            rig.wake();
        }
    }
    rig.now - begin
}

#[test]
fn l1_tasks_that_always_fail_do_not_keep_the_others_of_their_server_waiting() {
    // the three that are still unknown when it opens are each tried once
    for (bad, most) in [(5, 10_000), (8, 30_000)] {
        let breaker = Some(BreakerRules { after: Millis::ZERO, ..BreakerRules::DEFAULT });
        let gates = Gates {
            breaker,
            ramp: Comeback::OfFew,
            budget: Some(BudgetRules::default()),
            ..Gates::default()
        };
        let policy = json!({ "strategy": "spread", "jitterType": "FULL", "maxAttempts": 100 });
        let mut rig = gated(gates, limits(), policy);
        let bad: Vec<u32> = (0..bad).map(|_| rig.add()).collect();
        for slot in rig.start() {
            rig.answer(slot, 503);
        }
        rig.wait(1);
        for _ in 0..121 {
            rig.add();
        }
        let took = until_the_others_are_done(&mut rig, &bad, 121);
        assert!(took < most, "{} bad ones: {took} ms", bad.len());
    }
}
