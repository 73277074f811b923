//! How an attempt ended, and what that means for its task and its lane.
#![forbid(unsafe_code)]

use super::server_wait::{Wait, give_phase};
use super::task::{Refunds, State, Task};
use super::told::{TOO_MANY_REQUESTS, Told};
use super::{Carry, Ended, Next, NextKind, Queue, Verdict};
use crate::gates::breaker::Heard;
use crate::gates::{Ending, WhenOpen};
use crate::http::classify::{Beside, Class, classify, is_in_progress, leaves_open};
use crate::outcome::{Flags, Outcome, Reason};
use crate::slots::index_of;
use crate::time::Millis;
use crate::wait::backoff;
use crate::wait::patience::{Cause, Patience, after_upload};

/// Most attempts a task is given back, for whatever cause but being offline; later ones count.
pub const MOST_REFUNDS: u8 = 20;
/// Most of them for a 401.
const MOST_UNAUTHORIZED_REFUNDS: u8 = 2;
/// Noted in their place once the one attempt was granted that a caller asks for after a 401 to its own first: the next 401 is final.
const REFRESHED: u8 = MOST_UNAUTHORIZED_REFUNDS + 1;

/// Up to this attempt `Retry-After: 0` means now: past it the curve decides, so that a server that
/// always says so is not asked without a pause.
const LAST_AT_ONCE: u32 = 3;

/// The shortest wait after an attempt that its credentials kept from being made: no server and no gate slows these down.
const LEAST_UNMADE: Millis = Millis::new(100);

/// The end of a caller's wait that chance does not draw into: time enough for one more attempt.
const LAST_ATTEMPT: Millis = Millis::new(1000);
/// With less to choose from, chance does not draw again: one attempt would follow the other ever faster.
const LEAST_ROOM: Millis = Millis::new(500);

/// A task that has failed so often, and fails again while others succeed, keeps failing.
const FAILED_BEFORE: u32 = 1;

impl Queue {
    /// Hears how the attempt of `slot` ended. A leased task's slot is free afterwards, whatever the
    /// verdict: what follows is its store's.
    pub fn settle(&mut self, now: Millis, slot: u32, ended: &Ended) -> Verdict {
        self.next(now, slot, ended).verdict
    }

    /// [`Queue::settle`], with the whole record of what follows.
    pub fn next(&mut self, now: Millis, slot: u32, ended: &Ended) -> Next {
        let now = self.timeline.advance(now);
        let running = |task: &&Task| matches!(task.state, State::InFlight | State::Started);
        let Some(task) = self.tasks.get(slot).filter(running) else {
            return Next::stale();
        };
        let (lane, by_queue, began) = (task.lane.get(), task.state == State::InFlight, task.not_before.get());
        let paid = task.flags.contains(Flags::BUDGET);
        let (leased, attempts) = (task.flags.contains(Flags::LEASED), task.attempts.count());
        let index = index_of(slot);
        if ended.unusable {
            self.unusable_retry_after = self.unusable_retry_after.saturating_add(1);
        }
        let given = ended;
        let ended = &self.see(now, ended);
        let Some(told) = self.learn(index, now, ended) else { return Next::stale() };
        let excused = told.limited || self.is_own_trouble(index);
        self.detach(index);
        let verdict = self.judge(index, now, ended, by_queue);
        let healthy = told.healthy;
        let ending = Ending {
            heard: Heard { began, healthy, by_queue },
            ended: ended.duration.filter(|_| !by_queue).map_or(now, |took| began.plus(took).min(now)),
            succeeded: verdict == Verdict::Succeeded,
            paid,
            unsent: ended.outcome.is_unsent(),
            pace: told.pace,
            first_failure: healthy == Some(false) && self.attempts(slot) == 1,
            excused,
        };
        self.lanes.hear(lane, now, &ending, &mut self.rng);
        if let Some(lane) = self.lanes.at_mut(lane).filter(|_| by_queue && ending.unsent) {
            lane.bucket.give_back(began);
        }
        // Where it ends, its host may know better why.
        let verdict = match (self.reconsider(index, now, verdict), given.reason) {
            (Verdict::Exhausted(_), Some(own)) => Verdict::Exhausted(own),
            (verdict, _) => verdict,
        };
        let mut carry = Carry::default();
        if let (Verdict::Retry { .. } | Verdict::Parked, Some(task)) = (verdict, self.tasks.at(index)) {
            carry = Carry::of(task, now, attempts);
        }
        carry.hold = told.hold;
        if let (Verdict::Retry { delay, wait: Wait { server: Some(_), .. }, .. }, true) = (verdict, leased)
            && let Some(lane) = self.lanes.at_mut(lane)
        {
            lane.told_until = lane.told_until.max(now.plus(delay));
        }
        // One that never left was no attempt.
        let number = if by_queue || given.outcome.has_left() { attempts } else { 0 };
        let mut next = Next::of(verdict, carry, given, number, self.attempts(slot));
        match verdict {
            Verdict::Succeeded | Verdict::Cancelled | Verdict::Exhausted(_) => self.forget(index),
            Verdict::Retry { .. } | Verdict::Parked if leased => self.forget(index),
            Verdict::Parked => self.hold_back(index, State::Parked),
            Verdict::Retry { delay, .. } => self.wait(index, now.plus(delay)),
            Verdict::Stale => {}
        }
        self.lanes.refresh(lane, now);
        next.due_at = match verdict {
            _ if next.kind == NextKind::Parked => None,
            Verdict::Retry { delay, .. } if leased => Some(self.timeline.outward(now.plus(delay))),
            _ => self.due_at(slot),
        };
        next
    }

