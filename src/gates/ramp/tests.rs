//! A ramp's pauses after rows of answers and failures.

use super::*;

fn at(ms: u64) -> Millis {
    Millis::new(ms)
}

/// A ramp of one lane of many that has heard these, so many ms apart: `+` a healthy answer, `!` a quick one, `~` a slow one,
/// `-` a failure. And the time.
fn after(heard: &str, ms: u64) -> (Ramp, Millis) {
    heard_by(Comeback::OfMany, heard, ms)
}

fn course(letter: char, comeback: Comeback) -> Course {
    let pace = match letter {
        '!' => Pace::Quick,
        '~' => Pace::Slow,
        _ => Pace::Fair,
    };
    Course { healthy: letter != '-', pace, most: 6, by_queue: false, odd: true, comeback }
}

fn heard_by(comeback: Comeback, heard: &str, ms: u64) -> (Ramp, Millis) {
    let (mut ramp, mut now) = (Ramp::default(), at(1_000_000));
    for letter in heard.chars() {
        now = now.plus(at(ms));
        ramp.hear(now, course(letter, comeback));
    }
    (ramp, now)
}

/// The longest pause it asks for while one task waits.
fn pause(after: (Ramp, Millis)) -> u64 {
    pause_of(after, 1, false)
}

fn pause_of((mut ramp, now): (Ramp, Millis), waiting: u32, awaited: bool) -> u64 {
    ramp.start(now, u32::MAX);
    ramp.shut_until(now, waiting, u32::from(awaited)).minus(now).get()
}

#[test]
fn two_failures_in_a_row_begin_no_ramp_and_three_do() {
    for (heard, begins) in [("", false), ("--+--+--", false), ("---", true), ("+---", true)] {
        assert_eq!(after(heard, 1000).0.is_on(), begins, "{heard}");
    }
    let (ramp, now) = after("--", 1000);
    assert_eq!((ramp.limit(), ramp.shut_until(now, 1, 0)), (u32::MAX, Millis::ZERO));
}

#[test]
fn it_begins_with_one_and_widens_by_one_for_each_round_that_goes_well() {
    // three failures at one moment: no silence yet, and so no pause
    for (heard, limit) in [("---", 1), ("---+", 2), ("---++", 2), ("---++++", 3), ("---+++++++", 4)] {
        let (ramp, now) = after(heard, 0);
        assert_eq!((ramp.limit(), pause((ramp, now))), (limit, 0), "{heard}");
    }
    let (ramp, _) = after(&format!("---{}", "+".repeat(100)), 0);
    assert_eq!(ramp.limit(), 6, "never wider than the lane's limit");
}

#[test]
fn a_lane_of_many_pauses_for_two_and_a_half_times_the_silence_and_at_most_six_minutes() {
    for (ms, failures, pauses) in [(1000, 3, 7500), (1000, 11, 37_500), (60_000, 9, 384_000)] {
        assert_eq!(pause(after(&"-".repeat(failures), ms)), pauses - 1, "{failures} in {ms} ms each");
    }
}

#[test]
fn a_lane_of_few_pauses_for_a_quarter_of_the_silence() {
    for (ms, failures, pauses) in [(100, 3, 600), (1000, 3, 1500), (1000, 11, 3750), (60_000, 9, 180_000)] {
        let found = pause(heard_by(Comeback::OfFew, &"-".repeat(failures), ms));
        assert_eq!(found, pauses - 1, "{failures} in {ms} ms each");
    }
}

#[test]
fn a_quick_answer_ends_the_pause() {
    for (answers, pauses) in [("!", 0), ("+!", 0), ("~", 93_750)] {
        let found = pause(after(&format!("{}{answers}", "-".repeat(21)), 1000));
        assert!(found.abs_diff(pauses) <= 2, "{answers}: {found}");
    }
}

#[test]
fn hastened_it_lets_an_extra_attempt_go_and_waits_no_longer_for_it() {
    let (mut ramp, now) = after(&"-".repeat(21), 1000);
    ramp.start(now, 0);
    let until = ramp.shut_until(now, 1, 0);
    ramp.hasten();
    assert!(until > now && ramp.shut_until(now, 1, 0) <= now);
    ramp.start(now.plus(at(500)), u32::MAX);
    assert_eq!(ramp.shut_until(now, 1, 0), until);
    ramp.hear(now.plus(at(500)), Course { by_queue: true, ..course('-', Comeback::OfMany) });
    assert_eq!(ramp.shut_until(now, 1, 0), until);
}

#[test]
fn a_task_that_is_handed_over_lets_an_extra_attempt_go_one_in_two_seconds() {
    let (mut ramp, now) = after(&"-".repeat(21), 1000);
    ramp.start(now, 0);
    for later in [0, 1, 1999, 2000, 5000] {
        let now = now.plus(at(later));
        let expected = if later < 2000 { now.max(at(1_023_000)) } else { now };
        let expected = if later == 0 { now } else { expected };
        assert_eq!(ramp.visit(now), Some(expected), "{later} ms later");
        assert_eq!(ramp.visit(now), Some(expected), "and a second one with it");
        if expected == now {
            assert!(ramp.shut_until(now, 1, 0) <= now);
            ramp.start(now, 0);
            assert!(ramp.shut_until(now, 1, 0) > now, "one went");
        }
    }
    assert_eq!(after("---+", 1000).0.visit(now), None, "where nothing fails there is nothing to see");
}

