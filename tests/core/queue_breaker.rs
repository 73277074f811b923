//! The breaker inside a queue: what it keeps back, whom it lets through to see, and what it hears.

use crate::gated::{BREAKER, OPEN_AT_MOST, breaker, gated, roomy};
use crate::rig::{NOTHING, Rig, ended, second};
use Circuit::{Closed, HalfOpen, Open};
use redrive::breaker::{BreakerRules, Circuit};
use redrive::gates::Gates;
use redrive::queue::{Action, Ended, Gate, Limits, Past};
use redrive::task::{Outcome, Reason};
use redrive::time::Millis;
use serde_json::json;

/// What is known of a server matters for so long.
const MEMORY: u64 = 60_000;

fn setup() -> Rig {
    gated(breaker(), roomy(), json!({}))
}

#[test]
fn s8_nothing_starts_while_it_is_open_and_one_attempt_when_its_time_is_up() {
    let mut rig = setup();
    rig.open_circuit();
    let (first, second) = (rig.add(), rig.add());
    assert_eq!(rig.start(), NOTHING);
    assert_eq!((rig.gate(first), rig.until(first)), (Gate::CircuitOpen, rig.queue.wake_at()));
    rig.wait(2499);
    assert_eq!(rig.start(), NOTHING, "the shortest is half of 5 s");
    rig.wake();
    let until = rig.time();
    assert!(until >= Rig::at(2500) && until <= Rig::at(OPEN_AT_MOST), "{until:?}");
    let lane = rig.lane;
    assert_eq!(rig.poll(), [Action::Circuit(lane, (Open, HalfOpen)), Action::Start(first)]);
    assert_eq!((rig.gate(second), rig.until(second)), (Gate::CircuitProbing, Millis::MAX));
    rig.wait(100_000);
    assert_eq!(rig.start(), NOTHING, "the probe has not ended");
    rig.answer(first, 200);
    assert_eq!(rig.start(), [second]);
}

#[test]
fn one_healthy_answer_closes_it_and_then_all_may_start() {
    let mut rig = setup();
    rig.open_circuit();
    let slots: Vec<u32> = (0..8).map(|_| rig.add()).collect();
    rig.wait(OPEN_AT_MOST);
    assert_eq!(rig.start(), [slots[0]]);
    // A healthy answer is one that no retry would change.
    rig.answer(slots[0], 404);
    assert_eq!(rig.circuit(), Closed);
    let lane = rig.lane;
    let expected: Vec<Action> = slots[1..].iter().map(|slot| Action::Start(*slot)).collect();
    assert_eq!(rig.poll(), [&[Action::Circuit(lane, (HalfOpen, Closed))], &expected[..]].concat());
}

#[test]
fn a_probe_that_fails_opens_it_for_twice_as_long_and_a_minute_at_most() {
    let mut rig = setup();
    rig.open_circuit();
    let mut slot = rig.add();
    for doubled in [10_000, 20_000, 40_000, 60_000, 60_000] {
        rig.start_next();
        rig.fail(slot);
        rig.queue.cancel(slot);
        let opened_at = rig.now;
        assert_eq!(rig.news(), [(HalfOpen, Open)]);
        slot = rig.add();
        rig.poll();
        let open = rig.queue.wake_at().get() - opened_at;
        assert!(open >= doubled / 2 && open <= doubled, "{open} ms, not {doubled}");
    }
}

#[test]
fn what_was_not_sent_says_nothing_of_its_server() {
    for outcome in [Outcome::CredentialsFailed, Outcome::Released, Outcome::Vetoed] {
        let mut rig = setup();
        for _ in 0..5 {
            let slot = rig.running();
            rig.end(slot, &Ended { rate_limit: Some(Millis::new(7_000)), ..ended(outcome, 0) });
            rig.queue.cancel(slot);
        }
        assert_eq!((rig.circuit(), rig.held()), (Closed, None), "{outcome:?}");
    }
}

#[test]
fn what_fails_while_the_host_is_offline_or_was_cancelled_says_nothing() {
    let mut rig = setup();
    let slots: Vec<u32> = (0..12).map(|_| rig.add()).collect();
    rig.starts();
    for slot in &slots[..6] {
        rig.queue.cancel(*slot);
        rig.fail(*slot);
    }
    rig.queue.set_online(rig.time(), false);
    for slot in &slots[6..] {
        rig.fail(*slot);
    }
    assert_eq!(rig.circuit(), Closed);
}

#[test]
fn a_server_that_fails_for_less_than_two_and_a_half_seconds_is_not_taken_for_one_that_is_down() {
    let mut rig =
        gated(Gates { breaker: Some(BreakerRules::DEFAULT), ..Gates::default() }, roomy(), json!({}));
    let began = rig.now;
    while rig.now < began + 2500 {
        rig.hear(false);
        assert_eq!(rig.circuit(), Closed, "after {} ms", rig.now - began);
        rig.wait(10);
    }
    rig.hear(false);
    assert_eq!(rig.news(), [(Closed, Open)]);
}

