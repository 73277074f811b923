//! What people and the host do to both queues: cancel, pause, resume, flush, visit, offline.

use redrive::queue::Cancelled;
use redrive::slots::index_of;

use super::Pair;
use super::naive::State;

impl Pair {
    pub fn cancel(&mut self, slot: u32) {
        let answer = self.queue.cancel(slot);
        let Some(at) = self.naive.find(slot) else { return assert_eq!(answer, Cancelled::Gone) };
        if matches!(self.naive.tasks[at].state, State::InFlight | State::Started) {
            self.naive.tasks[at].cancelled = true;
            assert_eq!(answer, Cancelled::Requested);
        } else {
            self.naive.end(at, self.timeline.now().get());
            assert_eq!(answer, Cancelled::Done);
        }
    }

    pub fn resume(&mut self, lane: usize) {
        let now = self.time();
        self.queue.resume(self.wall(), self.lane(lane));
        let mut lanes = vec![lane];
        if lane >= self.naive.lanes.len() {
            self.naive.paused = false;
            lanes = (0..self.naive.lanes.len()).collect();
        }
        for lane in lanes {
            self.naive.lanes[lane].paused = false;
            loop {
                let parked = self.naive.tasks.iter().enumerate();
                let parked = parked.filter(|(_, task)| task.state == State::Parked && task.lane == lane);
                let first = parked.min_by_key(|(_, task)| (-i64::from(task.priority), task.changed));
                let Some((at, _)) = first else { break };
                self.naive.tasks[at].due = now.max(self.naive.tasks[at].not_before);
                self.naive.change(at, State::Waiting);
            }
        }
    }

    pub fn set_online(&mut self, online: bool) {
        let now = self.time();
        self.queue.set_online(self.wall(), online);
        self.naive.set_online(now, online);
    }

    pub fn visit(&mut self, lane: usize) {
        // a lane that is not there tells the queue no time
        if let Some(handle) = self.lane(lane) {
            self.time();
            self.queue.visit(self.wall(), handle);
            self.naive.lanes[lane].visit();
        }
    }

    pub fn flush(&mut self, lane: usize) {
        let now = self.time();
        let flushed = self.queue.flush(self.wall(), self.lane(lane));
        let only = self.lane(lane).map(|_| lane);
        let mut order: Vec<usize> = (0..self.naive.tasks.len()).collect();
        order.sort_by_key(|&at| index_of(self.naive.tasks[at].slot));
        let lanes = self.naive.lanes.iter_mut().enumerate();
        lanes.filter(|(at, _)| only.is_none_or(|only| only == *at)).for_each(|(_, lane)| lane.dark_until = 0);
        let mut expected = 0;
        for at in order {
            let task = &self.naive.tasks[at];
            let due = task.not_before.max(now);
            let here = only.is_none_or(|lane| lane == task.lane);
            if task.state == State::Waiting && here && due < task.due {
                self.naive.tasks[at].due = due;
                self.naive.change(at, State::Waiting);
                expected += 1;
            }
        }
        assert_eq!(flushed, expected);
    }

    pub fn reopen(&mut self, order: usize) {
        let handle = self.naive.orders[order];
        let empty = self.naive.tasks.iter().all(|task| task.order != Some(order));
        assert_eq!(self.queue.drop_order(handle), empty, "only an empty order goes");
        if empty {
            assert!(!self.queue.drop_order(handle), "and only once");
            self.naive.orders[order] = self.queue.open_order();
        }
    }
}
