//! Orders: tasks that run one after another.

use crate::rig::{NOTHING, Rig, credentialed, ended, limits, retry_in, setup, setup_with};
use redrive::queue::{Action, Cancelled, Ended, Gate, Limits, Verdict};
use redrive::slots::NONE;
use redrive::task::{Outcome, Reason};
use redrive::time::Millis;
use serde_json::json;

/// A rig and an order in it.
fn ordered() -> (Rig, u32) {
    let mut rig = setup(json!({}));
    let order = rig.queue.open_order();
    (rig, order)
}

fn add(rig: &mut Rig, order: u32) -> u32 {
    rig.admit(|admission| admission.order = order)
}

fn three(rig: &mut Rig, order: u32) -> [u32; 3] {
    [(); 3].map(|()| add(rig, order))
}

#[test]
fn s19_tasks_of_one_order_run_one_after_another() {
    let (mut rig, order) = ordered();
    let tasks = three(&mut rig, order);
    for task in tasks {
        assert_eq!(rig.starts(), [task]);
        assert_eq!(rig.starts(), NOTHING);
        assert_eq!(rig.answer(task, 200), Verdict::Succeeded);
        if task != tasks[2] {
            assert_eq!(rig.queue.wake_at(), rig.time(), "the next is due at once");
        }
    }
    assert_eq!(rig.queue.wake_at(), Millis::MAX);
}

#[test]
fn s19_orders_and_what_has_none_do_not_wait_for_each_other() {
    let (mut rig, order) = ordered();
    let other = rig.queue.open_order();
    let first = add(&mut rig, order);
    add(&mut rig, order);
    let elsewhere = add(&mut rig, other);
    let free = rig.add();
    assert_eq!(rig.starts(), [first, elsewhere, free]);
}

#[test]
fn s19_priority_counts_among_heads_and_not_within_an_order() {
    let mut rig = setup_with(Limits { concurrency: 1, ..limits() }, json!({}));
    let order = rig.queue.open_order();
    let low = add(&mut rig, order);
    let high = rig.admit(|admission| (admission.order, admission.priority) = (order, 9));
    let middle = rig.admit(|admission| admission.priority = 5);
    assert_eq!(rig.succeed(3), [middle, low, high]);
}

#[test]
fn s19_a_head_that_fails_keeps_its_place_through_all_its_attempts() {
    let (mut rig, order) = ordered();
    let [first, second, _] = three(&mut rig, order);
    assert_eq!(rig.starts(), [first]);
    for attempt in 1..redrive::policy::ATTEMPTS {
        assert_eq!(rig.answer(first, 503), retry_in(1000), "{attempt}");
        assert_eq!(rig.starts(), NOTHING, "nobody overtakes it");
        rig.wait(1000);
        assert_eq!(rig.starts(), [first]);
    }
    assert_eq!(rig.answer(first, 503), Verdict::Exhausted(Reason::MaxAttempts));
    assert_eq!(rig.starts(), [second], "a failure is an end too");
}

#[test]
fn s19_a_parked_head_keeps_its_place() {
    let (mut rig, order) = ordered();
    let first = rig.admit(|admission| {
        credentialed(admission);
        admission.order = order;
    });
    let second = add(&mut rig, order);
    for _ in 0..2 {
        assert_eq!(rig.starts(), [first]);
        rig.answer(first, 401);
    }
    assert_eq!(rig.queue.gate_status(first).unwrap().gate, Gate::Parked);
    rig.wait(60_000);
    assert_eq!(rig.starts(), NOTHING);
    rig.queue.resume(rig.time(), None);
    assert_eq!(rig.starts(), [first]);
    rig.answer(first, 200);
    assert_eq!(rig.starts(), [second]);
}

#[test]
fn s19_a_head_in_a_held_or_paused_lane_keeps_back_the_order_in_every_lane() {
    let (mut rig, order) = ordered();
    let other = rig.queue.open_lane();
    let first = add(&mut rig, order);
    let second = rig.admit(|admission| (admission.order, admission.lane) = (order, other));
    rig.queue.pause(Some(rig.lane));
    assert_eq!(rig.starts(), NOTHING);
    rig.queue.resume(rig.time(), Some(rig.lane));
    assert_eq!(rig.starts(), [first]);
    assert!(matches!(rig.refuse(first, 503, 30_000), Verdict::Retry { .. }));
    rig.wait(29_999);
    assert_eq!(rig.starts(), NOTHING, "its own lane is free, its turn has not come");
    rig.queue.cancel(first);
    assert_eq!(rig.starts(), [second]);
}

