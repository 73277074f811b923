//! While its breaker is open, a lane keeps no task whose caller waits for an answer.

use crate::gated::{OPEN_AT_MOST, breaker, gated, roomy};
use crate::rig::{NOTHING, Rig, retry_in, second};
use redrive::breaker::{BreakerRules, Circuit};
use redrive::gates::{Gates, WhenOpen};
use redrive::queue::{Action, BATCH, Verdict};
use redrive::task::Reason;
use redrive::time::Millis;
use serde_json::json;

fn setup() -> Rig {
    let mut rig = gated(breaker(), roomy(), json!({}));
    rig.queue.set_when_open(WhenOpen::Fail);
    rig
}

fn awaited(rig: &mut Rig) -> u32 {
    let wait_until = Millis::new(rig.now + 30_000);
    rig.admit(|admission| admission.wait_until = wait_until)
}

/// Fails attempts of callers until the breaker is open, and gives what has ended by then.
fn open(rig: &mut Rig) -> Vec<(u32, Reason)> {
    while rig.circuit() != Circuit::Open {
        rig.hear(false);
    }
    ends(rig)
}

fn ends(rig: &mut Rig) -> Vec<(u32, Reason)> {
    let end = |action| if let Action::End(slot, reason) = action { Some((slot, reason)) } else { None };
    rig.poll().into_iter().filter_map(end).collect()
}

#[test]
fn those_that_wait_end_as_it_opens_and_what_was_handed_over_stays() {
    let mut rig = setup();
    let (failed, handed) = (awaited(&mut rig), rig.add());
    assert_eq!(rig.start(), [failed, handed]);
    assert_eq!((rig.answer(failed, 503), rig.answer(handed, 503)), (retry_in(1000), retry_in(1000)));
    assert_eq!(open(&mut rig), [(failed, Reason::CircuitOpen)]);
    rig.wait(OPEN_AT_MOST);
    assert_eq!(rig.start(), [handed]);
}

#[test]
fn those_that_are_due_or_stand_behind_others_end_too() {
    let mut rig = setup();
    let order = rig.queue.open_order();
    let wait_until = Millis::new(rig.now + 30_000);
    let head = rig.admit(|admission| admission.order = order);
    let behind = rig.admit(|admission| (admission.order, admission.wait_until) = (order, wait_until));
    let lane = rig.lane;
    rig.queue.pause(Some(lane));
    let due = awaited(&mut rig);
    assert_eq!(rig.start(), NOTHING);
    let mut ended = open(&mut rig);
    ended.sort_by_key(|(slot, _)| *slot);
    assert_eq!(ended, [(behind, Reason::CircuitOpen), (due, Reason::CircuitOpen)]);
    assert!(rig.queue.gate_status(head).is_some());
}

#[test]
fn a_failure_that_opens_it_or_comes_while_it_is_open_is_the_last() {
    let mut rig = setup();
    let slots: Vec<u32> = (0..30).map(|_| awaited(&mut rig)).collect();
    assert_eq!(rig.start(), slots);
    let verdicts: Vec<Verdict> = slots.iter().map(|slot| rig.answer(*slot, 503)).collect();
    assert_eq!(rig.circuit(), Circuit::Open);
    let opened_by = verdicts.iter().position(|verdict| *verdict == Verdict::Exhausted(Reason::CircuitOpen));
    let (before, after) = verdicts.split_at(opened_by.unwrap());
    assert!(before.iter().all(|verdict| *verdict == retry_in(1000)));
    assert!(after.iter().all(|verdict| *verdict == Verdict::Exhausted(Reason::CircuitOpen)));
    assert_eq!(ends(&mut rig).len(), before.len(), "and those before it end with the news of it");
    assert_eq!(rig.queue.depth(), 0);
}

#[test]
fn a_task_of_a_store_ends_if_its_caller_waits() {
    let mut rig = setup();
    let wait_until = Millis::new(rig.now + 30_000);
    let awaited = rig.adopt_with(&second(), |admission| admission.wait_until = wait_until);
    let handed = rig.adopt_with(&second(), |_| {});
    assert_eq!(open(&mut rig), []);
    assert_eq!(rig.answer(awaited, 503), Verdict::Exhausted(Reason::CircuitOpen));
    assert_eq!(rig.answer(handed, 503), retry_in(1000));
}

#[test]
fn more_than_fit_into_one_poll_end_in_the_next() {
    let mut rig = setup();
    let lane = rig.lane;
    rig.queue.pause(Some(lane));
    let slots: Vec<u32> = (0..BATCH * 2).map(|_| awaited(&mut rig)).collect();
    let mut ended = open(&mut rig);
    while ended.len() < slots.len() {
        assert!(rig.queue.wake_at() <= rig.time(), "L1: nothing wakes it");
        ended.extend(ends(&mut rig));
    }
    assert_eq!(rig.queue.depth(), 0);
}

#[test]
fn a_success_of_an_attempt_from_before_is_one() {
    let mut rig = setup();
    let slot = awaited(&mut rig);
    assert_eq!(rig.start(), [slot]);
    assert_eq!(open(&mut rig), []);
    assert_eq!(rig.answer(slot, 200), Verdict::Succeeded);
}

