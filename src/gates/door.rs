//! The pace at which waiting callers are let in once their server answers again.
#![forbid(unsafe_code)]

use super::Pace;
use super::breaker::Circuit;
use crate::numbered::numbered;
use crate::time::Millis;

/// The time after which one is let in though no answer has come.
const TRICKLE: Millis = Millis::new(250);
/// That time doubles with each failure and each slow answer, up to this.
const LONGEST_GAP: Millis = Millis::new(4000);

numbered! {
    /// The fate of awaited calls while the circuit of their lane is open.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub enum WhenOpen {
        /// Sent, and what is tried again waits for as long as its caller does.
        #[default]
        Hold = 0,
        /// Waiting where the circuit is expected to let them through in time, and fail at once where it is not.
        Wait = 1,
        /// Failing at once.
        Fail = 2,
    }
}

numbered! {
    /// The answer to a caller that asks whether its first attempt may be sent.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum Entry {
        /// Sent. Half-open it is the probe.
        Sent = 0,
        /// Waiting: it stands at the door.
        Waits = 1,
        /// Refused: it may not be sent, and is not to wait: the circuit is open for longer than its caller waits.
        TurnedAway = 2,
    }
}

/// The callers at the door of one lane.
#[derive(Debug, Default)]
pub(crate) struct Door {
    /// How many.
    pub callers: u32,
    /// How many may come in for the answers that came.
    credit: u32,
    /// When one may come in without an answer, and how long after another.
    next_at: Millis,
    gap: Millis,
}

impl Door {
    /// The gates of the lane have heard of an attempt, and are in this state since. What is answered while they are not closed was sent
    /// before: those are no round trips of the callers that were let in. A failure, or a slow answer, is a sign that too many are in already.
    pub fn hear(&mut self, healthy: Option<bool>, pace: Pace, circuit: Circuit) {
        let more = match (healthy, pace) {
            (None, _) => return,
            (Some(true), Pace::Quick) => 2,
            (Some(true), Pace::Fair) => 1,
            _ => 0,
        };
        let counts = self.callers > 0 && circuit == Circuit::Closed && more > 0;
        self.credit = if counts { self.credit.saturating_add(more) } else { 0 };
        self.gap = if more > 0 { TRICKLE } else { self.gap.plus(self.gap).max(TRICKLE).min(LONGEST_GAP) };
    }

    /// When the next may come in; in the past: now.
    pub const fn opens_at(&self) -> Millis {
        if self.credit > 0 { Millis::ZERO } else { self.next_at }
    }

    /// One comes in.
    pub fn let_one_in(&mut self, now: Millis) {
        self.credit = self.credit.saturating_sub(1);
        self.next_at = now.plus(self.gap.max(TRICKLE));
    }
}
