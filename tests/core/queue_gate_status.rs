//! The first gate that holds a task; a due task of a store is told the same of its lane, and of the retry budget.

use crate::rig::{NOTHING, Rig, credentialed, limits, setup, setup_with};
use redrive::breaker::BreakerRules;
use redrive::budget::BudgetRules;
use redrive::gates::{Comeback, Gates};
use redrive::queue::{Action, Gate, GateStatus, Limits};
use redrive::slots::NONE;
use redrive::task::Outcome;
use redrive::time::Millis;
use serde_json::json;

/// The gate of a task. Where it is one of its lane's, the lane says so itself.
fn gate(rig: &Rig, slot: u32) -> Gate {
    let status = rig.queue.gate_status(slot).unwrap();
    let own = [Gate::InFlight, Gate::Started, Gate::Parked, Gate::Behind, Gate::Due];
    if !own.contains(&status.gate) {
        assert_eq!(rig.queue.gate_of_lane(rig.queue.lane_of(slot).unwrap(), rig.time(), true), status);
    }
    status.gate
}

fn until(rig: &Rig, slot: u32) -> Millis {
    rig.queue.gate_status(slot).unwrap().until
}

#[test]
fn the_gates_are_asked_in_order_and_the_first_that_holds_is_named() {
    let mut rig = setup_with(Limits { concurrency: 3, per_lane: 2, ..limits() }, json!({}));
    let other = rig.queue.open_lane();
    let slot = rig.add();
    assert_eq!(gate(&rig, slot), Gate::Ready);
    rig.starts();
    assert_eq!(gate(&rig, slot), Gate::InFlight);

    // Everything at once holds it; then its wait ends, then the lane's hold.
    let running = [rig.add(), rig.add_to(other)];
    rig.starts();
    rig.queue.set_online(rig.time(), false);
    rig.fail(running[0]);
    rig.refuse(slot, 503, 10_000);
    rig.queue.set_online(rig.time(), true);
    rig.queue.pause(Some(rig.lane));
    rig.queue.pause(None);
    rig.queue.set_online(rig.time(), false);
    assert_eq!(gate(&rig, slot), Gate::Due);
    assert_eq!(gate(&rig, running[0]), Gate::Due);
    assert_eq!(until(&rig, running[0]), Rig::at(1000));
    rig.wait(1000);
    rig.poll();
    assert_eq!(gate(&rig, running[0]), Gate::LaneHeld);
    assert_eq!(until(&rig, running[0]), Rig::at(10_000));
    rig.wait(9000);
    rig.poll();
    assert_eq!(gate(&rig, running[0]), Gate::LanePaused);
    assert_eq!(until(&rig, running[0]), Millis::MAX, "nobody knows");
}

#[test]
fn pauses_offline_and_limits_are_told_apart() {
    let mut rig = setup_with(Limits { concurrency: 2, per_lane: 1, ..limits() }, json!({}));
    let (second, third) = (rig.queue.open_lane(), rig.queue.open_lane());
    let (running, behind_it) = (rig.add(), rig.add());
    let elsewhere = rig.add_to(second);
    assert_eq!(rig.starts(), [running, elsewhere]);
    let last = rig.add_to(third);
    assert_eq!(gate(&rig, behind_it), Gate::LaneLimit);
    assert_eq!(gate(&rig, last), Gate::Limit);
    rig.queue.set_online(rig.time(), false);
    assert_eq!((gate(&rig, last), until(&rig, last)), (Gate::Offline, Rig::at(30_000)));
    rig.queue.pause(None);
    assert_eq!(gate(&rig, last), Gate::Paused);
    rig.queue.pause(Some(third));
    assert_eq!(gate(&rig, last), Gate::LanePaused);
    rig.queue.resume(rig.time(), None);
    rig.queue.set_online(rig.time(), true);
    rig.answer(elsewhere, 200);
    assert_eq!(gate(&rig, last), Gate::Ready);
}

#[test]
fn a_lane_that_was_offline_is_named_while_its_probe_runs() {
    let mut rig = setup(json!({}));
    let (first, second) = (rig.add(), rig.add());
    rig.starts();
    rig.queue.set_online(rig.time(), false);
    rig.settle(first, Outcome::Offline, 0, None);
    rig.settle(second, Outcome::Offline, 0, None);
    rig.queue.set_online(rig.time(), true);
    rig.queue.pause(None);
    assert_eq!(rig.starts(), NOTHING);
    rig.queue.resume(rig.time(), None);
    assert_eq!(gate(&rig, second), Gate::Ready, "either may be the probe");
    assert_eq!(rig.starts(), [first]);
    assert_eq!(gate(&rig, second), Gate::Probing);
}

#[test]
fn a_callers_own_attempt_and_a_parked_task_are_named() {
    let mut rig = setup(json!({}));
    let own = rig.begun();
    assert_eq!(gate(&rig, own), Gate::Started);
    let parked = rig.admit(credentialed);
    for _ in 0..2 {
        rig.starts();
        rig.answer(parked, 401);
    }
    assert_eq!(gate(&rig, parked), Gate::Parked);
}

