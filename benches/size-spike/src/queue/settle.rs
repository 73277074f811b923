//! What follows from the end of an attempt.

use super::{Limits, Queue, State};
use crate::time::{add, scale};

const GOLDEN: u32 = 0x9E37_79B9;

impl Queue {
    pub fn settle(
        &mut self,
        now: u64,
        slot: u32,
        limits: &Limits,
        outcome: u32,
        verdict: u32,
        curve_ms: u64,
        server_ms: Option<u64>,
        took_ms: u64,
        status: u32,
    ) -> u32 {
        let Some(task) = self.tasks.get_mut(slot) else { return 4 };
        if task.state != State::InFlight && task.state != State::CancelRequested {
            return 4;
        }
        let (lane_handle, cancelled) = (task.lane, task.state == State::CancelRequested);
        task.log.push((now, outcome, status));
        if task.log.len() > 100 {
            task.log.remove(0);
        }
        let start = self.start;
        let Some(lane) = self.lanes.get_mut(lane_handle) else { return 4 };
        lane.in_flight = lane.in_flight.saturating_sub(1);
        self.in_flight = self.in_flight.saturating_sub(1);
        if outcome == 0 {
            lane.probing = false;
            lane.average_ms = if lane.average_ms == 0 {
                took_ms
            } else {
                lane.average_ms.saturating_add(took_ms / 8).saturating_sub(lane.average_ms / 8)
            };
        }
        #[cfg(feature = "gates")]
        lane.gates.settled(now, verdict == 0, took_ms);
        if cancelled {
            self.finish(slot);
            return if verdict == 0 { 0 } else { 2 };
        }
        if verdict == 0 {
            self.finish(slot);
            return 0;
        }
        let refund = matches!(outcome, 3 | 4 | 6) || (status == 401 && task.flags & 4 != 0);
        if refund && task.refunds < 20 {
            task.refunds = task.refunds.saturating_add(1);
            task.attempts = task.attempts.saturating_sub(1);
            if status == 401 && task.refunds > 1 {
                task.state = State::Parked;
                return 3;
            }
            self.authorize = status == 401;
            lane.probing = outcome == 3;
            task.state = State::Waiting;
            task.due_at = if outcome == 4 { add(now, curve_ms) } else { now };
            let due_at = task.due_at;
            self.due.push(slot & 0xF_FFFF, due_at);
            return 1;
        }
        if verdict != 1 {
            self.finish(slot);
            return 16 | verdict.saturating_sub(2);
        }
        if task.attempts >= limits.max_attempts {
            self.finish(slot);
            return 16;
        }
        if task.phase == 0 {
            task.phase = start.wrapping_add(lane.failures.wrapping_mul(GOLDEN));
            lane.failures = lane.failures.wrapping_add(1);
        }
        let mut wait = curve_ms;
        if let Some(server) = server_ms {
            if server > limits.max_server_ms {
                self.finish(slot);
                return 16 | 7;
            }
            let spread = scale((server / 10).clamp(1_000, 5_000), task.phase);
            wait = wait.max(server).saturating_add(spread);
            task.not_before = add(now, server);
            if status == 429 || status == 503 {
                lane.held_until = lane.held_until.max(task.not_before);
                let held = lane.held_until;
                self.holds.push(lane_handle & 0xF_FFFF, held);
            }
        }
        let begin = add(now, wait).max(lane.held_until);
        let estimate = if limits.estimate_ms > 0 { limits.estimate_ms } else { lane.average_ms };
        let reason = if add(begin, estimate) > add(task.created_at, limits.total_budget_ms) {
            1
        } else if begin > task.expires_at {
            6
        } else if task.flags & 2 != 0 && begin > add(task.first_at, limits.key_ttl_ms) {
            4
        } else if begin > task.wait_until {
            2
        } else {
            0
        };
        if reason > 0 {
            self.finish(slot);
            return 16 | reason;
        }
        task.previous_ms = wait;
        task.due_at = begin;
        task.state = State::Waiting;
        self.last_delay = wait;
        self.due.push(slot & 0xF_FFFF, begin);
        1
    }

    pub(super) fn finish(&mut self, slot: u32) {
        let Some(task) = self.tasks.remove(slot) else { return };
        self.due.remove(slot & 0xF_FFFF);
        self.expiry.remove(slot & 0xF_FFFF);
        self.bytes = self.bytes.saturating_sub(task.bytes);
        if let Some(lane) = self.lanes.get_mut(task.lane) {
            lane.depth = lane.depth.saturating_sub(1);
            lane.order_tails.retain(|(_, tail)| *tail != slot);
        }
        if let Some(next) = self.tasks.get_mut(task.order_next) {
            let due_at = next.due_at;
            self.due.push(task.order_next & 0xF_FFFF, due_at);
        }
    }
}
