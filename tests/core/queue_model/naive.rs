//! The queue as a plain list of tasks, searched from end to end for every answer.
//!
//! It decides everything but which of several equally urgent lanes comes next, and which of those
//! at their last instant ends first: there it only checks that the queue's choice is allowed.

use super::lane::Lane;
use redrive::backoff::{self, Draw};
use redrive::classify::{Beside, Class, classify};
use redrive::policy::Policy;
use redrive::queue::{Action, Carry, Ended, Limits, Verdict, Wait};
use redrive::rng::SplitMix64;
use redrive::task::{Flags, Outcome, Reason};
use redrive::time::Millis;

/// The shortest wait after an attempt that its credentials kept from being made.
const LEAST_UNMADE: Millis = Millis::new(100);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    Waiting,
    Behind,
    Ready,
    Parked,
    InFlight,
    Started,
}

#[derive(Clone, Debug)]
pub struct Task {
    pub slot: u32,
    pub lane: usize,
    pub policy: usize,
    pub order: Option<usize>,
    pub priority: i32,
    pub bytes: u64,
    pub flags: Flags,
    pub created_at: u64,
    /// When the attempt that runs, or ran last, began.
    pub started_at: u64,
    pub first_attempt_at: Option<u64>,
    pub expires_at: u64,
    pub wait_until: u64,
    pub due: u64,
    pub not_before: u64,
    pub attempts: u32,
    pub refunds: u32,
    pub refunds_401: u32,
    pub unanswered: bool,
    pub replayed: bool,
    pub last_was_401: bool,
    pub phase: Option<u32>,
    pub previous: u64,
    pub cancelled: bool,
    /// A store's, and here for one attempt.
    pub leased: bool,
    pub state: State,
    /// When it came into its present state, among all changes of state.
    pub changed: u64,
}

pub struct Naive {
    pub limits: Limits,
    pub policies: Vec<Policy>,
    pub lanes: Vec<Lane>,
    /// Handles of the orders.
    pub orders: Vec<u32>,
    /// In the order of admission.
    pub tasks: Vec<Task>,
    pub rng: SplitMix64,
    pub phase_start: u32,
    pub paused: bool,
    pub offline: bool,
    /// A response has shown otherwise since the host said so.
    pub overruled: bool,
    pub changes: u64,
    pub polled_at: u64,
    pub admitted: u32,
    pub ended: u32,
    pub unusable: u32,
}

const fn is_awaited(task: &Task) -> bool {
    task.wait_until < 1 << 53
}

impl Naive {
    pub fn change(&mut self, at: usize, state: State) {
        if state == State::InFlight {
            self.lanes[self.tasks[at].lane].owes_chance = false;
        }
        self.changes += 1;
        self.tasks[at].state = state;
        self.tasks[at].changed = self.changes;
    }

    pub fn find(&self, slot: u32) -> Option<usize> {
        self.tasks.iter().position(|task| task.slot == slot)
    }

    /// How many of its order were admitted before it and have not ended.
    pub fn ahead(&self, at: usize) -> usize {
        let order = self.tasks[at].order;
        self.tasks[..at].iter().filter(|task| order.is_some() && task.order == order).count()
    }

    /// Ends a task; whoever has nobody of its order before it any more waits for its time.
    pub fn end(&mut self, at: usize, now: u64) {
        self.tasks.remove(at);
        self.ended += 1;
        for at in 0..self.tasks.len() {
            if self.tasks[at].state == State::Behind && self.ahead(at) == 0 {
                self.tasks[at].due = now.max(self.tasks[at].not_before);
                self.change(at, State::Waiting);
            }
        }
    }

    pub fn in_flight(&self, lane: Option<usize>) -> u32 {
        let here = |task: &&Task| lane.is_none_or(|lane| lane == task.lane);
        self.tasks.iter().filter(here).filter(|task| task.state == State::InFlight).count() as u32
    }

    /// What counts against the capacity: leased tasks are their store's.
    pub fn held(&self) -> impl Iterator<Item = &Task> {
        self.tasks.iter().filter(|task| !task.leased)
    }

    pub fn bytes(&self) -> u64 {
        self.held().map(|task| task.bytes).sum()
    }

