//! What people and the host do to a queue, on its books and in its calls: cancel, pause, resume, flush, offline.

use redrive::queue::Cancelled;

use crate::book::Place;
use crate::driver::{Driver, keep};
use crate::ensure;
use crate::port::Core;
use crate::tape;
use crate::violation::Violation;

impl<C: Core> Driver<C> {
    pub(crate) fn cancel(&mut self, pick: u32) -> Result<(), Violation> {
        let gone = self.book.gone.iter().rev().take(2).copied();
        let slots: Vec<u32> = self.book.tasks.iter().map(|task| task.slot).chain(gone).collect();
        let Some(slot) = slots.get(pick as usize % slots.len().max(1)).copied() else { return Ok(()) };
        let answer = self.core.cancel(slot);
        self.tape.call("cancel", &[f64::from(slot)], &[tape::cancelled(answer)]);
        let expected = match self.book.find(slot) {
            None => Cancelled::Gone,
            Some(at) if self.book.tasks[at].place == Place::InFlight => {
                self.book.tasks[at].cancelled = true;
                Cancelled::Requested
            }
            Some(at) => {
                self.book.remove(at);
                self.totals.ends[2] += 1;
                Cancelled::Done
            }
        };
        ensure!(answer == expected, "S8", "cancel of slot {slot} did {answer:?}, not {expected:?}");
        Ok(())
    }

    fn scope(&self, lane: Option<u8>) -> (Option<u32>, Vec<usize>) {
        let count = self.book.lanes.len();
        match lane.map(|lane| usize::from(lane) % count) {
            Some(lane) => (Some(self.book.lanes[lane].handle), vec![lane]),
            None => (None, (0..count).collect()),
        }
    }

    pub(crate) fn pause(&mut self, lane: Option<u8>) {
        let (handle, lanes) = self.scope(lane);
        self.core.pause(handle);
        self.tape.call("pause", &[tape::scope(handle)], &[]);
        match handle {
            None => self.book.paused = true,
            Some(_) => lanes.iter().for_each(|lane| self.book.lanes[*lane].paused = true),
        }
    }

    pub(crate) fn resume(&mut self, lane: Option<u8>) {
        let now = self.now();
        let (handle, lanes) = self.scope(lane);
        self.core.resume(now, handle);
        self.tape.call("resume", &[tape::instant(now), tape::scope(handle)], &[]);
        self.book.paused &= handle.is_some();
        lanes.iter().for_each(|lane| self.book.lanes[*lane].paused = false);
        for task in &mut self.book.tasks {
            if task.place == Place::Parked && lanes.contains(&task.lane) {
                task.place = Place::Waiting;
                task.due = self.book.line.now.max(task.server_until);
            }
        }
    }

    pub(crate) fn set_online(&mut self, online: bool) {
        let now = self.now();
        self.core.set_online(now, online);
        self.tape.call("setOnline", &[tape::instant(now), f64::from(u8::from(online))], &[]);
        self.book.set_online(online);
    }

    pub(crate) fn visit(&mut self, lane: u8) {
        let (now, count) = (self.now(), self.book.lanes.len());
        let lane = &mut self.book.lanes[usize::from(lane) % count];
        self.core.visit(now, lane.handle);
        self.tape.call("visit", &[tape::instant(now), f64::from(lane.handle)], &[]);
        lane.hurry();
    }

    pub(crate) fn flush(&mut self, lane: Option<u8>) -> Result<(), Violation> {
        let now = self.now();
        let (handle, lanes) = self.scope(lane);
        let flushed = self.core.flush(now, handle);
        self.tape.call("flush", &[tape::instant(now), tape::scope(handle)], &[f64::from(flushed)]);
        let mut expected = 0;
        for at in 0..self.book.tasks.len() {
            let task = &self.book.tasks[at];
            let due = task.server_until.max(self.book.line.now);
            let waits = task.place == Place::Waiting && self.book.leads(task);
            if waits && lanes.contains(&task.lane) && due < task.due {
                self.book.tasks[at].due = due;
                expected += 1;
            }
        }
        ensure!(flushed == expected, "S9", "a flush of {flushed}, not {expected}");
        lanes.into_iter().for_each(|lane| self.book.hasten(lane));
        Ok(())
    }

    pub(crate) fn reopen_order(&mut self, order: u8) -> Result<(), Violation> {
        let order = usize::from(order) % self.orders.len();
        let dropped = self.core.drop_order(self.orders[order]);
        self.tape.call("dropOrder", &[f64::from(self.orders[order])], &[f64::from(u8::from(dropped))]);
        let empty = self.book.orders[order].is_empty();
        ensure!(dropped == empty, "S19", "an order was forgotten: {dropped}, empty: {empty}");
        if dropped {
            self.orders[order] = self.core.open_order();
            self.tape.call("openOrder", &[], &[f64::from(self.orders[order])]);
        }
        Ok(())
    }

    pub(crate) fn reopen_lane(&mut self, lane: u8) -> Result<(), Violation> {
        let at = usize::from(lane) % self.book.lanes.len();
        let lane = &self.book.lanes[at];
        let idle = lane.depth == 0 && lane.leased == 0 && lane.held_until <= self.book.line.now;
        let rules = lane.gates.rules;
        let dropped = self.core.drop_lane(lane.handle);
        self.tape.call("dropLane", &[f64::from(lane.handle)], &[f64::from(u8::from(dropped))]);
        // What its gates remember may keep it.
        let gated = lane.gates.rules != redrive::gates::Gates::default();
        let open =
            lane.gates.circuit == redrive::breaker::Circuit::Open && self.book.line.now < lane.gates.ends.0;
        ensure!(!dropped || !open, "S8", "lane {} was forgotten with its breaker open", lane.handle);
        ensure!(
            dropped == idle || (gated && idle),
            "S5",
            "lane {} was forgotten: {dropped}, idle: {idle}",
            lane.handle
        );
        if dropped {
            let handle = self.core.open_lane();
            self.tape.call("lane", &[], &[f64::from(handle)]);
            let mut lane = crate::lane::Lane::new(handle, rules);
            if self.book.offline {
                lane.go_dark(self.book.line.now);
            }
            self.book.lanes[at] = lane;
        }
        Ok(())
    }

    pub(crate) fn renew(&mut self, policy: u8) {
        let at = usize::from(policy) % self.handles.len();
        self.core.release(self.handles[at]);
        self.tape.call("releasePolicy", &[f64::from(self.handles[at])], &[]);
        let row = self.book.promises[at].spec.row();
        self.handles[at] = keep(&mut self.core, &mut self.tape, &row);
    }
}
