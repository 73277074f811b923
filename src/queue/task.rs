//! A task as the core knows it: numbers only.
//!
//! URL, body, headers and promise stay with the host; what is left is small because there may
//! be a million of them.
#![forbid(unsafe_code)]

use crate::index::PackedIndex;
use crate::outcome::{Flags, Reason};
use crate::policy::Policy;
use crate::time::{Millis, PackedMillis};

/// Attempts given back, those for a 401 among them, and whether one that went out had no answer of its origin's: all in one byte.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Refunds(u8);

impl Refunds {
    /// One for a 401; the bits below count all.
    const UNAUTHORIZED: u8 = 32;
    const MOST: u8 = Refunds::UNAUTHORIZED - 1;
    const MOST_UNAUTHORIZED: u8 = 3;
    const UNANSWERED: u8 = 128;

    /// `all`, at most 31, of them `unauthorized` for a 401, at most three.
    pub const fn new(all: u8, unauthorized: u8) -> Refunds {
        let all = if all < Refunds::MOST { all } else { Refunds::MOST };
        let most = Refunds::MOST_UNAUTHORIZED;
        let unauthorized = if unauthorized < most { unauthorized } else { most };
        Refunds(unauthorized.wrapping_mul(Refunds::UNAUTHORIZED) | all)
    }

    /// For whatever cause.
    pub const fn all(self) -> u8 {
        self.0 % Refunds::UNAUTHORIZED
    }

    /// For a 401.
    pub const fn unauthorized(self) -> u8 {
        (self.0 & !Refunds::UNANSWERED) / Refunds::UNAUTHORIZED
    }

    /// Whether an attempt went out that had no answer of its origin's, which may still be at work on it.
    pub const fn unanswered(self) -> bool {
        self.0 & Refunds::UNANSWERED != 0
    }

    /// One more.
    #[must_use]
    pub const fn with_one(self) -> Refunds {
        self.more(0)
    }

    /// One more, for a 401.
    #[must_use]
    pub const fn with_unauthorized(self) -> Refunds {
        self.more(1)
    }

    /// An attempt had no answer of its origin's, if `so`.
    #[must_use]
    pub const fn with_unanswered(self, so: bool) -> Refunds {
        if so { Refunds(self.0 | Refunds::UNANSWERED) } else { self }
    }

    const fn more(self, unauthorized: u8) -> Refunds {
        let counted =
            Refunds::new(self.all().saturating_add(1), self.unauthorized().saturating_add(unauthorized));
        counted.with_unanswered(self.unanswered())
    }
}

/// Attempts made and not given back, and whether one met the replay of a failure: all in four bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Attempts(u32);

impl Attempts {
    const REPLAYED: u32 = 1 << 31;

    /// So many, at most two thousand millions, and no replay.
    pub const fn new(count: u32) -> Attempts {
        Attempts(if count < Attempts::REPLAYED { count } else { Attempts::REPLAYED - 1 })
    }

    /// How many.
    pub const fn count(self) -> u32 {
        self.0 & !Attempts::REPLAYED
    }

    /// Whether one met the replay of a failure.
    pub const fn replayed(self) -> bool {
        self.0 & Attempts::REPLAYED != 0
    }

    /// One met the replay of a failure, if `so`.
    #[must_use]
    pub const fn with_replayed(self, so: bool) -> Attempts {
        if so { Attempts(self.0 | Attempts::REPLAYED) } else { self }
    }

    /// One more.
    #[must_use]
    pub const fn with_one(self) -> Attempts {
        Attempts::new(self.count().saturating_add(1)).with_replayed(self.replayed())
    }

    /// One less: it was given back.
    #[must_use]
    pub const fn without_one(self) -> Attempts {
        Attempts::new(self.count().saturating_sub(1)).with_replayed(self.replayed())
    }
}

/// Where a task is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    /// In the agenda of due times.
    Waiting,
    /// Behind others of its order, and in the agenda of deadlines.
    Behind,
    /// Due, in its lane's queue, and in the agenda of deadlines.
    Ready,
    /// Waits for a resume, and in the agenda of deadlines.
    Parked,
    /// No task: a caller that waits for its first attempt, and in the agenda of deadlines.
    AtDoor,
    /// An attempt of the queue runs; counted in the limits.
    InFlight,
    /// The caller's own first attempt has just ended; counted in no limit.
    Started,
}

