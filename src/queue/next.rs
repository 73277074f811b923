//! The record of what follows an ended attempt: one for a task in memory, for one under a lease, and for a caller's own that
//! becomes a task. The host carries it out.
#![forbid(unsafe_code)]

use super::{Carry, Ended, Facts, Wait};
use crate::numbered::numbered;
use crate::outcome::{Outcome, Reason};
use crate::time::Millis;

numbered! {
    /// The fate of a task whose attempt has ended.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub enum NextKind {
        /// Delivered.
        Succeeded = 0,
        /// Due again.
        Retry = 1,
        /// Due again, and the attempt does not count.
        Released = 2,
        /// Waits for a resume, or for what it lacks.
        Parked = 3,
        /// Given up.
        Exhausted = 4,
        /// Cancelled meanwhile.
        Cancelled = 5,
        /// Nothing is decided here: it is another process's by now, or no attempt of it was under way.
        #[default]
        Lost = 6,
    }
}

numbered! {
    /// Why an attempt was given back.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum ReleaseCause {
        /// Its credentials were refused.
        Unauthorized = 0,
        /// Its server still works on an earlier one.
        InProgress = 1,
        /// No credentials were to be had.
        CredentialsFailed = 2,
        /// None were to be had, and nothing here supplies them.
        CredentialsMissing = 3,
        /// The request could not be signed.
        SignFailed = 4,
        /// There was no network.
        Offline = 5,
        /// Its lane was paused meanwhile, or everything.
        Paused = 6,
        /// Another principal is current.
        Principal = 7,
        /// Its page was put away.
        PageHidden = 8,
        /// Its queue is closed or closing.
        Closing = 9,
        /// Its lease would have run out, or its store did not give its body.
        Lease = 10,
    }
}

/// The decision on a task whose attempt has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Delivered; the slot is free.
    Succeeded,
    /// Another attempt follows.
    Retry {
        /// In how long, unless its lane is held longer.
        delay: Millis,
        /// The parts of the delay.
        wait: Wait,
        /// Whether fresh credentials are to be asked for.
        authorize: bool,
    },
    /// The task was cancelled meanwhile; the slot is free.
    Cancelled,
    /// Its credentials were refused twice: it waits for a resume, or, leased, for its store to hear of one.
    Parked,
    /// The slot has no attempt in flight. Nothing was changed.
    Stale,
    /// No further attempt; the slot is free.
    Exhausted(Reason),
}

/// The record of what follows an ended attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Next {
    /// The decision, with the reason of an end and the parts of a delay.
    pub verdict: Verdict,
    /// The fate of the task.
    pub kind: NextKind,
    /// Why the attempt was given back, if it was.
    pub cause: Option<ReleaseCause>,
    /// The number of the attempt; 0: it was the first, and never left.
    pub number: u32,
    /// Attempts made and not given back, where the task goes on; else its number.
    pub attempts: u32,
    /// When the task may start again, if it waits for a time. Its store alone knows what may hold a leased one beyond its delay.
    pub due_at: Option<Millis>,
    /// The notes for the next attempt of the task, and the wait that the answer asked of the lane.
    pub carry: Carry,
}

impl Next {
    /// No attempt was under way.
    pub(super) fn stale() -> Next {
        let (verdict, kind, carry) = (Verdict::Stale, NextKind::Lost, Carry::default());
        Next { verdict, kind, cause: None, number: 0, attempts: 0, due_at: None, carry }
    }

    /// The record of a verdict. `number`: of the attempt; `counted`: attempts that count by now.
    pub(super) fn of(verdict: Verdict, carry: Carry, ended: &Ended, number: u32, counted: u32) -> Next {
        let kind = kind(verdict, &carry, ended.facts, number);
        let given_back = kind == NextKind::Parked || carry.refunded;
        let refused = matches!(verdict, Verdict::Parked | Verdict::Retry { authorize: true, .. });
        let goes_on = matches!(kind, NextKind::Retry | NextKind::Released | NextKind::Parked);
        Next {
            verdict,
            kind,
            cause: given_back.then(|| cause(ended, refused)),
            number,
            attempts: if goes_on { counted } else { number },
            due_at: None,
            carry,
        }
    }
}

fn kind(verdict: Verdict, carry: &Carry, facts: Facts, number: u32) -> NextKind {
    match verdict {
        Verdict::Succeeded => NextKind::Succeeded,
        // Fenced off: the process that has it now decides, and if none has, its store is to take it back.
        _ if facts.say(Facts::LOST) => NextKind::Lost,
        Verdict::Stale => NextKind::Lost,
        Verdict::Cancelled => NextKind::Cancelled,
        Verdict::Exhausted(_) => NextKind::Exhausted,
        Verdict::Parked => NextKind::Parked,
        Verdict::Retry { .. } if facts.say(Facts::MISSING) => NextKind::Parked,
        // A call that was never sent has no attempt to take back.
        Verdict::Retry { .. } if carry.refunded && number > 0 => NextKind::Released,
        Verdict::Retry { .. } => NextKind::Retry,
    }
}

/// The cause by the outcome that the host gave. `refused`: the answer was a 401.
fn cause(ended: &Ended, refused: bool) -> ReleaseCause {
    let say = |fact| ended.facts.say(fact);
    match ended.outcome {
        Outcome::Offline => ReleaseCause::Offline,
        Outcome::CredentialsFailed if say(Facts::UNSIGNED) => ReleaseCause::SignFailed,
        Outcome::CredentialsFailed if say(Facts::MISSING) => ReleaseCause::CredentialsMissing,
        Outcome::CredentialsFailed => ReleaseCause::CredentialsFailed,
        Outcome::Released if say(Facts::STOPPED) => ReleaseCause::Closing,
        Outcome::Released if say(Facts::HIDDEN) => ReleaseCause::PageHidden,
        Outcome::Released if say(Facts::FOREIGN) => ReleaseCause::Principal,
        Outcome::Released if say(Facts::PAUSED) => ReleaseCause::Paused,
        Outcome::Released => ReleaseCause::Lease,
        _ if refused => ReleaseCause::Unauthorized,
        _ => ReleaseCause::InProgress,
    }
}

impl Verdict {
    /// Why the task is given up, if it is.
    pub const fn reason(&self) -> Option<Reason> {
        match self {
            Verdict::Exhausted(reason) => Some(*reason),
            _ => None,
        }
    }
}
