//! What a host says of its network is a hint: offline a lane asks seldom, nothing of that counts, and a response has the last word.

use crate::gated::{Act, HASTENS, breaker, budget, gated, roomy};
use crate::rig::{NOTHING, Rig, ended, limits, retry_in, second, setup, setup_with};
use redrive::breaker::Circuit;
use redrive::queue::{Action, Gate, Limits, Next, Verdict};
use redrive::task::{Outcome, Reason};
use redrive::time::Millis;
use serde_json::json;

/// For so long a lane believes its host at a time, and at least where its user asks for more.
const DARK: u64 = 30_000;
const DARK_AT_LEAST: u64 = 2_000;

fn offline(policy: serde_json::Value) -> Rig {
    let mut rig = setup_with(Limits { concurrency: 9, per_lane: 3, ..limits() }, policy);
    rig.queue.set_online(rig.time(), false);
    rig
}

#[test]
fn offline_each_lane_makes_one_attempt_at_a_time_and_none_of_a_hundred_counts() {
    let mut rig = offline(json!({ "maxAttempts": 1, "totalBudgetMs": 86_400_000 }));
    let slots = [rig.add(), rig.add(), rig.add()];
    for round in 1..=100 {
        assert_eq!(rig.starts(), NOTHING);
        let due = Millis::new(rig.now + DARK);
        assert_eq!((rig.queue.wake_at(), rig.queue.due_at(slots[0])), (due, Some(due)), "L1");
        assert_eq!((rig.gate(slots[1]), rig.until(slots[1])), (Gate::Offline, due));
        assert_eq!(rig.queue.shut_until(rig.time(), rig.lane), Some(due));
        assert_eq!((rig.queue.room(rig.time(), rig.lane), rig.queue.vacancies()), (0, 9));
        rig.wait(DARK - 1);
        assert_eq!(rig.starts(), NOTHING);
        rig.wait(1);
        assert_eq!(rig.queue.room(rig.time(), rig.lane), 1, "one, of three");
        let one = rig.starts();
        assert_eq!((one.len(), rig.starts()), (1, vec![]), "round {round}");
        assert_eq!(rig.settle(one[0], Outcome::Offline, 0, None), retry_in(0));
        assert_eq!(rig.queue.attempts(one[0]), 0);
    }
    // Nor have they used up what is given back for another cause.
    rig.queue.set_online(rig.time(), true);
    let one = rig.starts();
    assert_eq!(one.len(), 1, "it probes");
    assert_eq!(rig.settle(one[0], Outcome::Released, 0, None), retry_in(0));
    assert_eq!(rig.queue.attempts(one[0]), 0);
}

#[test]
fn each_lane_sees_for_itself_and_one_that_is_opened_meanwhile_waits_as_well() {
    let mut rig = offline(json!({}));
    rig.wait(10_000);
    rig.poll();
    let later = rig.queue.open_lane();
    let (here, there) = (rig.add(), rig.add_to(later));
    assert_eq!(rig.starts(), NOTHING);
    rig.wait(DARK - 10_000);
    assert_eq!(rig.starts(), [here]);
    rig.wait(10_000);
    assert_eq!(rig.starts(), [there]);
    assert_eq!(rig.queue.gate_of_lane(later, rig.time(), false).gate, Gate::LaneLimit);
    let again = [rig.add(), rig.add_to(later)];
    rig.fail(there);
    rig.wait(DARK);
    assert_eq!(
        rig.starts(),
        [again[1]],
        "its own failure put it off, and the other lane's attempt still runs"
    );
    assert_eq!([rig.gate(again[0]), rig.gate(there)], [Gate::LaneLimit; 2]);
}

#[test]
fn a_hint_that_is_said_again_puts_nothing_off() {
    let mut rig = offline(json!({}));
    let slot = rig.add();
    for _ in 0..6 {
        rig.wait(DARK / 6);
        rig.queue.set_online(rig.time(), false);
    }
    assert_eq!(rig.starts(), [slot]);
}

