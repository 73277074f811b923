//! What a task of the naive queue waits for: every gate asked, the first that holds named; and when one opens next.

use redrive::queue::{Gate, GateStatus};
use redrive::time::Millis;

use super::naive::{Naive, State};

impl Naive {
    /// The first thing that keeps a task from running.
    pub fn gate_status(&self, at: usize, now: u64) -> GateStatus {
        let task = &self.tasks[at];
        let lane = &self.lanes[task.lane];
        let here = self.in_flight(Some(task.lane));
        let known = |gate, until| GateStatus { gate, until: Millis::new(until), ahead: 0 };
        let gates = [
            (task.state == State::InFlight, Gate::InFlight),
            (task.state == State::Started, Gate::Started),
            (task.state == State::Parked, Gate::Parked),
            (self.ahead(at) > 0, Gate::Behind),
            (task.due > now, Gate::Due),
            (lane.held_until > now, Gate::LaneHeld),
            (lane.paused, Gate::LanePaused),
            (self.paused, Gate::Paused),
            (lane.dark_until > now, Gate::Offline),
            (lane.probing && here >= 1, Gate::Probing),
            (here >= self.per_lane(), Gate::LaneLimit),
            (self.in_flight(None) >= self.limits.concurrency, Gate::Limit),
            (true, Gate::Ready),
        ];
        match gates.into_iter().find(|(holds, _)| *holds).unwrap().1 {
            Gate::Due => known(Gate::Due, task.due),
            Gate::LaneHeld => known(Gate::LaneHeld, lane.held_until),
            Gate::Offline => known(Gate::Offline, lane.dark_until),
            Gate::Behind => {
                GateStatus { gate: Gate::Behind, until: Millis::MAX, ahead: self.ahead(at) as u32 }
            }
            gate => GateStatus { gate, until: Millis::MAX, ahead: 0 },
        }
    }

    /// When something happens next if nobody does anything.
    pub fn next(&self, now: u64) -> u64 {
        let tasks = self.tasks.iter().filter_map(|task| match task.state {
            State::Waiting => Some(task.due),
            State::Behind | State::Ready | State::Parked => Some(self.last_start(task)),
            State::InFlight | State::Started => None,
        });
        let holds = (0..self.lanes.len())
            .filter(|&lane| self.head(lane).is_some() && self.lanes[lane].shut_until() > now)
            .map(|lane| self.lanes[lane].shut_until());
        tasks.chain(holds).min().unwrap_or(1 << 53)
    }

    /// Whether a hold has ended since the last poll: a poll may be wanted just to notice that.
    pub fn has_ended_holds(&self, now: u64) -> bool {
        self.lanes.iter().any(|lane| lane.shut_until() > self.polled_at && lane.shut_until() <= now)
    }
}