#[test]
fn unless_the_host_says_so_they_wait() {
    let mut rig = gated(breaker(), roomy(), json!({}));
    let slot = awaited(&mut rig);
    assert_eq!(rig.start(), [slot]);
    rig.answer(slot, 503);
    assert_eq!(open(&mut rig), []);
    rig.wait(OPEN_AT_MOST);
    assert_eq!(rig.start(), [slot]);
}

#[test]
fn an_open_circuit_tries_its_server_out_before_the_last_caller_leaves() {
    for others in [false, true] {
        let mut rig = gated(breaker(), roomy(), json!({ "initialDelayMs": 500 }));
        rig.queue.set_when_open(WhenOpen::Wait);
        open(&mut rig);
        let call = rig.admit(|admission| admission.wait_until = Rig::at(OPEN_AT_MOST + 2000));
        rig.wait(OPEN_AT_MOST);
        assert_eq!(rig.start(), [call]);
        if others {
            let wait_until = Millis::new(rig.now + 30_000);
            let other = rig.called(wait_until);
            assert_eq!(rig.answer(other, 503), retry_in(500));
        }
        let verdict = rig.answer(call, 503);
        assert_eq!(rig.circuit(), Circuit::Open);
        if others {
            assert_eq!(verdict, Verdict::Exhausted(Reason::CircuitOpen), "another caller will see");
            continue;
        }
        assert_eq!(verdict, retry_in(500));
        // an eighth of its wait of 7 s is left then
        rig.wait(2000 - 875);
        assert_eq!(rig.start(), NOTHING);
        rig.wait(1);
        assert_eq!(rig.start(), [call]);
    }
}

#[test]
fn it_is_open_since_it_was_closed_last_and_until_it_tries_its_server_out() {
    let mut rig = setup();
    let (lane, opened) = (rig.lane, rig.time());
    assert_eq!(rig.queue.opening(lane, rig.time()), None);
    open(&mut rig);
    let until = rig.queue.opening(lane, rig.time()).and_then(|(_, until)| until);
    assert!(until.is_some_and(|until| until > rig.time()), "{until:?}");
    let probe = rig.add();
    rig.wait(OPEN_AT_MOST);
    assert_eq!(rig.start(), [probe]);
    assert_eq!(rig.queue.opening(lane, rig.time()), Some((opened, None)), "of a probe no end is known");
    rig.answer(probe, 503);
    assert_eq!(rig.circuit(), Circuit::Open);
    assert_eq!(rig.queue.opening(lane, rig.time()).map(|(since, _)| since), Some(opened));
}

#[test]
fn stats_are_of_the_moment_that_is_asked_about() {
    let mut rig = setup();
    open(&mut rig);
    let later = Millis::new(rig.now + OPEN_AT_MOST);
    assert_eq!(rig.queue.stats(rig.time()).lanes[0].circuit, Circuit::Open);
    assert_eq!(rig.queue.stats(later).lanes[0].circuit, Circuit::HalfOpen);
    rig.queue.pause(None);
    rig.add();
    assert_eq!(rig.queue.stats(later).next_attempt_at, None, "nothing starts in a pause");
    rig.queue.resume(rig.time(), None);
    assert_eq!(rig.queue.stats(later).next_attempt_at, Some(later), "not in the past");
}

#[test]
fn a_caller_that_leaves_as_the_probe_makes_room_for_the_next() {
    let mut rig = setup();
    open(&mut rig);
    rig.wait(OPEN_AT_MOST);
    let lane = rig.lane;
    assert!(rig.queue.admits(rig.time(), lane));
    assert!(!rig.queue.admits(rig.time(), lane));
    rig.hear_nothing();
    assert!(rig.queue.admits(rig.time(), lane));
}

#[test]
fn a_wait_that_the_gates_let_end_too_late_for_its_caller_is_not_begun() {
    let mut rig = gated(breaker(), roomy(), json!({}));
    let soon = Millis::new(rig.now + 2000);
    let impatient = rig.admit(|admission| admission.wait_until = soon);
    let (patient, handed) = (awaited(&mut rig), rig.add());
    assert_eq!(rig.start(), [impatient, patient, handed]);
    rig.open_circuit();
    assert_eq!(rig.answer(impatient, 503), Verdict::Exhausted(Reason::WaitExceeded));
    assert_eq!((rig.answer(patient, 503), rig.answer(handed, 503)), (retry_in(1000), retry_in(1000)));
}

#[test]
fn s8_an_opening_that_may_be_chance_gives_way_to_a_callers_call_and_not_to_what_waits() {
    let rules = BreakerRules::DEFAULT;
    let mut rig = gated(Gates { breaker: Some(rules), ..Gates::default() }, roomy(), json!({}));
    rig.queue.set_when_open(WhenOpen::Fail);
    while rig.circuit() == Circuit::Closed {
        rig.wait(700);
        rig.hear(false);
    }
    let (lane, handed) = (rig.lane, rig.add());
    assert_eq!(rig.start(), NOTHING, "what was handed over waits");
    assert!(rig.queue.admits(rig.time(), lane));
    assert_eq!(rig.poll(), [Action::Circuit(lane, (Circuit::Open, Circuit::HalfOpen))]);
    rig.wait(10);
    rig.hear(true);
    assert_eq!(rig.start(), [handed]);
}
