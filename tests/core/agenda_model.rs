//! The agenda beside a sorted map, which is obviously right, after every step.

use std::collections::BTreeMap;

use proptest::prelude::*;
use redrive::agenda::Agenda;
use redrive::time::Millis;

/// Sorted by time, then by order of arrival; what comes late counts as the latest time seen.
#[derive(Default)]
struct Model {
    entries: BTreeMap<(u64, u64), u32>,
    places: BTreeMap<u32, (u64, u64)>,
    arrivals: u64,
    time: u64,
}

impl Model {
    fn push(&mut self, index: u32, due: u64) {
        self.remove(index);
        self.arrivals += 1;
        let place = (due.max(self.time), self.arrivals);
        self.entries.insert(place, index);
        self.places.insert(index, place);
    }

    fn remove(&mut self, index: u32) -> bool {
        self.places.remove(&index).is_some_and(|place| self.entries.remove(&place).is_some())
    }

    fn pop(&mut self, now: u64) -> Option<u32> {
        self.time = self.time.max(self.next().filter(|&next| next <= now).unwrap_or(now));
        let (&place, &index) = self.entries.iter().next().filter(|(place, _)| place.0 <= now)?;
        self.entries.remove(&place);
        self.places.remove(&index);
        Some(index)
    }

    fn next(&self) -> Option<u64> {
        self.entries.keys().next().map(|place| place.0)
    }
}

#[derive(Clone, Debug)]
enum Step {
    /// Put in, this far from the clock: negative is overdue.
    Push(u32, i64),
    Remove(u32),
    /// Move the clock and take out what is due, at most so many.
    Advance(i64, usize),
    /// Move the clock to the next entry.
    Jump,
}

fn far_or_near() -> impl Strategy<Value = i64> {
    prop_oneof![
        4 => -5_i64..70,
        4 => 0_i64..5_000,
        2 => 0_i64..100_000_000,
        1 => 0_i64..(1 << 53),
        1 => -100_000_i64..0,
    ]
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        6 => (0_u32..200, far_or_near()).prop_map(|(index, offset)| Step::Push(index, offset)),
        2 => (0_u32..200).prop_map(Step::Remove),
        2 => (far_or_near(), 0_usize..40).prop_map(|(offset, most)| Step::Advance(offset, most)),
        2 => Just(Step::Jump),
    ]
}

fn shifted(clock: u64, offset: i64) -> u64 {
    clock.saturating_add_signed(offset).min(1 << 53)
}

fn check_next(agenda: &mut Agenda, model: &Model) -> Result<(), TestCaseError> {
    let told = agenda.next_at().get();
    let Some(next) = model.next() else {
        prop_assert_eq!(told, Millis::MAX.get());
        return Ok(());
    };
    prop_assert!(told <= next, "told {} although {} is next", told, next);
    if model.entries.len() <= 64 {
        prop_assert_eq!(told, next, "few entries: exact");
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: crate::common::cases(), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn s9_the_agenda_agrees_with_a_sorted_map(
        start in prop_oneof![Just(0), Just(1_700_000_000_000_u64)],
        steps in prop::collection::vec(step(), 1..300),
    ) {
        let (mut agenda, mut model) = (Agenda::default(), Model::default());
        let mut clock = start;
        for step in steps {
            match step {
                Step::Push(index, offset) => {
                    let due = shifted(clock, offset);
                    agenda.push(index, Millis::new(due));
                    model.push(index, due);
                    prop_assert_eq!(agenda.due_of(index).get(), due);
                }
                Step::Remove(index) => prop_assert_eq!(agenda.remove(index), model.remove(index)),
                Step::Advance(offset, most) => {
                    clock = shifted(clock, offset);
                    for _ in 0..most {
                        let popped = agenda.pop(Millis::new(clock));
                        prop_assert_eq!(popped, model.pop(clock));
                        if popped.is_none() {
                            break;
                        }
                    }
                }
                Step::Jump => {
                    clock = agenda.next_at().get().min(clock + (1 << 40));
                    prop_assert_eq!(agenda.pop(Millis::new(clock)), model.pop(clock));
                }
            }
            for index in 0..200 {
                prop_assert_eq!(agenda.contains(index), model.places.contains_key(&index));
            }
            prop_assert_eq!(agenda.len() as usize, model.entries.len());
            prop_assert_eq!(agenda.is_empty(), model.entries.is_empty());
            check_next(&mut agenda, &model)?;
        }
    }
}

#[test]
fn waking_at_the_told_time_always_gets_further() {
    let mut agenda = Agenda::default();
    for index in 0..1000 {
        agenda.push(index, Millis::new(10_000_000 + u64::from(index % 7)));
    }
    // The earliest time put in is known for sure; once that has gone, only a range is.
    agenda.push(1000, Millis::new(5));
    assert_eq!(agenda.pop(Millis::new(5)), Some(1000));
    assert!(agenda.next_at() < Millis::new(10_000_000));
    let (mut wakes, mut popped) = (0, 0);
    while !agenda.is_empty() {
        let now = agenda.next_at();
        while agenda.pop(now).is_some() {
            popped += 1;
        }
        wakes += 1;
        assert!(wakes < 30, "the clock stands still at {now:?}");
    }
    assert_eq!(popped, 1000);
}

#[test]
fn a_clock_set_back_neither_loses_nor_hurries_anything() {
    let mut agenda = Agenda::default();
    agenda.push(0, Millis::new(5_000));
    assert_eq!(agenda.pop(Millis::new(4_999)), None);
    assert_eq!(agenda.pop(Millis::new(0)), None);
    assert_eq!(agenda.next_at(), Millis::new(5_000));
    agenda.push(1, Millis::new(10));
    assert_eq!(agenda.next_at(), Millis::new(4_999), "late, so due at the latest time seen");
    assert_eq!(agenda.pop(Millis::new(4_999)), Some(1));
    assert_eq!(agenda.pop(Millis::new(5_000)), Some(0));
}
