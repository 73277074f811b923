//! The gates between a due task and its attempt: in which order they are asked, what each keeps back, and what the
//! retry budget asks of whom.

use crate::gated::{OPEN_AT_MOST, breaker, budget, gated, roomy};
use crate::rig::{NOTHING, Rig, ended, second};
use redrive::breaker::Circuit;
use redrive::budget::BudgetRules;
use redrive::gates::{Gates, OnStorm};
use redrive::queue::{Action, Gate, Limits, Past};
use redrive::task::{Outcome, Reason};
use redrive::time::Millis;
use serde_json::json;

/// A breaker and a budget of one token that comes back in a second.
fn both() -> Gates {
    Gates { budget: Some(BudgetRules::new(1.0, 0.0, 1.0)), ..breaker() }
}

#[test]
fn the_gates_are_asked_in_order_and_the_first_that_is_shut_is_named() {
    let mut rig = gated(both(), Limits { concurrency: 1, per_lane: 1, ..roomy() }, json!({}));
    let other = rig.queue.open_lane();
    let (slot, spender) = (rig.failed(), rig.failed());
    rig.queue.hold(rig.time(), rig.lane, Millis::new(3000));
    rig.queue.pause(Some(rig.lane));
    rig.queue.pause(None);
    rig.queue.set_online(rig.time(), false);
    (0..3).for_each(|_| rig.hear_of(rig.time(), &ended(Outcome::NetworkError, 0)));
    assert_eq!(rig.circuit(), Circuit::Closed, "nothing is learned offline");
    rig.queue.set_online(rig.time(), true);
    (0..3).for_each(|_| rig.hear(false));
    assert_eq!(rig.circuit(), Circuit::Open);
    rig.queue.set_online(rig.time(), false);
    rig.poll();
    assert_eq!((rig.gate(slot), rig.until(slot)), (Gate::Due, Rig::at(1000)));
    rig.wait(1000);
    rig.poll();
    assert_eq!((rig.gate(slot), rig.until(slot)), (Gate::LaneHeld, Rig::at(3000)));
    rig.wait(2000);
    rig.poll();
    assert_eq!(rig.gate(slot), Gate::LanePaused);
    rig.queue.resume(rig.time(), Some(rig.lane));
    assert_eq!(rig.gate(slot), Gate::Paused);
    rig.queue.resume(rig.time(), None);
    assert_eq!((rig.gate(slot), rig.until(slot)), (Gate::Offline, Rig::at(30_000)));
    rig.queue.set_online(rig.time(), true);
    assert_eq!((rig.gate(slot), rig.until(slot)), (Gate::CircuitOpen, Rig::at(3001)), "one may go to see");
    rig.wait(1);
    rig.hear(false);
    assert_eq!(rig.gate(slot), Gate::CircuitOpen);
    let until = rig.until(slot);
    assert!(until >= Rig::at(3000) && until <= Rig::at(3001 + 2 * OPEN_AT_MOST), "{until:?}");
    rig.now = until.get();
    assert_eq!(rig.start(), [slot]);
    assert_eq!((rig.gate(spender), rig.until(spender)), (Gate::CircuitProbing, Millis::MAX));
    rig.answer(slot, 200);
    // Closed again; the probe was free, this one takes the token.
    assert_eq!(rig.start(), [spender]);
    let elsewhere = rig.add_to(other);
    let next = rig.failed();
    rig.wait(1000);
    assert_eq!(rig.start(), NOTHING);
    assert_eq!((rig.gate(next), rig.gate(elsewhere)), (Gate::LaneLimit, Gate::Limit));
    rig.answer(spender, 200);
    assert_eq!(rig.gate(elsewhere), Gate::Ready);
    assert_eq!(rig.start(), [elsewhere]);
    rig.answer(elsewhere, 200);
    assert_eq!(rig.start(), [next]);
}

#[test]
fn s8_a_task_that_is_too_late_ends_before_any_gate_is_asked_and_takes_no_token() {
    let mut rig = gated(both(), roomy(), json!({}));
    let slot = rig.failed();
    let late = rig.admit(|admission| admission.expires_at = Rig::at(500));
    rig.queue.pause(None);
    rig.wait(1001);
    assert_eq!(rig.poll(), [Action::End(late, Reason::Expired)]);
    rig.queue.resume(rig.time(), None);
    assert_eq!(rig.tokens(), 1.0);
    assert_eq!(rig.start(), [slot]);
    assert_eq!(rig.tokens(), 0.0);
}

