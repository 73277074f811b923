//! What the queue starts, in which order, and what keeps it from starting.

use crate::rig::{NOTHING, Rig, limits, retry_in, setup, setup_with};
use redrive::queue::{Action, Cancelled, Limits, Verdict};
use redrive::slots::NONE;
use redrive::task::{Outcome, Reason};
use redrive::time::Millis;
use serde_json::json;

#[test]
fn s7_no_more_than_the_limit_runs_at_a_time() {
    let mut rig = setup(json!({}));
    let slots: Vec<u32> = (0..5).map(|_| rig.add()).collect();
    assert_eq!(rig.starts(), slots[..3]);
    assert_eq!(rig.starts(), NOTHING);
    rig.answer(slots[0], 200);
    assert_eq!(rig.starts(), slots[3..4]);
    assert_eq!(rig.queue.in_flight(), 3);
}

#[test]
fn s7_no_more_than_the_lanes_limit_runs_in_a_lane() {
    let mut rig = setup_with(Limits { per_lane: 1, ..limits() }, json!({}));
    let other = rig.queue.open_lane();
    let slots = [rig.add(), rig.add(), rig.add_to(other), rig.add_to(other)];
    assert_eq!(rig.starts(), [slots[0], slots[2]]);
    rig.answer(slots[2], 200);
    assert_eq!(rig.starts(), [slots[3]]);
}

#[test]
fn s7_a_callers_own_first_attempt_is_not_counted() {
    let mut rig = setup_with(Limits { concurrency: 1, ..limits() }, json!({}));
    rig.running();
    let own = rig.begun();
    assert_eq!(rig.queue.in_flight(), 1);
    assert_eq!(rig.fail(own), retry_in(1000));
    assert_eq!(rig.queue.attempts(own), 1);
    assert_eq!(rig.queue.in_flight(), 1);
}

#[test]
fn a_limit_of_none_at_all_means_one() {
    let mut rig = setup_with(Limits { concurrency: 0, per_lane: 0, ..limits() }, json!({}));
    let (first, _) = (rig.add(), rig.add());
    assert_eq!(rig.starts(), [first]);
}

#[test]
fn s17_a_full_queue_refuses_and_keeps_what_it_has() {
    let mut rig = setup_with(Limits { capacity: 2, capacity_bytes: 100, ..limits() }, json!({}));
    let first = rig.admit(|admission| admission.bytes = 60);
    let mut admission = rig.admission();
    admission.bytes = 41;
    assert_eq!(rig.queue.admit(rig.time(), &admission), None, "too many bytes");
    admission.bytes = 40;
    assert!(rig.queue.admit(rig.time(), &admission).is_some());
    admission.bytes = 0;
    assert_eq!(rig.queue.admit(rig.time(), &admission), None, "too many tasks");
    assert_eq!((rig.queue.depth(), rig.queue.bytes()), (2, 100));
    rig.starts();
    assert_eq!(rig.answer(first, 200), Verdict::Succeeded);
    assert_eq!((rig.queue.depth(), rig.queue.bytes()), (1, 40));
    assert!(rig.queue.admit(rig.time(), &admission).is_some());
}

#[test]
fn s17_dead_letters_that_the_host_keeps_take_room() {
    let mut rig = setup_with(Limits { capacity: 3, capacity_bytes: 100, ..limits() }, json!({}));
    let mut admission = rig.admission();
    admission.bytes = 40;
    rig.queue.keep_dead(2, 60);
    assert!(rig.queue.admit(rig.time(), &admission).is_some());
    admission.bytes = 0;
    assert_eq!(rig.queue.admit(rig.time(), &admission), None, "too many tasks");
    rig.queue.keep_dead(1, 60);
    admission.bytes = 1;
    assert_eq!(rig.queue.admit(rig.time(), &admission), None, "too many bytes");
    admission.bytes = 0;
    assert!(rig.queue.admit(rig.time(), &admission).is_some());
    assert_eq!(rig.queue.depth(), 2);
}

#[test]
fn l4_lanes_take_turns_however_much_one_has_to_do() {
    let mut rig = setup_with(Limits { concurrency: 1, ..limits() }, json!({}));
    let (busy, calm) = (rig.lane, rig.queue.open_lane());
    let many: Vec<u32> = (0..50).map(|_| rig.add_to(busy)).collect();
    let few: Vec<u32> = (0..2).map(|_| rig.add_to(calm)).collect();
    assert_eq!(rig.succeed(5), [many[0], few[0], many[1], few[1], many[2]]);
}