    pub fn is_full_for(&self, bytes: u64) -> bool {
        let full = self.held().count() >= self.limits.capacity as usize;
        full || self.bytes() + bytes > self.limits.capacity_bytes
    }

    fn last_starts(&self, task: &Task) -> Vec<(u64, Reason)> {
        let policy = &self.policies[task.policy];
        let estimate = policy.estimated_call().unwrap().get();
        let mut all = vec![
            ((task.created_at + policy.total_budget().get()).saturating_sub(estimate), Reason::TotalBudget),
            (task.expires_at, Reason::Expired),
        ];
        if let Some(first) = task.first_attempt_at.filter(|_| task.flags.contains(Flags::KEYED)) {
            all.push((first + policy.key_ttl().get(), Reason::KeyExpired));
        }
        all.push((task.wait_until, Reason::WaitExceeded));
        all
    }

    pub fn last_start(&self, task: &Task) -> u64 {
        self.last_starts(task).into_iter().map(|(at, _)| at).min().unwrap()
    }

    /// With less than 100 ms left, or an eighth of the wait, nothing is sent for a caller.
    fn refusal(&self, task: &Task, start: u64) -> Option<Reason> {
        let least = if is_awaited(task) { ((task.wait_until - task.created_at) / 8).min(100) } else { 0 };
        let mut all = self.last_starts(task);
        all.last_mut().unwrap().0 -= least;
        all.into_iter().find(|(at, _)| start > *at).map(|(_, reason)| reason)
    }

    /// As given, or 12 in 30 s.
    fn most_attempts(&self, task: &Task) -> u32 {
        let policy = &self.policies[task.policy];
        if is_awaited(task) {
            policy.attempts_within(Millis::new(task.wait_until - task.created_at))
        } else {
            policy.max_attempts()
        }
    }

    /// The first of a lane's ready tasks.
    pub fn head(&self, lane: usize) -> Option<&Task> {
        let ready = self.tasks.iter().filter(|task| task.lane == lane && task.state == State::Ready);
        ready.min_by_key(|task| (-i64::from(task.priority), task.changed))
    }

    /// The tasks of which one may start now: the heads of the lanes that may start something, as
    /// far as no other is more urgent.
    pub fn candidates(&self, now: u64) -> Vec<&Task> {
        if self.vacancies() == 0 {
            return Vec::new();
        }
        let lanes = (0..self.lanes.len()).filter(|&lane| self.room(lane, now) > 0);
        let heads: Vec<&Task> = lanes.filter_map(|lane| self.head(lane)).collect();
        let most = heads.iter().map(|task| task.priority).max();
        heads.into_iter().filter(|task| Some(task.priority) == most).collect()
    }

    /// What is due leaves the agenda, in the order of time, then of arrival.
    pub fn make_ready(&mut self, now: u64) {
        self.polled_at = now;
        loop {
            let waiting = self.tasks.iter().enumerate();
            let due = waiting.filter(|(_, task)| task.state == State::Waiting && task.due <= now);
            let Some((at, _)) = due.min_by_key(|(_, task)| (task.due, task.changed)) else { return };
            self.change(at, State::Ready);
        }
    }

    /// Tasks that must not start any more, or may for the last time.
    pub fn at_deadline(&self, now: u64, last_chance: bool) -> usize {
        let waits = |task: &&Task| matches!(task.state, State::Behind | State::Ready | State::Parked);
        let late = |task: &&Task| {
            let last = self.last_start(task);
            last < now || (last_chance && last == now)
        };
        self.tasks.iter().filter(waits).filter(late).count()
    }

