//! The numbers of the queue's answers as they cross the boundary to JavaScript, and where each number of a longer answer
//! lies.
//!
//! The enums of single concepts carry their numbers themselves. Here is how answers that hold more than a variant are
//! put into numbers, apart from `src/wasm/` so that native code can see it. `xtask` prints all of them for TypeScript.
#![forbid(unsafe_code)]

use crate::gates::breaker::{BreakerRules, Change, Circuit};
use crate::gates::budget::BudgetRules;
use crate::gates::{Comeback, Gates, OnStorm};
use crate::http::asked::{self, Asked};
use crate::http::classify::Class;
use crate::numbered::numbered;
use crate::outcome::Reason;
use crate::queue::{Action, GateStatus, Next, ReleaseCause, Verdict};
use crate::slots::NONE;
use crate::time::Millis;

/// In actions the codes of reasons begin here: the task has ended.
pub const ENDED: u32 = 16;

/// In actions: a caller at the door may send its first attempt.
pub const LET_IN: u32 = ENDED - 1;

/// The bit of a storm's code, in actions; the other bits are how many tasks failed at first for each success.
pub const STORM: u32 = 1 << 31;

/// In classes the codes of reasons begin here: the failure is final.
pub const CLASS_FAILED: u32 = 2;

numbered! {
    /// The answers of `classify` below [`CLASS_FAILED`].
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum ClassCode {
        /// [`Class::Success`].
        Success = 0,
        /// [`Class::Retry`].
        Retry = 1,
    }
}

numbered! {
    /// The word of the host's own hook on whether to try again, for `settle`.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum Said {
        /// None: the rules decide.
        Nothing = 0,
        /// To try again.
        Retry = 1,
        /// Not to.
        End = 2,
    }
}

impl Said {
    /// The word as the core has it.
    pub const fn word(self) -> Option<bool> {
        match self {
            Said::Nothing => None,
            Said::Retry => Some(true),
            Said::End => Some(false),
        }
    }
}

numbered! {
    /// Where the numbers of the last `settle` lie: those of a [`Next`], apart from its kind. After `admit` only `DueAt` counts.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum NextField {
        /// Why the task is given up, by the numbers of its reasons; [`NONE`]: it is not.
        Reason = 0,
        /// [`Next::cause`]; [`NONE`]: the attempt was not given back.
        Cause = 1,
        /// [`Next::number`].
        Number = 2,
        /// [`Next::attempts`].
        Attempts = 3,
        /// [`Next::due_at`]; NaN: it waits for no time.
        DueAt = 4,
        /// In how long the next attempt follows; of a parked task, how much of that is the server's.
        DelayMs = 5,
        /// The part of the curve.
        CurveMs = 6,
        /// The time added to a server's delay, so that its clients do not come back together.
        SpreadMs = 7,
        /// [`crate::queue::Carry::server_wait`].
        ServerMs = 8,
        /// Whether fresh credentials are to be asked for: 0 or 1.
        Authorize = 9,
        /// [`crate::queue::Carry::refunded`]: 0 or 1.
        Refunded = 10,
        /// [`crate::queue::Carry::phase`]; -1: none yet.
        Phase = 11,
        /// [`crate::queue::Carry::previous_delay`].
        PreviousDelayMs = 12,
        /// [`crate::queue::Carry::marks`].
        Marks = 13,
        /// [`crate::queue::Carry::hold`], whatever the verdict.
        HoldMs = 14,
    }
}

numbered! {
    /// Where the numbers of the last `gateStatus` or `gateOfLane` lie.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum Gated {
        /// [`crate::queue::Gate`].
        Gate = 0,
        /// Until when; Infinity: no time is known.
        Until = 1,
        /// How many of its order come first.
        Ahead = 2,
    }
}

/// The record of what follows an attempt, each number at its place in [`NextField`].
pub fn next(next: &Next) -> [f64; NextField::ALL.len()] {
    let (delay, curve, spread, authorize) = match next.verdict {
        Verdict::Retry { delay, wait, authorize } => (delay, wait.curve, wait.spread, authorize),
        Verdict::Parked => (next.carry.server_wait, Millis::ZERO, Millis::ZERO, false),
        _ => (Millis::ZERO, Millis::ZERO, Millis::ZERO, false),
    };
    let carry = &next.carry;
    [
        f64::from(next.verdict.reason().map_or(NONE, Reason::code)),
        f64::from(next.cause.map_or(NONE, ReleaseCause::code)),
        f64::from(next.number),
        f64::from(next.attempts),
        next.due_at.map_or(f64::NAN, Millis::to_f64),
        delay.get() as f64,
        curve.get() as f64,
        spread.get() as f64,
        carry.server_wait.get() as f64,
        f64::from(u8::from(authorize)),
        f64::from(u8::from(carry.refunded)),
        carry.phase.map_or(-1.0, f64::from),
        carry.previous_delay.get() as f64,
        f64::from(carry.marks),
        carry.hold.get() as f64,
    ]
}

