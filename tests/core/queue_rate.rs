//! How many attempts start in a time, how many run at a time once that is changed, and callers' own attempts where they count.

use crate::gated::roomy;
use crate::rig::{NOTHING, Rig, setup_with};
use proptest::prelude::*;
use redrive::queue::rate::{Bucket, Rate};
use redrive::queue::{Gate, Limits};
use redrive::task::Outcome;
use redrive::time::Millis;
use serde_json::json;

/// A queue whose lanes start so many attempts a second, and `burst` at once.
fn rated(per_second: f64, burst: u32) -> Rig {
    let mut rig = setup_with(roomy(), json!({}));
    rig.queue.set_rate(Some(Rate::new(per_second, burst)));
    rig.lane = rig.queue.open_lane();
    rig
}

fn add(rig: &mut Rig, count: usize) -> Vec<u32> {
    (0..count).map(|_| rig.add()).collect()
}

#[test]
fn l6_after_a_burst_attempts_start_evenly_and_on_the_dot() {
    let mut rig = rated(4.0, 3);
    let slots = add(&mut rig, 6);
    assert_eq!(rig.starts(), slots[..3]);
    for &slot in &slots[3..] {
        let wake = rig.queue.wake_at();
        assert_eq!(wake, rig.time().plus(Millis::new(250)));
        rig.wait(249);
        assert_eq!(rig.starts(), NOTHING);
        assert_eq!(rig.queue.gate_status(slot).unwrap().gate, Gate::Rate);
        assert_eq!(rig.queue.gate_status(slot).unwrap().until, wake);
        rig.wait(1);
        assert_eq!(rig.starts(), [slot]);
    }
    assert_eq!(rig.queue.wake_at(), Millis::MAX);
}

#[test]
fn a_rate_below_one_waits_for_whole_tokens() {
    let mut rig = rated(0.1, 1);
    let slots = add(&mut rig, 2);
    assert_eq!(rig.starts(), slots[..1]);
    rig.wait(9_999);
    assert_eq!(rig.starts(), NOTHING);
    rig.wait(1);
    assert_eq!(rig.starts(), slots[1..]);
}

#[test]
fn each_lane_has_a_rate_of_its_own() {
    let mut rig = rated(1.0, 1);
    let other = rig.queue.open_lane();
    let slots = [rig.add(), rig.add(), rig.add_to(other)];
    assert_eq!(rig.starts(), [slots[0], slots[2]]);
    rig.wait(1000);
    assert_eq!(rig.starts(), [slots[1]]);
}

#[test]
fn an_attempt_that_was_not_sent_gives_its_token_back_and_one_that_failed_does_not() {
    let mut rig = rated(1.0, 1);
    let slots = add(&mut rig, 2);
    assert_eq!(rig.starts(), slots[..1]);
    rig.settle(slots[0], Outcome::Released, 0, None);
    assert_eq!(rig.starts().len(), 1);
    let running = if rig.queue.gate_status(slots[0]).unwrap().gate == Gate::InFlight { 0 } else { 1 };
    rig.answer(slots[running], 503);
    assert_eq!(rig.starts(), NOTHING);
    rig.wait(1000);
    assert_eq!(rig.starts().len(), 1);
}

#[test]
fn a_token_that_has_come_back_by_itself_is_not_given_back_again() {
    let mut rig = rated(1.0, 1);
    let slots = add(&mut rig, 3);
    assert_eq!(rig.starts(), slots[..1]);
    rig.wait(2000);
    assert_eq!(rig.starts(), slots[1..2]);
    rig.settle(slots[0], Outcome::CredentialsFailed, 0, None);
    rig.wait(999);
    assert_eq!(rig.starts(), NOTHING, "one was sent 999 ms ago");
    rig.wait(1);
    assert_eq!(rig.starts().len(), 1);
}