    /// Follows one action of the queue, which must be one that is allowed here.
    pub fn follow(&mut self, now: u64, action: Action) {
        match action {
            Action::Start(slot) => {
                // Whose turn came because another of its order has just ended.
                self.make_ready(now);
                assert_eq!(
                    self.at_deadline(now, false),
                    0,
                    "S8: what is too late ends before anything starts"
                );
                let allowed: Vec<u32> = self.candidates(now).iter().map(|task| task.slot).collect();
                assert!(allowed.contains(&slot), "S7: {slot} started, allowed are {allowed:?}");
                let at = self.find(slot).unwrap();
                assert_eq!(self.ahead(at), 0, "S19: others of its order come first");
                let task = &mut self.tasks[at];
                assert!(now >= task.due && now >= task.not_before, "S9: started early: {task:?}");
                task.attempts += 1;
                task.started_at = now;
                let attempts = task.attempts;
                let most = self.most_attempts(&self.tasks[at]);
                let task = &self.tasks[at];
                assert!(attempts <= most, "S8: one attempt too many: {task:?}");
                self.change(at, State::InFlight);
            }
            Action::End(slot, reason) => {
                let at = self.find(slot).expect("only a task that is there can end");
                if self.tasks[at].state == State::Waiting {
                    // Its turn came because another ended, and its own last instant is this too.
                    self.make_ready(now);
                }
                let task = self.tasks[at].clone();
                let waits = [State::Behind, State::Ready, State::Parked].contains(&task.state);
                assert!(waits, "S1: ended {task:?}");
                let (refused, after) = (self.refusal(&task, now), self.refusal(&task, now + 1));
                assert!(refused.is_some() || self.candidates(now).is_empty(), "its last chance was not used");
                assert!(
                    [refused, after].contains(&Some(reason)),
                    "{reason:?}, {refused:?}, {after:?}: {task:?}"
                );
                self.end(at, now);
            }
            Action::LetIn(_) | Action::Circuit(..) | Action::Storm(..) => {
                panic!("no gates were set: {action:?}")
            }
        }
    }

    pub fn set_online(&mut self, now: u64, online: bool) {
        self.overruled = false;
        let was_offline = std::mem::replace(&mut self.offline, !online);
        for lane in &mut self.lanes {
            if online {
                lane.dark_until = 0;
                lane.probing |= std::mem::take(&mut lane.failed_offline);
            } else if !was_offline {
                lane.go_dark(now);
            }
        }
    }

    pub fn settle(&mut self, now: u64, slot: u32, ended: &Ended) -> (Verdict, Carry) {
        let running = |task: &Task| matches!(task.state, State::InFlight | State::Started);
        let Some(at) = self.find(slot).filter(|&at| running(&self.tasks[at])) else {
            return (Verdict::Stale, Carry::default());
        };
        let attempts = self.tasks[at].attempts;
        self.unusable += u32::from(ended.unusable);
        // A host may say that it is offline with an attempt alone; once a response has shown otherwise, that is lost as any other.
        let mut ended = *ended;
        if ended.outcome == Outcome::Offline && self.overruled {
            ended.outcome = Outcome::NetworkError;
        } else if ended.outcome == Outcome::Offline {
            self.set_online(now, false);
        }
        let ended = &ended;
        let hold = Millis::new(self.learn(at, now, ended));
        let verdict = self.judge(at, now, ended);
        let goes_on = matches!(verdict, Verdict::Retry { .. } | Verdict::Parked);
        let Task { lane, wait_until, .. } = self.tasks[at];
        if matches!(verdict, Verdict::Retry { .. }) && is_awaited(&self.tasks[at]) {
            self.lanes[lane].await_until(wait_until);
        }
        let carry = if goes_on { self.tasks[at].carry(now, attempts) } else { Carry::default() };
        let carry = Carry { hold, ..carry };
        match verdict {
            _ if self.tasks[at].leased => self.end(at, now),
            Verdict::Retry { delay, .. } => {
                self.tasks[at].due = now + delay.get();
                self.change(at, State::Waiting);
            }
            Verdict::Parked => self.change(at, State::Parked),
            _ => self.end(at, now),
        }
        (verdict, carry)
    }

