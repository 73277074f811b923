//! Callers at the door of a lane whose circuit is not closed: who is let in, when, and that no wait is forgotten.

use crate::gated::{BREAKER, OPEN_AT_MOST, breaker, gated, roomy};
use crate::rig::{NOTHING, Rig, ended};
use proptest::prelude::*;
use redrive::breaker::{BreakerRules, Circuit};
use redrive::gates::{Comeback, Entry, Gates, WhenOpen};
use redrive::queue::{Action, Admission, Cancelled, Ended, Gate, Limits};
use redrive::task::{Outcome, Reason};
use redrive::time::Millis;
use serde_json::json;

/// How long most callers wait.
const WAITS: u64 = 30_000;

/// An answer that takes so long is quick, fair or slow, of the ten seconds that it may take.
const QUICK: u64 = 100;
const FAIR: u64 = 2_000;
const SLOW: u64 = 9_000;

fn setup_with(gates: Gates, limits: Limits, when_open: WhenOpen) -> Rig {
    let mut rig = gated(gates, limits, json!({}));
    rig.queue.set_when_open(when_open);
    rig
}

fn setup() -> Rig {
    setup_with(breaker(), roomy(), WhenOpen::Wait)
}

fn answer(took: u64, status: u32) -> Ended {
    Ended { duration: Some(Millis::new(took)), ..ended(Outcome::Response, status) }
}

impl Rig {
    /// A caller that waits for `ms` calls.
    fn call(&mut self, ms: u64, early: bool) -> Entry {
        self.queue.call(self.time(), self.lane, Millis::new(self.now + ms), early)
    }

    /// A caller at the door.
    fn stand(&mut self, change: impl FnOnce(&mut Admission)) -> Option<u32> {
        let mut admission = self.admission();
        admission.wait_until = Millis::new(self.now + WAITS);
        change(&mut admission);
        self.queue.stand(self.time(), &admission)
    }

    fn stand_all(&mut self, count: usize) -> Vec<u32> {
        (0..count).map(|_| self.stand(|_| {}).unwrap()).collect()
    }

    /// Polls; whom it lets in.
    fn let_in(&mut self) -> Vec<u32> {
        let one = |action| if let Action::LetIn(slot) = action { Some(slot) } else { None };
        self.poll().into_iter().filter_map(one).collect()
    }

    /// The attempt of a caller that began `took` ago is answered.
    fn answered(&mut self, took: u64, status: u32) {
        self.hear_of(Millis::new(self.now - took), &answer(took, status));
    }

    /// The circuit is open, the first at the door has been let in as its time was up, and nothing is heard of it yet.
    fn probed(&mut self, callers: usize) -> Vec<u32> {
        self.open_circuit();
        let slots = self.stand_all(callers);
        assert_eq!(self.let_in(), NOTHING, "never while it is open");
        while self.circuit() == Circuit::Open {
            self.wake();
        }
        assert_eq!(self.let_in(), slots[..1], "the first at the door is the probe");
        slots[1..].to_vec()
    }
}

#[test]
fn a_caller_is_sent_waits_or_is_turned_away_as_the_circuit_and_the_host_say() {
    type Before = fn(&mut Rig);
    let closed: Before = |_| {};
    let open: Before = |rig| rig.open_circuit();
    let half_open: Before = |rig| {
        rig.open_circuit();
        rig.wait(OPEN_AT_MOST);
    };
    let probed: Before = |rig| {
        rig.open_circuit();
        rig.wait(OPEN_AT_MOST);
        assert_eq!(rig.call(WAITS, false), Entry::Sent);
    };
    use Entry::{Sent, TurnedAway, Waits};
    use WhenOpen::{Fail, Hold, Wait};
    // For how long it waits, whether it is early, and the entry.
    let rows = [
        ("closed", closed, Wait, 0, false, Sent),
        ("closed", closed, Fail, 0, true, Sent),
        ("open", open, Hold, 0, false, Sent),
        ("open", open, Wait, WAITS, false, Waits),
        ("open", open, Wait, OPEN_AT_MOST, false, Waits),
        ("open, and for longer than it waits", open, Wait, OPEN_AT_MOST / 2 - 1, false, TurnedAway),
        ("open, and it is not sent at once", open, Wait, WAITS, true, Sent),
        ("open, not sent at once, and for longer", open, Wait, 1, true, TurnedAway),
        ("open", open, Fail, WAITS, false, TurnedAway),
        ("open, and it is not sent at once", open, Fail, WAITS, true, TurnedAway),
        ("half-open", half_open, Wait, 0, false, Sent),
        ("half-open", half_open, Fail, 0, false, Sent),
        ("half-open, another probes", probed, Wait, WAITS, false, Waits),
        ("half-open, another probes", probed, Fail, WAITS, false, TurnedAway),
        ("half-open, another probes, and it is not sent at once", probed, Fail, WAITS, true, Sent),
    ];
    for (name, before, when_open, waits, early, entry) in rows {
        let mut rig = setup_with(breaker(), roomy(), when_open);
        before(&mut rig);
        assert_eq!(rig.call(waits, early), entry, "{name}: {when_open:?}");
        assert_eq!(rig.queue.call(rig.time(), u32::MAX, rig.time(), early), Sent, "there is no such lane");
    }
}