#[test]
fn l6_an_empty_budget_puts_a_retry_off_by_its_next_delay_and_does_not_count_it() {
    let mut rig = gated(budget(1.0, 0.5), roomy(), json!({ "maxAttempts": 3 }));
    let (first, second) = (rig.failed(), rig.failed());
    rig.wait(1000);
    assert_eq!(rig.start(), [first]);
    assert_eq!((rig.gate(second), rig.until(second)), (Gate::RetryBudget, Rig::at(2000)));
    assert_eq!(rig.queue.attempts(second), 1);
    rig.wait(1000);
    assert_eq!(rig.start(), NOTHING, "half a token");
    assert_eq!(rig.until(second), Rig::at(3000));
    rig.wait(1000);
    assert_eq!(rig.start(), [second]);
    assert_eq!((rig.gate(second), rig.queue.attempts(second)), (Gate::InFlight, 2));
    // What it waits for then is its own delay again.
    rig.answer(second, 503);
    assert_eq!(rig.gate(second), Gate::Due);
}

#[test]
fn first_attempts_cost_nothing_and_pass_those_that_are_put_off() {
    let mut rig = gated(budget(1.0, 0.1), roomy(), json!({}));
    let retries = [rig.failed(), rig.failed()];
    rig.wait(1000);
    let enqueued: Vec<u32> = (0..5).map(|_| rig.add()).collect();
    assert_eq!(rig.start(), [&retries[..1], &enqueued].concat());
}

#[test]
fn the_probe_of_a_breaker_is_exempt_from_an_empty_budget() {
    let gates = Gates { budget: Some(BudgetRules::new(1.0, 0.0, 0.0)), ..breaker() };
    let mut rig = gated(gates, roomy(), json!({ "maxAttempts": 9 }));
    let (slot, other) = (rig.failed(), rig.failed());
    rig.wait(1000);
    assert_eq!(rig.start(), [slot], "the only token there will ever be");
    rig.queue.cancel(other);
    (0..3).for_each(|_| rig.hear(false));
    rig.answer(slot, 503);
    assert_eq!(rig.circuit(), Circuit::Open);
    rig.start_next();
    assert_eq!((rig.gate(slot), rig.circuit()), (Gate::InFlight, Circuit::HalfOpen));
    assert_eq!(rig.tokens(), 0.0);
}

#[test]
fn a_retry_that_was_not_sent_gets_its_token_back_and_a_probe_none() {
    for outcome in [Outcome::Released, Outcome::CredentialsFailed, Outcome::Vetoed] {
        let mut rig = gated(budget(2.0, 0.0), roomy(), json!({}));
        let slot = rig.failed();
        rig.wait(1000);
        assert_eq!((rig.start(), rig.tokens()), (vec![slot], 1.0));
        rig.settle(slot, outcome, 0, None);
        assert_eq!(rig.tokens(), 2.0, "{outcome:?}");
    }
    // A probe has paid nothing, though the breaker is closed by the time it ends.
    let gates = Gates { budget: Some(BudgetRules::new(2.0, 0.0, 0.0)), ..breaker() };
    let mut rig = gated(gates, roomy(), json!({ "maxAttempts": 9 }));
    let (spender, slot) = (rig.failed(), rig.failed());
    rig.wait(1000);
    assert_eq!(rig.start(), [spender, slot]);
    rig.answer(slot, 503);
    (0..4).for_each(|_| rig.hear(false));
    rig.queue.cancel(spender);
    while rig.start() != [slot] {
        rig.wake();
    }
    (0..5).for_each(|_| rig.hear(true));
    assert_eq!(rig.circuit(), Circuit::Closed);
    rig.settle(slot, Outcome::Released, 0, None);
    assert_eq!(rig.tokens(), 0.0);
}

#[test]
fn a_success_of_anybody_brings_its_share_back() {
    let gates = Gates { budget: Some(BudgetRules::new(3.0, 0.25, 0.0)), ..Gates::default() };
    let mut rig = gated(gates, roomy(), json!({ "maxAttempts": 9 }));
    let slots = [rig.failed(), rig.failed(), rig.failed()];
    rig.wait(1000);
    assert_eq!((rig.start(), rig.tokens()), (slots.to_vec(), 0.0));
    rig.answer(slots[0], 200);
    assert_eq!(rig.tokens(), 0.25);
    rig.answer(slots[1], 404);
    assert_eq!(rig.tokens(), 0.25, "healthy, and no success");
    rig.hear(true);
    rig.hear_of(rig.time(), &ended(Outcome::Response, 404));
    assert_eq!(rig.tokens(), 0.5);
    let call = rig.begun();
    rig.answer(call, 204);
    assert_eq!(rig.tokens(), 0.75);
}