    fn learn(&mut self, at: usize, now: u64, ended: &Ended) -> u64 {
        let answered = matches!(ended.outcome, Outcome::Response | Outcome::RedirectRefused);
        if answered && std::mem::take(&mut self.offline) {
            self.overruled = true;
            self.lanes.iter_mut().for_each(|lane| lane.dark_until = 0);
        }
        let lost = matches!(ended.outcome, Outcome::NetworkError | Outcome::TimedOut | Outcome::Offline);
        let lane = &mut self.lanes[self.tasks[at].lane];
        if answered {
            (lane.probing, lane.failed_offline) = (false, false);
        } else if lost && self.offline {
            lane.failed_offline = true;
            lane.go_dark(now);
        }
        let most = self.policies[self.tasks[at].policy].max_retry_after();
        let allowed = |delay: Option<Millis>| delay.filter(|&delay| delay <= most).map_or(0, Millis::get);
        let mut hold = 0;
        if matches!(ended.outcome, Outcome::Response | Outcome::RedirectRefused) {
            hold = if ended.partitioned { 0 } else { allowed(ended.rate_limit) };
        }
        if ended.outcome == Outcome::Response && [403, 429, 503].contains(&ended.status) {
            let asked = ended.server_delay.filter(|&delay| delay <= most);
            hold = asked.map_or(hold, Millis::get);
        }
        lane.hold(now, hold, self.limits.max_lane_hold.get());
        hold
    }

    fn judge(&mut self, at: usize, now: u64, ended: &Ended) -> Verdict {
        let policy = self.policies[self.tasks[at].policy].clone();
        let most = self.most_attempts(&self.tasks[at]);
        let task = &mut self.tasks[at];
        let by_queue = task.state == State::InFlight;
        let unsent = [Outcome::CredentialsFailed, Outcome::Released].contains(&ended.outcome);
        if !unsent {
            task.first_attempt_at.get_or_insert(task.started_at);
        }
        let offline = ended.outcome == Outcome::Offline;
        let mut outcome = ended.outcome;
        if unsent && task.refunds >= 20 {
            outcome = Outcome::NetworkError;
        }
        let (unanswered, asked) = (task.unanswered, ended.asked);
        let beside = Beside { unanswered, asked, said: ended.said, handed_over: !is_awaited(task) };
        let class = classify(&policy, outcome, ended.status, task.flags, beside);
        let lost = [Outcome::NetworkError, Outcome::TimedOut, Outcome::Offline, Outcome::Aborted];
        let answered = outcome == Outcome::Response;
        let by_gateway = [102, 502, 503, 504].contains(&ended.status);
        task.unanswered |= lost.contains(&outcome) || (answered && by_gateway);
        if class == Class::Success {
            return Verdict::Succeeded;
        }
        if task.cancelled {
            return Verdict::Cancelled;
        }
        task.not_before = now;
        // its caller asked for fresh credentials, and there are none: it has its 401
        if task.refunds_401 == 3 && task.last_was_401 && outcome == Outcome::CredentialsFailed {
            return Verdict::Exhausted(Reason::NotRetryable);
        }
        if (offline || (unsent && task.refunds < 20)) && class == Class::Retry {
            let draw = self.rng.next_u32();
            task.attempts -= 1;
            task.refunds += u32::from(!offline);
            let mut curve = Millis::ZERO;
            if outcome == Outcome::CredentialsFailed {
                let draw = Draw { r32: draw, phase: task.phase.unwrap_or(0), previous: None };
                curve = backoff::delay(&policy, task.refunds, draw).max(LEAST_UNMADE);
            }
            return self.after(at, now, curve, None, false);
        }
        let server = if ended.server_delay.is_some() { ended.server_delay } else { ended.rate_limit };
        let server = if outcome == Outcome::Response { server } else { None };
        let too_long = server.is_some_and(|server| server > policy.max_retry_after());
        let asked = outcome == Outcome::Response && ended.status == 401 && ended.said != Some(false);
        let asked = asked && task.flags.contains(Flags::CREDENTIALED);
        if asked && !by_queue && class != Class::Retry {
            if task.attempts >= most {
                return Verdict::Exhausted(Reason::MaxAttempts);
            }
            task.refunds_401 = 3;
            task.last_was_401 = true;
            if too_long {
                return Verdict::Exhausted(Reason::RetryAfterTooLong);
            }
            return self.after(at, now, Millis::ZERO, server, true);
        }
        if asked && by_queue && task.refunds_401 < 2 && task.refunds < 20 {
            task.attempts -= 1;
            task.refunds += 1;
            task.refunds_401 += 1;
            let again = std::mem::replace(&mut task.last_was_401, true);
            if too_long {
                return Verdict::Exhausted(Reason::RetryAfterTooLong);
            }
            let verdict = self.after(at, now, Millis::ZERO, server, true);
            return if again { Verdict::Parked } else { verdict };
        }
        task.last_was_401 = false;
        if let Class::Fail(reason) = class {
            return Verdict::Exhausted(reason);
        }
        if answered
            && ended.replayed
            && ended.said != Some(true)
            && std::mem::replace(&mut task.replayed, true)
        {
            return Verdict::Exhausted(Reason::NotRetryable);
        }
        let draw = self.rng.next_u32();
        let keyed = task.flags.contains(Flags::KEYED);
        let processed = answered && ended.status == 409 && keyed && (unanswered || ended.asked);
        let attempts = task.attempts;
        if processed && attempts > 1 && task.refunds < 20 {
            task.attempts -= 1;
            task.refunds += 1;
        } else if attempts >= most {
            return Verdict::Exhausted(Reason::MaxAttempts);
        }
        let patience = match ended.status {
            _ if processed => Some((task.refunds, 10_000)),
            429 if answered && server.is_none() => Some((attempts, 30_000)),
            _ => None,
        };
        let phase = self.phase(at);
        let task = &mut self.tasks[at];
        let u = f64::from(draw) / 4_294_967_296.0;
        let draw = Draw { r32: draw, phase, previous: Some(Millis::new(task.previous)) };
        let mut curve = backoff::delay(&policy, attempts, draw);
        if let Some((times, most)) = patience {
            let step = 1000.0 * f64::from(times.clamp(1, 20) - 1).exp2();
            curve = curve
                .max(Millis::new((step * (1.0 + u)) as u64).min(Millis::new(most)).min(policy.patience()));
        }
        assert!(curve <= policy.patience(), "S10: {curve:?}");
        // What chance draws past the end of its caller's wait, but for a second or an eighth of it, it draws again from what is left.
        let least = backoff::delay(&policy, attempts, Draw { r32: 0, ..draw })
            .get()
            .max(patience.map_or(0, |_| 1000));
        let last = ((task.wait_until - task.created_at) / 8).min(1000);
        let room = task.wait_until.saturating_sub(now).saturating_sub(last);
        if curve.get() > room && least + 500 <= room {
            let u = f64::from(self.rng.next_u32()) / 4_294_967_296.0;
            curve = Millis::new(least + ((room - least) as f64 * u) as u64);
        }
        if ended.outcome == Outcome::CredentialsFailed {
            curve = curve.max(LEAST_UNMADE);
        }
        task.previous = curve.get();
        let now_asked = server == Some(Millis::ZERO) && attempts <= 3 && patience.is_none();
        let curve = ended.delay.unwrap_or(if now_asked { Millis::ZERO } else { curve });
        if too_long {
            return Verdict::Exhausted(Reason::RetryAfterTooLong);
        }
        self.after(at, now, curve, server, false)
    }