#[test]
fn any_response_overrules_it_for_all_lanes() {
    for (of_task, outcome, status, overrules) in [
        (true, Outcome::Response, 200, true),
        (true, Outcome::Response, 503, true),
        (true, Outcome::Response, 404, true),
        (true, Outcome::RedirectRefused, 302, true),
        (false, Outcome::Response, 200, true),
        (false, Outcome::Response, 503, true),
        (false, Outcome::TimedOut, 0, false),
        (false, Outcome::OwnError, 0, false),
        (true, Outcome::Aborted, 0, false),
    ] {
        let name = format!("{outcome:?} {status}, to a task: {of_task}");
        let mut rig = setup_with(roomy(), json!({ "maxAttempts": 3 }));
        let other = rig.queue.open_lane();
        let slot = rig.running();
        rig.queue.set_online(rig.time(), false);
        let waiting = [rig.add_to(other), rig.add_to(other)];
        assert_eq!(rig.starts(), NOTHING);
        if of_task {
            rig.settle(slot, outcome, status, None);
        } else {
            rig.hear_of(rig.time(), &ended(outcome, status));
        }
        assert_eq!(rig.starts() == waiting, overrules, "{name}");
        assert_eq!(rig.queue.room(rig.time(), other) == 98, overrules, "{name}: as many as ever");
        if !overrules {
            continue;
        }
        // From now on a lost connection is one, whatever the host says of its network,
        let lost = rig.settle(waiting[0], Outcome::Offline, 0, None);
        assert_eq!((lost, rig.queue.attempts(waiting[0])), (retry_in(1000), 1), "{name}");
        // until it says so anew.
        rig.queue.set_online(rig.time(), false);
        assert_eq!(rig.settle(waiting[1], Outcome::Offline, 0, None), retry_in(0), "{name}");
        assert_eq!(rig.gate(waiting[1]), Gate::Offline);
    }
}

#[test]
fn once_overruled_what_is_lost_counts_for_the_breaker_too() {
    let mut rig = gated(breaker(), roomy(), json!({}));
    rig.queue.set_online(rig.time(), false);
    let lost = |rig: &mut Rig| (0..5).for_each(|_| rig.hear_of(rig.time(), &ended(Outcome::Offline, 0)));
    lost(&mut rig);
    assert_eq!(rig.circuit(), Circuit::Closed);
    rig.hear(true);
    rig.wait(1);
    (0..4).for_each(|_| lost(&mut rig));
    assert_eq!(rig.circuit(), Circuit::Open);
    assert_ne!(rig.queue.gate_of_lane(rig.lane, rig.time(), false).gate, Gate::Offline);
}

#[test]
fn a_lane_that_has_answered_since_it_failed_offline_does_not_probe_when_its_host_is_back() {
    for (answers, starts) in [(true, 3), (false, 1)] {
        let mut rig = offline(json!({}));
        let other = rig.queue.open_lane();
        rig.hear_of(rig.time(), &ended(Outcome::NetworkError, 0));
        let lane = if answers { rig.lane } else { other };
        rig.queue.heard(rig.time(), lane, rig.policy, rig.time(), &ended(Outcome::Response, 200));
        rig.queue.set_online(rig.time(), true);
        (0..3).for_each(|_| {
            rig.add();
        });
        assert_eq!(rig.starts().len(), starts, "{answers}");
    }
}

#[test]
fn a_flush_ends_the_wait_and_a_visit_shortens_it_to_two_seconds_since_the_last() {
    let lane: Act = |rig| rig.queue.visit(rig.time(), rig.lane);
    let [(_, flush), (_, flush_lane), (_, online)] = HASTENS;
    let nothing: Act = |_| {};
    // How long after it went offline that happens, and when the next attempt goes.
    let rows = [
        ("nothing", nothing, 500, DARK),
        ("visit", lane, 500, DARK_AT_LEAST),
        ("a late visit", lane, 5_000, 5_000),
        ("a very late visit", lane, DARK - 1, DARK - 1),
        ("flush", flush, 500, 500),
        ("flush of the lane", flush_lane, 500, 500),
        ("online", online, 500, 500),
    ];
    for (name, act, at, goes) in rows {
        let mut rig = offline(json!({}));
        let slots = [rig.add(), rig.add()];
        assert_eq!(rig.starts(), NOTHING);
        rig.wait(at);
        act(&mut rig);
        let began = rig.now - at;
        let one = loop {
            let one = rig.starts();
            if !one.is_empty() {
                break one;
            }
            rig.wake();
        };
        assert_eq!(rig.now - began, goes, "{name}");
        if name == "online" {
            assert_eq!(one, slots);
            continue;
        }
        assert_eq!(one, [slots[0]], "{name}: one");
        // It fails: half a minute again, and then a visit finds that two seconds are over.
        rig.settle(one[0], Outcome::Offline, 0, None);
        rig.wait(DARK_AT_LEAST + 1);
        assert_eq!(rig.starts(), NOTHING, "{name}");
        rig.queue.visit(rig.time(), rig.lane);
        assert_eq!(rig.starts().len(), 1, "{name}");
    }
}