#[test]
fn another_task_takes_the_place_of_one_that_failed_if_it_is_due_soon() {
    let (mut ramp, now) = after(&"-".repeat(21), 1000);
    ramp.start(now, 0);
    let until = ramp.shut_until(now, 1, 0);
    ramp.spare(now);
    assert!(ramp.shut_until(now.plus(at(499)), 1, 0) <= now.plus(at(499)));
    assert_eq!(ramp.shut_until(now.plus(at(500)), 1, 0), until);
    ramp.start(now.plus(at(500)), 0);
    assert!(!ramp.is_extra, "it went as the next regular one");
}

/// A ramp of a lane in view: `!` a quick failure, `-` one that took its time.
fn in_view(heard: &str, ms: u64) -> (Ramp, Millis) {
    let (mut ramp, mut now) = (Ramp::default(), at(1_000_000));
    for letter in heard.chars() {
        now = now.plus(at(ms));
        ramp.hear(now, Course { healthy: letter == '+', ..course(letter, Comeback::InView) });
    }
    (ramp, now)
}

#[test]
fn in_view_what_is_refused_at_once_is_asked_every_three_seconds_for_a_minute() {
    let (many, quick) = (|n: usize| "!".repeat(n), 4499);
    for (heard, pauses) in [
        (many(21), quick),
        (many(61), quick),
        (many(62), 137_249),
        (format!("-{}", many(20)), quick),
        (format!("{}-", many(20)), 74_999),
        (format!("{}-+{}", many(20), many(21)), quick),
        ("-".repeat(21), 74_999),
    ] {
        assert_eq!(pause(in_view(&heard, 1000)), pauses, "{heard}");
    }
}

#[test]
fn in_view_a_tasks_own_wait_is_shorter_than_the_pause_while_nothing_succeeds() {
    let curb = |(ramp, _): (Ramp, Millis), comeback| ramp.curb(comeback, at(60_000)).get();
    for (heard, wait) in [("", 60_000), ("!!", 60_000), ("!!!", 1500), ("!!!!!!", 1500), ("!!!!!+", 60_000)] {
        assert_eq!(curb(in_view(heard, 1000), Comeback::InView), wait, "{heard}");
        assert_eq!(curb(in_view(heard, 1000), Comeback::OfMany), 60_000, "{heard}, out of view");
    }
    assert_eq!(in_view("!!!", 1000).0.curb(Comeback::InView, at(700)).get(), 700, "no wait becomes longer");
    assert_eq!(
        curb(in_view(&"-".repeat(61), 1000), Comeback::InView),
        60_000,
        "a silent server is not asked more"
    );
}

#[test]
fn a_caller_does_not_shorten_the_pause_before_a_server_of_many_that_may_be_busy() {
    for (comeback, heard, pauses) in [
        (Comeback::OfMany, "-----", 14_999),
        (Comeback::InView, "-----", 14_999),
        (Comeback::InView, "!!!!!", 2999),
        (Comeback::OfFew, "-----", 1499),
    ] {
        let (mut ramp, mut now) = (Ramp::default(), at(1_000_000));
        for letter in heard.chars() {
            now = now.plus(at(1000));
            ramp.hear(now, Course { healthy: false, ..course(letter, comeback) });
        }
        assert_eq!(pause_of((ramp, now), 1, true), pauses, "{comeback:?} {heard}");
    }
}

#[test]
fn a_lane_with_many_tasks_looks_more_often_and_no_more_often_than_every_other_second() {
    for (waiting, pauses) in [(1, 150_000), (4, 120_000), (8, 60_000), (80, 6000), (8000, 3000)] {
        let silent = after(&"-".repeat(41), 1000);
        assert_eq!(pause_of(silent, waiting, false), pauses - 1, "{waiting} tasks wait");
    }
}

#[test]
fn the_first_answer_after_a_silence_takes_a_third_of_the_pause_and_each_after_it_two() {
    for (answers, pauses) in [("+", 50_000), ("++", 16_666), ("+++", 5555), ("++++", 1851), ("+++++", 0)] {
        let found = pause(after(&format!("{}{answers}", "-".repeat(21)), 1000));
        assert!(found.abs_diff(pauses) <= 2, "{answers}: {found}");
    }
}

#[test]
fn a_slow_answer_takes_a_quarter_and_below_one_makes_a_pause() {
    let wide = format!("---{}", "+".repeat(100));
    for (slow, limit) in [("~", 4), ("~~", 3), ("~~~~~~", 1), ("~~~~~~~", 1)] {
        assert_eq!(after(&format!("{wide}{slow}"), 0).0.limit(), limit, "{slow}");
    }
    assert_eq!(pause(after("---~", 0)), 1499);
    assert_eq!(pause(after("---~~", 0)), 1874);
}

#[test]
fn what_fails_at_the_same_moment_is_one_failure() {
    let wide = format!("---{}", "+".repeat(100));
    for (failures, ms, limit) in [("--", 200, 6), ("---", 200, 3), ("-----", 50, 3), ("----", 200, 1)] {
        let (mut ramp, begun) = after(&wide, 0);
        let mut now = begun.plus(AT_ONCE);
        for _ in failures.chars() {
            ramp.hear(now, Course { by_queue: true, ..course('-', Comeback::OfMany) });
            now = now.plus(at(ms));
        }
        assert_eq!(ramp.limit(), limit, "{failures} {ms} ms apart");
    }
}
