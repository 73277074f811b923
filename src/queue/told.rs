//! The news that an ended attempt brings its lane: the same of a task in memory, of one under a lease, and of a caller's own that makes no task.
#![forbid(unsafe_code)]

use super::Ended;
use super::lanes::Lane;
use crate::gates::Pace;
use crate::http::classify::is_interim;
use crate::outcome::Outcome;
use crate::policy::Policy;
use crate::time::Millis;

const REFUSED: u32 = 403;
const REQUEST_TIMEOUT: u32 = 408;
pub(super) const TOO_MANY_REQUESTS: u32 = 429;
const UNAVAILABLE: u32 = 503;

/// The news of one ended attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Told {
    /// Whether the server answered as one that works; `None`: nothing was learned about it.
    pub healthy: Option<bool>,
    /// How long the answer asks the whole lane to wait; zero: not at all.
    pub hold: Millis,
    /// The server takes no more, and has said until when.
    pub limited: bool,
    /// How long it took, by the time that it was given.
    pub pace: Pace,
    /// A response arrived, so there is a way to the server.
    answered: bool,
    /// The attempt failed where the host says that it is offline.
    offline: bool,
    duration: Option<Millis>,
}

impl Ended {
    /// This end where the host is `offline`, or is not: if something has shown that there is a network the attempt was lost on it, as
    /// any other.
    pub(super) fn seen(&self, offline: bool) -> Ended {
        let lost = self.outcome == Outcome::Offline && !offline;
        Ended { outcome: if lost { Outcome::NetworkError } else { self.outcome }, ..*self }
    }
}

impl Told {
    /// The news of an attempt under `policy`, as it is [`Ended::seen`]. `offline`: the host says so, and nothing has shown otherwise. `cancelled`: its end was
    /// asked for, so that a lost connection says nothing.
    pub fn of(policy: &Policy, ended: &Ended, offline: bool, cancelled: bool) -> Told {
        let answered = matches!(ended.outcome, Outcome::Response | Outcome::RedirectRefused);
        let healthy = match ended.outcome {
            Outcome::RedirectRefused => Some(true),
            // What had no way in, or no way out, is no word on how the server does; nor is what it has stored.
            Outcome::Response if ended.status == REQUEST_TIMEOUT || is_interim(ended.status) => None,
            Outcome::Response => {
                let listed = policy.retryable().contains(ended.status);
                let healthy = !listed && (ended.said != Some(true) || ended.status < 500);
                (healthy || !ended.replayed).then_some(healthy)
            }
            Outcome::OwnError | Outcome::Aborted => None,
            // A lost connection may be the network's fault, the server's, or cut by hand: it says nothing.
            _ if offline || cancelled => None,
            outcome => (!outcome.is_unsent()).then_some(false),
        };
        // A Retry-After holds the lane only where it speaks for the whole server; a rate limit
        // always does, on a success too. Longer than the policy allows, either is ignored.
        let usable = |delay: &Millis| *delay <= policy.max_retry_after();
        let refused = ended.outcome == Outcome::Response
            && matches!(ended.status, REFUSED | TOO_MANY_REQUESTS | UNAVAILABLE);
        let rate_limit = ended.rate_limit.filter(|_| answered && !ended.partitioned).filter(usable);
        let hold = ended.server_delay.filter(|_| refused).filter(usable).or(rate_limit);
        let hold = hold.unwrap_or(Millis::ZERO);
        Told {
            healthy,
            hold,
            limited: ended.status == TOO_MANY_REQUESTS && hold > Millis::ZERO,
            pace: ended.duration.map_or(Pace::Fair, |took| Pace::of(took, policy.attempt_timeout())),
            answered,
            offline: ended.outcome == Outcome::Offline
                || (offline && matches!(ended.outcome, Outcome::NetworkError | Outcome::TimedOut)),
            duration: ended.duration,
        }
    }

    /// Whether it has shown that there is a way to the server, whatever the host says of its network.
    pub const fn shows_online(&self) -> bool {
        self.answered
    }
}

impl Lane {
    /// Takes note of what says nothing of the server's health: the way to it, and how long a call takes.
    pub fn learn(&mut self, now: Millis, told: &Told) {
        if told.answered {
            self.silence.hear(now);
            (self.probing, self.failed_offline) = (false, false);
            if let Some(duration) = told.duration {
                self.observe(duration);
            }
        }
        if told.offline {
            self.failed_offline = true;
            self.go_dark(now);
        }
    }
}
