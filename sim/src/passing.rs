//! What the gates of a world hear, and what they make of it: in calls, and on the books.

use redrive::breaker::Circuit;
use redrive::outcome::Outcome;
use redrive::queue::{Ended, Verdict};
use redrive::time::Millis;

use crate::book::{Place, Task};
use crate::driver::Driver;
use crate::ensure;
use crate::event::{Answer, Said};
use crate::gates::LaneGates;
use crate::line::{NEVER, sum};
use crate::port::Core;
use crate::range::range;
use crate::tape;
use crate::verdicts::{asked_by, is_interim, learn};
use crate::violation::Violation;

/// How a caller's own attempt ends, outcome, status and wait: with a success, another healthy answer, a failure, by a mistake of its own,
/// or with a limit.
const HEARD: [(Outcome, u16, Option<u64>); 5] = [
    (Outcome::Response, 200, None),
    (Outcome::Response, 404, None),
    (Outcome::NetworkError, 0, None),
    (Outcome::OwnError, 0, None),
    (Outcome::Response, 429, Some(1000)),
];

/// An attempt that is about to end.
pub(crate) struct Ends {
    lane: usize,
    began: u64,
    by_queue: bool,
    paid: bool,
    cancelled: bool,
    policy: usize,
    /// When its task had failed before, at the latest; none: it had not.
    failed_by: Option<u64>,
}

impl<C: Core> Driver<C> {
    pub(crate) fn gates_of(&mut self, handle: u32) -> Result<&mut LaneGates, Violation> {
        let lane = self.book.lanes.iter_mut().find(|lane| lane.handle == handle);
        lane.map(|lane| &mut lane.gates)
            .ok_or_else(|| Violation { id: "S5", what: format!("news of lane {handle}, which is gone") })
    }

    fn circuit(&mut self, lane: usize) -> Circuit {
        self.core.circuit(self.book.lanes[lane].handle, Millis::new(self.wall))
    }

    /// Openings end.
    pub(crate) fn look(&mut self) -> Result<(), Violation> {
        for lane in 0..self.book.lanes.len() {
            if self.book.lanes[lane].gates.rules.breaker.is_some() {
                let said = self.circuit(lane);
                self.book.lanes[lane].gates.look(self.book.line.now, said)?;
            }
        }
        Ok(())
    }

    pub(crate) fn hear(&mut self, lane: u8, ago: u64, kind: u8) -> Result<(), Violation> {
        let now = self.now();
        self.look()?;
        let lane = usize::from(lane) % self.book.lanes.len();
        let handle = self.book.lanes[lane].handle;
        let began = Millis::new(self.wall.saturating_sub(ago));
        // now and then it took its time
        let took = ago % 2 * 9;
        let (outcome, status, server) = HEARD[usize::from(kind) % HEARD.len()];
        let policy = self.handles[0];
        let (duration, server_delay) = (Some(Millis::new(took)), server.map(Millis::new));
        let ended = Ended { status: u32::from(status), duration, server_delay, ..Ended::of(outcome) };
        self.core.heard(now, handle, policy, began, &ended);
        let numbers = [
            tape::instant(now),
            f64::from(handle),
            f64::from(policy),
            tape::instant(began),
            f64::from(outcome.code()),
            f64::from(status),
            tape::optional(server),
            took as f64,
            // no rate limit, and so of no partition; no hook; and not of the wait alone
            f64::NAN,
            0.0,
            0.0,
            0.0,
        ];
        self.tape.call("heard", &numbers, &[]);
        let answer = Answer {
            outcome: outcome.code() as u8,
            status,
            server,
            limit: None,
            unusable: false,
            took: Some(took),
            said: Said::default(),
        };
        let limited = asked_by(&self.book.promises[0], &answer).is_some_and(|ms| ms > 0);
        if answer.answered() {
            self.book.overrule();
        }
        learn(&mut self.book, lane, 0, &answer);
        let healthy = match outcome {
            Outcome::Response => Some(!self.book.promises[0].lists(status)),
            Outcome::OwnError => None,
            _ => Some(false).filter(|_| !self.book.offline),
        };
        let began = self.book.line.inward(began.get());
        let said = self.circuit(lane);
        let gates = &mut self.book.lanes[lane].gates;
        gates.earn(false, healthy == Some(true) && status < 400);
        let now = self.book.line.now;
        let heard = gates.count((began + took).min(now), healthy, None, limited);
        gates.hear(now, (began, false), heard, said)
    }

