//! What was asked of the core and what it answered, call by call, as the boundary to JavaScript has it.
//!
//! A line is `name arguments = answers`, all numbers: `NaN` is none of a number, `Infinity` is never, 4294967295 is no
//! handle. Every run is hashed; the text is kept only where somebody wants it.

use redrive::queue::{Action, Cancelled, Carry, Verdict};
use redrive::slots::NONE;
use redrive::time::Millis;

use crate::event::Answer;

/// Where the codes of reasons begin.
const REASONS: u32 = 16;

/// The record of one run.
#[derive(Debug, Default)]
pub struct Tape {
    /// A hash of everything on it.
    pub hash: u64,
    /// The lines, if they are kept.
    pub lines: Option<Vec<String>>,
}

impl Tape {
    /// A tape that keeps its text.
    pub fn kept() -> Tape {
        Tape { lines: Some(Vec::new()), ..Tape::default() }
    }

    /// Records one call.
    pub fn call(&mut self, name: &str, arguments: &[f64], answers: &[f64]) {
        let words = name.bytes().map(u64::from);
        let numbers = arguments.iter().chain(&[f64::MIN]).chain(answers);
        for word in words.chain(numbers.map(|number| number.to_bits())) {
            self.hash = (self.hash ^ word).wrapping_mul(0x0100_0000_01B3).rotate_left(23);
        }
        if let Some(lines) = &mut self.lines {
            let mut line = name.to_owned();
            arguments.iter().for_each(|number| push(&mut line, *number));
            line.push_str(" =");
            answers.iter().for_each(|number| push(&mut line, *number));
            lines.push(line);
        }
    }
}

fn push(line: &mut String, number: f64) {
    line.push(' ');
    match number {
        number if number == f64::INFINITY => line.push_str("Infinity"),
        number => line.push_str(&number.to_string()),
    }
}

/// An instant as it crosses; never is infinity.
pub fn instant(at: Millis) -> f64 {
    at.to_f64()
}

/// A duration that may be absent.
pub fn optional(ms: Option<u64>) -> f64 {
    ms.map_or(f64::NAN, |ms| ms as f64)
}

/// How an attempt ended and what was said of it, in the order in which that crosses.
pub fn answer(answer: &Answer) -> [f64; 11] {
    let said = &answer.said;
    [
        f64::from(answer.outcome),
        f64::from(answer.status),
        optional(answer.server),
        optional(answer.took),
        optional(answer.limit),
        f64::from(u8::from(answer.unusable)),
        f64::from(u8::from(said.partition)),
        said.retry.map_or(0.0, |retry| if retry { 1.0 } else { 2.0 }),
        optional(said.delay),
        f64::from(u8::from(answer.asks())),
        f64::from(u8::from(said.replayed)),
    ]
}

/// A lane, or all of them.
pub fn scope(lane: Option<u32>) -> f64 {
    f64::from(lane.unwrap_or(NONE))
}

/// The bit of a storm among the codes of actions.
const STORM: u32 = 1 << 31;

/// A task's action as the boundary's pair.
pub fn action(action: Action) -> [f64; 2] {
    match action {
        Action::Start(slot) => [f64::from(slot), 0.0],
        Action::End(slot, reason) => [f64::from(slot), f64::from(reason.code() + REASONS)],
        Action::LetIn(slot) => [f64::from(slot), f64::from(REASONS - 1)],
        Action::Circuit(lane, (from, to)) => [f64::from(lane), f64::from(1 + 3 * from as u32 + to as u32)],
        Action::Storm(lane, tasks) => [f64::from(lane), f64::from(STORM | tasks)],
    }
}

/// The code of what a cancel did.
pub fn cancelled(cancelled: Cancelled) -> f64 {
    match cancelled {
        Cancelled::Gone => 0.0,
        Cancelled::Done => 1.0,
        Cancelled::Requested => 2.0,
    }
}

/// What a `settle` leaves besides its verdict.
pub struct After {
    /// Attempts made.
    pub attempts: u32,
    /// When the task may start again.
    pub due_at: Option<Millis>,
}

/// A verdict and the twelve numbers behind it.
pub fn verdict(verdict: Verdict, carry: Carry, after: &After) -> [f64; 13] {
    let mut numbers = [0.0; 13];
    numbers[5] = carry.phase.map_or(-1.0, f64::from);
    numbers[6] = carry.previous_delay.get() as f64;
    numbers[7] = f64::from(carry.marks);
    numbers[8] = f64::from(u8::from(carry.refunded));
    numbers[9] = carry.server_wait.get() as f64;
    numbers[10] = carry.hold.get() as f64;
    numbers[11] = f64::from(after.attempts);
    numbers[12] = after.due_at.map_or(f64::NAN, instant);
    numbers[0] = match verdict {
        Verdict::Succeeded => 0.0,
        Verdict::Retry { delay, wait, authorize } => {
            numbers[1] = delay.get() as f64;
            numbers[2] = wait.curve.get() as f64;
            numbers[3] = wait.spread.get() as f64;
            numbers[4] = f64::from(u8::from(authorize));
            1.0
        }
        Verdict::Cancelled => 2.0,
        Verdict::Parked => {
            numbers[1] = numbers[9];
            3.0
        }
        Verdict::Stale => 4.0,
        Verdict::Exhausted(reason) => f64::from(reason.code() + REASONS),
    };
    numbers
}