#[test]
fn the_first_at_the_door_is_the_probe_and_while_it_runs_nobody_else_is_let_in() {
    let mut rig = setup();
    let (task, waiting) = (rig.add(), rig.probed(3));
    rig.wait(1000);
    assert_eq!((rig.let_in(), rig.start()), (vec![], vec![]), "another is the probe");
    assert_eq!((rig.gate(waiting[0]), rig.gate(task)), (Gate::CircuitProbing, Gate::CircuitProbing));
    assert_eq!(rig.call(WAITS, false), Entry::Waits);
    rig.answered(QUICK, 503);
    assert_eq!(rig.circuit(), Circuit::Open);
    assert_eq!(rig.let_in(), NOTHING);
    assert_eq!(rig.gate(waiting[0]), Gate::CircuitOpen);
}

#[test]
fn priority_decides_who_is_first_at_the_door_and_then_who_came_first() {
    let mut rig = setup();
    rig.open_circuit();
    let (plain, urgent) = (rig.stand_all(2), [7, 7].map(|it| rig.stand(|by| by.priority = it).unwrap()));
    rig.wait(OPEN_AT_MOST);
    assert_eq!(rig.let_in(), [urgent[0]]);
    rig.answered(QUICK, 200);
    assert_eq!(rig.let_in(), [urgent[1], plain[0]], "the probe's answer lets in two");
}

#[test]
fn closed_each_quick_answer_lets_in_two_a_fair_one_one_and_a_slow_one_none() {
    for (took, status, more) in
        [(QUICK, 200, 2), (QUICK, 404, 2), (FAIR, 200, 1), (SLOW, 200, 0), (QUICK, 503, 0), (SLOW, 404, 0)]
    {
        let mut rig = setup();
        let waiting = rig.probed(20);
        // the probe, and those two
        rig.answered(0, 200);
        assert_eq!(rig.let_in(), waiting[..2]);
        rig.wait(1);
        rig.hear_of(rig.time(), &answer(took, status));
        assert_eq!(rig.let_in(), waiting[2..2 + more], "{took} ms, {status}");
    }
}

#[test]
fn their_number_doubles_for_each_round_trip_that_goes_well() {
    let mut rig = setup();
    let mut waiting = rig.probed(200);
    let mut round = 1;
    while !waiting.is_empty() {
        rig.wait(50);
        (0..round).for_each(|_| rig.answered(50, 200));
        let inside = rig.let_in();
        assert_eq!(inside.len(), (round * 2).min(waiting.len()));
        assert_eq!(inside, waiting.drain(..inside.len()).collect::<Vec<_>>());
        round = inside.len();
    }
}