#[test]
fn s19_those_behind_are_told_how_many_come_first() {
    let mut rig = setup(json!({}));
    let order = rig.queue.open_order();
    let tasks: Vec<u32> = (0..1500).map(|_| rig.admit(|admission| admission.order = order)).collect();
    let behind = |ahead| Some(GateStatus { gate: Gate::Behind, until: Millis::MAX, ahead });
    assert_eq!(gate(&rig, tasks[0]), Gate::Ready);
    assert_eq!(rig.queue.gate_status(tasks[1]), behind(1));
    assert_eq!(rig.queue.gate_status(tasks[999]), behind(999));
    assert_eq!(rig.queue.gate_status(tasks[1000]), behind(1000));
    assert_eq!(rig.queue.gate_status(tasks[1499]), behind(1000), "counted no further");
    rig.queue.cancel(tasks[500]);
    assert_eq!(rig.queue.gate_status(tasks[999]), behind(998));
}

#[test]
fn what_is_gone_stands_nowhere() {
    let mut rig = setup(json!({}));
    let slot = rig.add();
    rig.queue.cancel(slot);
    assert_eq!(rig.queue.gate_status(slot), None);
}

#[test]
fn a_time_is_given_by_the_clock_as_it_is_now() {
    let mut rig = setup(json!({}));
    let slot = rig.running();
    rig.answer(slot, 503);
    rig.now -= 3_600_000;
    rig.poll();
    assert_eq!(until(&rig, slot).get(), rig.now + 1000);
}

#[test]
fn the_codes_of_gates_stay() {
    let gates = [
        Gate::InFlight,
        Gate::Started,
        Gate::Parked,
        Gate::Behind,
        Gate::Due,
        Gate::LaneHeld,
        Gate::LanePaused,
        Gate::Paused,
        Gate::Offline,
        Gate::Probing,
        Gate::LaneLimit,
        Gate::Limit,
        Gate::Ready,
    ];
    assert_eq!(gates.map(Gate::code), [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]);
    assert_eq!(Gate::Rate.code(), 17);
}

#[test]
fn a_lane_that_is_not_there_is_held_by_what_holds_all() {
    let mut rig = setup_with(Limits { concurrency: 1, ..limits() }, json!({}));
    let gate = |rig: &Rig| rig.queue.gate_of_lane(NONE, rig.time(), true).gate;
    assert_eq!(gate(&rig), Gate::Ready);
    rig.add();
    rig.starts();
    assert_eq!(gate(&rig), Gate::Limit);
    rig.queue.set_online(rig.time(), false);
    assert_eq!(gate(&rig), Gate::Limit, "offline each lane has its own say");
    rig.queue.pause(None);
    assert_eq!(gate(&rig), Gate::Paused);
}

#[test]
fn a_lane_asked_of_a_time_to_come_tells_what_will_hold_it_then() {
    let mut rig = setup(json!({}));
    rig.queue.hold(rig.time(), rig.lane, Millis::new(10_000));
    let at = |ms| rig.queue.gate_of_lane(rig.lane, Rig::at(ms), true);
    assert_eq!((at(9999).gate, at(9999).until), (Gate::LaneHeld, Rig::at(10_000)));
    assert_eq!((at(10_000).gate, at(10_000).until), (Gate::Ready, Millis::MAX));
}

#[test]
fn a_store_is_told_of_an_empty_budget_for_retries_that_could_not_pay_and_not_for_first_attempts() {
    let mut rig = setup(json!({}));
    let budget = Some(BudgetRules::new(1.0, 0.0, 0.1));
    rig.queue.set_gates(Gates { budget, ..Gates::default() });
    assert_eq!(rig.queue.gate_of_lane(rig.lane, rig.time(), true).gate, Gate::Ready);
    assert!(rig.queue.pays(rig.time(), rig.lane));
    let status = rig.queue.gate_of_lane(rig.lane, rig.time(), true);
    assert_eq!((status.gate, status.until), (Gate::RetryBudget, Rig::at(10_000)));
    assert_eq!(rig.queue.gate_of_lane(rig.lane, rig.time(), false).gate, Gate::Ready);
    assert!(rig.queue.room_for_first(rig.time(), rig.lane) > 0);
    assert_eq!(rig.queue.gate_of_lane(rig.lane, Rig::at(10_000), true).gate, Gate::Ready);
}

#[test]
fn of_those_that_are_due_when_the_breaker_is_half_open_the_probe_alone_is_told_that_it_starts_next() {
    let mut rig = setup(json!({}));
    let (after, open) = (Millis::ZERO, Millis::new(5000));
    let breaker = BreakerRules { fair_per_million: 1_000_000, after, open, max_open: open };
    rig.queue.set_gates(Gates { breaker: Some(breaker), ramp: Comeback::OfFew, ..Gates::default() });
    let failing = rig.running();
    rig.answer(failing, 503);
    let (younger, last) = (rig.add(), rig.add());
    rig.wait(1000);
    assert!(rig.poll().iter().all(|action| matches!(action, Action::Circuit(..))));
    assert_eq!([failing, younger, last].map(|slot| gate(&rig, slot)), [Gate::CircuitOpen; 3]);
    let half_open = until(&rig, failing);
    rig.wait(half_open.get() - rig.time().get());
    // The queue hears what time it is, and is not asked yet.
    rig.queue.set_online(rig.time(), true);
    let own = |slot| rig.queue.gate_status(slot).unwrap().gate;
    assert_eq!([failing, younger, last].map(own), [Gate::CircuitProbing, Gate::Ready, Gate::CircuitProbing]);
    let started = rig.poll().into_iter().filter(|action| matches!(action, Action::Start(_)));
    assert_eq!(started.collect::<Vec<_>>(), [Action::Start(younger)], "it is the one");
}