#[test]
fn a_put_off_task_waits_no_longer_than_it_may_start_and_ends_if_there_is_no_token_then() {
    let mut rig = gated(budget(1.0, 0.0), roomy(), json!({ "initialDelayMs": 10_000, "maxDelayMs": 10_000 }));
    let (spender, slot) = (
        rig.failed(),
        rig.admit(|admission| {
            admission.started = true;
            admission.expires_at = Rig::at(15_000);
        }),
    );
    rig.answer(slot, 503);
    rig.wait(10_000);
    assert_eq!(rig.start(), [spender]);
    assert_eq!((rig.gate(slot), rig.until(slot)), (Gate::RetryBudget, Rig::at(15_000)));
    // The token of a retry that was not sent comes just in time, or not.
    let mut in_time =
        gated(budget(1.0, 0.2), roomy(), json!({ "initialDelayMs": 10_000, "maxDelayMs": 10_000 }));
    let (spender, waiter) = (
        in_time.failed(),
        in_time.admit(|admission| {
            admission.started = true;
            admission.expires_at = Rig::at(15_000);
        }),
    );
    in_time.answer(waiter, 503);
    in_time.wait(10_000);
    assert_eq!(in_time.start(), [spender]);
    in_time.wake();
    assert_eq!((in_time.time(), in_time.start()), (Rig::at(15_000), vec![waiter]));
    rig.wake();
    assert_eq!((rig.time(), rig.poll()), (Rig::at(15_000), vec![]));
    rig.wake();
    assert_eq!((rig.time(), rig.poll()), (Rig::at(15_001), vec![Action::End(slot, Reason::Expired)]));
}

#[test]
fn l1_nobody_is_woken_for_nothing_while_the_budget_is_empty() {
    // Even where the policy would not wait at all.
    let mut rig = gated(budget(1.0, 0.1), roomy(), json!({ "initialDelayMs": 0, "maxAttempts": 9 }));
    let slots = [rig.failed(), rig.failed()];
    assert_eq!(rig.start(), slots[..1]);
    let mut polls = 0;
    while rig.start().is_empty() {
        polls += 1;
        rig.wake();
    }
    assert_eq!(rig.time(), Rig::at(10_000), "as soon as there is a token");
    assert!(polls <= 101, "{polls} polls in ten seconds");
}

#[test]
fn what_was_put_off_comes_back_by_its_phase_and_its_limits_and_not_at_once() {
    let policy =
        json!({ "strategy": "spread", "initialDelayMs": 1000, "maxDelayMs": 8000, "maxAttempts": 9 });
    let mut rig = gated(budget(1.0, 20.0), Limits { per_lane: 5, ..roomy() }, policy);
    let slots: Vec<u32> = (0..40).map(|_| rig.failed()).collect();
    // Held all of them, until all are due.
    rig.queue.hold(rig.time(), rig.lane, Millis::new(10_000));
    rig.poll();
    rig.wait(10_000);
    assert_eq!(rig.start().len(), 1);
    let untils: std::collections::HashSet<u64> = slots
        .iter()
        .filter(|slot| rig.gate(**slot) == Gate::RetryBudget)
        .map(|slot| rig.until(*slot).get())
        .collect();
    assert!(untils.len() >= 35, "{} instants for 39 tasks", untils.len());
    let (mut started, mut running) = (1, Vec::new());
    while started < 40 {
        rig.wake();
        let now = rig.start();
        started += now.len();
        running.extend(now);
        assert!(running.len() <= 5, "S7");
        for slot in running.drain(..) {
            rig.answer(slot, 200);
        }
    }
    assert!(rig.time() > Rig::at(11_000), "forty at twenty a second");
}

#[test]
fn s19_an_order_waits_while_its_first_is_put_off() {
    let mut rig = gated(budget(1.0, 0.5), roomy(), json!({}));
    let order = rig.queue.open_order();
    let spender = rig.failed();
    let (first, second) =
        (rig.admit(|admission| admission.order = order), rig.admit(|admission| admission.order = order));
    assert_eq!(rig.start(), [first]);
    rig.answer(first, 503);
    rig.wait(1000);
    assert_eq!(rig.start(), [spender]);
    assert_eq!((rig.gate(first), rig.gate(second)), (Gate::RetryBudget, Gate::Behind));
    rig.wait(2000);
    assert_eq!(rig.start(), [first]);
    rig.answer(first, 200);
    assert_eq!(rig.start(), [second]);
}