#[test]
fn what_began_before_the_state_did_says_nothing() {
    let mut rig = setup();
    let stragglers: Vec<u32> = (0..10).map(|_| rig.add()).collect();
    rig.starts();
    rig.wait(1);
    rig.open_circuit();
    rig.answer(stragglers[0], 200);
    assert_eq!(rig.circuit(), Open, "it had begun while the server still answered");
    rig.wait(OPEN_AT_MOST);
    let probe = rig.add();
    assert_eq!(rig.start(), [probe]);
    for slot in &stragglers[1..4] {
        rig.fail(*slot);
    }
    assert_eq!(rig.circuit(), HalfOpen, "they hung since before");
    let other = rig.add();
    assert_eq!(rig.start(), NOTHING, "nor were they the probe");
    rig.answer(probe, 200);
    assert_eq!(rig.start(), [other]);
}

#[test]
fn what_began_while_it_was_open_does_not_close_it_past_half_open() {
    let mut rig = setup();
    rig.open_circuit();
    let began = rig.time();
    rig.wait(OPEN_AT_MOST + 1000);
    for _ in 0..10 {
        rig.hear_of(began, &ended(Outcome::Response, 200));
    }
    assert_eq!(rig.circuit(), HalfOpen);
    assert_eq!(rig.news(), [(Open, HalfOpen)]);
    rig.hear(true);
    assert_eq!(rig.news(), [(HalfOpen, Closed)]);
}

#[test]
fn what_began_after_its_time_was_up_counts_though_nobody_looked_before() {
    let mut rig = setup();
    rig.open_circuit();
    rig.wait(OPEN_AT_MOST);
    let began = rig.time();
    rig.wait(500);
    rig.hear_of(began, &ended(Outcome::Response, 200));
    assert_eq!(rig.news(), [(Open, HalfOpen), (HalfOpen, Closed)]);
}

#[test]
fn a_callers_probe_is_the_only_one_until_it_is_heard_of_or_lapses() {
    let mut rig = setup();
    assert!(rig.queue.admits(rig.time(), rig.lane));
    rig.open_circuit();
    assert!(!rig.queue.admits(rig.time(), rig.lane));
    let waits = rig.add();
    rig.wait(OPEN_AT_MOST);
    assert!(rig.queue.admits(rig.time(), rig.lane));
    assert!(!rig.queue.admits(rig.time(), rig.lane));
    assert_eq!(rig.news(), [(Open, HalfOpen)]);
    assert_eq!(rig.gate(waits), Gate::CircuitProbing);
    let lapses = Millis::new(rig.now + BREAKER.max_open.get());
    assert_eq!((rig.until(waits), rig.queue.wake_at()), (lapses, lapses));
    assert_eq!(rig.queue.shut_until(rig.time(), rig.lane), Some(lapses));
    assert_eq!(rig.queue.room(rig.time(), rig.lane), 0);
    // Heard of, and nothing was learned: another may.
    rig.wait(1000);
    rig.hear_nothing();
    assert_eq!(rig.circuit(), HalfOpen);
    assert!(rig.queue.admits(rig.time(), rig.lane));
    assert_eq!(rig.start(), NOTHING);
    // Never heard of: the next may once it has lapsed.
    rig.wait(BREAKER.max_open.get() - 1);
    assert_eq!(rig.start(), NOTHING);
    rig.wake();
    assert_eq!(rig.start(), [waits]);
}

#[test]
fn a_probe_that_says_nothing_leaves_its_place_to_the_next() {
    let unsent = [Outcome::Released, Outcome::CredentialsFailed, Outcome::Vetoed];
    for outcome in unsent.into_iter().chain([Outcome::OwnError, Outcome::Aborted]) {
        let mut rig = setup();
        rig.open_circuit();
        let (probe, next) = (rig.add(), rig.add());
        rig.wait(OPEN_AT_MOST);
        assert_eq!(rig.start(), [probe]);
        rig.settle(probe, outcome, 0, None);
        assert_eq!(rig.circuit(), HalfOpen);
        rig.queue.cancel(probe);
        assert_eq!(rig.start(), [next], "{outcome:?}");
    }
}

#[test]
fn a_leased_probe_that_is_given_back_leaves_its_place_to_the_next() {
    let mut rig = setup();
    rig.open_circuit();
    rig.wait(OPEN_AT_MOST);
    assert_eq!(rig.queue.room(rig.time(), rig.lane), 1);
    let probe = rig.adopt();
    assert_eq!(rig.queue.room(rig.time(), rig.lane), 0);
    assert_eq!(rig.queue.shut_until(rig.time(), rig.lane), None, "no clock decides when it ends");
    rig.settle(probe, Outcome::Released, 0, None);
    assert_eq!(rig.queue.room(rig.time(), rig.lane), 1);
}

