//! The checks bite: cores that are wrong on purpose, each in one way, and each is caught by the invariant it breaks.

#![allow(clippy::unwrap_used, clippy::panic)]

mod told;
mod wrong;

use sim::run::{Failure, run, watch};
use sim::shrink::shrink;
use sim::world::world;
use wrong::Wrong;
use wrong::fault::*;

/// What the first world that fails fails by, and the seed of that world.
fn caught<const FAULT: u8>() -> (u64, Failure) {
    (1..=1000)
        .find_map(|seed| run::<Wrong<FAULT>>(&world(seed, 400)).err().map(|failure| (seed, failure)))
        .expect("no world of a thousand fails")
}

macro_rules! caught {
    ($($name:ident: $fault:ident is caught by $($id:literal)|+;)*) => {$(
        #[test]
        fn $name() {
            let (seed, failure) = caught::<$fault>();
            let id = failure.violation.id;
            assert!(matches!(id, $($id)|+), "world {seed}: {id}: {}", failure.violation.what);
        }
    )*};
}

caught! {
    s1_a_task_given_up_early: GIVES_UP_EARLY is caught by "S1";
    s1_a_failure_taken_for_a_success: BELIEVES_SERVERS is caught by "S1";
    s2_a_task_lost_on_the_way_in: LOSES_TASKS is caught by "S2";
    s2_bytes_not_counted: MISCOUNTS_BYTES is caught by "S2";
    s3_an_attempt_started_twice: STARTS_TWICE is caught by "S3";
    s5_another_task_started_than_was_due: STARTS_ANOTHER is caught by "S5" | "S9" | "S19" | "S3" | "S8";
    s7_a_limit_exceeded: EXCEEDS_THE_LIMIT is caught by "S7";
    s7_a_lanes_limit_exceeded: EXCEEDS_THE_LANES_LIMIT is caught by "S7";
    s8_one_attempt_too_many: TRIES_ONCE_MORE is caught by "S8" | "S1";
    s8_a_cancel_forgotten: IGNORES_CANCELS is caught by "S2" | "S8";
    s8_a_pause_ignored: IGNORES_PAUSES is caught by "S8";
    s8_offline_ignored: IGNORES_THE_NETWORK is caught by "S8" | "S9" | "L4";
    s8_an_expiry_ignored: IGNORES_EXPIRY is caught by "S8";
    s9_a_start_before_its_time: STARTS_EARLY is caught by "S9";
    s9_a_retry_after_ignored: IGNORES_RETRY_AFTER is caught by "S9";
    s9_a_hold_ignored: IGNORES_HOLDS is caught by "S9";
    s9_a_flush_miscounted: MISCOUNTS_FLUSHES is caught by "S9";
    s10_a_delay_out_of_range: WAITS_TOO_LONG is caught by "S10";
    s14_an_answer_taken_twice: TAKES_ANSWERS_TWICE is caught by "S14";
    s17_an_accepted_task_dropped_for_a_new_one: MAKES_ROOM is caught by "S17" | "S2";
    s17_room_for_one_more: HAS_ROOM_FOR_ONE_MORE is caught by "S17";
    s19_an_order_ignored: IGNORES_ORDERS is caught by "S19" | "S9";
    s21_dice_of_its_own: THROWS_ITS_OWN_DICE is caught by "S21";
    s3_an_attempt_shown_as_waiting: SHOWS_ATTEMPTS_AS_WAITING is caught by "S3";
    s19_an_order_not_shown: SHOWS_NO_ORDER is caught by "S19";
    l1_a_queue_that_does_not_rest: NEVER_RESTS is caught by "L1";
    l1_a_queue_that_does_not_wake: NEVER_WAKES is caught by "L1";
    l1_a_queue_that_wakes_late: WAKES_LATE is caught by "L1";
    l4_a_held_lane_holds_all: HOLDS_ALL is caught by "L4";
    priorities_ignored: IGNORES_PRIORITIES is caught by "PRIO";
    s8_what_a_lease_brought_forgotten: FORGETS_WHAT_WAS_CARRIED is caught by "S1" | "S8" | "S10";
    s8_a_refund_not_told: KEEPS_REFUNDS_TO_ITSELF is caught by "S8";
    s1_a_lease_refused: REFUSES_LEASES is caught by "S1";
    s7_a_store_asked_for_too_much: HAS_TOO_MUCH_ROOM is caught by "S7" | "S8";
    s9_a_hold_learned_elsewhere_ignored: HEARS_OF_NO_HOLD is caught by "S8" | "S9";
    s8_no_breaker_where_there_shall_be_one: HAS_NO_BREAKER is caught by "S8";
    s8_a_breaker_that_opens_late: OPENS_LATE is caught by "S8";
    s8_a_breaker_that_opens_for_too_short_a_time: OPENS_TOO_SHORTLY is caught by "S8";
    s8_a_breaker_that_takes_bad_luck_for_an_outage: TAKES_BAD_LUCK_FOR_AN_OUTAGE is caught by "S8";
    s8_a_breaker_that_believes_stragglers: BELIEVES_STRAGGLERS is caught by "S8";
    s8_a_breaker_that_takes_old_failures_for_new: TAKES_OLD_FAILURES_FOR_NEW is caught by "S8";
    s8_a_call_let_through_beside_a_probe: PROBES_BESIDE_CALLERS is caught by "S8";
    s8_a_breaker_that_is_never_in_doubt: NEVER_IN_DOUBT is caught by "S8";
    s8_a_breaker_that_tells_nobody: TELLS_NO_CHANGE is caught by "S8";
    s8_a_breaker_forgotten_with_its_lane: FORGETS_BREAKERS is caught by "S8";
    s8_a_veto_of_a_hook_forgotten: GOES_ON_AFTER_A_VETO is caught by "S8" | "S1";
    s1_a_hook_that_insists_ignored: IGNORES_A_HOOK_THAT_INSISTS is caught by "S1";
    s9_a_hook_that_undercuts_the_server: LETS_A_HOOK_UNDERCUT_THE_SERVER is caught by "S9";
    s10_a_chosen_wait_ignored: IGNORES_CHOSEN_WAITS is caught by "S10";
    s9_a_limit_of_one_partition_holds_all: HOLDS_ALL_FOR_A_PARTITION is caught by "S9";
    s8_a_second_401_tried_again: REFRESHES_TWICE is caught by "S8";
    s8_an_attempt_after_a_401_without_fresh_credentials: REFRESHES_FOR_NOTHING is caught by "S8";
    s1_work_in_progress_given_up: TAKES_WORK_FOR_A_CONFLICT is caught by "S1";
    s8_a_stored_failure_asked_for_again: ASKS_FOR_WHAT_IS_STORED is caught by "S8";
    s10_a_limit_asked_without_patience: HAS_NO_PATIENCE is caught by "S10";
    l6_retries_that_cost_nothing: RETRIES_FOR_NOTHING is caught by "L6";
    l6_a_budget_that_fills_too_fast: MINTS_TOKENS is caught by "L6";
    l6_a_store_asked_for_more_than_can_be_paid: ASKS_STORES_FOR_MORE is caught by "L6" | "S7" | "S8";
}

