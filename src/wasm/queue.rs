//! One queue as JavaScript sees it.

use serde::Serialize;
use wasm_bindgen::prelude::*;

use super::errors::{no_entropy, policy_error};
use crate::codes::{self, NextField, Said};
use crate::http::classify::Beside;
use crate::outcome::{Flags, Outcome, Reason};
use crate::policy::Policy;
use crate::queue::{Action, Admission, BATCH, Ended, Facts, GateStatus, Limits, Queue};
use crate::slots::NONE;
use crate::time::Millis;

/// A queue. Handles (slot, lane, policy) are u32; 4294967295 is none. Times are epoch ms.
#[wasm_bindgen]
pub struct CoreQueue {
    pub(super) queue: Queue,
    actions: Vec<Action>,
    /// The actions as JavaScript reads them: pairs of slot and action. Never moves.
    pairs: Vec<u32>,
    /// The numbers behind the last `settle`, `gateStatus` or `gateOfLane`. Never moves.
    decision: Box<[f64; NextField::ALL.len()]>,
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
        #[wasm_bindgen(js_name = maxLaneHoldMs)] max_lane_hold_ms: f64,
        seed: Option<u64>,
    ) -> Result<CoreQueue, JsError> {
        let seed = match seed {
            Some(seed) => seed,
            None => getrandom::u64().map_err(no_entropy)?,
        };
        let max_lane_hold = Millis::from_f64(max_lane_hold_ms);
        let limits =
            Limits { concurrency, per_lane, capacity, capacity_bytes: capacity_bytes as u64, max_lane_hold };
        Ok(CoreQueue {
            queue: Queue::new(limits, seed),
            actions: Vec::with_capacity(BATCH),
            pairs: vec![0; BATCH.saturating_mul(2)],
            decision: Box::new([0.0; NextField::ALL.len()]),
        })
    }

    /// Keeps a policy and gives its handle; each call needs a `releasePolicy`. Throws
    /// the name of a wrong option.
    pub fn policy(&mut self, fields: &[f64]) -> Result<u32, JsError> {
        match Policy::from_fields(fields) {
            Ok(policy) => Ok(self.queue.intern(policy)),
            Err(error) => Err(policy_error(error)),
        }
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

    /// Forgets a lane if nothing waits, runs or is held there, and says whether.
    #[wasm_bindgen(js_name = dropLane)]
    pub fn drop_lane(&mut self, lane: u32) -> bool {
        self.queue.drop_lane(lane)
    }

    /// Opens an order: its tasks run one after another. None: there are too many.
    #[wasm_bindgen(js_name = openOrder)]
    pub fn open_order(&mut self) -> u32 {
        self.queue.open_order()
    }

    /// Forgets an order if no task is in it, and says whether.
    #[wasm_bindgen(js_name = dropOrder)]
    pub fn drop_order(&mut self, order: u32) -> bool {
        self.queue.drop_order(order)
    }

    /// Until when a server's delay or rate limit holds the lane; 0: it does not.
    #[wasm_bindgen(js_name = heldUntil)]
    pub fn held_until(&self, lane: u32, now: f64) -> f64 {
        self.queue.held_until(lane, Millis::from_f64(now)).map_or(0.0, Millis::to_f64)
    }

    /// The meaning of a caller's own first attempt, by the numbers of [`codes::class`]. `asked`: the answer asks for
    /// another attempt by itself, as `http/asked.rs` has it.
    pub fn classify(&self, policy: u32, outcome: u32, status: u32, flags: u32, asked: bool) -> u32 {
        let outcome = Outcome::from_code(outcome);
        let beside = Beside { asked, ..Beside::default() };
        codes::class(self.queue.classify(policy, outcome, status, Flags::from_bits(flags), beside))
    }

    /// Hears how many dead letters the host keeps, and the bytes of their bodies: they take room from the next `admit` on.
    #[wasm_bindgen(js_name = keepDead)]
    pub fn keep_dead(&mut self, count: u32, bytes: f64) {
        self.queue.keep_dead(count, bytes as u64);
    }

    /// Takes a task; none if the queue is full. Infinity: no such limit. `order` none: it is in no
    /// order. `startedAt`: when the caller's own first attempt began, which has just ended, so that `settle` follows at
    /// once; NaN: there was none. Not with an order.
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
        order: u32,
        #[wasm_bindgen(js_name = startedAt)] started_at: f64,
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
            order,
            started: !started_at.is_nan(),
            began: given(started_at).unwrap_or_default(),
        };
        let slot = self.queue.admit(Millis::from_f64(now), &admission).unwrap_or(NONE);
        if let Some(place) = self.decision.get_mut(NextField::DueAt as usize) {
            *place = self.queue.due_at(slot).map_or(f64::NAN, Millis::to_f64);
        }
        slot
    }

    /// Hears how an attempt ended and says what follows, by the numbers of [`crate::queue::NextKind`]. `serverDelayMs`,
    /// `durationMs`, `rateLimitMs` and `delayMs` are NaN where there is none. `unusable`: a Retry-After was there and could
    /// not be read. `partitioned`: the rate limit is one partition's. `asked`: as in [`CoreQueue::classify`]. `replayed`: the answer is marked as a stored one. `said`: by the numbers of [`Said`]. `facts`: those of [`Facts`], added
    /// up. `reason`: the host's own, should the task end; none: it has none. At `decisionPtr` lie the numbers of [`NextField`] then.
    pub fn settle(
        &mut self,
        now: f64,
        slot: u32,
        outcome: u32,
        status: u32,
        #[wasm_bindgen(js_name = serverDelayMs)] server_delay_ms: f64,
        #[wasm_bindgen(js_name = durationMs)] duration_ms: f64,
        #[wasm_bindgen(js_name = rateLimitMs)] rate_limit_ms: f64,
        unusable: bool,
        partitioned: bool,
        said: u32,
        #[wasm_bindgen(js_name = delayMs)] delay_ms: f64,
        asked: bool,
        replayed: bool,
        facts: u32,
        reason: u32,
    ) -> u32 {
        let ended = Ended {
            outcome: Outcome::from_code(outcome),
            status,
            server_delay: given(server_delay_ms),
            duration: given(duration_ms),
            rate_limit: given(rate_limit_ms),
            partitioned,
            unusable,
            asked,
            replayed,
            said: Said::ALL.get(said as usize).and_then(|said| said.word()),
            delay: given(delay_ms),
            facts: Facts::from_bits(facts),
            reason: Reason::ALL.get(reason as usize).copied(),
        };
        let next = self.queue.next(Millis::from_f64(now), slot, &ended);
        *self.decision = codes::next(&next);
        next.kind.code()
    }

    /// Where the numbers behind the last answer lie in the wasm's memory, in bytes.
    #[wasm_bindgen(js_name = decisionPtr)]
    pub fn decision_ptr(&self) -> u32 {
        self.decision.as_ptr() as u32
    }

    /// Finds the gate that holds a task: whether the task is there. At `decisionPtr` lie the numbers of [`Gated`] then.
    #[wasm_bindgen(js_name = gateStatus)]
    pub fn gate_status(&mut self, slot: u32, now: f64) -> bool {
        let status = self.queue.gate_status_at(slot, Millis::from_f64(now));
        self.note_gate(status.as_ref())
    }

    /// Finds the gate that holds a due task of a store in a lane; none: the gate that all lanes share. At `decisionPtr`
    /// lie the numbers of [`Gated`] then.
    #[wasm_bindgen(js_name = gateOfLane)]
    pub fn gate_of_lane(&mut self, lane: u32, now: f64, is_retry: bool) {
        let status = self.queue.gate_of_lane(lane, Millis::from_f64(now), is_retry);
        self.note_gate(Some(&status));
    }

    /// Says what to do now: the number of pairs at `actionsPtr`, by the numbers of [`codes::action`]. While it is 256, call
    /// again.
    pub fn poll(&mut self, now: f64) -> u32 {
        self.queue.poll(Millis::from_f64(now), &mut self.actions);
        for (pair, action) in self.pairs.chunks_exact_mut(2).zip(&self.actions) {
            pair.copy_from_slice(&codes::action(action));
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

    /// Puts a task whose caller waits no longer under another policy.
    #[wasm_bindgen(js_name = handOver)]
    pub fn hand_over(&mut self, slot: u32, policy: u32) {
        self.queue.hand_over(slot, policy);
    }

    /// Ends a task, or asks for its end, by the numbers of [`crate::queue::Cancelled`].
    pub fn cancel(&mut self, slot: u32) -> u32 {
        self.queue.cancel(slot).code()
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

    /// Tasks held, waiting or in flight. Leased ones are their store's.
    pub fn depth(&self) -> u32 {
        self.queue.depth()
    }

    /// Attempts of the queue that run, those of leased tasks too.
    #[wasm_bindgen(js_name = inFlight)]
    pub fn in_flight(&self) -> u32 {
        self.queue.in_flight()
    }

    /// `[depth, inFlight, nextAttemptAt, unusableRetryAfter, [[lane, depth, inFlight, heldUntilAt, circuit, tokens], ..]]`,
    /// the instants null where there is none. Lists and not objects: names would bring a cache of
    /// JavaScript's strings along, 1.5 KB of gzip.
    pub fn stats(&mut self, now: f64) -> Result<JsValue, JsError> {
        let stats = self.queue.stats(Millis::from_f64(now));
        let lanes: Vec<_> = stats
            .lanes
            .iter()
            .map(|lane| {
                let held = lane.held_until_at.map(Millis::to_f64);
                [
                    Some(f64::from(lane.lane)),
                    Some(f64::from(lane.depth)),
                    Some(f64::from(lane.in_flight)),
                    held,
                    lane.shut_until_at.map(Millis::to_f64),
                    Some(f64::from(lane.circuit.code())),
                    Some(lane.tokens),
                ]
            })
            .collect();
        let next = stats.next_attempt_at.map(Millis::to_f64);
        // By default an absent value would be undefined; the contract says null.
        let serializer = serde_wasm_bindgen::Serializer::new().serialize_missing_as_null(true);
        let shown = (stats.depth, stats.in_flight, next, stats.unusable_retry_after, lanes);
        shown.serialize(&serializer).map_err(JsError::from)
    }
}

impl CoreQueue {
    /// Leaves a gate's numbers where JavaScript reads them, and says whether there is a gate.
    #[inline(never)]
    fn note_gate(&mut self, status: Option<&GateStatus>) -> bool {
        if let (Some(status), Some(place)) = (status, self.decision.first_chunk_mut()) {
            *place = codes::gated(status);
        }
        status.is_some()
    }
}

pub(super) fn given(ms: f64) -> Option<Millis> {
    (!ms.is_nan()).then(|| Millis::from_f64(ms))
}

fn given_lane(lane: u32) -> Option<u32> {
    (lane != NONE).then_some(lane)
}
