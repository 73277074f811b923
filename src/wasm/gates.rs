//! The part of a queue that has gates: their rules, and what callers' own attempts tell them.

use wasm_bindgen::prelude::*;

use super::queue::{CoreQueue, given};
use crate::codes::{self, Said};
use crate::gates::{Comeback, WhenOpen};
use crate::outcome::{Flags, Outcome};
use crate::queue::rate::Rate;
use crate::queue::{Admission, Ended, Facts};
use crate::slots::NONE;
use crate::time::Millis;

#[wasm_bindgen]
impl CoreQueue {
    /// Sets what stands between due tasks and their attempts, before the first lane is open, from the numbers of [`codes::gates`].
    pub fn gates(&mut self, numbers: &[f64]) {
        if let Some(gates) = codes::gates(numbers) {
            self.queue.set_gates(gates);
        }
    }

    /// Says what is done with awaited calls while a circuit is open, by the numbers of [`WhenOpen`].
    #[wasm_bindgen(js_name = setWhenOpen)]
    pub fn set_when_open(&mut self, code: u32) {
        self.queue.set_when_open(WhenOpen::ALL.get(code as usize).copied().unwrap_or_default());
    }

    /// Changes how lanes come back, by the numbers of [`Comeback`].
    #[wasm_bindgen(js_name = setComeback)]
    pub fn set_comeback(&mut self, code: u32) {
        self.queue.set_comeback(Comeback::ALL.get(code as usize).copied().unwrap_or_default());
    }

    /// Whether a call that waits until `wait_until` may be sent, by the numbers of [`crate::queue::Entry`]. `early`: it is not to be sent
    /// at once in any case.
    pub fn call(
        &mut self,
        now: f64,
        lane: u32,
        #[wasm_bindgen(js_name = waitUntil)] wait_until: f64,
        early: bool,
    ) -> u32 {
        self.queue.call(Millis::from_f64(now), lane, Millis::from_f64(wait_until), early).code()
    }

    /// Puts such a call at the door of its lane, and gives its handle; none: there is no room.
    pub fn stand(
        &mut self,
        now: f64,
        lane: u32,
        policy: u32,
        priority: i32,
        #[wasm_bindgen(js_name = createdAt)] created_at: f64,
        #[wasm_bindgen(js_name = expiresAt)] expires_at: f64,
        #[wasm_bindgen(js_name = waitUntil)] wait_until: f64,
    ) -> u32 {
        let admission = Admission {
            lane,
            policy,
            priority,
            bytes: 0,
            flags: Flags::default(),
            created_at: Millis::from_f64(created_at),
            expires_at: Millis::from_f64(expires_at),
            wait_until: Millis::from_f64(wait_until),
            order: NONE,
            started: false,
            began: Millis::ZERO,
        };
        self.queue.stand(Millis::from_f64(now), &admission).unwrap_or(NONE)
    }

    /// Whether the caller of a stored task, which waits until `wait_until`, is not to wait any longer: the circuit is open.
    #[wasm_bindgen(js_name = endsWait)]
    pub fn ends_wait(&self, lane: u32, #[wasm_bindgen(js_name = waitUntil)] wait_until: f64) -> bool {
        self.queue.ends_wait(lane, Millis::from_f64(wait_until))
    }

    /// Since when a lane's breaker has not been closed; NaN: it is closed.
    #[wasm_bindgen(js_name = openSince)]
    pub fn open_since(&self, lane: u32) -> f64 {
        self.queue.open_since(lane).map_or(f64::NAN, Millis::to_f64)
    }

    /// Has each lane that is opened from now on start so many attempts a second, and after a pause `burst` at once.
    pub fn rate(&mut self, #[wasm_bindgen(js_name = perSecond)] per_second: f64, burst: u32) {
        self.queue.set_rate(Some(Rate::new(per_second, burst)));
    }

    /// Changes how many attempts may run at a time, over all lanes and in each.
    #[wasm_bindgen(js_name = setLimits)]
    pub fn set_limits(
        &mut self,
        now: f64,
        concurrency: u32,
        #[wasm_bindgen(js_name = perLane)] per_lane: u32,
    ) {
        self.queue.set_limits(Millis::from_f64(now), concurrency, per_lane);
    }

    /// Whether a caller's own first attempt has a place among those that count; then `leaveOwn` must follow.
    #[wasm_bindgen(js_name = enterOwn)]
    pub fn enter_own(&mut self, now: f64, lane: u32) -> bool {
        self.queue.enter_own(Millis::from_f64(now), lane)
    }

    /// An own attempt, which entered at `entered_at`, has ended, or was not sent after all.
    #[wasm_bindgen(js_name = leaveOwn)]
    pub fn leave_own(&mut self, now: f64, lane: u32, entered_at: f64, sent: bool) {
        self.queue.leave_own(Millis::from_f64(now), lane, Millis::from_f64(entered_at), sent);
    }

    /// Whether a caller's own first attempt may start, whatever is done with those that may not: half-open it is the probe.
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

    /// Hears of a caller's own attempt that made no task: when it began, and how it ended, in the terms of `settle`. `only_hold`: of
    /// no more than the wait that its answer asks of the lane.
    pub fn heard(
        &mut self,
        now: f64,
        lane: u32,
        policy: u32,
        began: f64,
        outcome: u32,
        status: u32,
        #[wasm_bindgen(js_name = serverDelayMs)] server_delay_ms: f64,
        #[wasm_bindgen(js_name = durationMs)] duration_ms: f64,
        #[wasm_bindgen(js_name = rateLimitMs)] rate_limit_ms: f64,
        partitioned: bool,
        said: u32,
        #[wasm_bindgen(js_name = onlyHold)] only_hold: bool,
    ) {
        let ended = Ended {
            outcome: Outcome::from_code(outcome),
            status,
            server_delay: given(server_delay_ms),
            duration: given(duration_ms),
            rate_limit: given(rate_limit_ms),
            partitioned,
            unusable: false,
            asked: false,
            replayed: false,
            said: Said::ALL.get(said as usize).and_then(|said| said.word()),
            delay: None,
            facts: Facts::default(),
            reason: None,
        };
        let now = Millis::from_f64(now);
        if only_hold {
            self.queue.asked(now, lane, policy, &ended);
        } else {
            self.queue.heard(now, lane, policy, Millis::from_f64(began), &ended);
        }
    }
}
