//! The part of a queue that has gates: their rules, and what callers' own attempts tell them.

use wasm_bindgen::prelude::*;

use super::queue::CoreQueue;
use crate::gates::breaker::BreakerRules;
use crate::gates::budget::BudgetRules;
use crate::gates::{Gates, OnStorm};
use crate::time::Millis;

#[wasm_bindgen]
impl CoreQueue {
    /// Sets what stands between due tasks and their attempts, before the first lane is open. Twelve numbers: the
    /// breaker's consecutiveFailures (0: there is none), failureRatio, minimumAttempts, windowMs, openMs, maxOpenMs,
    /// closeAfter, what a retry storm does (0 nothing, 1 tell, 2 also open), the budget's capacity (NaN: there is none),
    /// perSuccess, perSecond, and whether a lane that failed comes back slowly (0 or 1).
    pub fn gates(&mut self, numbers: &[f64]) {
        let &[
            failures,
            ratio,
            minimum,
            window,
            open,
            max_open,
            close,
            storm,
            capacity,
            success,
            second,
            ramp,
        ] = numbers
        else {
            return;
        };
        let breaker = BreakerRules {
            consecutive_failures: failures as u32,
            failures_per_million: (ratio * 1e6) as u32,
            minimum_attempts: minimum as u32,
            window: Millis::from_f64(window),
            open: Millis::from_f64(open),
            max_open: Millis::from_f64(max_open),
            close_after: close as u32,
        };
        self.queue.set_gates(Gates {
            breaker: (failures >= 1.0).then_some(breaker),
            ramp: ramp > 0.0,
            budget: (!capacity.is_nan()).then(|| BudgetRules::new(capacity, success, second)),
            on_storm: match storm as u32 {
                0 => OnStorm::Nothing,
                1 => OnStorm::Tell,
                _ => OnStorm::Open,
            },
        });
    }

    /// Whether a caller's own first attempt may start in a lane whose open breaker holds those back as well. Half-open
    /// it is the probe.
    pub fn admits(&mut self, now: f64, lane: u32) -> bool {
        self.queue.admits(Millis::from_f64(now), lane)
    }

    /// Whether a retry that this queue does not make itself may go now: its lane's breaker is closed, and its budget has
    /// paid.
    pub fn pays(&mut self, now: f64, lane: u32) -> bool {
        self.queue.pays(Millis::from_f64(now), lane)
    }

    /// The state of a lane's breaker: 0 closed, 1 open, 2 half-open.
    pub fn circuit(&self, lane: u32, now: f64) -> u32 {
        self.queue.circuit(lane, Millis::from_f64(now)) as u32
    }

    /// Hears of a caller's own attempt that made no task: when it began, and how it ended: 0 a success, 1 another
    /// answer of a server that works, 2 a failure. `slow`: the answer took more than half of its timeout.
    pub fn hear(&mut self, now: f64, lane: u32, began: f64, kind: u32, slow: bool) {
        let (now, began) = (Millis::from_f64(now), Millis::from_f64(began));
        self.queue.hear(now, lane, began, Some(kind < 2), kind == 0, slow);
    }
}
