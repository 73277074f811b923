//! The meaning of an ended call: done, worth another attempt, or not.
//!
//! Only the outcome, the status and what is known of the request count here; how many attempts
//! are left and how long they may take is the queue's business. A request that may have had an
//! effect is tried again only if repeating it does no harm.
#![forbid(unsafe_code)]

use crate::gates::breaker::Circuit;
use crate::numbered::numbered;
use crate::outcome::{Flags, Outcome, Reason};
use crate::policy::Policy;

/// The meaning of one finished call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// Delivered.
    Success,
    /// Worth another attempt.
    Retry,
    /// Another attempt would not help, or might do harm.
    Fail(Reason),
}

/// Classifies one call. `status` counts only with [`Outcome::Response`].
///
/// Success is a status below 400 that the policy does not list. 400 is never tried again, listed
/// or not: the same bytes would be refused again. 422 with a key says that the key was used for
/// another request; 409 with a key that the first attempt is still running, so it is tried again
/// where the policy lists it (IETF draft "The Idempotency-Key HTTP Header Field", 2.7).
pub fn classify(policy: &Policy, outcome: Outcome, status: u32, flags: Flags) -> Class {
    let replayable = flags.contains(Flags::REPLAYABLE);
    match outcome {
        Outcome::Response => response(policy, status, flags),
        Outcome::NetworkError | Outcome::TimedOut | Outcome::Offline
            if replayable && policy.retry_network_errors() =>
        {
            Class::Retry
        }
        Outcome::NetworkError | Outcome::TimedOut | Outcome::Offline => Class::Fail(Reason::NotRetryable),
        // Neither reached the server: nothing to repeat, only something to make up for.
        Outcome::CredentialsFailed | Outcome::Released => Class::Retry,
        Outcome::Vetoed => Class::Fail(Reason::Vetoed),
        Outcome::RedirectRefused => Class::Fail(Reason::NotRetryable),
    }
}

fn response(policy: &Policy, status: u32, flags: Flags) -> Class {
    let listed = policy.retryable().contains(status);
    let keyed = flags.contains(Flags::KEYED);
    match status {
        0..400 if !listed => Class::Success,
        400 => Class::Fail(Reason::NotRetryable),
        422 if keyed => Class::Fail(Reason::KeyConflict),
        409 if !keyed => Class::Fail(Reason::NotRetryable),
        _ if listed && flags.contains(Flags::REPLAYABLE) => Class::Retry,
        _ => Class::Fail(Reason::NotRetryable),
    }
}

numbered! {
    /// The answer of [`evaluate_retry_status`].
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum RetryDecision {
        /// Queue it for another attempt.
        Enqueue = 0,
        /// Give the failure to the caller.
        FailFast = 1,
        /// The circuit is open: send nothing.
        CircuitOpen = 2,
    }
}

/// The retry service's decision from a bare status: an open circuit comes first, then a listed
/// status with retries left is queued. Status 0, no response at all, counts as listed.
pub fn evaluate_retry_status(
    status: u32,
    circuit: Circuit,
    retry_count: u32,
    max_retries: u32,
    listed: &[u16],
) -> RetryDecision {
    let listed = status == 0 || listed.iter().any(|&code| u32::from(code) == status);
    match circuit {
        Circuit::Open => RetryDecision::CircuitOpen,
        _ if listed && retry_count < max_retries => RetryDecision::Enqueue,
        _ => RetryDecision::FailFast,
    }
}
