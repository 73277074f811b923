//! How an attempt ended, and what that means for its task and its lane.
#![forbid(unsafe_code)]

use super::Queue;
use crate::backoff;
use crate::classify::{Class, classify};
use crate::slots::index_of;
use crate::task::{Flags, Outcome, Reason, State, Task};
use crate::time::Millis;

/// Most attempts a task is given back, for whatever cause.
const MOST_REFUNDS: u8 = 20;
/// Most of them for a 401.
const MOST_UNAUTHORIZED_REFUNDS: u8 = 2;

/// How an attempt ended.
#[derive(Clone, Copy, Debug)]
pub struct Ended {
    /// In which way.
    pub outcome: Outcome,
    /// The response's status; counts only where there is a response.
    pub status: u32,
    /// What the server asked to wait, from now.
    pub server_delay: Option<Millis>,
    /// What the call took, up to the response's headers.
    pub duration: Option<Millis>,
}

/// What becomes of the task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Delivered; the slot is free.
    Succeeded,
    /// Another attempt follows.
    Retry {
        /// In how long, unless its lane is held longer.
        delay: Millis,
        /// Whether fresh credentials are to be asked for.
        authorize: bool,
    },
    /// It was cancelled meanwhile; the slot is free.
    Cancelled,
    /// Its credentials were refused twice: it waits for a resume.
    Parked,
    /// The slot has no attempt in flight. Nothing was changed.
    Stale,
    /// No further attempt; the slot is free.
    Exhausted(Reason),
}

impl Queue {
    /// Hears how the attempt of `slot` ended.
    pub fn settle(&mut self, now: Millis, slot: u32, ended: &Ended) -> Verdict {
        let now = self.timeline.advance(now);
        let running = |task: &&Task| matches!(task.state, State::InFlight | State::Started);
        let Some(task) = self.tasks.get(slot).filter(running) else { return Verdict::Stale };
        let (lane, by_queue) = (task.lane, task.state == State::InFlight);
        let index = index_of(slot);
        self.learn(index, now, ended);
        self.detach(index);
        let verdict = self.judge(index, now, ended, by_queue);
        match verdict {
            Verdict::Succeeded | Verdict::Cancelled | Verdict::Exhausted(_) => self.forget(index),
            Verdict::Parked => {
                self.deadlines.push(index, self.last_start(index));
                self.enter(index, State::Parked);
            }
            Verdict::Retry { delay, .. } => self.wait(index, now.plus(delay)),
            Verdict::Stale => {}
        }
        self.lanes.refresh(lane, now);
        verdict
    }

    /// What the lane learns, whatever becomes of the task.
    fn learn(&mut self, index: u32, now: Millis, ended: &Ended) {
        let Some(task) = self.tasks.at(index) else { return };
        let Some(interned) = self.policies.at(task.policy) else { return };
        let Some(lane) = self.lanes.at_mut(task.lane) else { return };
        match ended.outcome {
            Outcome::Response | Outcome::RedirectRefused => {
                lane.probing = false;
                if let Some(duration) = ended.duration {
                    lane.observe(duration);
                }
            }
            Outcome::Offline => lane.failed_offline = true,
            Outcome::NetworkError | Outcome::TimedOut if self.offline => lane.failed_offline = true,
            _ => {}
        }
        let refused = ended.outcome == Outcome::Response && matches!(ended.status, 429 | 503);
        if let Some(delay) = ended.server_delay.filter(|_| refused)
            && delay <= interned.policy.max_server_delay()
        {
            lane.held_until = lane.held_until.max(now.plus(delay));
        }
        let class = classify(&interned.policy, ended.outcome, ended.status, task.flags);
        lane.breaker.record(now, class == Class::Success);
        if class == Class::Success {
            lane.budget.replenish(now);
        }
    }

