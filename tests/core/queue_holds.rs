//! How long tasks wait: their own delay, and the holds that servers put on a lane.

use crate::rig::{NOTHING, Rig, ended, limits, retry_after, retry_in, setup, setup_with};
use redrive::queue::{Ended, Limits, Verdict};
use redrive::rng::SplitMix64;
use redrive::task::Outcome;
use redrive::time::Millis;
use serde_json::json;

#[test]
fn s9_a_retry_starts_on_the_dot_and_not_before() {
    let mut rig = setup(json!({}));
    let slot = rig.running();
    assert_eq!(rig.answer(slot, 503), retry_in(1000));
    assert_eq!(rig.queue.wake_at(), Rig::at(1000));
    assert_eq!(rig.queue.due_at(slot), Some(Rig::at(1000)));
    rig.wait(999);
    assert_eq!(rig.starts(), NOTHING);
    rig.wait(1);
    assert_eq!(rig.starts(), [slot]);
    assert_eq!(rig.queue.due_at(slot), None, "in flight");
    assert_eq!(rig.queue.attempts(slot), 2);
}

#[test]
fn s9_a_refused_lane_is_held_and_the_others_go_on() {
    let mut rig = setup(json!({}));
    let other = rig.queue.open_lane();
    let (refused, waiting, elsewhere) = (rig.add(), rig.add(), rig.add_to(other));
    assert_eq!(rig.starts().len(), 3);
    rig.answer(waiting, 502);
    assert!(matches!(rig.refuse(refused, 429, 30_000), Verdict::Retry { .. }));
    assert_eq!(rig.held(), Some(Rig::at(30_000)));
    assert_eq!(rig.queue.due_at(waiting), Some(Rig::at(30_000)), "its own wait is over earlier");
    rig.answer(elsewhere, 502);
    rig.wait(1000);
    assert_eq!(rig.starts(), [elsewhere]);
    assert_eq!(rig.queue.wake_at(), Rig::at(30_000));
    rig.wait(28_999);
    assert_eq!(rig.starts(), NOTHING);
    rig.wait(1);
    assert_eq!(rig.starts(), [waiting], "the refused one waits its spread on top");
    assert_eq!(rig.held(), None);
}

#[test]
fn s9_a_hold_is_never_shortened() {
    let mut rig = setup(json!({}));
    let (first, second) = (rig.add(), rig.add());
    rig.starts();
    rig.refuse(first, 503, 30_000);
    rig.refuse(second, 503, 5_000);
    assert_eq!(rig.held(), Some(Rig::at(30_000)));
}

#[test]
fn s9_a_longer_hold_takes_the_place_of_a_shorter_one() {
    let mut rig = setup_with(Limits { concurrency: 2, ..limits() }, json!({}));
    let (first, second, waiting) = (rig.add(), rig.add(), rig.add());
    rig.starts();
    rig.refuse(first, 503, 5_000);
    assert_eq!(rig.queue.wake_at(), Rig::at(5_000));
    rig.refuse(second, 503, 6_000);
    assert_eq!(rig.held(), Some(Rig::at(6_000)));
    rig.wait(5_000);
    assert_eq!(rig.starts(), NOTHING);
    rig.wait(1_000);
    assert!(rig.starts().contains(&waiting));
}

#[test]
fn a_lane_wakes_the_queue_when_the_longer_of_two_holds_ends() {
    let mut rig = setup_with(Limits { concurrency: 2, ..limits() }, json!({}));
    let (first, second, waiting) = (rig.add(), rig.add(), rig.add());
    rig.starts();
    rig.limit(first, 200, 5_000);
    assert_eq!(rig.queue.wake_at(), Rig::at(5_000));
    rig.limit(second, 200, 6_000);
    assert_eq!(rig.queue.wake_at(), Rig::at(6_000), "nothing can start before");
    rig.wait(6_000);
    assert_eq!(rig.starts(), [waiting]);
}

#[test]
fn a_hold_is_shown_until_it_ends_and_no_longer() {
    let mut rig = setup(json!({}));
    let slot = rig.running();
    rig.limit(slot, 200, 5_000);
    rig.wait(4_999);
    rig.poll();
    assert_eq!(rig.queue.stats(Millis::ZERO).lanes[0].held_until_at, Some(Rig::at(5_000)));
    rig.wait(1);
    rig.poll();
    assert_eq!(rig.queue.stats(Millis::ZERO).lanes[0].held_until_at, None);
}