    /// The gates have heard of the attempt since the verdict: where a caller waits for the task, a wait that they let end too late is
    /// not begun. The breaker may have opened by this very failure.
    fn reconsider(&mut self, index: u32, now: Millis, verdict: Verdict) -> Verdict {
        let (Verdict::Retry { delay, .. }, Some(task)) = (verdict, self.tasks.at(index)) else {
            return verdict;
        };
        let wait_until = task.wait_until.get();
        let Some(lane) = self.lanes.at_mut(task.lane.get()).filter(|_| wait_until != Millis::MAX) else {
            return verdict;
        };
        if self.when_open == WhenOpen::Wait && lane.door.callers == 0 && wait_until >= lane.awaited_until {
            // The last caller leaves: its circuit tries the server out before that, and not after it.
            lane.gates.breaker.hasten(task.leaves(LAST_ATTEMPT).max(now));
        }
        if self.is_turned_away(task) {
            return Verdict::Exhausted(Reason::CircuitOpen);
        }
        let Some(lane) = self.lanes.at_mut(task.lane.get()) else { return verdict };
        let by_others = lane.awaited_until;
        lane.awaited_until = by_others.max(wait_until);
        if lane.shut_until(now).max(now.plus(delay)) > wait_until {
            lane.awaited_until = by_others;
            return Verdict::Exhausted(Reason::WaitExceeded);
        }
        lane.hurry();
        verdict
    }

    /// Tells the lane of the attempt, whatever becomes of the task.
    fn learn(&mut self, index: u32, now: Millis, ended: &Ended) -> Option<Told> {
        let task = self.tasks.at(index)?;
        let (lane, cancelled) = (task.lane.get(), task.flags.contains(Flags::CANCEL_REQUESTED));
        let policy = &self.policies.at(task.policy.get())?.policy;
        let told = Told::of(policy, ended, self.lanes.offline, cancelled);
        self.learn_of(lane, now, &told);
        Some(told)
    }

    /// A lane takes note of an ended attempt, before its gates do.
    pub(super) fn learn_of(&mut self, lane: u32, now: Millis, told: &Told) {
        if told.shows_online() {
            self.overrule_offline(now);
        }
        if let Some(lane) = self.lanes.at_mut(lane) {
            lane.learn(now, told);
        }
        self.lanes.hold(lane, now, told.hold);
    }

    /// Whether a failure of this attempt would be the task's own trouble: it has failed before, and since its first attempt its
    /// server has answered another. Where all callers wait for such tasks alone nothing succeeds, and the server is well.
    fn is_own_trouble(&self, index: u32) -> bool {
        let Some(task) = self.tasks.at(index) else { return false };
        let failed_by = task.first_attempt_at.get();
        let lane = self.lanes.at(task.lane.get());
        task.attempts.count() > FAILED_BEFORE
            && lane.is_some_and(|lane| lane.gates.went_well_since(failed_by))
    }