    pub(crate) fn ask(&mut self, lane: u8) -> Result<(), Violation> {
        let now = self.now();
        self.look()?;
        let lane = usize::from(lane) % self.book.lanes.len();
        let handle = self.book.lanes[lane].handle;
        let admitted = self.core.admits(now, handle);
        self.tape.call("admits", &[tape::instant(now), f64::from(handle)], &[f64::from(u8::from(admitted))]);
        let (said, at) = (self.circuit(lane), self.book.line.now);
        let gates = &mut self.book.lanes[lane].gates;
        // What a store leased in this very millisecond is no probe.
        let gave_way = gates.circuit == Circuit::Open;
        gates.give_way(at, said)?;
        let probes = |task: &Task| {
            task.lane == lane && task.place == Place::InFlight && task.started >= gates.maybe_since()
        };
        let runs = self.book.tasks.iter().any(probes);
        // And so it is none later either: from now on the books cannot tell it from one.
        gates.mixed |= gave_way && gates.circuit == Circuit::HalfOpen && runs;
        if admitted {
            gates.let_through(at, runs && !gave_way)?;
        }
        ensure!(
            admitted || gates.circuit != Circuit::Closed,
            "L4",
            "a call was kept back by a closed breaker"
        );
        Ok(())
    }

    /// What is known of an attempt before its end is told.
    pub(crate) fn about_to_end(&mut self, slot: u32) -> Result<Option<Ends>, Violation> {
        self.look()?;
        let running = self.book.find(slot).map(|at| &self.book.tasks[at]);
        let running = running.filter(|task| matches!(task.place, Place::InFlight | Place::Started));
        Ok(running.map(|task| Ends {
            lane: task.lane,
            began: task.started,
            by_queue: task.place == Place::InFlight,
            paid: task.paid,
            cancelled: task.cancelled,
            policy: task.policy,
            failed_by: task.first_sent.filter(|_| task.attempts > 1),
        }))
    }

    /// What the gates make of its end.
    pub(crate) fn has_ended(
        &mut self,
        ends: Ends,
        answer: &Answer,
        verdict: Verdict,
    ) -> Result<(), Violation> {
        if answer.answered() {
            self.book.overrule();
        }
        let unsent = matches!(answer.outcome, 3..=6);
        let insists = answer.said.retry == Some(true) && answer.status >= 500;
        let failed = insists || self.book.promises[ends.policy].lists(answer.status);
        let healthy = match answer.outcome {
            0 if answer.status == 408 || is_interim(answer.status) => None,
            // What it has stored is no word on how it does.
            0 if answer.said.replayed && failed => None,
            // A 5xx that a hook has tried again is a failure of the server's, too.
            0 => Some(!failed),
            7 => Some(true),
            8 | 9 => None,
            _ if unsent || self.book.offline || ends.cancelled => None,
            _ => Some(false),
        };
        let asked = asked_by(&self.book.promises[ends.policy], answer);
        let limited = answer.status == 429 && asked.is_some_and(|ms| ms > 0);
        let said = self.circuit(ends.lane);
        let gates = &mut self.book.lanes[ends.lane].gates;
        gates.earn(ends.paid && unsent, verdict == Verdict::Succeeded);
        let now = self.book.line.now;
        let ended = answer.took.filter(|_| !ends.by_queue).map_or(now, |took| (ends.began + took).min(now));
        let heard = gates.count(ended, healthy, ends.failed_by, limited);
        gates.hear(now, (ends.began, ends.by_queue), heard, said)
    }

    /// After a poll: what was due and is not any more was put off, by its next wait and for want of a token.
    pub(crate) fn note_put_off(&mut self) -> Result<(), Violation> {
        let now = self.book.line.now;
        for at in 0..self.book.tasks.len() {
            let task = &self.book.tasks[at];
            let lane = &self.book.lanes[task.lane];
            let asked = lane.gates.rules.budget.is_some()
                && task.attempts > 0
                && lane.held_until.max(lane.dark_until) <= now;
            let due = task.place == Place::Waiting && self.book.leads(task) && task.due <= now && !task.vague;
            // Half-open nothing is put off, and open nothing is asked.
            if !asked || !due || lane.gates.circuit != Circuit::Closed {
                continue;
            }
            let said = self.core.due_at(task.slot).map_or(0, |at| self.book.line.inward(at.get()));
            if said <= now {
                continue;
            }
            let slot = task.slot;
            ensure!(lane.gates.is_broke(now), "L4", "slot {slot} was put off, and there are tokens");
            let last = self.book.deadline(task, true).max(now + 1);
            let spec = &self.book.promises[task.policy].spec;
            let wait = range(spec, task.attempts, task.previous);
            // past the first minute after its last attempt up to what it has waited since
            let long = now.saturating_sub(task.started).saturating_sub(60_000);
            let in_range = wait.holds(said - now) || said - now == 100 || said - now <= long;
            ensure!(
                in_range || (said <= NEVER && said >= last),
                "S10",
                "slot {slot} was put off by {} ms",
                said - now
            );
            ensure!(
                said <= sum(self.book.deadline(task, false), 1).max(now + 1),
                "S8",
                "slot {slot} was put off too far"
            );
            self.book.tasks[at].due = said;
            self.totals.put_off += 1;
        }
        Ok(())
    }
}