#[test]
fn attempts_that_still_run_take_the_places_of_the_limit_from_the_probe() {
    let mut rig = gated(breaker(), Limits { per_lane: 2, ..roomy() }, json!({}));
    let running = [rig.add(), rig.add()];
    rig.starts();
    rig.wait(1);
    rig.open_circuit();
    let waits = rig.add();
    rig.wait(OPEN_AT_MOST);
    assert_eq!(rig.news(), [(Open, HalfOpen)]);
    assert_eq!(rig.gate(waits), Gate::LaneLimit);
    rig.fail(running[0]);
    assert_eq!(rig.start(), [waits]);
}

#[test]
fn a_pause_of_the_lane_outlasts_its_breaker() {
    let mut rig = setup();
    rig.open_circuit();
    let slot = rig.add();
    rig.queue.pause(Some(rig.lane));
    assert_eq!(rig.gate(slot), Gate::LanePaused);
    rig.wait(OPEN_AT_MOST);
    assert_eq!(rig.start(), NOTHING);
    rig.queue.resume(rig.time(), Some(rig.lane));
    assert_eq!(rig.start(), [slot]);
}

#[test]
fn a_lane_whose_tasks_all_wait_is_told_half_open_when_the_first_is_due() {
    let mut rig = setup();
    let slot = rig.running();
    rig.refuse(slot, 502, 60_000);
    (0..4).for_each(|_| rig.hear(false));
    assert_eq!(rig.news(), [(Closed, Open)]);
    let due = rig.queue.due_at(slot).unwrap();
    assert_eq!(rig.queue.wake_at(), due, "nobody waits for the breaker");
    rig.now = due.get();
    let lane = rig.lane;
    assert_eq!(rig.poll(), [Action::Circuit(lane, (Open, HalfOpen)), Action::Start(slot)]);
}

#[test]
fn a_task_that_must_not_start_any_more_ends_though_its_breaker_is_open() {
    let mut rig = setup();
    rig.open_circuit();
    let slot = rig.admit(|admission| admission.expires_at = Rig::at(1000));
    rig.poll();
    assert_eq!(rig.queue.wake_at(), Rig::at(1000));
    rig.wait(1000);
    assert_eq!(rig.poll(), [Action::End(slot, Reason::Expired)]);
}

#[test]
fn l4_an_open_breaker_keeps_back_its_own_lane_only() {
    let mut rig = setup();
    rig.open_circuit();
    let other = rig.queue.open_lane();
    rig.add();
    let elsewhere = rig.add_to(other);
    assert_eq!(rig.start(), [elsewhere]);
    assert_eq!(rig.queue.circuit(other, rig.time()), Closed);
}

#[test]
fn a_clock_set_back_moves_the_end_of_it_along() {
    let mut rig = setup();
    rig.open_circuit();
    let slot = rig.add();
    rig.poll();
    let left = rig.queue.wake_at().get() - rig.now;
    rig.now -= 3_600_000;
    rig.poll();
    assert_eq!(rig.queue.wake_at().get() - rig.now, left);
    assert_eq!(rig.until(slot), rig.queue.wake_at());
    rig.wake();
    assert_eq!(rig.start(), [slot]);
}

#[test]
fn a_lane_is_not_forgotten_while_its_breaker_has_something_to_say() {
    let mut rig = setup();
    rig.hear(false);
    assert!(!rig.queue.drop_lane(rig.lane), "a failure that may be the first of five");
    (0..4).for_each(|_| rig.hear(false));
    assert_eq!(rig.news(), [(Closed, Open)]);
    assert!(!rig.queue.drop_lane(rig.lane));
    rig.wait(OPEN_AT_MOST);
    rig.poll();
    assert!(!rig.queue.drop_lane(rig.lane), "half-open is not closed");
    rig.wait(MEMORY);
    rig.poll();
    assert!(rig.queue.drop_lane(rig.lane), "of an origin that nobody calls any more");
}

#[test]
fn a_failure_long_ago_does_not_keep_a_lane_for_ever() {
    let mut rig = setup();
    rig.hear(false);
    rig.wait(MEMORY);
    rig.poll();
    assert!(rig.queue.drop_lane(rig.lane));
}

#[test]
fn a_lease_that_was_granted_before_it_opened_is_taken_all_the_same() {
    let mut rig = setup();
    rig.open_circuit();
    let slot = rig.adopt_with(&Past { attempts: 1, ..second() }, |_| {});
    // the store has decided; the host looks once more before it sends
    assert_eq!(rig.gate(slot), Gate::InFlight);
    rig.queue.settle(rig.time(), slot, &ended(Outcome::Released, 0));
    assert_eq!(rig.circuit(), Open);
}