#[test]
fn higher_priorities_start_first_over_all_lanes() {
    let mut rig = setup_with(Limits { concurrency: 1, ..limits() }, json!({}));
    let other = rig.queue.open_lane();
    let low = rig.add();
    let high = rig.admit(|admission| (admission.lane, admission.priority) = (other, 9));
    let middle = rig.admit(|admission| admission.priority = 1);
    let lowest = rig.admit(|admission| (admission.lane, admission.priority) = (other, -1));
    assert_eq!(rig.succeed(4), [high, middle, low, lowest]);
}

#[test]
fn in_a_lane_what_was_due_first_starts_first() {
    let mut rig = setup(json!({}));
    let early = rig.begun();
    rig.fail(early);
    rig.wait(10);
    let late = rig.begun();
    rig.fail(late);
    rig.wait(1500);
    let last = rig.add();
    assert_eq!(rig.starts(), [early, late, last]);
}

#[test]
fn a_paused_lane_starts_nothing_until_it_is_resumed() {
    let mut rig = setup(json!({}));
    let other = rig.queue.open_lane();
    let (here, there) = (rig.add(), rig.add_to(other));
    rig.queue.pause(Some(rig.lane));
    assert_eq!(rig.starts(), [there]);
    assert_eq!(rig.queue.wake_at(), Rig::at(86_400_000), "only its deadline is watched");
    rig.queue.resume(rig.time(), Some(rig.lane));
    assert_eq!(rig.queue.wake_at(), rig.time());
    assert_eq!(rig.starts(), [here]);
}

#[test]
fn a_paused_queue_starts_nothing_until_it_is_resumed() {
    let mut rig = setup(json!({}));
    let slot = rig.add();
    rig.queue.pause(None);
    assert_eq!(rig.starts(), NOTHING);
    rig.queue.resume(rig.time(), None);
    assert_eq!(rig.starts(), [slot]);
}

#[test]
fn offline_nothing_starts_soon_and_back_online_a_failed_lane_probes() {
    let mut rig = setup(json!({}));
    let other = rig.queue.open_lane();
    let slots = [rig.add(), rig.add(), rig.add()];
    rig.starts();
    rig.queue.set_online(rig.time(), false);
    assert_eq!(rig.settle(slots[0], Outcome::Offline, 0, None), retry_in(0));
    for slot in &slots[1..] {
        assert_eq!(rig.fail(*slot), retry_in(1000));
    }
    let unharmed = [rig.add_to(other), rig.add_to(other)];
    rig.wait(5000);
    assert_eq!(rig.starts(), NOTHING);

    rig.queue.set_online(rig.time(), true);
    assert_eq!(rig.starts(), [slots[0], unharmed[0], unharmed[1]], "one probe, the rest as ever");
    for slot in unharmed {
        rig.answer(slot, 200);
    }
    assert_eq!(rig.starts(), NOTHING);
    rig.fail(slots[0]);
    assert_eq!(rig.starts(), [slots[1]], "a failed probe is followed by one more");
    rig.answer(slots[1], 500);
    assert_eq!(rig.starts(), [slots[2]], "any response ends the probing");
    rig.running();

    rig.queue.set_online(rig.time(), true);
    let another = rig.add();
    assert_eq!(rig.starts(), [another], "nothing failed since: nothing to probe");
}

#[test]
fn a_flush_shortens_the_curves_wait_and_not_the_servers() {
    let mut rig = setup(json!({}));
    let (own, told, parked) = (rig.add(), rig.add(), rig.add());
    rig.starts();
    rig.answer(own, 503);
    rig.refuse(told, 502, 500);
    rig.wait(1);
    let other = rig.queue.open_lane();
    assert_eq!(rig.queue.flush(rig.time(), Some(other)), 0);
    assert_eq!(rig.queue.flush(rig.time(), None), 2, "the told one waits for no more than it was told");
    assert_eq!(rig.queue.due_at(own), Some(rig.time()));
    assert!(rig.queue.due_at(told).unwrap() >= Rig::at(500));
    assert_eq!(rig.starts(), [own]);
    assert_eq!(rig.queue.flush(rig.time(), None), 0);
    assert_eq!(rig.answer(parked, 200), Verdict::Succeeded);
}

