//! What people ask of a queue.

use super::{NONE, Queue, State};

impl Queue {
    pub fn cancel(&mut self, slot: u32) -> u32 {
        match self.tasks.get_mut(slot) {
            None => 0,
            Some(task) if task.state == State::InFlight => {
                task.state = State::CancelRequested;
                2
            }
            Some(_) => {
                self.finish(slot);
                1
            }
        }
    }

    pub fn set_paused(&mut self, now: u64, lane: u32, paused: bool) {
        if lane == NONE {
            self.paused = paused;
        } else if let Some(row) = self.lanes.get_mut(lane) {
            row.paused = paused;
        }
        if !paused {
            let parked: Vec<u32> = self
                .tasks
                .iter()
                .filter(|(_, task)| task.state == State::Parked)
                .map(|(slot, _)| slot)
                .collect();
            for slot in parked {
                if let Some(task) = self.tasks.get_mut(slot) {
                    task.state = State::Waiting;
                    task.due_at = now;
                }
                self.due.push(slot & 0xF_FFFF, now);
            }
            self.offer(lane);
        }
    }

    pub fn set_online(&mut self, online: bool) {
        self.online = online;
    }

    pub fn flush(&mut self, now: u64, lane: u32) -> u32 {
        let waiting: Vec<(u32, u64)> = self
            .tasks
            .iter()
            .filter(|(_, task)| task.state == State::Waiting && (lane == NONE || task.lane == lane))
            .map(|(slot, task)| (slot, task.not_before.max(now)))
            .collect();
        for (slot, due_at) in &waiting {
            if let Some(task) = self.tasks.get_mut(*slot) {
                task.due_at = *due_at;
            }
            self.due.push(slot & 0xF_FFFF, *due_at);
        }
        waiting.len() as u32
    }
}
