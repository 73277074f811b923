//! Failures that say little of a server: of a task that has failed before, and those heard of after a later answer.

use crate::gated::{ENOUGH, OPEN_AT_MOST, breaker, gated, roomy};
use crate::rig::{Rig, ended};
use redrive::breaker::Circuit::{Closed, Open};
use redrive::queue::Ended;
use redrive::task::Outcome;
use redrive::time::Millis;
use serde_json::json;

fn setup() -> Rig {
    gated(breaker(), roomy(), json!({}))
}

#[test]
fn of_what_is_ready_the_task_with_the_fewest_attempts_is_the_probe() {
    let mut rig = setup();
    let failed: Vec<u32> = (0..3).map(|_| rig.add()).collect();
    for slot in rig.start() {
        rig.answer(slot, 503);
    }
    rig.wait(1000);
    assert_eq!(rig.start(), failed);
    rig.answer(failed[1], 503);
    rig.answer(failed[2], 503);
    assert_eq!(rig.circuit(), Open);
    rig.answer(failed[0], 503);
    rig.wait(OPEN_AT_MOST);
    // a more urgent one comes before, however often it has failed
    let fresh = [rig.admit(|admission| admission.priority = -1), rig.add()];
    assert_eq!(rig.start(), [fresh[1]]);
    assert_eq!(rig.queue.attempts(fresh[0]), 0);
}

/// A lane with a task that has failed once and is in flight again, and the breaker that so many failures of callers have nearly opened.
fn nearly_open(rig: &mut Rig) -> u32 {
    let slot = rig.add();
    rig.start();
    rig.answer(slot, 503);
    rig.wait(1000);
    assert_eq!(rig.start(), [slot]);
    (1..ENOUGH).for_each(|_| rig.hear(false));
    slot
}

#[test]
fn a_task_that_fails_again_while_others_succeed_does_not_open_it() {
    let mut rig = setup();
    rig.hear(true);
    let slot = nearly_open(&mut rig);
    rig.wait(1);
    rig.answer(slot, 503);
    assert_eq!(rig.circuit(), Open, "nothing has gone well since it failed first");

    let mut rig = setup();
    let slot = rig.add();
    rig.start();
    rig.answer(slot, 503);
    rig.wait(500);
    rig.hear(true);
    rig.wait(500);
    assert_eq!(rig.start(), [slot]);
    // one failure for each answer so far: nine in a row would be no chance
    (1..9).for_each(|_| rig.hear(false));
    rig.answer(slot, 503);
    assert_eq!(rig.circuit(), Closed);
    rig.hear(false);
    assert_eq!(rig.circuit(), Open, "a first failure counts, whatever has gone well");
}

#[test]
fn l6_failures_that_ended_before_an_answer_that_was_heard_of_are_no_row() {
    const TOOK: u64 = 3000;
    for (answers, took, opens) in
        [(false, TOOK - 1, true), (true, TOOK - 1, false), (true, TOOK, true), (true, TOOK + 1, true)]
    {
        let mut rig = setup();
        let began = rig.time();
        rig.wait(TOOK);
        if answers {
            rig.hear(true);
        }
        rig.wait(1);
        for _ in 0..ENOUGH {
            let duration = Some(Millis::new(took));
            rig.hear_of(began, &Ended { duration, ..ended(Outcome::Response, 503) });
        }
        assert_eq!(rig.circuit() == Open, opens, "an answer: {answers}, failures after {took} ms");
    }
}