    /// The verdict on a detached task. `by_queue`: the attempt was one of the queue's own.
    fn judge(&mut self, index: u32, now: Millis, ended: &Ended, by_queue: bool) -> Verdict {
        let Some(task) = self.tasks.at_mut(index) else { return Verdict::Stale };
        let Some(interned) = self.policies.at(task.policy.get()) else { return Verdict::Stale };
        // What was not sent has shown no server the key.
        if ended.outcome.has_left() {
            task.first_attempt_at = task.first_attempt_at.get().min(task.not_before.get()).into();
        }
        task.not_before = now.into();
        task.flags = task.flags.without(Flags::BUDGET);
        let given_back =
            matches!(ended.outcome, Outcome::Offline | Outcome::CredentialsFailed | Outcome::Released);
        // While offline a lane asks seldom, and may for days.
        let refundable = task.refunds.all() < MOST_REFUNDS || ended.outcome == Outcome::Offline;
        // Past the limit of refunds the attempt counts, as one that got no answer.
        let outcome = if given_back && !refundable { Outcome::NetworkError } else { ended.outcome };
        let handed_over = task.wait_until.get() == Millis::MAX;
        let unanswered = task.refunds.unanswered();
        let beside = Beside { unanswered, asked: ended.asked, said: ended.said, handed_over };
        let class = classify(&interned.policy, outcome, ended.status, task.flags, beside);
        task.refunds = task.refunds.with_unanswered(leaves_open(outcome, ended.status));
        if class == Class::Success {
            return Verdict::Succeeded;
        }
        if task.flags.contains(Flags::CANCEL_REQUESTED) {
            return Verdict::Cancelled;
        }
        let refreshed = task.refunds.unauthorized() == REFRESHED && task.flags.contains(Flags::UNAUTHORIZED);
        if refreshed && outcome == Outcome::CredentialsFailed {
            // Its caller has a 401, and there is nothing better to wait for.
            return Verdict::Exhausted(Reason::NotRetryable);
        }
        // An attempt that went out offline may have arrived: only what is safe to repeat is.
        if given_back && refundable && class == Class::Retry {
            return self.give_back(index, now, outcome);
        }
        let unauthorized = outcome == Outcome::Response
            && ended.status == 401
            && ended.said != Some(false)
            && task.flags.contains(Flags::CREDENTIALED);
        let server = ended.server_delay.or(ended.rate_limit).filter(|_| outcome == Outcome::Response);
        // A caller's own 401 that its policy does not list comes here only where its caller asks for fresh credentials.
        if unauthorized && !by_queue && class != Class::Retry {
            return self.refresh(index, now, server);
        }
        if unauthorized && by_queue && refundable && task.refunds.unauthorized() < MOST_UNAUTHORIZED_REFUNDS {
            return self.reauthorize(index, now, server);
        }
        task.flags = task.flags.without(Flags::UNAUTHORIZED);
        if let Class::Fail(reason) = class {
            return Verdict::Exhausted(reason);
        }
        // A failure that the server has stored stays what it is, unless a hook knows better.
        if ended.replayed && outcome == Outcome::Response && ended.said != Some(true) {
            if task.attempts.replayed() {
                return Verdict::Exhausted(Reason::NotRetryable);
            }
            task.attempts = task.attempts.with_replayed(true);
        }
        let answered = outcome == Outcome::Response;
        let cause = match ended.status {
            _ if answered && is_in_progress(ended.status, task.flags, beside) => Some(Cause::InProgress),
            TOO_MANY_REQUESTS if answered && server.is_none() => Some(Cause::Limited),
            _ => None,
        };
        self.try_again(index, now, server, ended, cause)
    }

    /// The attempt did not count: back to where it was, later if credentials were missing.
    fn give_back(&mut self, index: u32, now: Millis, outcome: Outcome) -> Verdict {
        let r32 = self.rng.next_u32();
        let Some(task) = self.tasks.at_mut(index) else { return Verdict::Stale };
        let Some(interned) = self.policies.at(task.policy.get()) else { return Verdict::Stale };
        task.attempts = task.attempts.without_one();
        if outcome != Outcome::Offline {
            task.refunds = task.refunds.with_one();
        }
        let mut wait = Wait::default();
        if outcome == Outcome::CredentialsFailed {
            let draw = backoff::Draw { r32, phase: task.phase, previous: None };
            wait.curve =
                backoff::delay(&interned.policy, u32::from(task.refunds.all()), draw).max(LEAST_UNMADE);
        }
        self.after(index, now, wait, false)
    }

    /// A 401: fresh credentials once, and after the second in a row the user has to log in.
    fn reauthorize(&mut self, index: u32, now: Millis, server: Option<Millis>) -> Verdict {
        let Some(task) = self.tasks.at_mut(index) else { return Verdict::Stale };
        let parked = task.flags.contains(Flags::UNAUTHORIZED);
        task.attempts = task.attempts.without_one();
        task.refunds = task.refunds.with_unauthorized();
        task.flags = task.flags.with(Flags::UNAUTHORIZED);
        let mut wait = Wait::default();
        if let Some(reason) = self.ask_server(index, now, server, &mut wait) {
            return Verdict::Exhausted(reason);
        }
        if parked { Verdict::Parked } else { self.after(index, now, wait, true) }
    }

