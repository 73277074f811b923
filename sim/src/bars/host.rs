//! A host: a real queue, what callers ask of it and what they are told.

use redrive::gates::{Gates, WhenOpen};
use redrive::policy::{Policy, PolicyOptions};
use redrive::queue::{Action, Admission, Ended, Limits, Queue, Verdict};
use redrive::slots::{NONE, index_of};
use redrive::task::{Flags, Outcome};
use redrive::time::Millis;

/// The epoch of a run: anything but 0, where clocks do not begin.
const EPOCH: u64 = 1_800_000_000_000;
/// How long a caller waits for the next attempt to start.
const WAIT_MS: u64 = 30_000;
/// Attempts of the queue at a time, as the package has it.
const CONCURRENCY: u32 = 3;

/// What follows for the host.
#[derive(Clone, Copy, Debug)]
pub enum Step {
    /// Sends the task of this slot, which belongs to this call, once more.
    Send(u32, u32),
    /// This call ends without an answer.
    End(u32),
}

/// One process that calls one server.
#[derive(Debug)]
pub struct Host {
    queue: Queue,
    lane: u32,
    policy: u32,
    /// Nothing has failed yet, so that there is no core to hear of anything.
    asleep: bool,
    /// The call of each task, by the index of its slot.
    calls: Vec<u32>,
    actions: Vec<Action>,
}

const fn instant(at: u64) -> Millis {
    Millis::new(EPOCH + at)
}

fn ended(answered: bool, began: u64, now: u64) -> Ended {
    let status = if answered { 200 } else { 503 };
    Ended { status, duration: Some(Millis::new(now - began)), ..Ended::of(Outcome::Response) }
}

impl Host {
    /// One that has seen nothing yet.
    pub fn new(gates: Gates, policy: &PolicyOptions, seed: u64) -> Host {
        let limits = Limits {
            concurrency: CONCURRENCY,
            per_lane: CONCURRENCY,
            capacity: u32::MAX,
            capacity_bytes: u64::MAX,
            max_lane_hold: Millis::new(60_000),
        };
        let mut queue = Queue::new(limits, seed);
        queue.set_gates(gates);
        queue.set_when_open(WhenOpen::Fail);
        let lane = queue.open_lane();
        let policy = queue.intern(Policy::new(policy).expect("the worlds have sound policies"));
        Host { queue, lane, policy, asleep: true, calls: Vec::new(), actions: Vec::new() }
    }

    /// Whether a caller's own call is sent now; false: it fails at once.
    pub fn sends(&mut self, now: u64) -> bool {
        self.queue.admits(instant(now), self.lane)
    }

    /// A caller's first attempt has ended. Whether its call goes on.
    pub fn first(&mut self, call: u32, answered: bool, began: u64, now: u64) -> bool {
        if answered {
            if !self.asleep {
                self.queue.heard(
                    instant(now),
                    self.lane,
                    self.policy,
                    instant(began),
                    &ended(true, began, now),
                );
            }
            return false;
        }
        self.asleep = false;
        let slot = self.admit(call, began, now, true, instant(began + WAIT_MS));
        matches!(self.queue.settle(instant(now), slot, &ended(false, began, now)), Verdict::Retry { .. })
    }

    /// Takes a call that is enqueued.
    pub fn take(&mut self, call: u32, now: u64) {
        self.asleep = false;
        self.admit(call, now, now, false, Millis::MAX);
        self.queue.visit(instant(now), self.lane);
    }

    fn admit(&mut self, call: u32, made: u64, now: u64, started: bool, wait_until: Millis) -> u32 {
        let admission = Admission {
            lane: self.lane,
            policy: self.policy,
            priority: 0,
            bytes: 0,
            flags: Flags::REPLAYABLE,
            created_at: instant(made),
            expires_at: Millis::MAX,
            wait_until,
            order: NONE,
            started,
            began: Millis::ZERO,
        };
        let slot = self.queue.admit(instant(now), &admission).expect("a queue without a limit");
        let index = index_of(slot) as usize;
        if index >= self.calls.len() {
            self.calls.resize(index + 1, 0);
        }
        self.calls[index] = call;
        slot
    }

    /// A retry has ended. Whether its call goes on.
    pub fn retried(&mut self, slot: u32, answered: bool, began: u64, now: u64) -> bool {
        let verdict = self.queue.settle(instant(now), slot, &ended(answered, began, now));
        matches!(verdict, Verdict::Retry { .. })
    }

    /// Does what there is to do now, and says when to come again, if at all.
    pub fn act(&mut self, now: u64, steps: &mut Vec<Step>) -> Option<u64> {
        loop {
            let wake = self.queue.wake_at();
            if wake > instant(now) {
                return (wake != Millis::MAX).then(|| wake.get() - EPOCH);
            }
            self.queue.poll(instant(now), &mut self.actions);
            if self.actions.is_empty() {
                let wake = self.queue.wake_at();
                return (wake != Millis::MAX).then(|| wake.get().saturating_sub(EPOCH).max(now + 1));
            }
            for action in &self.actions {
                match *action {
                    Action::Start(slot) => steps.push(Step::Send(slot, self.calls[index_of(slot) as usize])),
                    Action::End(slot, _) => steps.push(Step::End(self.calls[index_of(slot) as usize])),
                    Action::LetIn(_) | Action::Circuit(..) | Action::Storm(..) => {}
                }
            }
        }
    }
}