    /// The verdict on a detached task. `by_queue`: the attempt was one of the queue's own.
    fn judge(&mut self, index: u32, now: Millis, ended: &Ended, by_queue: bool) -> Verdict {
        let Some(task) = self.tasks.at_mut(index) else { return Verdict::Stale };
        let Some(interned) = self.policies.at(task.policy) else { return Verdict::Stale };
        let given_back =
            matches!(ended.outcome, Outcome::Offline | Outcome::CredentialsFailed | Outcome::Released);
        let refundable = task.refunds < MOST_REFUNDS;
        // Past the limit of refunds the attempt counts, as one that got no answer.
        let outcome = if given_back && !refundable { Outcome::NetworkError } else { ended.outcome };
        let class = classify(&interned.policy, outcome, ended.status, task.flags);
        if class == Class::Success {
            return Verdict::Succeeded;
        }
        if task.cancel_requested {
            return Verdict::Cancelled;
        }
        // An attempt that went out offline may have arrived: only what is safe to repeat is.
        if given_back && refundable && class == Class::Retry {
            return self.give_back(index, now, outcome);
        }
        let unauthorized = by_queue
            && outcome == Outcome::Response
            && ended.status == 401
            && task.flags.contains(Flags::CREDENTIALED);
        if unauthorized && refundable && task.unauthorized_refunds < MOST_UNAUTHORIZED_REFUNDS {
            return self.reauthorize(index, now);
        }
        task.unauthorized = false;
        match class {
            Class::Fail(reason) => Verdict::Exhausted(reason),
            Class::Success | Class::Retry => {
                let server_delay = ended.server_delay.filter(|_| outcome == Outcome::Response);
                self.try_again(index, now, server_delay)
            }
        }
    }

    /// The attempt did not count: back to where it was, later if credentials were missing.
    fn give_back(&mut self, index: u32, now: Millis, outcome: Outcome) -> Verdict {
        let r32 = self.rng.next_u32();
        let Some(task) = self.tasks.at_mut(index) else { return Verdict::Stale };
        let Some(interned) = self.policies.at(task.policy) else { return Verdict::Stale };
        task.attempts = task.attempts.saturating_sub(1);
        task.refunds = task.refunds.saturating_add(1);
        task.not_before = now;
        let mut wait = Millis::ZERO;
        if outcome == Outcome::CredentialsFailed {
            wait = backoff::delay(&interned.policy, u32::from(task.refunds), r32, None);
            // Nothing was sent, so no server has seen the key.
            if task.attempts == 0 {
                task.first_attempt_at = Millis::MAX;
            }
        }
        self.after(index, now, wait, false)
    }

    /// A 401: fresh credentials once, and after the second in a row somebody has to log in.
    fn reauthorize(&mut self, index: u32, now: Millis) -> Verdict {
        let Some(task) = self.tasks.at_mut(index) else { return Verdict::Stale };
        task.attempts = task.attempts.saturating_sub(1);
        task.refunds = task.refunds.saturating_add(1);
        task.unauthorized_refunds = task.unauthorized_refunds.saturating_add(1);
        task.not_before = now;
        if task.unauthorized {
            return Verdict::Parked;
        }
        task.unauthorized = true;
        self.after(index, now, Millis::ZERO, true)
    }

    /// An ordinary failure: the next attempt after the curve's wait or the server's, whichever
    /// is longer.
    fn try_again(&mut self, index: u32, now: Millis, server_delay: Option<Millis>) -> Verdict {
        let r32 = self.rng.next_u32();
        let Some(task) = self.tasks.at_mut(index) else { return Verdict::Stale };
        let Some(interned) = self.policies.at(task.policy) else { return Verdict::Stale };
        let policy = &interned.policy;
        if task.attempts >= policy.max_attempts() {
            return Verdict::Exhausted(Reason::MaxAttempts);
        }
        if !task.has_phase
            && let Some(lane) = self.lanes.at_mut(task.lane)
        {
            task.phase = lane.next_phase(self.phase_start);
            task.has_phase = true;
        }
        let curve = backoff::delay(policy, u32::from(task.attempts), r32, Some(task.previous_delay));
        task.previous_delay = curve;
        let mut wait = curve;
        task.not_before = now;
        if let Some(server) = server_delay {
            if server > policy.max_server_delay() {
                return Verdict::Exhausted(Reason::RetryAfterTooLong);
            }
            let spread = spread(server, task.phase);
            wait = curve.max(server).plus(spread);
            task.not_before = now.plus(server).plus(spread);
        }
        self.after(index, now, wait, false)
    }

    /// Another attempt in `wait`, unless it would come too late: then the task ends before the
    /// wait, not after.
    fn after(&self, index: u32, now: Millis, wait: Millis, authorize: bool) -> Verdict {
        let held = self.tasks.at(index).and_then(|task| self.lanes.at(task.lane));
        let start = now.plus(wait).max(held.map_or(Millis::ZERO, |lane| lane.held_until));
        match self.refusal(index, start) {
            Some(reason) => Verdict::Exhausted(reason),
            None => Verdict::Retry { delay: wait, authorize },
        }
    }
}

/// What a task waits beyond the server's delay, so that those told the same do not come back
/// together: a tenth of it, at least 1 s and at most 5 s, times the task's phase.
fn spread(server: Millis, phase: u32) -> Millis {
    let window = (server.get() / 10).clamp(1000, 5000);
    Millis::new(window.saturating_mul(u64::from(phase)) >> 32)
}