#[test]
fn cancelling_frees_what_waits_and_asks_what_runs() {
    let mut rig = setup_with(Limits { concurrency: 1, ..limits() }, json!({}));
    let (running, waiting) = (rig.add(), rig.add());
    rig.starts();
    assert_eq!(rig.queue.cancel(waiting), Cancelled::Done);
    assert_eq!(rig.queue.cancel(waiting), Cancelled::Gone);
    assert_eq!(rig.queue.cancel(running), Cancelled::Requested);
    assert_eq!(rig.answer(running, 503), Verdict::Cancelled);
    assert_eq!(rig.queue.depth(), 0);

    let again = rig.running();
    rig.queue.cancel(again);
    assert_eq!(rig.answer(again, 200), Verdict::Succeeded, "a success still counts");
    assert_eq!(rig.answer(again, 200), Verdict::Stale);
}

#[test]
fn one_call_of_poll_gives_a_batch_and_the_next_the_rest() {
    let wide = Limits { concurrency: 1000, per_lane: 1000, ..limits() };
    let mut rig = setup_with(wide, json!({}));
    let slots: Vec<u32> = (0..600).map(|_| rig.add()).collect();
    let mut actions = Vec::new();
    rig.queue.poll(rig.time(), &mut actions);
    assert_eq!(actions.len(), 256);
    assert_eq!(rig.queue.wake_at(), rig.time(), "there is more to do now");
    let mut started: Vec<Action> = actions.clone();
    started.extend(rig.poll());
    assert_eq!(started, slots.iter().map(|slot| Action::Start(*slot)).collect::<Vec<_>>());
}

#[test]
fn only_a_connection_lost_while_offline_makes_the_lane_probe() {
    for (offline, expected) in [(true, 1), (false, 3)] {
        let mut rig = setup(json!({}));
        let slots = [rig.add(), rig.add(), rig.add()];
        rig.starts();
        rig.queue.set_online(rig.time(), !offline);
        for slot in slots {
            rig.settle(slot, Outcome::NetworkError, 0, None);
        }
        rig.queue.set_online(rig.time(), true);
        rig.wait(1000);
        assert_eq!(rig.starts().len(), expected, "offline: {offline}");
    }
}

#[test]
fn a_tasks_lane_is_known_until_it_ends() {
    let mut rig = setup(json!({}));
    let other = rig.queue.open_lane();
    let (here, there) = (rig.add(), rig.add_to(other));
    assert_eq!(rig.queue.lane_of(here), Some(rig.lane));
    assert_eq!(rig.queue.lane_of(there), Some(other));
    rig.queue.cancel(there);
    assert_eq!(rig.queue.lane_of(there), None);
}

#[test]
fn s8_many_last_chances_end_over_several_polls_and_so_does_a_whole_order_that_is_too_late() {
    // At the last instant, and after it.
    for (late, in_order) in [(0, false), (1, false), (0, true)] {
        let mut rig = setup(json!({}));
        let order = if in_order { rig.queue.open_order() } else { NONE };
        rig.queue.pause(None);
        for _ in 0..600 {
            rig.admit(|admission| (admission.order, admission.expires_at) = (order, Rig::at(100)));
        }
        if !in_order {
            rig.poll();
        }
        rig.wait(100 + late);
        let ended = rig.poll();
        assert_eq!(ended.len(), 600, "{late} ms late, in an order: {in_order}");
        assert!(ended.iter().all(|action| matches!(action, Action::End(_, Reason::Expired))));
        assert_eq!((rig.queue.wake_at(), rig.queue.depth()), (Millis::MAX, 0));
        assert!(!in_order || rig.queue.drop_order(order));
    }
}

#[test]
fn a_lane_that_is_nothing_but_paused_is_dropped_since_its_host_remembers_that() {
    let mut rig = setup(json!({}));
    let slot = rig.add();
    rig.queue.pause(Some(rig.lane));
    assert!(!rig.queue.drop_lane(rig.lane), "something waits");
    rig.queue.cancel(slot);
    assert!(rig.queue.drop_lane(rig.lane));
}

