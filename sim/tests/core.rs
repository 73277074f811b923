//! The core in random worlds, and in every world that it once failed in.

#![allow(clippy::unwrap_used, clippy::panic)]

use redrive::queue::Queue;
use sim::driver::Totals;
use sim::event::Scenario;
use sim::run::{run, run_spelled};
use sim::world::world;

#[path = "../../fuzz/src/corpus.rs"]
mod corpus;

const HERE: &str = env!("CARGO_MANIFEST_DIR");

#[test]
fn s2_s3_s5_s7_s8_s9_s10_s17_s19_s21_l1_l4_l6_hold_in_random_worlds_after_every_event() {
    let mut totals = Totals::default();
    let worlds = if std::env::var("REDRIVE_SIZE").is_ok_and(|size| size == "quick") { 60 } else { 200 };
    for seed in 1..=worlds {
        match run::<Queue>(&world(seed, 1000)) {
            Ok(more) => totals.add(&more),
            Err(failure) => panic!(
                "world {seed}: {:?}; `npm run sim:core -- --first {seed} --seeds 1` shrinks it",
                failure.violation
            ),
        }
    }
    // Worlds in which nothing happens prove nothing.
    assert!(totals.events > 1000 * worlds, "{totals:?}");
    assert!(
        totals.tasks > 100 * worlds && totals.starts > 40 * worlds && totals.leases > 25 * worlds,
        "{totals:?}"
    );
    assert!(2 * totals.openings > 5 * worlds && 2 * totals.put_off > worlds, "{totals:?}");
    assert!(totals.refused > 5 * worlds, "the queues were full at times");
    for code in [0, 2, 16, 17, 18, 19, 20, 21, 22, 23, 25] {
        assert!(totals.ends[code] > 0, "no task ended with {code}: {:?}", totals.ends);
    }
}

#[test]
fn worlds_that_failed_once_do_not_fail_again() {
    let Ok(folder) = std::fs::read_dir(format!("{HERE}/../tests/sim")) else { return };
    for file in folder
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|kind| kind == "json"))
    {
        let world: Scenario = serde_json::from_str(&std::fs::read_to_string(&file).unwrap()).unwrap();
        assert!(run::<Queue>(&world).is_ok(), "{}: {:?}", file.display(), run::<Queue>(&world));
    }
}

#[test]
fn s2_all_of_that_holds_in_the_worlds_that_the_fuzzer_kept() {
    let packed = include_bytes!("../../fuzz/corpus/queue.bin");
    let inputs = corpus::decode(packed);
    assert!(inputs.len() >= 20, "only {} inputs", inputs.len());
    let mut totals = Totals::default();
    for (number, input) in inputs.iter().enumerate() {
        match run_spelled::<Queue>(input) {
            Ok(more) => totals.add(&more),
            Err(failure) => panic!("input {number}, b\"{}\": {failure:?}", input.escape_ascii()),
        }
    }
    assert!(totals.tasks > 1000 && totals.starts > 300 && totals.leases > 20, "{totals:?}");
    assert!(totals.openings > 5, "{totals:?}");
}

#[test]
fn s21_the_kept_trace_is_what_the_core_does_today() {
    let kept = std::fs::read_to_string(format!("{HERE}/../tests/vectors/core-trace.txt")).unwrap();
    let made = sim::trace::text(1, 4, 250);
    for (line, (kept, made)) in kept.lines().zip(made.lines()).enumerate() {
        assert_eq!(kept, made, "line {}", line + 1);
    }
    assert_eq!(
        kept.len(),
        made.len(),
        "`npm run sim:core -- --trace tests/vectors/core-trace.txt` writes it anew"
    );
}