#[test]
fn s19_whoever_ends_whatever_the_way_the_next_starts() {
    type End = fn(&mut Rig, u32) -> Verdict;
    let ends: [(&str, End); 6] = [
        ("succeeded", |rig, slot| rig.answer(slot, 200)),
        ("final", |rig, slot| rig.answer(slot, 400)),
        ("vetoed", |rig, slot| rig.settle(slot, Outcome::Vetoed, 0, None)),
        ("too long", |rig, slot| rig.refuse(slot, 502, 100_000_000)),
        ("cancelled in flight", |rig, slot| {
            assert_eq!(rig.queue.cancel(slot), Cancelled::Requested);
            rig.answer(slot, 503)
        }),
        ("cancelled waiting", |rig, slot| {
            rig.answer(slot, 503);
            assert_eq!(rig.queue.cancel(slot), Cancelled::Done);
            Verdict::Cancelled
        }),
    ];
    for (name, end) in ends {
        let (mut rig, order) = ordered();
        let [first, second, _] = three(&mut rig, order);
        assert_eq!(rig.starts(), [first]);
        let verdict = end(&mut rig, first);
        assert!(!matches!(verdict, Verdict::Retry { .. } | Verdict::Parked), "{name}: {verdict:?}");
        assert_eq!(rig.starts(), [second], "{name}");
    }
}

#[test]
fn s19_a_head_that_expires_lets_the_next_start_in_the_same_poll() {
    let (mut rig, order) = ordered();
    let first = rig.admit(|admission| (admission.order, admission.expires_at) = (order, Rig::at(10)));
    let second = add(&mut rig, order);
    rig.wait(11);
    assert_eq!(rig.poll(), [Action::End(first, Reason::Expired), Action::Start(second)]);
}

#[test]
fn s8_a_head_that_misses_its_last_chance_lets_the_next_start_in_the_same_poll() {
    let (mut rig, order) = ordered();
    let first = rig.admit(|admission| (admission.order, admission.expires_at) = (order, Rig::at(10)));
    let other = rig.queue.open_lane();
    let second = rig.admit(|admission| (admission.order, admission.lane) = (order, other));
    rig.queue.pause(Some(rig.lane));
    rig.wait(10);
    assert_eq!(rig.poll(), [Action::End(first, Reason::Expired), Action::Start(second)]);
    assert_eq!(rig.queue.wake_at(), Millis::MAX);
}

#[test]
fn one_behind_can_be_cancelled_from_the_middle() {
    let (mut rig, order) = ordered();
    let [first, second, third] = three(&mut rig, order);
    assert_eq!(rig.queue.cancel(second), Cancelled::Done);
    assert_eq!(rig.starts(), [first]);
    rig.answer(first, 200);
    assert_eq!(rig.starts(), [third]);
}

#[test]
fn s2_those_behind_count_as_waiting_in_their_own_lane() {
    let (mut rig, order) = ordered();
    let other = rig.queue.open_lane();
    add(&mut rig, order);
    let behind = rig.admit(|admission| (admission.order, admission.lane) = (order, other));
    assert_eq!(rig.queue.depth(), 2);
    let depths: Vec<u32> = rig.queue.stats(Millis::ZERO).lanes.iter().map(|lane| lane.depth).collect();
    assert_eq!(depths, [1, 1]);
    assert!(!rig.queue.drop_lane(other));
    assert_eq!(rig.queue.due_at(behind), None, "nobody knows when");
}

#[test]
fn s17_those_behind_count_in_the_capacity() {
    let mut rig = setup_with(Limits { capacity: 2, ..limits() }, json!({}));
    let order = rig.queue.open_order();
    let [_, _] = [(); 2].map(|()| add(&mut rig, order));
    let admission = rig.admission();
    assert_eq!(rig.queue.admit(rig.time(), &admission), None);
}

#[test]
fn a_flush_and_a_resume_do_not_change_whose_turn_it_is() {
    let (mut rig, order) = ordered();
    let [first, ..] = three(&mut rig, order);
    rig.starts();
    rig.answer(first, 503);
    assert_eq!(rig.queue.flush(rig.time(), None), 1, "the head alone");
    rig.queue.resume(rig.time(), None);
    assert_eq!(rig.starts(), [first]);
}