#[test]
fn a_lane_that_owes_a_wait_is_not_forgotten() {
    let mut rig = rated(0.001, 1);
    let slot = rig.running();
    rig.answer(slot, 200);
    assert!(!rig.queue.drop_lane(rig.lane));
    rig.wait(1_000_000);
    rig.starts();
    assert!(rig.queue.drop_lane(rig.lane));
}

#[test]
fn what_a_store_may_grant_is_bounded_by_the_rate_too() {
    let mut rig = rated(2.0, 2);
    assert_eq!(
        (rig.queue.room(rig.time(), rig.lane), rig.queue.room_for_first(rig.time(), rig.lane)),
        (2, 2)
    );
    for room in [1, 0] {
        rig.adopt_with(&crate::rig::second(), |_| {});
        assert_eq!(rig.queue.room(rig.time(), rig.lane), room);
    }
    assert_eq!(rig.queue.shut_until(rig.time(), rig.lane), Some(rig.time().plus(Millis::new(500))));
    rig.wait(500);
    assert_eq!(rig.queue.room(rig.time(), rig.lane), 1);
}

#[test]
fn s7_limits_that_are_raised_start_more_at_once_and_lowered_ones_wait_for_what_runs() {
    let mut rig = setup_with(Limits { concurrency: 1, per_lane: 1, ..roomy() }, json!({}));
    let slots = add(&mut rig, 6);
    assert_eq!(rig.starts(), slots[..1]);
    rig.queue.set_limits(rig.time(), 4, 3);
    assert_eq!(rig.queue.wake_at(), rig.time());
    assert_eq!(rig.starts(), slots[1..3]);
    rig.queue.set_limits(rig.time(), 4, 4);
    assert_eq!(rig.starts(), slots[3..4]);
    rig.queue.set_limits(rig.time(), 2, 4);
    for &slot in &slots[..2] {
        rig.answer(slot, 200);
        assert_eq!(rig.starts(), NOTHING);
    }
    rig.answer(slots[2], 200);
    assert_eq!(rig.starts(), slots[4..5]);
    rig.queue.set_limits(rig.time(), 0, 0);
    assert_eq!((rig.queue.vacancies(), rig.queue.room(rig.time(), rig.lane)), (0, 0));
}

#[test]
fn s7_callers_own_attempts_count_where_they_enter() {
    let mut rig = setup_with(Limits { concurrency: 2, per_lane: 2, ..roomy() }, json!({}));
    assert!(rig.queue.enter_own(rig.time(), rig.lane));
    assert_eq!((rig.queue.vacancies(), rig.queue.room(rig.time(), rig.lane)), (1, 1));
    let slots = add(&mut rig, 2);
    assert_eq!(rig.starts(), slots[..1]);
    assert!(!rig.queue.enter_own(rig.time(), rig.lane), "full");
    rig.queue.leave_own(rig.time(), rig.lane, rig.time(), true);
    assert!(!rig.queue.enter_own(rig.time(), rig.lane), "another stands in line");
    assert_eq!(rig.starts(), slots[1..]);
    for slot in slots {
        rig.answer(slot, 200);
    }
    assert!(rig.queue.enter_own(rig.time(), rig.lane));
    assert!(!rig.queue.drop_lane(rig.lane));
    rig.queue.leave_own(rig.time(), rig.lane, rig.time(), true);
    rig.queue.leave_own(rig.time(), rig.lane, rig.time(), true);
    assert_eq!(rig.queue.vacancies(), 2, "leaving twice makes no room");
}

#[test]
fn a_callers_own_attempt_takes_a_token_and_gives_it_back_unsent() {
    let mut rig = rated(1.0, 1);
    assert!(rig.queue.enter_own(rig.time(), rig.lane));
    rig.queue.leave_own(rig.time(), rig.lane, rig.time(), false);
    assert!(rig.queue.enter_own(rig.time(), rig.lane));
    rig.queue.leave_own(rig.time(), rig.lane, rig.time(), true);
    assert!(!rig.queue.enter_own(rig.time(), rig.lane));
    rig.wait(1000);
    assert!(rig.queue.enter_own(rig.time(), rig.lane));
}

