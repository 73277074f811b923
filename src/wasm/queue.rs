//! One queue as JavaScript sees it.

use serde::Serialize;
use wasm_bindgen::prelude::*;

use super::{no_entropy, policy_error};
use crate::classify::Class;
use crate::policy::{Policy, PolicyOptions};
use crate::queue::{Action, Admission, BATCH, Cancelled, Ended, Limits, Queue, Verdict};
use crate::slots::NONE;
use crate::task::{Flags, Outcome};
use crate::time::Millis;

/// Where the codes of reasons begin, in actions and verdicts.
const REASONS: u32 = 16;

/// A queue. Handles (slot, lane, policy) are u32; 4294967295 is none. Times are epoch ms.
#[wasm_bindgen]
pub struct CoreQueue {
    queue: Queue,
    actions: Vec<Action>,
    /// The actions as JavaScript reads them: pairs of slot and action. Never moves.
    pairs: Vec<u32>,
    last_delay: f64,
    last_authorize: bool,
}

#[wasm_bindgen]
impl CoreQueue {
    /// An empty queue. Without a seed the host is asked for one; that can fail, and then throws.
    #[wasm_bindgen(constructor)]
    pub fn new(
        concurrency: u32,
        #[wasm_bindgen(js_name = perLane)] per_lane: u32,
        capacity: u32,
        #[wasm_bindgen(js_name = capacityBytes)] capacity_bytes: f64,
        seed: Option<u64>,
    ) -> Result<CoreQueue, JsError> {
        let seed = match seed {
            Some(seed) => seed,
            None => getrandom::u64().map_err(no_entropy)?,
        };
        let limits = Limits { concurrency, per_lane, capacity, capacity_bytes: capacity_bytes as u64 };
        Ok(CoreQueue {
            queue: Queue::new(limits, seed),
            actions: Vec::with_capacity(BATCH),
            pairs: vec![0; BATCH.saturating_mul(2)],
            last_delay: 0.0,
            last_authorize: false,
        })
    }

    /// Keeps a policy and gives its handle; each call needs a `releasePolicy`. Throws
    /// `option|expected|got`.
    pub fn policy(&mut self, fields: &[f64]) -> Result<u32, JsError> {
        let policy = PolicyOptions::from_fields(fields).and_then(|options| Policy::new(&options));
        Ok(self.queue.intern(policy.map_err(|error| policy_error(&error))?))
    }

    /// Takes back one `policy()`; tasks under it keep it.
    #[wasm_bindgen(js_name = releasePolicy)]
    pub fn release_policy(&mut self, policy: u32) {
        self.queue.release(policy);
    }

    /// Opens a lane.
    pub fn lane(&mut self) -> u32 {
        self.queue.open_lane()
    }

    /// Forgets a lane if nothing waits, runs, is held or paused there, and says whether.
    #[wasm_bindgen(js_name = dropLane)]
    pub fn drop_lane(&mut self, lane: u32) -> bool {
        self.queue.drop_lane(lane)
    }

    /// Until when a server's delay holds the lane; 0: it does not.
    #[wasm_bindgen(js_name = heldUntil)]
    pub fn held_until(&self, lane: u32, now: f64) -> f64 {
        self.queue.held_until(lane, Millis::from_f64(now)).map_or(0.0, Millis::to_f64)
    }

    /// What one finished call means: 0 success, 1 retry, else 2 + reason.
    pub fn classify(&self, policy: u32, outcome: u32, status: u32, flags: u32) -> u32 {
        let outcome = Outcome::from_code(outcome);
        match self.queue.classify(policy, outcome, status, Flags::from_bits(flags)) {
            Class::Success => 0,
            Class::Retry => 1,
            Class::Fail(reason) => reason.code().saturating_add(2),
        }
    }

