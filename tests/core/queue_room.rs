//! How much to ask a store for, and holds that were learned elsewhere.

use crate::gated::{breaker, gated, roomy};
use crate::rig::{NOTHING, Rig, limits, second, setup, setup_with};
use redrive::budget::BudgetRules;
use redrive::gates::Gates;
use redrive::queue::{Limits, Past};
use redrive::slots::NONE;
use redrive::time::Millis;
use serde_json::json;

#[test]
fn s7_s8_s9_a_lane_has_room_for_what_its_gates_let_through() {
    let mut rig = setup_with(Limits { concurrency: 9, per_lane: 3, ..limits() }, json!({}));
    let room = |rig: &Rig| rig.queue.room(rig.time(), rig.lane);
    assert_eq!(room(&rig), 3);
    let leased = [0; 4].map(|_| rig.adopt());
    assert_eq!(room(&rig), 0, "never below none");
    rig.answer(leased[0], 200);
    rig.answer(leased[1], 200);
    assert_eq!(room(&rig), 1);

    rig.queue.pause(Some(rig.lane));
    assert_eq!(room(&rig), 0);
    rig.queue.resume(rig.time(), Some(rig.lane));
    assert_eq!(room(&rig), 1);

    rig.queue.hold(rig.time(), rig.lane, Millis::new(500));
    assert_eq!(room(&rig), 0);
    rig.wait(499);
    assert_eq!(room(&rig), 0);
    rig.wait(1);
    assert_eq!(room(&rig), 1, "the end of a hold is seen without a poll");

    rig.queue.set_online(rig.time(), false);
    rig.fail(leased[2]);
    rig.queue.set_online(rig.time(), true);
    assert_eq!(room(&rig), 0, "it probes, and an attempt runs");
    rig.fail(leased[3]);
    assert_eq!(room(&rig), 1, "one probe");
    let probe = rig.adopt();
    rig.answer(probe, 503);
    assert_eq!(room(&rig), 3, "any response ends it");
}

#[test]
fn s7_s8_vacancies_are_what_pause_and_limit_leave() {
    let mut rig = setup_with(Limits { concurrency: 2, per_lane: 1, ..limits() }, json!({}));
    assert_eq!(rig.queue.vacancies(), 2);
    rig.queue.pause(Some(rig.lane));
    assert_eq!(rig.queue.vacancies(), 2, "one lane is not all");
    rig.queue.pause(None);
    assert_eq!(rig.queue.vacancies(), 0);
    rig.queue.resume(rig.time(), None);
    rig.queue.set_online(rig.time(), false);
    assert_eq!(rig.queue.vacancies(), 2, "each lane has its own say");
    rig.queue.set_online(rig.time(), true);
    rig.running();
    assert_eq!(rig.queue.vacancies(), 1);
    rig.adopt();
    rig.adopt();
    assert_eq!(rig.queue.vacancies(), 0);
}

#[test]
fn s9_a_hold_learned_elsewhere_keeps_ready_tasks_back_and_is_never_shortened() {
    let mut rig = setup(json!({}));
    let slot = rig.add();
    rig.queue.hold(rig.time(), rig.lane, Millis::new(2_000));
    rig.queue.hold(rig.time(), rig.lane, Millis::new(700));
    rig.queue.hold(rig.time(), NONE, Millis::new(9_000));
    assert_eq!(rig.held(), Some(Rig::at(2_000)));
    assert_eq!(rig.starts(), NOTHING);
    assert_eq!(rig.queue.wake_at(), Rig::at(2_000));
    rig.wait(1_999);
    assert_eq!(rig.starts(), NOTHING);
    rig.wait(1);
    assert_eq!(rig.starts(), [slot]);
}

#[test]
fn a_hold_of_no_time_is_none() {
    let mut rig = setup(json!({}));
    let slot = rig.add();
    rig.queue.hold(rig.time(), rig.lane, Millis::from_f64(f64::NAN));
    assert_eq!(rig.held(), None);
    assert_eq!(rig.starts(), [slot]);
}

#[test]
fn l6_where_retries_cannot_pay_a_lane_has_room_for_first_attempts_as_far_as_its_other_gates_let_them() {
    let limits = Limits { per_lane: 3, ..roomy() };
    let gates = Gates { budget: Some(BudgetRules::new(1.0, 0.0, 1.0)), ..breaker() };
    let mut rig = gated(gates, limits, json!({}));
    let room =
        |rig: &Rig| (rig.queue.room(rig.time(), rig.lane), rig.queue.room_for_first(rig.time(), rig.lane));
    assert_eq!(room(&rig), (1, 3));
    let retry = rig.adopt();
    assert_eq!(room(&rig), (0, 2), "the token is spent");
    let first = Past { attempts: 1, ..second() };
    let fresh = rig.adopt_with(&first, |_| {});
    assert_eq!(room(&rig), (0, 1));
    rig.answer(retry, 200);
    rig.answer(fresh, 200);
    rig.open_circuit();
    assert_eq!(room(&rig), (0, 0));
}