    /// A task's place on the golden staircase of its lane.
    fn phase(&mut self, at: usize) -> u32 {
        let task = &mut self.tasks[at];
        let lane = &mut self.lanes[task.lane];
        *task.phase.get_or_insert_with(|| {
            lane.first_failures += 1;
            self.phase_start.wrapping_add((lane.first_failures - 1).wrapping_mul(0x9E37_79B9))
        })
    }

    /// The next attempt after the longer of the curve's wait and the server's, plus a spread that
    /// only the server's has, unless that is too late.
    fn after(
        &mut self,
        at: usize,
        now: u64,
        curve: Millis,
        server: Option<Millis>,
        authorize: bool,
    ) -> Verdict {
        let mut wait = Wait { curve, server, spread: Millis::ZERO };
        let mut delay = curve.get();
        if let Some(server) = server.map(Millis::get) {
            let most = if server == 0 { 0 } else { 5000.min(1000.max(server / 10)) };
            let spread = (u64::from(self.phase(at)) * most) >> 32;
            wait.spread = Millis::new(spread);
            delay = delay.max(server) + spread;
            self.tasks[at].not_before = now + server + spread;
        }
        let task = &self.tasks[at];
        let start = (now + delay).max(self.lanes[task.lane].held_until);
        match self.refusal(task, start) {
            Some(reason) => Verdict::Exhausted(reason),
            None => Verdict::Retry { delay: Millis::new(delay), wait, authorize },
        }
    }
}