#[test]
fn offline_a_task_whose_caller_waits_is_tried_every_two_seconds_and_beside_it_all_of_its_lane() {
    let mut rig = offline(json!({ "maxAttempts": 1 }));
    let handed_over = rig.add();
    let awaited = rig.called(Rig::at(15_000));
    assert_eq!(rig.settle(awaited, Outcome::Offline, 0, None), retry_in(0));
    for round in 1..=7 {
        rig.wait(DARK_AT_LEAST - 1);
        assert_eq!(rig.starts(), NOTHING, "{round}");
        rig.wait(1);
        let one = rig.starts();
        assert_eq!(one.len(), 1, "{round}");
        assert_eq!(rig.settle(one[0], Outcome::Offline, 0, None), retry_in(0), "{round}");
    }
    rig.wait(1_001);
    assert_eq!(rig.poll(), [Action::End(awaited, Reason::WaitExceeded)]);
    // The last failure was within its time; from the next one on no caller waits.
    rig.wait(DARK_AT_LEAST - 1_001);
    assert_eq!(rig.starts(), [handed_over]);
    rig.settle(handed_over, Outcome::Offline, 0, None);
    rig.wait(DARK - 1);
    assert_eq!(rig.starts(), NOTHING);
    rig.wait(1);
    assert_eq!(rig.starts(), [handed_over]);
}

#[test]
fn a_host_may_say_so_with_an_attempt_alone_until_a_response_shows_otherwise() {
    type Lost = fn(&mut Rig, u32);
    let task: Lost = |rig, slot| {
        rig.settle(slot, Outcome::Offline, 0, None);
    };
    let own: Lost = |rig, _| rig.hear_of(rig.time(), &ended(Outcome::Offline, 0));
    for lost in [task, own] {
        let mut rig = setup(json!({}));
        let other = rig.queue.open_lane();
        let slot = rig.running();
        lost(&mut rig, slot);
        for lane in [rig.lane, other] {
            let status = rig.queue.gate_of_lane(lane, rig.time(), false);
            assert_eq!((status.gate, status.until), (Gate::Offline, Rig::at(DARK)), "all lanes wait");
        }
        rig.hear(true);
        rig.hear_of(rig.time(), &ended(Outcome::Offline, 0));
        assert_ne!(rig.queue.gate_of_lane(other, rig.time(), false).gate, Gate::Offline, "overruled");
        rig.queue.set_online(rig.time(), true);
        rig.hear_of(rig.time(), &ended(Outcome::Offline, 0));
        assert_eq!(rig.queue.gate_of_lane(other, rig.time(), false).gate, Gate::Offline, "said anew");
    }
}

#[test]
fn online_a_visit_and_a_hint_that_is_over_keep_nothing_back() {
    let mut rig = setup(json!({}));
    rig.queue.set_online(rig.time(), false);
    rig.queue.set_online(rig.time(), true);
    rig.queue.visit(rig.time(), rig.lane);
    rig.running();
}

#[test]
fn an_attempt_that_is_lost_offline_costs_nothing_else() {
    let mut rig = gated(budget(2.0, 0.0), roomy(), json!({}));
    rig.queue.set_online(rig.time(), false);
    let slot = rig.begun();
    assert_eq!(rig.fail(slot), retry_in(1000), "no answer at all, and its caller knows");
    rig.wait(DARK);
    assert_eq!((rig.starts(), rig.tokens()), (vec![slot], 1.0));
    rig.settle(slot, Outcome::Offline, 0, None);
    assert_eq!(rig.tokens(), 2.0);
    assert_eq!(rig.queue.attempts(slot), 1, "the one before");
}

#[test]
fn a_deadline_ends_a_task_offline_too() {
    let mut rig = offline(json!({}));
    let expires_at = Millis::new(rig.now + 10_000);
    let (expires, stays) = (rig.admit(|admission| admission.expires_at = expires_at), rig.add());
    rig.poll();
    rig.wake();
    assert_eq!((rig.now, rig.poll()), (expires_at.get(), vec![Action::End(expires, Reason::Expired)]));
    rig.wake();
    assert_eq!(rig.starts(), [stays]);
}

#[test]
fn a_leased_attempt_that_is_lost_offline_is_given_back_to_its_store() {
    let mut rig = offline(json!({ "maxAttempts": 2 }));
    for refunds in [0, 20, u32::MAX] {
        let slot = rig.adopt_with(&redrive::queue::Past { refunds, ..second() }, |_| {});
        let Next { verdict, carry, .. } = rig.queue.next(rig.time(), slot, &ended(Outcome::Offline, 0));
        assert_eq!((verdict, carry.refunded), (retry_in(0), true), "after {refunds}");
    }
    let slot = rig.adopt();
    rig.hear(true);
    let Next { verdict, carry, .. } = rig.queue.next(rig.time(), slot, &ended(Outcome::Offline, 0));
    assert_eq!((verdict, carry.refunded), (Verdict::Exhausted(Reason::MaxAttempts), false));
}