    /// A 401 to a caller's own first attempt: one more with fresh credentials, at once, which counts.
    fn refresh(&mut self, index: u32, now: Millis, server: Option<Millis>) -> Verdict {
        let Some(task) = self.tasks.at_mut(index) else { return Verdict::Stale };
        let Some(interned) = self.policies.at(task.policy.get()) else { return Verdict::Stale };
        if task.is_spent(&interned.policy) {
            return Verdict::Exhausted(Reason::MaxAttempts);
        }
        task.refunds = Refunds::new(task.refunds.all(), REFRESHED).with_unanswered(task.refunds.unanswered());
        task.flags = task.flags.with(Flags::UNAUTHORIZED);
        let mut wait = Wait::default();
        match self.ask_server(index, now, server, &mut wait) {
            Some(reason) => Verdict::Exhausted(reason),
            None => self.after(index, now, wait, true),
        }
    }

    /// An ordinary failure: the next attempt after the wait of the curve or of its `cause`, or the hook's in their place, or the
    /// server's, whichever is longer.
    fn try_again(
        &mut self,
        index: u32,
        now: Millis,
        server: Option<Millis>,
        ended: &Ended,
        cause: Option<Cause>,
    ) -> Verdict {
        let r32 = self.rng.next_u32();
        let Some(task) = self.tasks.at_mut(index) else { return Verdict::Stale };
        let Some(interned) = self.policies.at(task.policy.get()) else { return Verdict::Stale };
        let policy = &interned.policy;
        let attempts = task.attempts.count();
        let patience = cause.map(Cause::patience);
        // The first counts always: with one attempt, nothing is tried again.
        let given_back = patience
            .is_some_and(|patience| !patience.counts && attempts > 1 && task.refunds.all() < MOST_REFUNDS);
        if given_back {
            task.attempts = task.attempts.without_one();
            task.refunds = task.refunds.with_one();
        } else if task.is_spent(policy) {
            return Verdict::Exhausted(Reason::MaxAttempts);
        }
        give_phase(task, &mut self.lanes, self.phase_start);
        let draw = backoff::Draw { r32, phase: task.phase, previous: Some(task.previous_delay.get()) };
        let curve = backoff::delay(policy, attempts, draw);
        let times =
            |patience: &Patience| if patience.counts { attempts } else { u32::from(task.refunds.all()) };
        let patient = patience.map(|patience| patience.delay(times(&patience), r32).min(policy.patience()));
        let unheard = matches!(ended.outcome, Outcome::NetworkError | Outcome::TimedOut);
        let upload = if unheard { after_upload(task.bytes, attempts) } else { Millis::ZERO };
        let mut curve = curve.max(patient.unwrap_or_default());
        let least = patience.map_or(Millis::ZERO, |patience| patience.least);
        let least = backoff::delay(policy, attempts, backoff::Draw { r32: 0, ..draw }).max(least);
        let room = task.leaves(LAST_ATTEMPT).minus(now).minus(upload);
        // Chance would have it wait for longer than its caller does, where a shorter wait leaves time for an attempt.
        if curve > room && least.plus(LEAST_ROOM) <= room {
            let chance = room.minus(least).get().saturating_mul(u64::from(self.rng.next_u32())) >> 32;
            curve = least.plus(Millis::new(chance));
        }
        let unmade = ended.outcome == Outcome::CredentialsFailed;
        let curve = if unmade { curve.max(LEAST_UNMADE) } else { curve };
        task.previous_delay = curve.into();
        let lane = self.lanes.at(task.lane.get());
        let curve = lane.map_or(curve, |lane| lane.gates.ramp.curb(self.lanes.rules.ramp, curve));
        let curve = curve.plus(upload).min(curve.max(policy.patience()));
        let at_once = server == Some(Millis::ZERO) && attempts <= LAST_AT_ONCE && patience.is_none();
        let curve = ended.delay.unwrap_or(if at_once { Millis::ZERO } else { curve });
        let mut wait = Wait { curve, ..Wait::default() };
        match self.ask_server(index, now, server, &mut wait) {
            Some(reason) => Verdict::Exhausted(reason),
            None => self.after(index, now, wait, false),
        }
    }

    /// Another attempt after `wait`, unless it would come too late: then the task ends before the
    /// wait, not after.
    fn after(&self, index: u32, now: Millis, wait: Wait, authorize: bool) -> Verdict {
        let delay = wait.delay();
        let held = self.tasks.at(index).and_then(|task| self.lanes.at(task.lane.get()));
        let start = now.plus(delay).max(held.map_or(Millis::ZERO, |lane| lane.hold.until));
        match self.refusal(index, start) {
            Some(reason) => Verdict::Exhausted(reason),
            None => Verdict::Retry { delay, wait, authorize },
        }
    }
}