#[test]
fn a_flush_makes_due_what_was_put_off_and_the_budget_is_asked_again() {
    let mut rig = gated(budget(1.0, 0.1), roomy(), json!({ "initialDelayMs": 20_000 }));
    let slots = [rig.failed(), rig.failed()];
    rig.wait(20_000);
    assert_eq!(rig.start(), slots[..1]);
    assert_eq!(rig.queue.flush(rig.time(), None), 1);
    assert_eq!(rig.start(), NOTHING);
    assert_eq!(rig.until(slots[1]), Rig::at(40_000));
    rig.wait(10_000);
    assert_eq!(rig.queue.flush(rig.time(), None), 1);
    assert_eq!(rig.start(), slots[1..]);
}

#[test]
fn a_store_is_asked_for_as_many_as_breaker_and_budget_let_through() {
    let gates = Gates { budget: Some(BudgetRules::new(2.0, 0.0, 0.1)), ..breaker() };
    let mut rig = gated(gates, roomy(), json!({ "maxAttempts": 9 }));
    let asked =
        |rig: &Rig| (rig.queue.room(rig.time(), rig.lane), rig.queue.shut_until(rig.time(), rig.lane));
    assert_eq!(asked(&rig), (2, None));
    // A first attempt takes no token, a later one does.
    let first = rig.adopt_with(&Past { attempts: 1, ..second() }, |_| {});
    assert_eq!(asked(&rig), (2, None));
    let (a, b) = (rig.adopt(), rig.adopt());
    assert_eq!(asked(&rig), (0, Some(Rig::at(10_000))), "until the next token");
    // Granted all the same by a store that did not know: in flight, and nothing is owed.
    let more = rig.adopt();
    assert_eq!(rig.gate(more), Gate::InFlight);
    rig.wait(10_000);
    assert_eq!(asked(&rig), (1, None));
    rig.queue.settle(rig.time(), a, &ended(Outcome::Released, 0));
    assert_eq!(asked(&rig), (2, None), "it was not sent");
    rig.queue.settle(rig.time(), more, &ended(Outcome::Released, 0));
    assert_eq!(asked(&rig), (2, None), "it had paid nothing");
    for slot in [first, b] {
        rig.fail(slot);
    }
    (0..3).for_each(|_| rig.hear(false));
    rig.poll();
    let (room, until) = asked(&rig);
    assert!(room == 0 && until.unwrap() >= Rig::at(12_500), "{until:?}");
    rig.now = until.unwrap().get();
    assert_eq!(asked(&rig), (1, None), "one to see");
    let probe = rig.adopt();
    assert_eq!(asked(&rig), (0, None), "its end decides");
    rig.fail(probe);
    assert!(asked(&rig).1.unwrap() >= Millis::new(rig.now + 5000));
}

#[test]
fn without_gates_nothing_is_kept_back_and_nothing_is_told() {
    let mut rig = gated(Gates::default(), roomy(), json!({ "maxAttempts": 9 }));
    for _ in 0..50 {
        rig.hear(false);
        let slot = rig.failed();
        rig.wait(1000);
        assert_eq!(rig.starts(), [slot]);
        rig.fail(slot);
        rig.queue.cancel(slot);
        assert!(rig.queue.admits(rig.time(), rig.lane));
    }
    assert_eq!((rig.circuit(), rig.tokens()), (Circuit::Closed, f64::INFINITY));
    assert!(rig.queue.drop_lane(rig.lane));
    assert!(rig.queue.admits(rig.time(), rig.lane), "nobody knows the lane");
}

#[test]
fn l6_a_lane_is_not_forgotten_with_tokens_spent() {
    let mut rig = gated(budget(2.0, 0.5), roomy(), json!({}));
    let slot = rig.failed();
    rig.wait(1000);
    rig.starts();
    rig.answer(slot, 200);
    assert!(!rig.queue.drop_lane(rig.lane), "it would come back with all of them");
    rig.wait(2000);
    rig.poll();
    assert!(rig.queue.drop_lane(rig.lane));
}

#[test]
fn storms_are_seen_in_each_lane_by_itself() {
    let gates = Gates { on_storm: OnStorm::Tell, ..Gates::default() };
    let mut rig = gated(gates, roomy(), json!({ "maxAttempts": 9 }));
    let other = rig.queue.open_lane();
    for count in 0..38 {
        let slot = rig.admit(|admission| {
            admission.started = true;
            admission.lane = if count % 2 == 0 { 0 } else { other };
        });
        rig.answer(slot, 503);
    }
    assert!(rig.poll().is_empty(), "nineteen each");
    let slot = rig.admit(|admission| {
        admission.started = true;
        admission.lane = other;
    });
    rig.answer(slot, 503);
    assert_eq!(rig.poll(), [Action::Storm(other, 20)]);
}
