//! What a breaker makes of a row of failures: an outage, or one that may be chance.

use redrive::breaker::{Breaker, BreakerRules, Circuit, Heard};
use redrive::rng::SplitMix64;
use redrive::time::Millis;

const START: u64 = 1_700_000_000_000;
const RULES: BreakerRules = BreakerRules::DEFAULT;
const SECOND: u64 = 1000;

/// How many failures in a row, 700 ms apart, open one that has heard these: `+` a healthy answer, `-` a failure.
fn row_that_opens(record: &str) -> Option<u32> {
    let (mut breaker, mut rng, mut now) = (Breaker::default(), SplitMix64::new(3), START);
    let mut hear = |healthy: bool, wait: u64| {
        now += wait;
        let heard = Heard { began: Millis::new(now), healthy: Some(healthy), by_queue: false };
        breaker.record(&RULES, Millis::new(now), heard, &mut rng)
    };
    for letter in record.chars() {
        assert_eq!(hear(letter == '+', 10), None, "{record}");
    }
    (1..100).find(|_| hear(false, 700).is_some())
}

#[test]
fn how_many_failures_in_a_row_are_an_outage_depends_on_the_servers_record() {
    for (record, of_ten, expected) in [
        ("", 0, 5),
        ("+", 0, 5),
        ("++++++++++", 6, 5),
        ("+++++++-++", 6, 5),
        ("++++-+++-+", 6, 7),
        ("++-++-++-+", 6, 9),
        ("+-+-+-+-++", 6, 12),
        ("+-+--+--+-+--+-", 4, 20),
        ("----+----+", 6, 31),
        ("---------+", 6, 31),
    ] {
        let found = row_that_opens(&record.repeat(of_ten));
        assert_eq!(found, Some(expected), "{record} {of_ten} times");
    }
}

#[test]
fn a_row_of_a_moment_is_none_and_one_of_attempts_that_hung_is() {
    for (hung, opens) in [(0, false), (2499, false), (2500, true)] {
        let (mut breaker, mut rng) = (Breaker::default(), SplitMix64::new(3));
        let heard = Heard { began: Millis::new(START), healthy: Some(false), by_queue: false };
        let at = Millis::new(START + hung);
        let changes = (0..200).filter_map(|_| breaker.record(&RULES, at, heard, &mut rng));
        assert_eq!(changes.count() > 0, opens, "after {hung} ms");
    }
}

/// A breaker that has heard so many failures in a row, the last of which took so long, and asks callers to wait since.
struct Failing {
    breaker: Breaker,
    rng: SplitMix64,
    now: u64,
}

impl Failing {
    fn after(failures: u32, last_took: u64) -> Failing {
        let mut failing = Failing { breaker: Breaker::default(), rng: SplitMix64::new(3), now: START };
        (1..failures).for_each(|_| failing.hear(false, 10));
        failing.now += SECOND;
        failing.hear(false, last_took);
        failing
    }

    fn at(&self) -> Millis {
        Millis::new(self.now)
    }

    /// An attempt ends that took so long, half a second after the last one ended.
    fn hear(&mut self, healthy: bool, took: u64) {
        let began = Millis::new(self.now + SECOND / 2);
        self.now += SECOND / 2 + took;
        self.breaker.look(self.at());
        let heard = Heard { began, healthy: Some(healthy), by_queue: false };
        self.breaker.record(&RULES, self.at(), heard, &mut self.rng);
    }

    fn admits(&mut self) -> bool {
        self.breaker.give_way(self.at());
        self.breaker.look(self.at());
        self.breaker.admit(&RULES, self.at())
    }
}

#[test]
fn s8_an_opening_gives_way_to_a_caller_unless_its_failures_are_too_many_for_chance_or_came_late() {
    for (failures, took, gives_way) in [
        (5, 10, true),
        (30, 10, true),
        (31, 10, false),
        (5, 2499, true),
        (5, 2500, false),
        (5, 10_000, false),
    ] {
        let mut failing = Failing::after(failures, took);
        assert_eq!(failing.breaker.circuit(failing.at()), Circuit::Open);
        assert_eq!(failing.breaker.room(failing.at()), 0, "the queue's own attempts wait either way");
        assert_eq!(failing.admits(), gives_way, "{failures} failures, the last after {took} ms");
    }
}

#[test]
fn s8_callers_go_beside_a_probe_in_doubt_until_a_failure_came_late() {
    for (took, beside) in [(2499, true), (2500, false)] {
        let mut failing = Failing::after(5, 10);
        assert!(failing.admits() && failing.admits(), "the probe, and one beside it");
        failing.hear(false, took);
        assert_eq!(failing.admits(), beside, "after {took} ms");
    }
}

#[test]
fn s8_who_calls_on_and_on_opens_it_beyond_doubt_and_that_lasts_until_it_closes() {
    let mut failing = Failing::after(5, 10);
    let mut called = 0;
    while failing.admits() {
        // It began when it was asked for: nothing but its answer makes time pass.
        let heard = Heard { began: failing.at(), healthy: Some(false), by_queue: false };
        failing.now += 10;
        failing.breaker.record(&RULES, failing.at(), heard, &mut failing.rng);
        called += 1;
    }
    assert_eq!(called, 31 - 5);
    failing.now = failing.breaker.shut_until(failing.at()).get();
    assert!(failing.admits() && !failing.admits(), "half-open it lets one through");
    let heard = Heard { began: failing.at(), healthy: Some(false), by_queue: false };
    failing.breaker.record(&RULES, failing.at(), heard, &mut failing.rng);
    assert!(!failing.admits(), "and none when that has failed");
}