#[test]
fn without_an_answer_one_is_let_in_every_quarter_of_a_second_and_more_rarely_the_more_go_wrong() {
    // What is heard of once it is closed, and the time between two that are let in then.
    type Heard = fn(&mut Rig);
    let nothing: Heard = |_| {};
    let left: Heard = Rig::hear_nothing;
    let slow: Heard = |rig| rig.hear_of(rig.time(), &answer(SLOW, 200));
    let slow_twice: Heard = |rig| (0..2).for_each(|_| rig.hear_of(rig.time(), &answer(SLOW, 200)));
    let slow_often: Heard = |rig| (0..9).for_each(|_| rig.hear_of(rig.time(), &answer(SLOW, 200)));
    let failed: Heard = |rig| rig.answered(0, 503);
    let well_again: Heard = |rig| {
        (0..9).for_each(|_| rig.hear_of(rig.time(), &answer(SLOW, 200)));
        rig.hear_of(rig.time(), &answer(FAIR, 200));
    };
    for (name, heard, gap) in [
        ("nothing", nothing, 250),
        ("one has left", left, 250),
        ("a slow answer", slow, 500),
        ("two", slow_twice, 1000),
        ("nine", slow_often, 4000),
        ("a failure", failed, 500),
        ("a fair answer after nine slow ones", well_again, 250),
    ] {
        let mut rig = setup();
        let waiting = rig.probed(20);
        rig.answered(0, 200);
        heard(&mut rig);
        let mut inside = rig.let_in().len();
        let mut gaps = Vec::new();
        for _ in 0..4 {
            let before = rig.now;
            rig.wake();
            let more = rig.let_in();
            assert_eq!(more, waiting[inside..inside + more.len()], "{name}");
            inside += more.len();
            gaps.push((more.len(), rig.now - before));
        }
        assert!(gaps[1..].iter().all(|found| *found == (1, gap)), "{name}: {gaps:?}");
    }
}

#[test]
fn answers_that_come_while_it_is_open_let_nobody_in_later() {
    let mut rig = setup();
    let began = rig.time();
    rig.wait(1);
    rig.open_circuit();
    let waiting = rig.stand_all(100);
    // thirty that had been sent before are answered after all
    (0..30).for_each(|_| rig.hear_of(began, &ended(Outcome::Response, 200)));
    rig.wait(OPEN_AT_MOST);
    assert_eq!(rig.let_in(), waiting[..1]);
    rig.answered(QUICK, 200);
    assert_eq!(rig.let_in(), waiting[1..3], "no crowd");
}

#[test]
fn what_was_let_in_for_answers_is_over_as_it_opens_again() {
    let mut rig = setup();
    let first = rig.probed(1);
    assert_eq!(first, NOTHING);
    let waiting = rig.stand_all(3);
    (0..9).for_each(|_| rig.answered(0, 200));
    (0..99).for_each(|_| {
        if rig.circuit() == Circuit::Closed {
            rig.answered(0, 503);
        }
    });
    assert_eq!(rig.circuit(), Circuit::Open);
    assert_eq!(rig.let_in(), NOTHING);
    let more = rig.stand_all(20);
    rig.wait(OPEN_AT_MOST);
    assert_eq!(rig.let_in(), waiting[..1]);
    rig.answered(0, 200);
    assert_eq!(rig.let_in().len(), 2, "{more:?}");
}

#[test]
fn it_ends_when_the_opening_lasts_for_longer_than_it_waits_and_at_its_own_last_instant() {
    let mut rig = setup();
    rig.open_circuit();
    let until = rig.queue.shut_until(rig.time(), rig.lane).unwrap();
    let (patient, just, impatient) = (
        rig.stand(|_| {}).unwrap(),
        rig.stand(|by| by.wait_until = until).unwrap(),
        rig.stand(|by| by.wait_until = until.minus(Millis::new(1))).unwrap(),
    );
    assert_eq!(rig.poll(), [Action::End(impatient, Reason::CircuitOpen)]);
    rig.now = until.get();
    let ended = [Action::LetIn(patient), Action::End(just, Reason::WaitExceeded)];
    assert_eq!(rig.poll().last_chunk(), Some(&ended), "it had its chance in this very moment");
    // A probe that fails makes the opening longer than others wait.
    let late = rig.stand(|by| by.wait_until = Millis::new(until.get() + 2)).unwrap();
    rig.answered(0, 503);
    assert_eq!(rig.poll().last(), Some(&Action::End(late, Reason::CircuitOpen)));
}

#[test]
fn other_deadlines_end_it_as_well() {
    type Change = fn(&mut Admission);
    let expires: Change = |by| by.expires_at = Millis::new(by.created_at.get() + 700);
    let asked_long_ago: Change = |by| by.created_at = by.created_at.minus(Millis::new(86_400_000 - 700));
    for (change, reason) in [(expires, Reason::Expired), (asked_long_ago, Reason::TotalBudget)] {
        let mut rig = setup();
        rig.probed(1);
        let slot = rig.stand(change).unwrap();
        rig.wait(699);
        assert_eq!(rig.poll(), []);
        rig.wait(1);
        assert_eq!(rig.poll(), [Action::End(slot, reason)]);
    }
}

