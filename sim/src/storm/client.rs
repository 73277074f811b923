//! One client: a real queue, and what a host does for it.
//!
//! A call's first attempt is the caller's own and goes out at once, whatever the gates say; or, where its caller waits, when they let it in. If it
//! fails, the call becomes a task: the queue is told how it ended and says what follows. If it succeeds, the queue only hears of it.

use redrive::gates::{Entry, WhenOpen};
use redrive::queue::{Action, Admission, Ended, Limits, Queue, Verdict};
use redrive::slots::{NONE, index_of};
use redrive::task::{Flags, Outcome};
use redrive::time::Millis;

use crate::storm::model::Setup;
use crate::storm::server::Fate;

/// The epoch of a run: anything but 0, where clocks do not begin.
pub const EPOCH: u64 = 1_800_000_000_000;
/// No timer.
pub const NEVER: u64 = u64::MAX;

/// What a client does next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Sends the task of this slot once more.
    Send(u32),
    /// Sends the first attempt of a call that was made at this instant.
    LetIn(u64),
    /// Gives one up whose call was made at this instant.
    Lose(u64),
}

/// One client.
#[derive(Debug)]
pub struct Client {
    queue: Queue,
    lane: u32,
    policy: u32,
    wait_ms: Option<u64>,
    /// When each task's call was made, by the index of its slot.
    made: Vec<u64>,
    actions: Vec<Action>,
    /// When its timer goes off; [`NEVER`]: it has none.
    pub armed: u64,
}

const fn instant(at: u64) -> Millis {
    Millis::new(EPOCH + at)
}

fn ended(fate: Fate, began: u64, now: u64) -> Ended {
    let duration = Some(Millis::new(now - began));
    match fate {
        Fate::Answered => Ended { status: 200, duration, ..Ended::of(Outcome::Response) },
        Fate::Refused => Ended { status: 503, duration, ..Ended::of(Outcome::Response) },
        Fate::TimedOut => Ended { duration, ..Ended::of(Outcome::TimedOut) },
    }
}

impl Client {
    /// A client that has seen nothing fail yet.
    pub fn new(setup: &Setup, seed: u64) -> Client {
        let limits = Limits {
            concurrency: setup.concurrency,
            per_lane: setup.concurrency,
            capacity: u32::MAX,
            capacity_bytes: u64::MAX,
            max_lane_hold: instant(60_000),
        };
        let mut queue = Queue::new(limits, seed);
        queue.set_gates(setup.gates);
        if setup.wait_ms.is_some() {
            queue.set_when_open(WhenOpen::Wait);
        }
        let (lane, policy) = (queue.open_lane(), queue.intern(setup.policy.clone()));
        let (made, actions, wait_ms) = (Vec::new(), Vec::new(), setup.wait_ms);
        Client { queue, lane, policy, wait_ms, made, actions, armed: NEVER }
    }

    /// Whether the first attempt of a call is sent at once; it may wait at the door otherwise, or is turned away.
    pub fn call(&mut self, now: u64) -> Entry {
        if self.wait_ms.is_none() {
            return Entry::Sent;
        }
        let entry = self.queue.call(instant(now), self.lane, self.wait_until(now), false);
        if entry == Entry::Waits {
            let slot = self.queue.stand(instant(now), &self.admission(now)).expect("a queue without a limit");
            self.keep(slot, now);
        }
        entry
    }

    fn wait_until(&self, made: u64) -> Millis {
        self.wait_ms.map_or(Millis::MAX, |wait| instant(made + wait))
    }

    fn keep(&mut self, slot: u32, made: u64) {
        let index = index_of(slot) as usize;
        if index >= self.made.len() {
            self.made.resize(index + 1, 0);
        }
        self.made[index] = made;
    }

    /// A call's first attempt succeeded: no task, but the gates hear of it.
    pub fn succeeded(&mut self, began: u64, now: u64) {
        let ended = ended(Fate::Answered, began, now);
        self.queue.heard(instant(now), self.lane, self.policy, instant(began), &ended);
    }

    fn admission(&self, made: u64) -> Admission {
        Admission {
            lane: self.lane,
            policy: self.policy,
            priority: 0,
            bytes: 0,
            flags: Flags::REPLAYABLE,
            created_at: instant(made),
            expires_at: Millis::MAX,
            wait_until: self.wait_until(made),
            order: NONE,
            started: false,
            began: Millis::ZERO,
        }
    }

    /// The first attempt of a call failed that was made at `made`: it becomes a task. False: it is lost already.
    pub fn failed(&mut self, fate: Fate, (made, began): (u64, u64), now: u64) -> bool {
        let admission = Admission { started: true, began: instant(began), ..self.admission(made) };
        let slot = self.queue.admit(instant(now), &admission).expect("a queue without a limit");
        self.keep(slot, made);
        matches!(self.queue.settle(instant(now), slot, &ended(fate, began, now)), Verdict::Retry { .. })
    }

    /// When the call of a task was made.
    pub fn made(&self, slot: u32) -> u64 {
        self.made[index_of(slot) as usize]
    }

    /// A retry has ended. False: its task has ended without success.
    pub fn retried(&mut self, slot: u32, fate: Fate, began: u64, now: u64) -> bool {
        let verdict = self.queue.settle(instant(now), slot, &ended(fate, began, now));
        matches!(verdict, Verdict::Succeeded | Verdict::Retry { .. })
    }

    /// Does what there is to do now, and says when to come again: [`NEVER`], or an instant after `now`.
    pub fn act(&mut self, now: u64, steps: &mut Vec<Step>) -> u64 {
        loop {
            let wake = self.queue.wake_at();
            if wake > instant(now) {
                return if wake == Millis::MAX { NEVER } else { wake.get() - EPOCH };
            }
            self.queue.poll(instant(now), &mut self.actions);
            for action in &self.actions {
                match *action {
                    Action::Start(slot) => steps.push(Step::Send(slot)),
                    Action::End(slot, _) => steps.push(Step::Lose(self.made[index_of(slot) as usize])),
                    Action::LetIn(slot) => steps.push(Step::LetIn(self.made[index_of(slot) as usize])),
                    Action::Circuit(..) | Action::Storm(..) => {}
                }
            }
            if self.actions.is_empty() {
                // It was woken a little too early, as it may be.
                let wake = self.queue.wake_at();
                return if wake == Millis::MAX {
                    NEVER
                } else {
                    wake.get().saturating_sub(EPOCH).max(now + 1)
                };
            }
        }
    }
}
