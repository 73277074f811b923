//! The protocol: the simulated worlds replay through it word for word, and no words at all make it trap.

use std::fmt::Write as _;

use proptest::collection::vec;
use proptest::prelude::*;
use redrive_core::{FAULT, Machine, Op};

fn op_of(name: &str) -> Option<Op> {
    Op::ALL.iter().zip(Op::NAMES).find(|(_, op)| op.eq_ignore_ascii_case(name)).map(|(op, _)| *op)
}

fn call(op: Op, args: &[f64]) -> Vec<f64> {
    [&[f64::from(op as u32), args.len() as f64], args].concat()
}

fn print(number: f64) -> String {
    if number == f64::INFINITY { "Infinity".to_owned() } else { number.to_string() }
}

#[test]
fn s21_the_recorded_worlds_replay_word_for_word() {
    let is_quick = std::env::var("REDRIVE_SIZE").is_ok_and(|size| size == "quick");
    let trace = sim::trace::text(1, if is_quick { 20 } else { 200 }, 250);
    let mut machine = Machine::default();
    let mut calls = 0;
    for line in trace.lines().filter(|line| !line.starts_with('#')) {
        let asked = line.split(" =").next().unwrap_or_default();
        let mut words = asked.split(' ');
        let op = op_of(words.next().unwrap_or_default()).expect("a call");
        let args: Vec<f64> = words.map(|word| word.parse().expect("a number")).collect();
        let answer = machine.run_words(&call(op, &args));
        assert_eq!(answer[0] as usize, answer.len() - 1, "{line}");
        let mut written = format!("{asked} =");
        answer[1..].iter().for_each(|number| write!(written, " {}", print(*number)).expect("room"));
        assert_eq!(written, line);
        calls += 1;
    }
    assert!(calls > 10_000, "{calls} calls");
}

#[test]
fn calls_in_one_run_are_answered_in_their_order_up_to_a_fault() {
    let mut machine = Machine::default();
    let words = [call(Op::Depth, &[]), call(Op::Lane, &[]), vec![999.0, 0.0], call(Op::Depth, &[])].concat();
    assert_eq!(machine.run_words(&words), [1.0, 0.0, 1.0, 0.0, FAULT]);
    for words in [
        vec![0.0],
        vec![0.0, 9.0, 1.0],
        vec![0.5, 0.0],
        vec![f64::NAN, 0.0],
        vec![20.0, -1.0],
        vec![20.0, f64::NAN],
    ] {
        assert_eq!(machine.run_words(&words), [FAULT], "{words:?}");
    }
}

#[test]
fn a_wrong_policy_is_refused_in_words() {
    let mut machine = Machine::default();
    let answer = machine.run_words(&call(Op::Policy, &[0.0, 0.0])).to_vec();
    assert_eq!(answer[..2], [2.0, 4_294_967_295.0]);
    let text = String::from_utf8_lossy(machine.text()).into_owned();
    assert_eq!(text, "maxAttempts: expected a whole number, 1..=1000000, got 0");
}

fn word() -> impl Strategy<Value = f64> {
    prop_oneof![
        4 => (0u32..70).prop_map(f64::from),
        2 => any::<f64>(),
        1 => Just(f64::NAN),
        1 => Just(1_700_000_000_000.0),
        1 => Just(4_294_967_295.0),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn no_words_make_it_trap(runs in vec((vec((0u32..64, vec(word(), 0..24)), 0..20), vec(word(), 0..4), vec(any::<u8>(), 0..64)), 1..6)) {
        let mut machine = Machine::default();
        for (calls, rest, text) in runs {
            machine.write_text(&text);
            let calls = calls.into_iter().flat_map(|(op, args)| [vec![f64::from(op), args.len() as f64], args].concat());
            let words: Vec<f64> = calls.chain(rest).collect();
            let answers = machine.run_words(&words).len();
            prop_assert!(answers < 1_000_000);
        }
    }
}