#[test]
fn who_leaves_gives_its_place_to_the_next() {
    let mut rig = setup_with(breaker(), Limits { capacity: 3, ..roomy() }, WhenOpen::Wait);
    rig.open_circuit();
    let slots = rig.stand_all(3);
    assert_eq!(rig.stand(|_| {}), None, "S17: they take room");
    assert_eq!(rig.queue.admit(rig.time(), &rig.admission()), None);
    assert_eq!((rig.queue.depth(), rig.queue.stats(rig.time()).lanes[0].depth), (0, 0), "and are no tasks");
    assert_eq!(rig.queue.cancel(slots[0]), Cancelled::Done);
    assert_eq!(rig.queue.cancel(slots[0]), Cancelled::Gone);
    let last = rig.stand(|by| by.wait_until = by.wait_until.plus(by.wait_until)).unwrap();
    rig.wait(OPEN_AT_MOST);
    assert_eq!(rig.let_in(), [slots[1]]);
    assert_eq!(rig.queue.cancel(slots[1]), Cancelled::Gone, "it is free once it is let in");
    // The probe leaves without a word of its server: the next is it.
    rig.hear_nothing();
    assert_eq!(rig.circuit(), Circuit::HalfOpen);
    assert_eq!(rig.let_in(), [slots[2]]);
    // That one is never heard of: it keeps its place for as long as a circuit stays open at most.
    let since = rig.now;
    rig.wake();
    while rig.let_in() != [last] {
        rig.wake();
    }
    assert_eq!(rig.now - since, BREAKER.max_open.get());
}

#[test]
fn callers_and_tasks_both_make_progress() {
    // A ramp that pauses is what tasks wait for, while callers are let in at short intervals.
    let gates = Gates { ramp: Comeback::OfFew, ..breaker() };
    let mut rig = setup_with(gates, roomy(), WhenOpen::Wait);
    rig.wait(1000);
    (0..40).for_each(|_| {
        rig.wait(250);
        rig.hear(false);
    });
    let tasks: Vec<u32> = (0..5).map(|_| rig.add()).collect();
    let callers = rig.stand_all(100);
    let (mut inside, mut started, begin) = (0, 0, rig.now);
    while rig.now < begin + 20_000 {
        for action in rig.poll() {
            match action {
                Action::LetIn(_) => {
                    inside += 1;
                    // a server that is about to recover
                    rig.hear_of(rig.time(), &answer(SLOW, 200));
                }
                Action::Start(slot) => {
                    started += 1;
                    rig.answer(slot, 200);
                }
                _ => {}
            }
        }
        rig.wake();
    }
    assert!(inside >= 5 && started == tasks.len(), "{inside} of {}, {started}", callers.len());
}

#[test]
fn with_many_callers_it_opens_for_less_and_half_a_second_at_least() {
    let rules = BreakerRules { open: Millis::new(60_000), ..BREAKER };
    let gates = Gates { breaker: Some(rules), ..Gates::default() };
    for (callers, longest) in [(0, 60_000), (1, 60_000), (2, 30_000), (10, 6_000), (120, 500), (1000, 500)] {
        let mut rig = setup_with(gates, roomy(), WhenOpen::Wait);
        rig.stand_all(callers);
        (0..5).for_each(|_| rig.hear(false));
        let until = rig.queue.shut_until(rig.time(), rig.lane).unwrap().minus(rig.time()).get();
        assert!((longest / 2..=longest).contains(&until), "{callers} callers: {until} ms");
    }
}

#[test]
fn a_caller_at_the_door_of_a_lane_without_a_breaker_is_let_in() {
    let mut rig = setup_with(Gates::default(), roomy(), WhenOpen::Wait);
    let slots = rig.stand_all(2);
    assert_eq!(rig.let_in(), slots[..1]);
    assert!(rig.queue.wake_at() > rig.time(), "no busy waking");
    rig.wake();
    assert_eq!(rig.let_in(), slots[1..]);
}