#[test]
fn a_callers_own_token_that_has_come_back_by_itself_is_not_given_back_again() {
    let mut rig = rated(1.0, 1);
    let entered_at = rig.time();
    assert!(rig.queue.enter_own(entered_at, rig.lane));
    rig.wait(2000);
    assert!(rig.queue.enter_own(rig.time(), rig.lane));
    rig.queue.leave_own(rig.time(), rig.lane, entered_at, false);
    assert!(!rig.queue.enter_own(rig.time(), rig.lane));
}

#[test]
fn a_hold_keeps_no_callers_own_attempt_back() {
    let mut rig = rated(1.0, 3);
    rig.queue.hold(rig.time(), rig.lane, Millis::new(60_000));
    rig.add();
    assert_eq!(rig.starts(), NOTHING);
    assert!(rig.queue.enter_own(rig.time(), rig.lane));
}

#[test]
fn s8_a_pause_keeps_callers_own_attempts_back_whether_others_stand_in_line_or_not() {
    for everything in [true, false] {
        let mut rig = rated(1.0, 3);
        let scope = (!everything).then_some(rig.lane);
        rig.queue.pause(scope);
        assert!(!rig.queue.enter_own(rig.time(), rig.lane), "alone");
        let slot = rig.add();
        assert!(!rig.queue.enter_own(rig.time(), rig.lane), "behind another");
        assert_eq!(rig.starts(), NOTHING);
        rig.queue.resume(rig.time(), scope);
        assert_eq!(rig.starts(), [slot]);
        assert!(rig.queue.enter_own(rig.time(), rig.lane));
    }
}

/// The rule itself: over any stretch of time no more start than the burst and what the rate brings meanwhile. Parts are a
/// billionth of what a rate of one brings in a millisecond.
fn naive_room(starts: &[u64], now: u64, parts_per_ms: u128, burst: u32) -> u32 {
    let token = 1_000_000_000_000_u128;
    let fits = |more: u32| {
        starts.iter().enumerate().all(|(i, &at)| {
            let count = (starts.len() - i) as u128 + u128::from(more);
            count.saturating_sub(u128::from(burst)) * token <= u128::from(now - at) * parts_per_ms
        })
    };
    (0..=burst).rev().find(|&more| fits(more)).unwrap_or(0)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(crate::common::cases()))]

    /// Refused just before, allowed on the dot: a bucket has room for exactly what the rule allows, at any time, whatever was started when.
    #[test]
    fn l6_a_bucket_allows_what_the_rule_allows(
        milli_rate in 1_u32..100_000,
        burst in 1_u32..6,
        steps in prop::collection::vec((0_u64..3_000, 0_u32..4), 1..60),
    ) {
        let per_second = f64::from(milli_rate) / 1000.0;
        let parts_per_ms = (per_second * 1e9) as u64;
        let mut bucket = Bucket::new(Some(Rate::new(per_second, burst)));
        let (mut now, mut starts) = (1_u64, Vec::new());
        for (wait, wanted) in steps {
            now += wait;
            let at = Millis::new(now);
            let room = naive_room(&starts, now, u128::from(parts_per_ms), burst);
            prop_assert_eq!(bucket.room(at), room);
            let opens = bucket.opens_at(at).get();
            if room > 0 {
                prop_assert_eq!(opens, 0);
            } else {
                prop_assert_eq!(naive_room(&starts, opens - 1, u128::from(parts_per_ms), burst), 0);
                prop_assert!(naive_room(&starts, opens, u128::from(parts_per_ms), burst) > 0);
            }
            for _ in 0..wanted.min(room) {
                bucket.take(at);
                starts.push(now);
            }
        }
    }
}