    /// Takes a task; none if the queue is full. Infinity: no such limit. `started`: the caller's
    /// own first attempt has just ended, and `settle` follows at once.
    pub fn admit(
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
        started: bool,
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
            started,
        };
        self.queue.admit(Millis::from_f64(now), &admission).unwrap_or(NONE)
    }

    /// Hears how an attempt ended: 0 succeeded, 1 retry, 2 cancelled, 3 parked, 4 stale,
    /// 16 + reason exhausted. `serverDelayMs` and `durationMs` are NaN where there is none.
    pub fn settle(
        &mut self,
        now: f64,
        slot: u32,
        outcome: u32,
        status: u32,
        #[wasm_bindgen(js_name = serverDelayMs)] server_delay_ms: f64,
        #[wasm_bindgen(js_name = durationMs)] duration_ms: f64,
    ) -> u32 {
        let ended = Ended {
            outcome: Outcome::from_code(outcome),
            status,
            server_delay: given(server_delay_ms),
            duration: given(duration_ms),
        };
        self.last_delay = 0.0;
        self.last_authorize = false;
        match self.queue.settle(Millis::from_f64(now), slot, &ended) {
            Verdict::Succeeded => 0,
            Verdict::Retry { delay, authorize } => {
                self.last_delay = delay.get() as f64;
                self.last_authorize = authorize;
                1
            }
            Verdict::Cancelled => 2,
            Verdict::Parked => 3,
            Verdict::Stale => 4,
            Verdict::Exhausted(reason) => reason.code().saturating_add(REASONS),
        }
    }

    /// The wait the last `settle` chose, in ms; 0 unless it said retry.
    #[wasm_bindgen(js_name = lastDelay)]
    pub fn last_delay(&self) -> f64 {
        self.last_delay
    }

    /// Whether the last `settle` asks for fresh credentials.
    #[wasm_bindgen(js_name = lastAuthorize)]
    pub fn last_authorize(&self) -> bool {
        self.last_authorize
    }

    /// When a task that waits may start; NaN if it does not wait for time or turn.
    #[wasm_bindgen(js_name = dueAt)]
    pub fn due_at(&self, slot: u32) -> f64 {
        self.queue.due_at(slot).map_or(f64::NAN, Millis::to_f64)
    }

    /// Attempts made for a task and not given back.
    pub fn attempts(&self, slot: u32) -> u32 {
        self.queue.attempts(slot)
    }

    /// What to do now: the number of pairs at `actionsPtr`, slot and action (0 start,
    /// 16 + reason ended). While it is 256, call again.
    pub fn poll(&mut self, now: f64) -> u32 {
        self.queue.poll(Millis::from_f64(now), &mut self.actions);
        for (pair, action) in self.pairs.chunks_exact_mut(2).zip(&self.actions) {
            pair.copy_from_slice(&match *action {
                Action::Start(slot) => [slot, 0],
                Action::End(slot, reason) => [slot, reason.code().saturating_add(REASONS)],
            });
        }
        self.actions.len() as u32
    }

    /// Where the pairs lie in the wasm's memory, in bytes.
    #[wasm_bindgen(js_name = actionsPtr)]
    pub fn actions_ptr(&self) -> u32 {
        self.pairs.as_ptr() as u32
    }

    /// When to poll again; Infinity: nothing waits for time.
    #[wasm_bindgen(js_name = wakeAt)]
    pub fn wake_at(&mut self) -> f64 {
        self.queue.wake_at().to_f64()
    }

    /// 0 gone, 1 cancelled and its slot free, 2 requested of an attempt in flight.
    pub fn cancel(&mut self, slot: u32) -> u32 {
        match self.queue.cancel(slot) {
            Cancelled::Gone => 0,
            Cancelled::Done => 1,
            Cancelled::Requested => 2,
        }
    }

    /// Starts nothing more in a lane; none: anywhere.
    pub fn pause(&mut self, lane: u32) {
        self.queue.pause(given_lane(lane));
    }

    /// Ends the pause of a lane, or every pause; parked tasks are due again.
    pub fn resume(&mut self, now: f64, lane: u32) {
        self.queue.resume(Millis::from_f64(now), given_lane(lane));
    }

    /// Offline starts nothing; online again, lanes that failed meanwhile probe.
    #[wasm_bindgen(js_name = setOnline)]
    pub fn set_online(&mut self, now: f64, online: bool) {
        self.queue.set_online(Millis::from_f64(now), online);
    }

    /// Makes what waits for its own curve due now and says how many.
    pub fn flush(&mut self, now: f64, lane: u32) -> u32 {
        self.queue.flush(Millis::from_f64(now), given_lane(lane))
    }

    /// Tasks held, waiting or in flight: what the capacity counts.
    pub fn depth(&self) -> u32 {
        self.queue.depth()
    }

    /// Attempts of the queue that run.
    #[wasm_bindgen(js_name = inFlight)]
    pub fn in_flight(&self) -> u32 {
        self.queue.in_flight()
    }

    /// Bytes of the bodies of all tasks held.
    pub fn bytes(&self) -> f64 {
        self.queue.bytes() as f64
    }

    /// When the next attempt may start; Infinity: none waits for time.
    #[wasm_bindgen(js_name = nextDueAt)]
    pub fn next_due_at(&mut self) -> f64 {
        self.queue.next_due_at().to_f64()
    }

    /// `{ depth, inFlight, nextAttemptAt, lanes: [{ lane, depth, inFlight, heldUntilAt }] }`,
    /// the instants null where there is none.
    pub fn stats(&mut self) -> Result<JsValue, JsError> {
        let stats = self.queue.stats();
        let shown = ShownStats {
            depth: stats.depth,
            in_flight: stats.in_flight,
            next_attempt_at: stats.next_attempt_at.map(Millis::to_f64),
            lanes: stats
                .lanes
                .iter()
                .map(|lane| ShownLane {
                    lane: lane.lane,
                    depth: lane.depth,
                    in_flight: lane.in_flight,
                    held_until_at: lane.held_until_at.map(Millis::to_f64),
                })
                .collect(),
        };
        // By default an absent value would be undefined; the contract says null.
        let serializer = serde_wasm_bindgen::Serializer::new().serialize_missing_as_null(true);
        shown.serialize(&serializer).map_err(JsError::from)
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ShownStats {
    depth: u32,
    in_flight: u32,
    next_attempt_at: Option<f64>,
    lanes: Vec<ShownLane>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ShownLane {
    lane: u32,
    depth: u32,
    in_flight: u32,
    held_until_at: Option<f64>,
}

fn given(ms: f64) -> Option<Millis> {
    (!ms.is_nan()).then(|| Millis::from_f64(ms))
}

fn given_lane(lane: u32) -> Option<u32> {
    (lane != NONE).then_some(lane)
}
