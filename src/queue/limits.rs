//! Limits on attempts that run at a time and start in a time: a host changes them, and callers' own first attempts may count.
#![forbid(unsafe_code)]

use super::Queue;
use super::lanes::Lane;
use super::rate::Rate;
use crate::slots::index_of;
use crate::time::Millis;

impl Queue {
    /// Changes how many attempts may run at a time, over all lanes and in each; at least 1. What runs goes on.
    pub fn set_limits(&mut self, now: Millis, concurrency: u32, per_lane: u32) {
        let now = self.timeline.advance(now);
        self.limits.concurrency = concurrency.max(1);
        self.lanes.set_limit(per_lane.max(1));
        for index in 0..self.lanes.slots.end() {
            self.lanes.refresh(index, now);
        }
    }

    /// Sets the rate of each lane that is opened from now on.
    pub const fn set_rate(&mut self, rate: Option<Rate>) {
        self.lanes.rate = rate;
    }

    /// A caller's own first attempt asks for a place among the attempts that count: whether it has one. It has none where the limits or the rate
    /// are reached, in a pause, or where others stand in line. Holds and breakers do not keep it back. [`Queue::leave_own`] must follow.
    pub fn enter_own(&mut self, now: Millis, lane: u32) -> bool {
        let now = self.timeline.advance(now);
        self.lanes.end_holds(now);
        let is_full = self.vacancies() == 0 || self.lanes.front().is_some();
        let limit = self.lanes.limit();
        let Some(found) = self.lane_mut(lane) else { return false };
        if is_full || found.paused || found.running() >= limit || found.bucket.room(now) == 0 {
            return false;
        }
        found.own = found.own.saturating_add(1);
        found.bucket.take(now);
        self.own = self.own.saturating_add(1);
        self.lanes.refresh(index_of(lane), now);
        true
    }

    /// A caller's own first attempt, which entered at `entered_at`, has ended, or was not `sent` after all.
    pub fn leave_own(&mut self, now: Millis, lane: u32, entered_at: Millis, sent: bool) {
        let now = self.timeline.advance(now);
        let Some(found) = self.lane_mut(lane).filter(|found| found.own > 0) else { return };
        found.own = found.own.saturating_sub(1);
        if !sent {
            found.bucket.give_back(entered_at);
        }
        self.own = self.own.saturating_sub(1);
        self.lanes.refresh(index_of(lane), now);
    }

    fn lane_mut(&mut self, lane: u32) -> Option<&mut Lane> {
        self.lanes.slots.get(lane)?;
        self.lanes.at_mut(index_of(lane))
    }

    /// Attempts that count against the limit over all lanes.
    pub(super) const fn running(&self) -> u32 {
        self.in_flight.saturating_add(self.own)
    }
}