#[test]
fn a_lane_is_dropped_only_when_nothing_is_left_of_it() {
    let mut rig = setup(json!({}));
    let slot = rig.add();
    assert!(!rig.queue.drop_lane(rig.lane), "something waits");
    rig.starts();
    assert!(!rig.queue.drop_lane(rig.lane), "something runs");
    rig.queue.cancel(slot);
    rig.refuse(slot, 503, 5000);
    assert!(!rig.queue.drop_lane(rig.lane), "it is held");
    rig.wait(5000);
    rig.poll();
    let slot = rig.begun();
    assert!(!rig.queue.drop_lane(rig.lane), "a caller's own attempt is to be settled");
    rig.answer(slot, 200);
    assert!(rig.queue.drop_lane(rig.lane));
    assert!(!rig.queue.drop_lane(rig.lane));
    let admission = rig.admission();
    assert_eq!(rig.queue.admit(rig.time(), &admission), None, "the handle is stale");
}

#[test]
fn a_policy_goes_when_neither_host_nor_task_uses_it() {
    let mut rig = setup(json!({}));
    let same = rig.queue.intern(rig.queue.policy(rig.policy).unwrap().clone());
    assert_eq!(same, rig.policy, "an equal policy is kept once");
    rig.queue.release(rig.policy);
    let slot = rig.add();
    rig.queue.release(rig.policy);
    assert!(rig.queue.policy(rig.policy).is_some(), "the task uses it");
    rig.starts();
    rig.answer(slot, 200);
    assert!(rig.queue.policy(rig.policy).is_none());
    rig.queue.release(rig.policy);
}

#[test]
fn an_idle_queue_waits_for_nothing() {
    let mut rig = setup(json!({}));
    assert_eq!(rig.queue.wake_at(), Millis::MAX);
    let slot = rig.add();
    assert_eq!(rig.queue.wake_at(), rig.time());
    rig.starts();
    assert_eq!(rig.queue.wake_at(), Millis::MAX, "a running attempt needs no timer of the core");
    rig.answer(slot, 200);
    assert_eq!(rig.queue.wake_at(), Millis::MAX);
    assert_eq!(rig.queue.next_due_at(), Millis::MAX);
}

#[test]
fn the_numbers_add_up() {
    let mut rig = setup_with(Limits { concurrency: 1, ..limits() }, json!({}));
    let other = rig.queue.open_lane();
    let (refused, _) = (rig.add(), rig.add_to(other));
    rig.starts();
    rig.refuse(refused, 503, 9000);
    rig.starts();
    let stats = rig.queue.stats(Millis::ZERO);
    assert_eq!((stats.depth, stats.in_flight), (2, 1));
    let rows: Vec<_> =
        stats.lanes.iter().map(|lane| (lane.lane, lane.depth, lane.in_flight, lane.held_until_at)).collect();
    assert_eq!(rows, [(rig.lane, 1, 0, Some(Rig::at(9000))), (other, 1, 1, None)]);
    assert!(stats.next_attempt_at.unwrap() >= Rig::at(9000));
}

#[test]
fn l1_a_clock_set_back_by_an_hour_delays_nothing_by_an_hour() {
    let mut rig = setup(json!({}));
    let (waiting, running) = (rig.add(), rig.add());
    rig.starts();
    rig.answer(waiting, 503);
    rig.wait(400);
    rig.now -= 3_600_000;
    assert_eq!(rig.answer(running, 503), retry_in(1000));
    assert_eq!(rig.queue.wake_at().get(), rig.now + 1000, "by the clock as it is now");
    rig.wait(1000);
    assert_eq!(rig.starts(), [waiting, running]);
}

#[test]
fn l1_a_wake_up_for_tasks_that_are_gone_comes_once() {
    let mut rig = setup_with(Limits { capacity: 1000, ..limits() }, json!({}));
    rig.queue.pause(None);
    let (expiry, later) = (Rig::at(7_520_000), Rig::at(20_000_000));
    let many = [(); 300].map(|()| rig.admit(|admission| admission.expires_at = expiry));
    rig.admit(|admission| admission.expires_at = later);
    assert_eq!(rig.poll(), []);
    let early = rig.queue.wake_at();
    assert!(early > rig.time() && early < expiry, "so many at one far instant: only their range is known");
    for slot in many {
        assert_eq!(rig.queue.cancel(slot), Cancelled::Done);
    }
    rig.wait(early.minus(rig.time()).get());
    assert_eq!(rig.poll(), []);
    assert_eq!(rig.queue.wake_at(), later);
}