#[test]
fn an_order_goes_only_when_nobody_is_in_it() {
    let (mut rig, order) = ordered();
    assert_ne!(order, NONE);
    let task = add(&mut rig, order);
    assert!(!rig.queue.drop_order(order));
    rig.starts();
    assert!(!rig.queue.drop_order(order), "it runs");
    rig.answer(task, 200);
    assert!(rig.queue.drop_order(order));
    assert!(!rig.queue.drop_order(order));
    let mut admission = rig.admission();
    admission.order = order;
    assert_eq!(rig.queue.admit(rig.time(), &admission), None, "the handle is stale");
    assert_eq!(rig.queue.depth(), 0);
}

#[test]
fn an_order_takes_nobody_whose_first_attempt_was_made_without_waiting() {
    let (mut rig, order) = ordered();
    let mut admission = rig.admission();
    (admission.order, admission.started) = (order, true);
    assert_eq!(rig.queue.admit(rig.time(), &admission), None);
    assert!(rig.queue.drop_order(order), "nothing was kept");
}

#[test]
fn s5_a_task_keeps_its_handle_over_all_attempts_and_nobody_else_gets_it() {
    let (mut rig, order) = ordered();
    let task = add(&mut rig, order);
    for _ in 0..4 {
        assert_eq!(rig.starts(), [task]);
        rig.answer(task, 503);
        rig.wait(1000);
    }
    assert_eq!(rig.starts(), [task]);
    rig.answer(task, 200);
    for _ in 0..1000 {
        let other = add(&mut rig, order);
        assert_ne!(other, task);
        assert_eq!(rig.queue.cancel(task), Cancelled::Gone);
        assert_eq!(rig.answer(task, 200), Verdict::Stale);
        assert_eq!(rig.queue.gate_status(task), None);
        rig.queue.cancel(other);
    }
}

#[test]
fn l1_a_clock_set_back_does_not_keep_the_next_from_starting() {
    let (mut rig, order) = ordered();
    let [first, second, third] = three(&mut rig, order);
    assert_eq!(rig.starts(), [first]);
    rig.now -= 3_600_000;
    rig.answer(first, 200);
    assert_eq!(rig.queue.wake_at(), rig.time());
    assert_eq!(rig.starts(), [second]);
    rig.now += 7_200_000;
    rig.answer(second, 200);
    assert_eq!(rig.starts(), [third]);
}

#[test]
fn s19_a_long_order_runs_from_end_to_end() {
    let wide = Limits { concurrency: 1000, per_lane: 1000, ..limits() };
    let mut rig = setup_with(wide, json!({}));
    let order = rig.queue.open_order();
    let tasks: Vec<u32> = (0..5000).map(|_| add(&mut rig, order)).collect();
    for task in tasks {
        assert_eq!(rig.starts(), [task]);
        rig.answer(task, 200);
    }
}

#[test]
fn s19_a_task_whose_turn_comes_in_the_midst_of_a_poll_still_goes_before_less_urgent_ones() {
    let limits = Limits { concurrency: 1, per_lane: 1, ..limits() };
    let mut rig = setup_with(limits, json!({ "totalBudgetMs": 1000 }));
    let order = rig.queue.open_order();
    let runs = rig.running();
    // No longer worth a start once calls take longer than the budget; the next of its order has another lane.
    let late = rig.admit(|admission| (admission.priority, admission.order) = (1, order));
    let plain = rig.admit(|admission| admission.priority = -1);
    assert_eq!(rig.starts(), NOTHING);
    let lane = rig.queue.open_lane();
    let urgent =
        rig.admit(|admission| (admission.priority, admission.order, admission.lane) = (1, order, lane));
    let quiet = rig.queue.open_lane();
    let waits = rig.admit(|admission| (admission.priority, admission.lane) = (-1, quiet));
    let slow = Ended { duration: Some(Millis::new(5000)), ..ended(Outcome::Response, 200) };
    let now = rig.time();
    assert_eq!(rig.queue.settle(now, runs, &slow), Verdict::Succeeded);
    let actions = rig.poll();
    assert_eq!(actions[0], Action::End(late, Reason::TotalBudget));
    assert!(actions.contains(&Action::Start(urgent)), "{actions:?}, not {plain} or {waits}");
}