/// The same by what the core does alone, its answers to questions not looked at: a core that starts what it must not
/// cannot talk its way out.
fn is_caught_in_the_act<const FAULT: u8>(id: &str, words: &str) -> bool {
    let caught = |failure: Failure| failure.violation.id == id && failure.violation.what.contains(words);
    (1..=200).any(|seed| watch::<Wrong<FAULT>>(&world(seed, 400)).is_err_and(caught))
}

macro_rules! caught_in_the_act {
    ($($name:ident: $fault:ident as $id:literal, $words:literal;)*) => {$(
        #[test]
        fn $name() {
            assert!(is_caught_in_the_act::<$fault>($id, $words));
        }
    )*};
}

caught_in_the_act! {
    s3_in_the_act_of_starting_twice: STARTS_TWICE as "S3", "while an attempt of it runs";
    s7_in_the_act_of_passing_the_limit: EXCEEDS_THE_LIMIT as "S7", "above the limit";
    s7_in_the_act_of_passing_a_lanes_limit: EXCEEDS_THE_LANES_LIMIT as "S7", "above its lane's limit";
    s8_in_the_act_of_starting_in_a_pause: IGNORES_PAUSES as "S8", "in a pause";
    s8_in_the_act_of_starting_offline: IGNORES_THE_NETWORK as "S8", "offline";
    s8_in_the_act_of_starting_too_late: IGNORES_EXPIRY as "S8", "after its last instant";
    s9_in_the_act_of_starting_early: STARTS_EARLY as "S9", "before its wait was over";
    s9_in_the_act_of_ignoring_a_server: IGNORES_RETRY_AFTER as "S9", "started";
    s9_in_the_act_of_ignoring_a_hold: IGNORES_HOLDS as "S9", "before the end of its lane's hold";
    s19_in_the_act_of_overtaking: IGNORES_ORDERS as "S19", "before others of its order";
    s8_in_the_act_of_starting_with_the_breaker_open: HAS_NO_BREAKER as "S8", "breaker";
    l6_in_the_act_of_retrying_for_nothing: RETRIES_FOR_NOTHING as "L6", "without a token";
    l1_in_the_act_of_sleeping: NEVER_WAKES as "L1", "nothing wakes them";
    l1_in_the_act_of_losing_a_task: LOSES_TASKS as "L1", "nothing wakes them";
}

#[test]
fn a_failure_is_shrunk_to_the_few_events_that_make_it() {
    let (seed, failure) = caught::<IGNORES_PAUSES>();
    let (short, found) = shrink::<Wrong<IGNORES_PAUSES>>(&world(seed, 400), &failure);
    assert_eq!(found.violation.id, "S8");
    assert!(short.events.len() <= 4, "a pause, a task and a poll, not {:?}", short.events);
    // And what is printed can be read back and fails alike.
    let json = serde_json::to_string(&short).unwrap();
    let again = run::<Wrong<IGNORES_PAUSES>>(&serde_json::from_str(&json).unwrap()).unwrap_err();
    assert_eq!(again.violation, found.violation);
}