#[test]
fn a_new_task_waits_for_the_end_of_the_lanes_hold() {
    let mut rig = setup(json!({}));
    let slot = rig.running();
    rig.refuse(slot, 503, 10_000);
    let new = rig.add();
    assert_eq!(rig.queue.due_at(new), Some(Rig::at(10_000)));
    assert_eq!(rig.starts(), NOTHING);
    rig.wait(10_000);
    assert_eq!(rig.starts(), [new]);
}

#[test]
fn s9_a_used_up_rate_limit_holds_the_lane_whatever_the_answer() {
    for status in [200, 204, 404, 429, 500, 503] {
        let mut rig = setup(json!({}));
        let other = rig.queue.open_lane();
        let slot = rig.running();
        rig.limit(slot, status, 7_000);
        let (new, elsewhere) = (rig.add(), rig.add_to(other));
        assert_eq!(rig.held(), Some(Rig::at(7_000)), "{status}");
        assert_eq!(rig.starts(), [elsewhere], "{status}");
        rig.wait(6_999);
        assert_eq!(rig.starts(), NOTHING, "{status}");
        rig.wait(1);
        assert_eq!(rig.starts()[0], new, "{status}");
    }
}

#[test]
fn s9_a_failures_rate_limit_is_waited_for_like_a_servers_delay() {
    let spread = (u64::from(SplitMix64::new(7).next_u32()) * 1000) >> 32;
    let mut rig = setup(json!({}));
    let slot = rig.running();
    assert_eq!(rig.limit(slot, 502, 7_000), retry_after(1000, 7_000, spread));
    assert_eq!(rig.queue.flush(rig.time(), None), 0, "and not to be undercut");
}

#[test]
fn a_retry_after_wins_over_a_rate_limit() {
    let spread = (u64::from(SplitMix64::new(7).next_u32()) * 1000) >> 32;
    for (status, held) in [(429, 2_000), (503, 2_000), (502, 7_000)] {
        let mut rig = setup(json!({}));
        let slot = rig.running();
        let both = Ended {
            server_delay: Some(Millis::new(2_000)),
            rate_limit: Some(Millis::new(7_000)),
            ..ended(Outcome::Response, status)
        };
        assert_eq!(rig.end(slot, &both), retry_after(1000, 2_000, spread));
        // Where the Retry-After does not speak for the lane, the rate limit does.
        assert_eq!(rig.held(), Some(Rig::at(held)), "{status}");
    }
}

#[test]
fn a_retry_after_that_cannot_be_read_is_counted_and_the_curve_decides() {
    let mut rig = setup(json!({}));
    let slot = rig.running();
    let unreadable = Ended { unusable: true, ..ended(Outcome::Response, 503) };
    assert_eq!(rig.end(slot, &unreadable), retry_in(1000));
    assert_eq!(rig.queue.stats(Millis::ZERO).unusable_retry_after, 1);
    assert_eq!(rig.end(slot, &unreadable), Verdict::Stale);
    assert_eq!(rig.queue.stats(Millis::ZERO).unusable_retry_after, 1, "a stale answer changes nothing");
}

#[test]
fn s9_a_verdict_says_what_its_delay_is_made_of() {
    let spread = (u64::from(SplitMix64::new(7).next_u32()) * 5000) >> 32;
    let mut rig = setup(json!({}));
    let slot = rig.running();
    let verdict = rig.refuse(slot, 503, 120_000);
    assert_eq!(verdict, retry_after(1000, 120_000, spread));
    let Verdict::Retry { delay, wait, .. } = verdict else { panic!() };
    assert_eq!(delay.get(), 120_000 + wait.spread.get());
}

#[test]
fn a_hold_of_no_time_is_none() {
    let mut rig = setup_with(Limits { concurrency: 1, ..limits() }, json!({}));
    let (first, second) = (rig.add(), rig.add());
    assert_eq!(rig.starts(), [first]);
    rig.wait(700);
    assert_eq!(rig.limit(first, 200, 0), Verdict::Succeeded);
    assert_eq!(rig.queue.due_at(second), Some(Rig::at(0)), "it was due all the time");
    assert_eq!(rig.starts(), [second]);
}
