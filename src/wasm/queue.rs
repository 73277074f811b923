//! One queue as JavaScript sees it: a door for each kind of words, and one for stats.

use serde::Serialize;
use wasm_bindgen::prelude::*;

use super::errors::{no_entropy, policy_error};
use crate::calls::{Args, Calls, Op, WORDS};
use crate::queue::Limits;
use crate::time::Millis;

/// A queue, which hears calls by the numbers of [`Op`]. Handles (slot, lane, policy) are u32; 4294967295 is none. Times are epoch ms.
#[wasm_bindgen]
pub struct CoreQueue {
    calls: Calls,
    /// The words of a long call, as JavaScript writes them. They never move.
    words: Box<[f64; WORDS]>,
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
        Ok(CoreQueue { calls: Calls::new(limits, seed), words: Box::new([0.0; WORDS]) })
    }

    /// Keeps a policy and gives its handle; each call needs an [`Op::ReleasePolicy`]. Throws
    /// the name of a wrong option.
    pub fn policy(&mut self, fields: &[f64]) -> Result<u32, JsError> {
        self.calls.policy(fields).map_err(policy_error)
    }

    /// Makes a call of up to four words, and gives the first number of its answer; NaN: there is none.
    pub fn call(&mut self, op: u32, a: f64, b: f64, c: f64, d: f64) -> f64 {
        answer(&mut self.calls, op, &[a, b, c, d])
    }

    /// Makes a call of the first `count` words at `wordsPtr`.
    pub fn send(&mut self, op: u32, count: usize) -> f64 {
        answer(&mut self.calls, op, self.words.get(..count).unwrap_or_default())
    }

    /// Where the words of a long call lie in the wasm's memory, in bytes.
    #[wasm_bindgen(js_name = wordsPtr)]
    pub fn words_ptr(&self) -> usize {
        self.words.as_ptr() as usize
    }

    /// Where the numbers of the last answer lie.
    #[wasm_bindgen(js_name = answerPtr)]
    pub fn answer_ptr(&self) -> usize {
        self.calls.answer.as_ptr() as usize
    }

    /// `[depth, inFlight, nextAttemptAt, unusableRetryAfter, [[lane, depth, inFlight, heldUntilAt, circuit, tokens], ..]]`,
    /// the instants null where there is none. Lists and not objects: names would bring a cache of
    /// JavaScript's strings along, 1.5 KB of gzip.
    pub fn stats(&mut self, now: f64) -> Result<JsValue, JsError> {
        let stats = self.calls.queue.stats(Millis::from_f64(now));
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

/// The first number of a call's answer.
#[inline(never)]
fn answer(calls: &mut Calls, op: u32, words: &[f64]) -> f64 {
    calls.answer.clear();
    let op = Op::ALL.get(op as usize);
    op.and_then(|op| calls.call(*op, Args(words)));
    calls.answer.first().copied().unwrap_or(f64::NAN)
}
