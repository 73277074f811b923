//! What both queues must agree on after any step.

use redrive::queue::GateStatus;
use redrive::time::Millis;

use super::Pair;
use super::naive::{State, Task};

impl Pair {
    /// What must hold after any step.
    pub fn check(&mut self) {
        let all = self.naive.tasks.len() as u32;
        assert_eq!(self.naive.admitted, all + self.naive.ended, "S2");
        let held = self.naive.held().count() as u32;
        assert_eq!(self.queue.depth(), held, "S2");
        assert_eq!(self.queue.bytes(), self.naive.bytes());
        let running = self.naive.in_flight(None);
        assert_eq!(self.queue.in_flight(), running);
        // What a store leases is the store's to limit.
        let own = |task: &&Task| task.state == State::InFlight && !task.leased;
        let own: Vec<&Task> = self.naive.tasks.iter().filter(own).collect();
        assert!(own.len() as u32 <= self.naive.limits.concurrency, "S7");
        assert!(held <= self.naive.limits.capacity, "S17");
        let stats = self.queue.stats(Millis::ZERO);
        assert_eq!(stats.unusable_retry_after, self.naive.unusable);
        for (lane, row) in stats.lanes.iter().enumerate() {
            assert_eq!(row.in_flight, self.naive.in_flight(Some(lane)), "S2");
            let own = own.iter().filter(|task| task.lane == lane).count();
            assert!(own as u32 <= self.naive.limits.per_lane, "S7");
            let here = self.naive.held().filter(|task| task.lane == lane).count();
            assert_eq!(row.depth as usize, here, "S2");
        }
        self.check_gate_status();
        self.check_room();
        for task in &self.naive.tasks {
            assert_eq!(self.queue.attempts(task.slot), task.attempts);
            let waits = matches!(task.state, State::Waiting | State::Ready);
            let due = task.due.max(self.naive.lanes[task.lane].shut_until());
            let due = waits.then(|| self.timeline.outward(Millis::new(due)));
            assert_eq!(self.queue.due_at(task.slot), due, "{task:?}");
        }
        let now = self.timeline.now().get();
        let next = self.naive.next(now);
        let (wake, present) = (self.queue.wake_at(), self.timeline.outward(Millis::new(now)));
        if !self.naive.candidates(now).is_empty() || next <= now {
            assert!(wake <= present, "L1: {wake:?} is too late");
        } else if !(wake <= present && self.naive.has_ended_holds(now)) {
            assert_eq!(wake, self.timeline.outward(Millis::new(next)), "L1: exact, being few");
        }
    }

    /// What each task waits for, and that of an order only the first does not wait for the others.
    fn check_gate_status(&self) {
        let now = self.timeline.now().get();
        for (at, task) in self.naive.tasks.iter().enumerate() {
            let behind = task.state == State::Behind;
            assert_eq!(behind, self.naive.ahead(at) > 0, "S19: {task:?}");
            let expected = self.naive.gate_status(at, now);
            let until = self.timeline.outward(expected.until);
            assert_eq!(self.queue.gate_status(task.slot), Some(GateStatus { until, ..expected }), "{task:?}");
        }
        for &slot in self.slots.iter().rev().take(40) {
            assert_eq!(self.queue.gate_status(slot).is_some(), self.naive.find(slot).is_some(), "S5: {slot}");
        }
    }
}
