//! The numbers of the queue's answers as they cross the boundary to JavaScript, and where each number of a longer answer
//! lies.
//!
//! The enums of single concepts carry their numbers themselves. Here is how answers that hold more than a variant are
//! put into numbers, apart from `src/wasm/` so that native code can see it. `xtask` prints all of them for TypeScript.
#![forbid(unsafe_code)]

use crate::gates::breaker::{Change, Circuit};
use crate::http::classify::Class;
use crate::numbered::numbered;
use crate::queue::{Action, Carry, GateStatus, Verdict};
use crate::time::Millis;

/// In actions and verdicts the codes of reasons begin here: the task has ended.
pub const ENDED: u32 = 16;

/// In actions: a caller at the door may send its first attempt.
pub const LET_IN: u32 = ENDED - 1;

/// The bit of a storm's code, in actions; the other bits are how many tasks failed at first for each success.
pub const STORM: u32 = 1 << 31;

/// In classes the codes of reasons begin here: the failure is final.
pub const CLASS_FAILED: u32 = 2;

numbered! {
    /// The answers of `settle` below [`ENDED`].
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum VerdictCode {
        /// [`Verdict::Succeeded`].
        Succeeded = 0,
        /// [`Verdict::Retry`].
        Retry = 1,
        /// [`Verdict::Cancelled`].
        Cancelled = 2,
        /// [`Verdict::Parked`].
        Parked = 3,
        /// [`Verdict::Stale`].
        Stale = 4,
    }
}

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
    /// Where the numbers behind the last `settle` lie.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum Ruled {
        /// In how long the next attempt follows; after `Parked` how much of that is the server's.
        DelayMs = 0,
        /// The part of the curve.
        CurveMs = 1,
        /// The time added to a server's delay, so that its clients do not come back together.
        SpreadMs = 2,
        /// Whether fresh credentials are to be asked for: 0 or 1.
        Authorize = 3,
        /// [`Carry::phase`]; -1: none yet.
        Phase = 4,
        /// [`Carry::previous_delay`].
        PreviousDelayMs = 5,
        /// [`Carry::marks`].
        Marks = 6,
        /// [`Carry::refunded`]: 0 or 1.
        Refunded = 7,
        /// [`Carry::server_wait`].
        ServerMs = 8,
        /// [`Carry::hold`], whatever the verdict.
        HoldMs = 9,
        /// Attempts made for the task and not given back; 0 once its slot is free.
        Attempts = 10,
        /// When the task may start again; NaN if it waits for no time, or its slot is free.
        DueAt = 11,
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

/// The facts that `settle` tells besides the verdict and the carry.
#[derive(Clone, Copy, Debug)]
pub struct Aftermath {
    /// Attempts made and not given back.
    pub attempts: u32,
    /// When the task may start again.
    pub due_at: Option<Millis>,
}

/// A verdict as one number.
pub const fn verdict(verdict: &Verdict) -> u32 {
    let code = match verdict {
        Verdict::Succeeded => VerdictCode::Succeeded,
        Verdict::Retry { .. } => VerdictCode::Retry,
        Verdict::Cancelled => VerdictCode::Cancelled,
        Verdict::Parked => VerdictCode::Parked,
        Verdict::Stale => VerdictCode::Stale,
        Verdict::Exhausted(reason) => return reason.code().saturating_add(ENDED),
    };
    code.code()
}

/// The numbers behind a verdict, each at its place in [`Ruled`]. Unless it is a retry no wait is reported, unless it is
/// a retry or parked nothing is taken along.
pub fn ruled(verdict: &Verdict, carry: &Carry, after: &Aftermath) -> [f64; Ruled::ALL.len()] {
    let (delay, curve, spread, authorize) = match verdict {
        Verdict::Retry { delay, wait, authorize } => (*delay, wait.curve, wait.spread, *authorize),
        Verdict::Parked => (carry.server_wait, Millis::ZERO, Millis::ZERO, false),
        _ => (Millis::ZERO, Millis::ZERO, Millis::ZERO, false),
    };
    [
        delay.get() as f64,
        curve.get() as f64,
        spread.get() as f64,
        f64::from(u8::from(authorize)),
        carry.phase.map_or(-1.0, f64::from),
        carry.previous_delay.get() as f64,
        f64::from(carry.marks),
        f64::from(u8::from(carry.refunded)),
        carry.server_wait.get() as f64,
        carry.hold.get() as f64,
        f64::from(after.attempts),
        after.due_at.map_or(f64::NAN, Millis::to_f64),
    ]
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
