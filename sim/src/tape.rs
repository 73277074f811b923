//! What was asked of the core and what it answered, call by call, as the boundary to JavaScript has it.
//!
//! A line is `name arguments = answers`, all numbers: `NaN` is none of a number, `Infinity` is never, 4294967295 is no
//! handle. Every run is hashed; the text is kept only where somebody wants it.

use redrive::queue::{Action, Cancelled, Next, Verdict};
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
pub fn answer(answer: &Answer) -> [f64; 13] {
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
        // No facts of the host's, and no reason of its own.
        0.0,
        f64::from(NONE),
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

/// The number of an end among the totals.
pub fn end(verdict: Verdict) -> Option<usize> {
    match verdict {
        Verdict::Succeeded => Some(0),
        Verdict::Cancelled => Some(2),
        Verdict::Exhausted(reason) => Some((reason.code() + REASONS) as usize),
        Verdict::Retry { .. } | Verdict::Parked | Verdict::Stale => None,
    }
}

/// What follows an attempt: the kind, and the fifteen numbers behind it.
pub fn next(next: &Next) -> [f64; 16] {
    let Next { verdict, carry, .. } = next;
    let mut numbers = [0.0; 16];
    numbers[0] = f64::from(next.kind as u32);
    numbers[1] = f64::from(NONE);
    numbers[2] = f64::from(next.cause.map_or(NONE, |cause| cause as u32));
    numbers[3] = f64::from(next.number);
    numbers[4] = f64::from(next.attempts);
    numbers[5] = next.due_at.map_or(f64::NAN, instant);
    numbers[9] = carry.server_wait.get() as f64;
    numbers[11] = f64::from(u8::from(carry.refunded));
    numbers[12] = carry.phase.map_or(-1.0, f64::from);
    numbers[13] = carry.previous_delay.get() as f64;
    numbers[14] = f64::from(carry.marks);
    numbers[15] = carry.hold.get() as f64;
    match *verdict {
        Verdict::Retry { delay, wait, authorize } => {
            numbers[6] = delay.get() as f64;
            numbers[7] = wait.curve.get() as f64;
            numbers[8] = wait.spread.get() as f64;
            numbers[10] = f64::from(u8::from(authorize));
        }
        Verdict::Parked => numbers[6] = numbers[9],
        Verdict::Exhausted(reason) => numbers[1] = f64::from(reason.code()),
        Verdict::Succeeded | Verdict::Cancelled | Verdict::Stale => {}
    }
    numbers
}
