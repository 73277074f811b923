//! The words the host and the core share about a request and its end: what is known of it, how an
//! attempt ended, why a task did.
//!
//! Every number here crosses the boundary to JavaScript and lies in stores, so none is ever reused.
#![forbid(unsafe_code)]

use crate::numbered::numbered;

/// Facts about a request, as bits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Flags(u8);

impl Flags {
    /// Repeating it does no harm: a safe or idempotent method, a key, or the caller vouches.
    pub const REPLAYABLE: Flags = Flags(1);
    /// The request carries an idempotency key.
    pub const KEYED: Flags = Flags(2);
    /// The host can be asked for fresh credentials.
    pub const CREDENTIALED: Flags = Flags(4);

    /// Flags from their bits: 1 replayable, 2 keyed, 4 credentialed. Others are dropped.
    pub const fn from_bits(bits: u32) -> Flags {
        Flags((bits & 7) as u8)
    }

    /// The bits, which cross the boundary.
    pub const fn bits(self) -> u32 {
        self.0 as u32
    }

    /// Whether all of `other` are set.
    pub const fn contains(self, other: Flags) -> bool {
        self.0 & other.0 == other.0
    }

    /// Both sets of flags.
    #[must_use]
    pub const fn with(self, other: Flags) -> Flags {
        Flags(self.0 | other.0)
    }

    /// Has a position in the window of spread waits: from the first failure on, or a wait named
    /// by a server.
    pub(crate) const PHASED: Flags = Flags(8);
    /// The last attempt met a 401.
    pub(crate) const UNAUTHORIZED: Flags = Flags(16);
    /// Its end was asked for while an attempt ran.
    pub(crate) const CANCEL_REQUESTED: Flags = Flags(32);
    /// The task is a store's, and here for one attempt only.
    pub(crate) const LEASED: Flags = Flags(64);

    /// While it waits: for the retry budget. While an attempt runs: it has paid for it.
    pub(crate) const BUDGET: Flags = Flags(128);

    /// Neither of `other` any more.
    pub(crate) const fn without(self, other: Flags) -> Flags {
        Flags(self.0 & !other.0)
    }
}

numbered! {
    /// How one attempt ended.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum Outcome {
        /// A response arrived.
        Response = 0,
        /// None did.
        NetworkError = 1,
        /// None did in time.
        TimedOut = 2,
        /// None did, and the host is offline: the attempt is given back.
        Offline = 3,
        /// No credentials were to be had, so nothing was sent: the attempt is given back.
        CredentialsFailed = 4,
        /// The host decided against sending it.
        Vetoed = 5,
        /// Nothing was sent because of a pause or a shutdown: the attempt is given back.
        Released = 6,
        /// The response was a redirect that a replay must not follow.
        RedirectRefused = 7,
        /// The caller's own error, such as a header that cannot be sent: no repeat mends it, and it says nothing of a server.
        OwnError = 8,
        /// The host's own `fetch` gave it up, unasked: it may have arrived, and what made it give up is not known.
        Aborted = 9,
    }
}

impl Outcome {
    /// The outcome of a number; one that is none counts as a network error.
    pub fn from_code(code: u32) -> Outcome {
        Outcome::ALL.get(code as usize).copied().unwrap_or(Outcome::NetworkError)
    }

    /// Whether the host has sent it.
    pub(crate) const fn has_left(self) -> bool {
        !matches!(self, Outcome::CredentialsFailed | Outcome::Vetoed | Outcome::Released)
    }

    /// Whether the server saw nothing of it, as far as is known.
    pub(crate) const fn is_unsent(self) -> bool {
        matches!(self, Outcome::Offline | Outcome::CredentialsFailed | Outcome::Vetoed | Outcome::Released)
    }
}

numbered! {
    /// Why a task ended without success. The numbers cross the boundary.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum Reason {
        /// All attempts were made.
        MaxAttempts = 0,
        /// The next attempt could not have ended inside the budget.
        TotalBudget = 1,
        /// The next attempt would have started later than the caller waits.
        WaitExceeded = 2,
        /// The failure does not go away, or repeating the request might do harm.
        NotRetryable = 3,
        /// The server may have forgotten the key by the next attempt.
        KeyExpired = 4,
        /// The server knows the key from another request.
        KeyConflict = 5,
        /// The next attempt would have started after the task's `expiresAt`.
        Expired = 6,
        /// The server asked for a longer wait than the policy allows.
        RetryAfterTooLong = 7,
        /// A lease ran out with nothing left to permit another attempt. Given by stores only.
        OutcomeUnknown = 8,
        /// The host decided against it.
        Vetoed = 9,
        /// The stored body is gone. Given by stores only.
        BodyMissing = 10,
        /// The breaker of its lane is open, and its caller waits for an answer.
        CircuitOpen = 11,
        /// The queue was closed while its caller waited. Given by the host only.
        Closed = 12,
        /// The sender of a service may not connect to where the request would go. Given by the host only.
        TargetRefused = 13,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hosts_flags_and_the_queues_notes_share_a_byte_and_nothing_else() {
        let host = Flags::from_bits(u32::MAX);
        for note in
            [Flags::PHASED, Flags::UNAUTHORIZED, Flags::CANCEL_REQUESTED, Flags::LEASED, Flags::BUDGET]
        {
            assert!(!host.contains(note), "a host cannot set {note:?}");
        }
        let flags = host
            .with(Flags::PHASED)
            .with(Flags::UNAUTHORIZED)
            .with(Flags::CANCEL_REQUESTED)
            .without(Flags::UNAUTHORIZED);
        assert!(
            flags.contains(host) && flags.contains(Flags::PHASED) && flags.contains(Flags::CANCEL_REQUESTED)
        );
        assert!(!flags.contains(Flags::UNAUTHORIZED));
    }
}
