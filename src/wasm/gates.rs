//! The part of a queue that has gates: their rules, and what callers' own attempts tell them.

use wasm_bindgen::prelude::*;

use super::queue::{CoreQueue, given};
use crate::codes::HeardCode;
use crate::gates::breaker::BreakerRules;
use crate::gates::budget::BudgetRules;
use crate::gates::{Gates, OnStorm};
use crate::time::Millis;

#[wasm_bindgen]
impl CoreQueue {
    /// Sets what stands between due tasks and their attempts, before the first lane is open. Twelve numbers, NaN for
    /// each that the core has a default for: the breaker's consecutiveFailures (0: there is none), failureRatio,
    /// minimumAttempts, windowMs, openMs, maxOpenMs, closeAfter; what a retry storm does, by the numbers of [`OnStorm`];
    /// the budget's capacity (0: there is none), perSuccess, perSecond; and whether a lane that failed comes back slowly
    /// (0 or 1).
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
        let default = BreakerRules::DEFAULT;
        let whole = |number: f64, default: u32| if number.is_nan() { default } else { number as u32 };
        let ms = |number: f64, default: Millis| given(number).unwrap_or(default);
        let breaker = BreakerRules {
            consecutive_failures: whole(failures, default.consecutive_failures),
            failures_per_million: whole(ratio * 1e6, default.failures_per_million),
            minimum_attempts: whole(minimum, default.minimum_attempts),
            window: ms(window, default.window),
            open: ms(open, default.open),
            max_open: ms(max_open, default.max_open),
            close_after: whole(close, default.close_after),
        };
        self.queue.set_gates(Gates {
            breaker: (breaker.consecutive_failures > 0).then_some(breaker),
            ramp: ramp > 0.0,
            budget: (capacity != 0.0).then(|| BudgetRules::default().with(capacity, success, second)),
            on_storm: OnStorm::ALL.get(storm as usize).copied().unwrap_or_default(),
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

    /// The state of a lane's breaker, by the numbers of [`crate::gates::breaker::Circuit`].
    pub fn circuit(&self, lane: u32, now: f64) -> u32 {
        self.queue.circuit(lane, Millis::from_f64(now)).code()
    }

    /// Hears of a caller's own attempt that made no task: when it began, and how it ended, by the numbers of
    /// [`HeardCode`]. `slow`: the answer took more than half of its timeout.
    pub fn hear(&mut self, now: f64, lane: u32, began: f64, kind: u32, slow: bool) {
        let (now, began) = (Millis::from_f64(now), Millis::from_f64(began));
        let healthy = kind != HeardCode::Failed.code();
        self.queue.hear(now, lane, began, Some(healthy), kind == HeardCode::Success.code(), slow);
    }
}
