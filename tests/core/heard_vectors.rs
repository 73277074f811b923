//! What an ended attempt tells its lane, by the rows of `tests/vectors/heard.json`: the same of a task in memory, of one that a store has
//! leased, of a caller's own first attempt that becomes a task, and of one that makes none.

use crate::common::vectors;
use crate::gated::{OPEN_AT_MOST, breaker, gated, start_of};
use crate::rig::{Rig, ended, limits, second};
use redrive::breaker::Circuit;
use redrive::queue::{Ended, Gate, Limits};
use redrive::task::Outcome;
use redrive::time::Millis;
use serde_json::{Value, json};

/// By whom an attempt is made, and so how the queue hears of its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum By {
    Queue,
    Lease,
    First,
    Own,
}

const ALL: [By; 4] = [By::Queue, By::Lease, By::First, By::Own];

/// What an attempt takes.
const TOOK: u64 = 40;

/// A lane that has gone through what the row says came before, with an attempt under way: its slot, of an attempt that has one.
fn before(row: &Value, by: By) -> (Rig, Option<u32>) {
    let limits = Limits { concurrency: 100, per_lane: 3, ..limits() };
    let mut rig = gated(breaker(), limits, json!({ "maxRetryAfterMs": 60_000, "maxAttempts": 99 }));
    let place = row["before"].as_str().unwrap();
    match place {
        // One failure more opens it.
        "closed" => (0..4).for_each(|_| rig.hear(false)),
        "half-open" => {
            rig.open_circuit();
            rig.wait(OPEN_AT_MOST);
        }
        "back online" => {
            rig.queue.set_online(rig.time(), false);
            rig.hear_of(rig.time(), &ended(Outcome::NetworkError, 0));
            rig.queue.set_online(rig.time(), true);
        }
        _ => assert_eq!(place, "offline"),
    }
    let slot = match by {
        By::Queue => {
            let slot = rig.add();
            assert_eq!(rig.poll().into_iter().filter_map(start_of).collect::<Vec<_>>(), [slot]);
            Some(slot)
        }
        By::Lease => Some(rig.adopt_with(&second(), |_| {})),
        By::First | By::Own => {
            assert!(rig.queue.admits(rig.time(), rig.lane));
            None
        }
    };
    if place == "offline" {
        rig.queue.set_online(rig.time(), false);
    }
    rig.wait(TOOK);
    (rig, slot)
}

fn ended_of(row: &Value) -> Ended {
    let outcomes = [
        ("response", Outcome::Response),
        ("network_error", Outcome::NetworkError),
        ("timed_out", Outcome::TimedOut),
        ("offline", Outcome::Offline),
        ("redirect_refused", Outcome::RedirectRefused),
        ("own_error", Outcome::OwnError),
        ("aborted", Outcome::Aborted),
    ];
    let (_, outcome) = outcomes.into_iter().find(|(name, _)| row["outcome"] == *name).unwrap();
    let ms = |name: &str| row["asks"][name].as_u64().map(Millis::new);
    Ended {
        server_delay: ms("retryAfterMs"),
        rate_limit: ms("rateLimitMs"),
        partitioned: row["asks"]["partitioned"] == true,
        said: row["asks"]["shouldRetry"].as_bool(),
        replayed: row["asks"]["replayed"] == true,
        duration: Some(Millis::new(TOOK)),
        ..ended(outcome, row["status"].as_u64().unwrap() as u32)
    }
}

/// The lane after it has heard.
fn heard(row: &Value, by: By) -> Value {
    let (mut rig, slot) = before(row, by);
    let began = Millis::new(rig.now - TOOK);
    let ended = ended_of(row);
    match (by, slot) {
        (By::Own, _) => rig.hear_of(began, &ended),
        (By::First, _) => {
            let slot = rig.admit(|admission| (admission.started, admission.began) = (true, began));
            rig.end(slot, &ended);
            rig.queue.cancel(slot);
        }
        (_, slot) => {
            let slot = slot.unwrap();
            rig.end(slot, &ended);
            rig.queue.cancel(slot);
        }
    }
    let circuit = |rig: &Rig| match rig.circuit() {
        Circuit::Closed => "CLOSED",
        Circuit::Open => "OPEN",
        Circuit::HalfOpen => "HALF_OPEN",
    };
    let ms = |until: Millis| until.minus(rig.time()).get();
    let gate = rig.queue.gate_of_lane(rig.lane, rig.time(), false);
    let dark = if gate.gate == Gate::Offline { ms(gate.until) } else { 0 };
    let held = rig.held().map_or(0, ms);
    let first = circuit(&rig);
    rig.queue.set_online(rig.time(), true);
    rig.now += held;
    let room = rig.queue.room(rig.time(), rig.lane);
    rig.hear(false);
    json!({ "circuit": first, "heldMs": held, "darkMs": dark, "room": room, "next": circuit(&rig) })
}

#[test]
fn whoever_made_an_attempt_its_lane_hears_the_same_of_it() {
    for row in vectors("heard.json") {
        let expected = json!({ "circuit": row["circuit"], "heldMs": row["heldMs"], "darkMs": row["darkMs"],
            "room": row["room"], "next": row["next"] });
        for by in ALL {
            assert_eq!(heard(&row, by), expected, "by {by:?}: {row}");
        }
    }
}
