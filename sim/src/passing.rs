//! What the gates of a world hear, and what they make of it: in calls, and on the books.

use redrive::breaker::Circuit;
use redrive::queue::Verdict;
use redrive::time::Millis;

use crate::book::Place;
use crate::driver::Driver;
use crate::ensure;
use crate::event::Answer;
use crate::gates::LaneGates;
use crate::line::{NEVER, sum};
use crate::port::Core;
use crate::range::range;
use crate::tape;
use crate::violation::Violation;

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
        let slow = ago % 2 == 1;
        self.core.hear(now, handle, began, Some(kind < 2), kind == 0, slow);
        let (kind_said, slow_said) = (f64::from(kind), f64::from(u8::from(slow)));
        let numbers = [tape::instant(now), f64::from(handle), tape::instant(began), kind_said, slow_said];
        self.tape.call("hear", &numbers, &[]);
        let healthy = Some(kind < 2).filter(|healthy| *healthy || !self.book.offline);
        let began = self.book.line.inward(began.get());
        let said = self.circuit(lane);
        let gates = &mut self.book.lanes[lane].gates;
        gates.earn(false, kind == 0);
        let heard = gates.count(self.book.line.now, healthy, None);
        gates.hear(self.book.line.now, (began, false), heard, said)
    }

    pub(crate) fn ask(&mut self, lane: u8) -> Result<(), Violation> {
        let now = self.now();
        self.look()?;
        let lane = usize::from(lane) % self.book.lanes.len();
        let handle = self.book.lanes[lane].handle;
        let admitted = self.core.admits(now, handle);
        self.tape.call("admits", &[tape::instant(now), f64::from(handle)], &[f64::from(u8::from(admitted))]);
        let (here, at) = (&mut self.book.lanes[lane], self.book.line.now);
        let gates = &mut here.gates;
        ensure!(!admitted || gates.circuit != Circuit::Open, "S8", "a call was let through an open breaker");
        if admitted && gates.circuit == Circuit::HalfOpen {
            ensure!(gates.lapses <= at, "S8", "a call was let through beside another's probe");
            gates.lapses = at + gates.rules.breaker.map_or(0, |rules| rules.open.get());
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
            failed_by: (task.attempts > 1).then(|| {
                let fields = &self.book.promises[task.policy].spec.fields;
                // the base of the curves that have one
                let is_curved = fields[0].unwrap_or(0.0) < 3.0;
                let first = if is_curved { fields[2].unwrap_or(500.0) as u64 } else { 0 };
                task.started.saturating_sub(task.previous.unwrap_or(first))
            }),
        }))
    }

    /// What the gates make of its end.
    pub(crate) fn has_ended(
        &mut self,
        ends: Ends,
        answer: &Answer,
        verdict: Verdict,
    ) -> Result<(), Violation> {
        let unsent = matches!(answer.outcome, 3..=6);
        let healthy = match answer.outcome {
            0 => Some(!self.book.promises[ends.policy].lists(answer.status)),
            7 => Some(true),
            _ if unsent || self.book.offline || ends.cancelled => None,
            _ => Some(false),
        };
        let said = self.circuit(ends.lane);
        let gates = &mut self.book.lanes[ends.lane].gates;
        gates.earn(ends.paid && unsent, verdict == Verdict::Succeeded);
        let heard = gates.count(self.book.line.now, healthy, ends.failed_by);
        gates.hear(self.book.line.now, (ends.began, ends.by_queue), heard, said)
    }

    /// After a poll: what was due and is not any more was put off, by its next wait and for want of a token.
    pub(crate) fn note_put_off(&mut self) -> Result<(), Violation> {
        let now = self.book.line.now;
        for at in 0..self.book.tasks.len() {
            let task = &self.book.tasks[at];
            let lane = &self.book.lanes[task.lane];
            let asked = lane.gates.rules.budget.is_some() && task.attempts > 0 && lane.held_until <= now;
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
