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

/// Facts that bear on an ended call besides what is known of its request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Beside {
    /// An attempt before this one may still be at work at its origin: see [`leaves_open`].
    pub unanswered: bool,
    /// The answer asks for another attempt: [`super::asked::Said::asks`].
    pub asked: bool,
    /// The word of the host's own hook: `true` tries again what the rules would not, `false` does not.
    pub said: Option<bool>,
    /// No caller waits for it.
    pub handed_over: bool,
}

/// Classifies one call. `status` counts only with [`Outcome::Response`].
///
/// Success is a status below 400 that the policy does not list; a listed status is tried again,
/// whatever it is. Of those that are not, two say something about a key (IETF draft "The
/// Idempotency-Key HTTP Header Field", 2.7): 422 that it was used for another request, and 409
/// that the request is still processed, see [`is_in_progress`]. A 403 that asks for another attempt is a limit. An interim status is
/// no answer at all: some platform gave it in place of one.
///
/// The hook's word comes last, and mends no danger: what must not be repeated is not.
pub fn classify(policy: &Policy, outcome: Outcome, status: u32, flags: Flags, beside: Beside) -> Class {
    let class = by_rule(policy, outcome, status, flags, beside);
    let is_final = matches!(class, Class::Fail(Reason::NotRetryable | Reason::KeyConflict));
    match beside.said {
        Some(true) if is_final && flags.contains(Flags::REPLAYABLE) => Class::Retry,
        Some(false) if class == Class::Retry => Class::Fail(Reason::Vetoed),
        _ => class,
    }
}

fn by_rule(policy: &Policy, outcome: Outcome, status: u32, flags: Flags, beside: Beside) -> Class {
    let replayable = flags.contains(Flags::REPLAYABLE);
    match outcome {
        Outcome::Response if !is_interim(status) => response(policy, status, flags, beside),
        Outcome::NetworkError | Outcome::Offline | Outcome::Response
            if replayable && policy.retry_network_errors() =>
        {
            Class::Retry
        }
        Outcome::TimedOut if replayable && policy.retry_timeouts() => Class::Retry,
        // Where a caller waits, its own `fetch` has decided for it.
        Outcome::Aborted if replayable && policy.retry_timeouts() && beside.handed_over => Class::Retry,
        Outcome::NetworkError
        | Outcome::TimedOut
        | Outcome::Offline
        | Outcome::Aborted
        | Outcome::Response
        | Outcome::OwnError => Class::Fail(Reason::NotRetryable),
        // Neither reached the server: nothing to repeat, only something to make up for.
        Outcome::CredentialsFailed | Outcome::Released => Class::Retry,
        Outcome::Vetoed => Class::Fail(Reason::Vetoed),
        Outcome::RedirectRefused => Class::Fail(Reason::NotRetryable),
    }
}

fn response(policy: &Policy, status: u32, flags: Flags, beside: Beside) -> Class {
    let listed = policy.retryable().contains(status);
    let keyed = flags.contains(Flags::KEYED);
    let passes = is_in_progress(status, flags, beside) || (status == 403 && beside.asked);
    match status {
        0..400 if !listed => Class::Success,
        _ if (listed || passes) && flags.contains(Flags::REPLAYABLE) => Class::Retry,
        422 if keyed && !listed => Class::Fail(Reason::KeyConflict),
        _ => Class::Fail(Reason::NotRetryable),
    }
}

/// Whether an answer to a request with a key says that the request is still processed: a 409 after an attempt that may have reached
/// its origin, or one with a `Retry-After`, since platforms and proxies send a request twice by themselves. Any other
/// 409 is the resource's own, which no repeat mends.
pub const fn is_in_progress(status: u32, flags: Flags, beside: Beside) -> bool {
    status == 409 && flags.contains(Flags::KEYED) && (beside.unanswered || beside.asked)
}

/// Whether the origin may still be at work on an attempt that has ended so: it had no answer, or a gateway's in place of its
/// origin's. 520 to 524 are Cloudflare's.
pub const fn leaves_open(outcome: Outcome, status: u32) -> bool {
    match outcome {
        Outcome::Response => matches!(status, 502..=504 | 520..=524) || is_interim(status),
        _ => {
            matches!(outcome, Outcome::NetworkError | Outcome::TimedOut | Outcome::Offline | Outcome::Aborted)
        }
    }
}

/// Whether a status is followed by another, the answer (RFC 9110, 15.2). 101 is an answer: it ends the exchange of HTTP. 0 is that of
/// an answer of which nothing is shown.
pub const fn is_interim(status: u32) -> bool {
    matches!(status, 100 | 102..=199)
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
