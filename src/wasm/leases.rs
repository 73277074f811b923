//! The part of a queue that serves a store: its tasks come in leased, for one attempt each.

use wasm_bindgen::prelude::*;

use super::queue::{CoreQueue, given};
use crate::outcome::{Flags, Reason};
use crate::queue::{Admission, Carry, Past};
use crate::slots::NONE;
use crate::time::Millis;

#[wasm_bindgen]
impl CoreQueue {
    /// Takes a task that its store has leased, in flight at once whatever the limits say; `settle`
    /// frees its slot whatever it says. `attempts` counts this one, `firstAttemptAt` Infinity is not
    /// known or never, `phase` -1 none yet; `phase`, `previousDelayMs` and `marks` are those of the last
    /// `settle`. `started`: the caller's own first attempt has just ended, and `settle` follows at
    /// once. `deadlineAt`, `deadlineReason`: when its store ends it, and why; no such reason: `createdAt`, `expiresAt` and
    /// `firstAttemptAt` say. None: no such lane or policy, or too many tasks.
    pub fn adopt(
        &mut self,
        now: f64,
        lane: u32,
        policy: u32,
        priority: i32,
        bytes: f64,
        flags: u32,
        #[wasm_bindgen(js_name = createdAt)] created_at: f64,
        #[wasm_bindgen(js_name = expiresAt)] expires_at: f64,
        #[wasm_bindgen(js_name = waitUntil)] wait_until: f64,
        #[wasm_bindgen(js_name = firstAttemptAt)] first_attempt_at: f64,
        attempts: u32,
        refunds: u32,
        phase: f64,
        #[wasm_bindgen(js_name = previousDelayMs)] previous_delay_ms: f64,
        marks: u32,
        #[wasm_bindgen(js_name = startedAt)] started_at: f64,
        #[wasm_bindgen(js_name = deadlineAt)] deadline_at: f64,
        #[wasm_bindgen(js_name = deadlineReason)] deadline_reason: u32,
    ) -> u32 {
        let admission = Admission {
            lane,
            policy,
            priority,
            bytes: bytes as u64,
            flags: Flags::from_bits(flags),
            created_at: Millis::from_f64(created_at),
            expires_at: Millis::from_f64(expires_at),
            wait_until: Millis::from_f64(wait_until),
            order: NONE,
            started: !started_at.is_nan(),
            began: given(started_at).unwrap_or_default(),
        };
        let carry = Carry {
            phase: (phase >= 0.0).then_some(phase as u32),
            previous_delay: Millis::from_f64(previous_delay_ms),
            marks,
            ..Carry::default()
        };
        let deadline = Reason::ALL.get(deadline_reason as usize);
        let deadline = deadline.map(|reason| (Millis::from_f64(deadline_at), *reason));
        let first_attempt_at = Millis::from_f64(first_attempt_at);
        let past = Past { first_attempt_at, deadline, attempts, refunds, carry };
        self.queue.adopt(Millis::from_f64(now), &admission, &past).unwrap_or(NONE)
    }

    /// How many more attempts may start in a lane, as far as the lane has a say.
    pub fn room(&self, now: f64, lane: u32) -> u32 {
        self.queue.room(Millis::from_f64(now), lane)
    }

    /// How many first attempts may start in a lane: they cost no token.
    #[wasm_bindgen(js_name = roomForFirst)]
    pub fn room_for_first(&self, now: f64, lane: u32) -> u32 {
        self.queue.room_for_first(Millis::from_f64(now), lane)
    }

    /// Whether the next attempt of a lane is to show how its server does: the due task with the fewest attempts is to make it.
    #[wasm_bindgen(js_name = triesOut)]
    pub fn tries_out(&self, now: f64, lane: u32) -> bool {
        self.queue.tries_out(Millis::from_f64(now), lane)
    }

    /// Until when a lane starts nothing of a store's for its open breaker, its empty budget or a hold that its store does not
    /// know of; 0: as far as the clock decides, it does. Infinity: no time ends it.
    #[wasm_bindgen(js_name = shutUntil)]
    pub fn shut_until(&self, lane: u32, now: f64) -> f64 {
        self.queue.shut_until(Millis::from_f64(now), lane).map_or(0.0, Millis::to_f64)
    }

    /// How many more may start over all lanes; 0 while everything is paused.
    pub fn vacancies(&self) -> u32 {
        self.queue.vacancies()
    }

    /// Takes note that the store of a lane keeps its hold, for so long from now; 0 or NaN: it knows of the hold that is known here.
    #[wasm_bindgen(js_name = shareHold)]
    pub fn share_hold(&mut self, now: f64, lane: u32, ms: f64) {
        self.queue.share_hold(Millis::from_f64(now), lane, Millis::from_f64(ms));
    }

    /// A task was enqueued in this lane: where it is asked with pauses, an extra attempt may go.
    pub fn visit(&mut self, now: f64, lane: u32) {
        self.queue.visit(Millis::from_f64(now), lane);
    }

    /// Holds a lane for so long from now, no shorter than it is held already; 0 or NaN: nothing.
    pub fn hold(&mut self, now: f64, lane: u32, ms: f64) {
        self.queue.hold(Millis::from_f64(now), lane, Millis::from_f64(ms));
    }
}