/// What may happen to a lane with callers at its door.
#[derive(Clone, Copy, Debug)]
enum Step {
    Stand(u64),
    Leave(usize),
    Add,
    Answer(bool, u64),
    Nothing,
    Wake,
    Pass(u64),
    Flush,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        6 => (0_u64..20_000).prop_map(Step::Stand),
        1 => (0_usize..8).prop_map(Step::Leave),
        2 => Just(Step::Add),
        8 => (any::<bool>(), prop::sample::select(vec![0, QUICK, FAIR, SLOW])).prop_map(|(well, took)| Step::Answer(well, took)),
        1 => Just(Step::Nothing),
        6 => Just(Step::Wake),
        3 => (0_u64..2000).prop_map(Step::Pass),
        1 => Just(Step::Flush),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: crate::common::cases(), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn l1_s8_whatever_happens_nobody_is_let_in_while_it_is_open_and_every_wait_ends_in_time(
        ramp in any::<bool>(),
        fails in any::<bool>(),
        steps in prop::collection::vec(step(), 1..120),
    ) {
        let ramp = if ramp { Comeback::OfMany } else { Comeback::AtOnce };
        let when_open = if fails { WhenOpen::Fail } else { WhenOpen::Wait };
        let mut rig = setup_with(Gates { ramp, ..breaker() }, Limits { capacity: 12, ..roomy() }, when_open);
        let (mut callers, mut running): (Vec<(u32, u64)>, Vec<u32>) = (Vec::new(), Vec::new());
        for step in steps.into_iter().chain((0..40).map(|_| Step::Wake)) {
            match step {
                Step::Stand(ms) => {
                    let until = rig.now + ms;
                    let slot = rig.stand(|by| by.wait_until = Millis::new(until));
                    let full = callers.len() + rig.queue.depth() as usize >= 12;
                    prop_assert_eq!(slot.is_none(), full, "S17");
                    callers.extend(slot.map(|slot| (slot, until)));
                }
                Step::Leave(pick) if !callers.is_empty() => {
                    let (slot, _) = callers.remove(pick % callers.len());
                    prop_assert_eq!(rig.queue.cancel(slot), Cancelled::Done);
                }
                Step::Add => { rig.queue.admit(rig.time(), &rig.admission()); },
                Step::Answer(well, took) => match running.pop() {
                    Some(slot) if took == FAIR => { rig.answer(slot, if well { 200 } else { 503 }); },
                    _ => rig.answered(took, if well { 200 } else { 503 }),
                },
                Step::Nothing => rig.hear_nothing(),
                Step::Wake => {
                    let wake = rig.queue.wake_at();
                    rig.now = if wake == Millis::MAX { rig.now + 1 } else { wake.get().max(rig.now) };
                }
                Step::Pass(ms) => rig.wait(ms),
                Step::Flush => { rig.queue.flush(rig.time(), None); },
                Step::Leave(_) => {}
            }
            let (mut inside, mut circuits) = (0, vec![rig.circuit()]);
            for action in rig.poll() {
                match action {
                    Action::LetIn(slot) => {
                        let at = callers.iter().position(|(caller, _)| *caller == slot);
                        let (_, until) = callers.remove(at.expect("S5"));
                        inside += 1;
                        prop_assert!(rig.now <= until, "S8: let in {} ms late", rig.now - until);
                    }
                    Action::End(slot, _) => callers.retain(|(caller, _)| *caller != slot),
                    Action::Start(slot) => running.push(slot),
                    Action::Circuit(_, (_, to)) => circuits.push(to),
                    Action::Storm(..) => {}
                }
            }
            prop_assert!(inside == 0 || *circuits.last().unwrap() != Circuit::Open, "S8: {:?}", circuits);
            prop_assert!(rig.circuit() != Circuit::HalfOpen || inside <= 1, "S8: one probe");
            prop_assert!(callers.iter().all(|(_, until)| *until >= rig.now), "L1: one outlives its wait");
            let least = callers.iter().map(|(_, until)| until + 1).min();
            let wake = rig.queue.wake_at();
            prop_assert!(least.is_none_or(|least| wake.get() <= least), "L1: {wake:?} is too late for {least:?}");
            prop_assert!(wake > rig.time(), "no busy waking");
        }
    }
}