/// The waits that an answer asks for, in four numbers: the wait of a failure from now, in ms, at most 2^53 (-1: something
/// unusable; NaN: nothing); how long nothing is left of its quota (NaN: some is, or nothing was said); 1 where that is one partition's, else
/// 0; and 1 where the failure asks for another attempt whatever its status says.
pub fn said(said: &asked::Said) -> [f64; 4] {
    let delay = match said.delay {
        Asked::Nothing => f64::NAN,
        Asked::Unusable => -1.0,
        Asked::Wait(wait) => wait.get() as f64,
    };
    let limit = said.limit.and_then(|limit| limit.reset).map_or(f64::NAN, |reset| reset.get() as f64);
    let partitioned = said.limit.is_some_and(|limit| limit.partitioned);
    [delay, limit, f64::from(u8::from(partitioned)), f64::from(u8::from(said.asks))]
}

/// The gates of nine numbers, NaN for each that the core has a default for: the breaker's fairShare (0: there is none), afterMs, openMs,
/// maxOpenMs; what a retry storm does, by the numbers of [`OnStorm`]; the budget's capacity (0: there is none), perSuccess, perSecond; and
/// how a lane that failed comes back, by those of [`Comeback`]. A tenth, 1: its server has few such clients. `None`: there are fewer.
pub fn gates(numbers: &[f64]) -> Option<Gates> {
    let &[fair, after, open, max_open, storm, capacity, success, second, ramp, ref few @ ..] = numbers else {
        return None;
    };
    let default = BreakerRules::DEFAULT;
    let ms = |number: f64, default: Millis| if number.is_nan() { default } else { Millis::from_f64(number) };
    let breaker = BreakerRules {
        fair_per_million: if fair.is_nan() { default.fair_per_million } else { (fair * 1e6) as u32 },
        after: ms(after, default.after),
        open: ms(open, default.open),
        max_open: ms(max_open, default.max_open),
    };
    Some(Gates {
        breaker: (breaker.fair_per_million > 0).then_some(breaker),
        ramp: Comeback::ALL.get(ramp as usize).copied().unwrap_or_default(),
        budget: (capacity != 0.0).then(|| BudgetRules::default().with(capacity, success, second)),
        on_storm: OnStorm::ALL.get(storm as usize).copied().unwrap_or_default(),
        exact_alone: few == [1.0],
    })
}

/// The gate that holds a task, each number at its place in [`Gated`].
pub fn gated(status: &GateStatus) -> [f64; Gated::ALL.len()] {
    [f64::from(status.gate.code()), status.until.to_f64(), f64::from(status.ahead)]
}

/// The class of a finished call as one number.
pub const fn class(class: Class) -> u32 {
    match class {
        Class::Success => ClassCode::Success.code(),
        Class::Retry => ClassCode::Retry.code(),
        Class::Fail(reason) => reason.code().saturating_add(CLASS_FAILED),
    }
}

/// An action as a pair: slot and 0 to start it, or [`ENDED`] and more where it has ended; lane and its news, which are
/// a change of its breaker, 1 to 9, or a [`STORM`]; slot and [`LET_IN`].
pub const fn action(action: &Action) -> [u32; 2] {
    match *action {
        Action::Start(slot) => [slot, 0],
        Action::LetIn(slot) => [slot, LET_IN],
        Action::End(slot, reason) => [slot, reason.code().saturating_add(ENDED)],
        Action::Circuit(lane, change) => [lane, circuit_change(change)],
        Action::Storm(lane, tasks) => [lane, STORM | tasks],
    }
}

/// `1 + 3 * from + to`.
const fn circuit_change((from, to): Change) -> u32 {
    from.code().wrapping_mul(Circuit::ALL.len() as u32).wrapping_add(to.code()).wrapping_add(1)
}