/// A task. At a million of them every byte counts, so there are none between the fields.
#[derive(Clone, Copy, Debug)]
#[repr(Rust, packed)]
pub(crate) struct Task {
    pub created_at: PackedMillis,
    /// When the server may have seen the key first; never if it has not been sent.
    pub first_attempt_at: PackedMillis,
    pub expires_at: PackedMillis,
    pub wait_until: PackedMillis,
    /// The instant that a server's delay forbids to undercut, even by a flush; while an attempt runs, its start.
    pub not_before: PackedMillis,
    /// Once it is ready: when it became due, or would have. While it waits, the agenda knows.
    pub due: PackedMillis,
    /// The last wait of the curve; its base before the first.
    pub previous_delay: PackedMillis,
    /// Size of its body; one of 4 GiB or more counts as the most that fits.
    pub bytes: u32,
    /// Index, not handle: a lane lives as long as its tasks.
    pub lane: PackedIndex,
    /// Index, not handle: so does a policy.
    pub policy: PackedIndex,
    /// Index, not handle: so does an order. [`crate::slots::NONE`] if it is in none.
    pub order: PackedIndex,
    pub priority: i32,
    /// Position in the window of spread waits, once it is [`Flags::PHASED`].
    pub phase: u32,
    /// The host's facts about the request, and the queue's own notes beside them.
    pub flags: Flags,
    pub attempts: Attempts,
    pub refunds: Refunds,
    pub state: State,
}

/// The least that is left of a caller's wait when an attempt is sent: with less it would be aborted, and its caller would have that for a
/// failure instead of the last answer.
pub(super) const LEAST_LEFT: Millis = Millis::new(100);

impl Task {
    /// Why an attempt that starts at `start` may not be made, the first reason that applies.
    /// `estimate` is what the attempt is expected to take.
    pub fn refusal(&self, policy: &Policy, estimate: Millis, start: Millis) -> Option<Reason> {
        let deadlines = self.deadlines(policy, estimate, self.leaves(LEAST_LEFT));
        deadlines.into_iter().find(|(last, _)| start > *last).map(|(_, reason)| reason)
    }

    /// The last instant at which an attempt may still start, or its caller's wait ends.
    pub fn last_start(&self, policy: &Policy, estimate: Millis) -> Millis {
        let deadlines = self.deadlines(policy, estimate, self.wait_until.get());
        deadlines.into_iter().fold(Millis::MAX, |least, (last, _)| least.min(last))
    }

    /// The last instant at which its waiting caller has so long left, or an eighth of the wait.
    #[inline(never)]
    pub fn leaves(&self, most: Millis) -> Millis {
        self.wait_until.get().minus(Millis::new(self.waits().get() / 8).min(most))
    }

    /// How long its caller waits in all.
    const fn waits(&self) -> Millis {
        self.wait_until.get().minus(self.created_at.get())
    }

    /// Whether its policy allows it no further attempt.
    #[inline(never)]
    pub fn is_spent(&self, policy: &Policy) -> bool {
        let awaited = self.wait_until.get() < Millis::MAX;
        let most = if awaited { policy.attempts_within(self.waits()) } else { policy.max_attempts() };
        self.attempts.count() >= most
    }

    fn deadlines(&self, policy: &Policy, estimate: Millis, awaited: Millis) -> [(Millis, Reason); 4] {
        let budget = self.created_at.get().plus(policy.total_budget()).minus(estimate);
        let keyed = self.flags.contains(Flags::KEYED);
        let key = if keyed { self.first_attempt_at.get().plus(policy.key_ttl()) } else { Millis::MAX };
        [
            (budget, Reason::TotalBudget),
            (self.expires_at.get(), Reason::Expired),
            (key, Reason::KeyExpired),
            (awaited, Reason::WaitExceeded),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_two_counts_of_refunds_do_not_run_into_each_other() {
        let mut refunds = Refunds::default();
        for all in 1..=40 {
            refunds = if all % 10 == 0 { refunds.with_unauthorized() } else { refunds.with_one() };
            assert_eq!((refunds.all(), refunds.unauthorized()), (all.min(31), (all / 10).min(3)));
        }
        assert_eq!(Refunds::new(u8::MAX, u8::MAX), refunds);
        let unanswered = Refunds::new(4, 1).with_unanswered(true);
        assert!(unanswered.unanswered() && unanswered.with_one().with_unauthorized().unanswered());
        assert_eq!((unanswered.all(), unanswered.unauthorized()), (4, 1));
        assert!(!refunds.unanswered() && !refunds.with_unanswered(false).unanswered());
    }

    #[test]
    fn the_note_of_a_replay_is_no_attempt() {
        let attempts = Attempts::new(3).with_replayed(true);
        let both = (attempts.with_one(), attempts.without_one().without_one());
        assert_eq!((both.0.count(), both.0.replayed()), (4, true));
        assert_eq!((both.1.count(), both.1.replayed()), (1, true));
        assert!(
            !Attempts::new(u32::MAX).with_one().replayed() && !Attempts::default().without_one().replayed()
        );
    }

    #[test]
    fn a_million_tasks_fit_in_eighty_megabytes() {
        // And three bytes for its slot.
        assert!(size_of::<Task>() <= 77, "{}", size_of::<Task>());
    }
}
