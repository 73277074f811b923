//! What a task of the naive queue waits for: every gate asked, the first that holds named.

use redrive::queue::{Gate, Standing};
use redrive::time::Millis;

use crate::naive::{Naive, State};

impl Naive {
    /// The first thing that keeps a task from running.
    pub fn standing(&self, at: usize, now: u64) -> Standing {
        let task = &self.tasks[at];
        let lane = &self.lanes[task.lane];
        let here = self.in_flight(Some(task.lane));
        let known = |gate, until| Standing { gate, until: Millis::new(until), ahead: 0 };
        let gates = [
            (task.state == State::InFlight, Gate::InFlight),
            (task.state == State::Started, Gate::Started),
            (task.state == State::Parked, Gate::Parked),
            (self.ahead(at) > 0, Gate::Behind),
            (task.due > now, Gate::Due),
            (lane.held_until > now, Gate::LaneHeld),
            (lane.paused, Gate::LanePaused),
            (self.paused, Gate::Paused),
            (self.offline, Gate::Offline),
            (lane.probing && here >= 1, Gate::Probing),
            (here >= self.limits.per_lane, Gate::LaneLimit),
            (self.in_flight(None) >= self.limits.concurrency, Gate::Limit),
            (true, Gate::Ready),
        ];
        match gates.into_iter().find(|(holds, _)| *holds).unwrap().1 {
            Gate::Due => known(Gate::Due, task.due),
            Gate::LaneHeld => known(Gate::LaneHeld, lane.held_until),
            Gate::Behind => Standing { gate: Gate::Behind, until: Millis::MAX, ahead: self.ahead(at) as u32 },
            gate => Standing { gate, until: Millis::MAX, ahead: 0 },
        }
    }
}
