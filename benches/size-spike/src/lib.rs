//! The face the finished core will show, with every part behind a feature of its own. Code here is of realistic size and
//! does the real work, so that its bytes are honest; it is not the code that ships.

#![allow(dead_code, missing_docs, clippy::too_many_arguments)]

#[cfg(feature = "queue")]
mod agenda;
#[cfg(feature = "backoff")]
mod backoff;
#[cfg(feature = "dates")]
mod dates;
mod functions;
#[cfg(feature = "gates")]
mod gates;
#[cfg(feature = "headers")]
mod headers;
#[cfg(feature = "serde-inward")]
mod inward;
#[cfg(feature = "json")]
mod json;
#[cfg(feature = "key")]
mod key;
mod policy;
#[cfg(feature = "queue")]
mod queue;
#[cfg(feature = "ratelimit")]
mod ratelimit;
#[cfg(feature = "queue")]
mod slots;
#[cfg(feature = "stats")]
mod stats;
mod text;
mod time;
#[cfg(feature = "timer")]
mod timer;

use policy::Policy;
use time::millis;
use wasm_bindgen::prelude::*;

#[cfg(all(feature = "talc", not(feature = "crate")))]
#[global_allocator]
static ALLOCATOR: talc::wasm::WasmDynamicTalc = talc::wasm::new_wasm_dynamic_allocator();

#[cfg(feature = "crate")]
extern crate redrive as _;

#[cfg(feature = "queue")]
type Inner = queue::Queue;
#[cfg(not(feature = "queue"))]
type Inner = Vec<f64>;

fn thrown(message: Vec<u8>) -> JsError {
    JsError::new(core::str::from_utf8(&message).unwrap_or(""))
}

#[cfg(not(feature = "crate"))]
#[wasm_bindgen]
pub struct CoreQueue {
    inner: Inner,
    policies: Vec<Policy>,
}

macro_rules! on_queue {
    ($self:ident, |$queue:ident| $body:expr, $other:expr) => {{
        #[cfg(feature = "queue")]
        {
            let $queue = &mut $self.inner;
            $body
        }
        #[cfg(not(feature = "queue"))]
        {
            $self.inner.push($other as f64);
            $other
        }
    }};
}

#[cfg(not(feature = "crate"))]
#[wasm_bindgen]
impl CoreQueue {
    #[wasm_bindgen(constructor)]
    pub fn new(
        concurrency: u32,
        per_lane: u32,
        capacity: u32,
        capacity_bytes: f64,
        seed: Option<u64>,
    ) -> Result<CoreQueue, JsError> {
        #[cfg(feature = "entropy")]
        let seed = match seed {
            Some(seed) => seed,
            None => getrandom::u64().map_err(|_| JsError::new("no entropy"))?,
        };
        #[cfg(not(feature = "entropy"))]
        let seed = seed.unwrap_or(1);
        #[cfg(feature = "queue")]
        let inner = queue::Queue::new(concurrency, per_lane, capacity, millis(capacity_bytes), seed);
        #[cfg(not(feature = "queue"))]
        let inner = vec![
            f64::from(concurrency),
            f64::from(per_lane),
            f64::from(capacity),
            capacity_bytes,
            seed as f64,
        ];
        Ok(Self { inner, policies: Vec::new() })
    }

    pub fn policy(&mut self, fields: &[f64]) -> Result<u32, JsError> {
        let policy = policy::policy(fields).map_err(thrown)?;
        self.policies.push(policy);
        Ok(self.policies.len() as u32 - 1)
    }

    #[wasm_bindgen(js_name = releasePolicy)]
    pub fn release_policy(&mut self, policy: u32) {
        if (policy as usize) < self.policies.len() {
            self.policies.swap_remove(policy as usize);
        }
    }

    pub fn lane(&mut self) -> u32 {
        on_queue!(self, |queue| queue.lane(), 0)
    }

    #[wasm_bindgen(js_name = dropLane)]
    pub fn drop_lane(&mut self, lane: u32) -> bool {
        on_queue!(self, |queue| queue.drop_lane(lane), lane) != Default::default()
    }

    #[wasm_bindgen(js_name = heldUntil)]
    pub fn held_until(&mut self, lane: u32, now: f64) -> f64 {
        on_queue!(
            self,
            |queue| queue.lanes.get(lane).map_or(0.0, |row| if row.held_until > millis(now) {
                row.held_until as f64
            } else {
                0.0
            }),
            now
        )
    }

    pub fn admit(
        &mut self,
        now: f64,
        lane: u32,
        policy: u32,
        priority: i32,
        bytes: f64,
        flags: u32,
        created_at: f64,
        expires_at: f64,
        wait_until: f64,
        started: bool,
        order: u32,
    ) -> u32 {
        on_queue!(
            self,
            |queue| queue.admit(
                millis(now),
                lane,
                policy,
                priority,
                millis(bytes),
                flags,
                millis(created_at),
                millis(expires_at),
                millis(wait_until),
                started,
                order
            ),
            lane ^ policy
                ^ flags
                ^ order
                ^ u32::from(started)
                ^ priority as u32
                ^ millis(now + bytes + created_at + expires_at + wait_until) as u32
        )
    }

    pub fn classify(&self, policy: u32, outcome: u32, status: u32, flags: u32) -> u32 {
        let Some(policy) = self.policies.get(policy as usize) else { return 5 };
        let listed = policy.statuses.binary_search(&(status as u16)).is_ok();
        match outcome {
            0 if status < 400 && !listed => 0,
            0 if status == 400 => 5,
            0 if status == 422 && flags & 2 != 0 => 7,
            0 if status == 409 && flags & 2 == 0 => 5,
            0 if listed && flags & 1 != 0 => 1,
            1 | 2 if policy.retry_network && flags & 1 != 0 => 1,
            5 => 11,
            _ => 5,
        }
    }

    pub fn settle(
        &mut self,
        now: f64,
        slot: u32,
        policy: u32,
        outcome: u32,
        status: u32,
        server_ms: f64,
        took_ms: f64,
    ) -> u32 {
        let verdict = self.classify(policy, outcome, status, 7);
        let Some(policy) = self.policies.get(policy as usize) else { return 4 };
        #[cfg(all(feature = "backoff", feature = "queue"))]
        let curve = {
            let (n, phase, previous) = self
                .inner
                .tasks
                .get(slot)
                .map_or((1, 0, 0), |task| (task.attempts, task.phase, task.previous_ms));
            let r32 = self.inner.draw();
            backoff::delay(policy, n, r32, phase, previous)
        };
        #[cfg(not(all(feature = "backoff", feature = "queue")))]
        let curve = policy.initial_ms;
        on_queue!(
            self,
            |queue| {
                let limits = queue::Limits {
                    max_attempts: policy.max_attempts,
                    total_budget_ms: policy.total_budget_ms,
                    max_server_ms: policy.max_server_ms,
                    key_ttl_ms: policy.key_ttl_ms,
                    estimate_ms: policy.estimate_ms,
                };
                let server = if server_ms.is_nan() { None } else { Some(millis(server_ms)) };
                queue.settle(
                    millis(now),
                    slot,
                    &limits,
                    outcome,
                    verdict,
                    curve,
                    server,
                    millis(took_ms),
                    status,
                )
            },
            verdict ^ slot ^ curve as u32 ^ millis(now + server_ms + took_ms) as u32
        )
    }

    #[wasm_bindgen(js_name = lastDelay)]
    pub fn last_delay(&mut self) -> f64 {
        on_queue!(self, |queue| queue.last_delay as f64, 1.0)
    }

    #[wasm_bindgen(js_name = lastAuthorize)]
    pub fn last_authorize(&mut self) -> bool {
        on_queue!(self, |queue| queue.authorize, 1) != Default::default()
    }

    #[wasm_bindgen(js_name = dueAt)]
    pub fn due_at(&mut self, slot: u32) -> f64 {
        on_queue!(
            self,
            |queue| queue.tasks.get(slot).map_or(f64::NAN, |task| task.due_at as f64),
            f64::from(slot)
        )
    }

    pub fn attempts(&mut self, slot: u32) -> u32 {
        on_queue!(self, |queue| queue.tasks.get(slot).map_or(0, |task| task.attempts), slot)
    }

    pub fn poll(&mut self, now: f64) -> u32 {
        on_queue!(self, |queue| queue.poll(millis(now)), millis(now) as u32)
    }

    #[wasm_bindgen(js_name = actionsPtr)]
    pub fn actions_ptr(&mut self) -> u32 {
        on_queue!(self, |queue| queue.actions.as_ptr() as u32, 7)
    }

    #[wasm_bindgen(js_name = wakeAt)]
    pub fn wake_at(&mut self) -> f64 {
        on_queue!(self, |queue| queue.wake_at().map_or(f64::INFINITY, |at| at as f64), 2.0)
    }

    pub fn cancel(&mut self, slot: u32) -> u32 {
        on_queue!(self, |queue| queue.cancel(slot), slot)
    }

    pub fn pause(&mut self, lane: u32) {
        on_queue!(self, |queue| queue.set_paused(0, lane, true), { f64::from(lane) });
    }

    pub fn resume(&mut self, now: f64, lane: u32) {
        on_queue!(self, |queue| queue.set_paused(millis(now), lane, false), { now + f64::from(lane) });
    }

    #[wasm_bindgen(js_name = setOnline)]
    pub fn set_online(&mut self, online: bool) {
        on_queue!(self, |queue| queue.set_online(online), { f64::from(u8::from(online)) });
    }

    pub fn flush(&mut self, now: f64, lane: u32) -> u32 {
        on_queue!(self, |queue| queue.flush(millis(now), lane), lane ^ millis(now) as u32)
    }

    pub fn depth(&mut self) -> u32 {
        on_queue!(self, |queue| queue.tasks.len(), 3)
    }

    #[wasm_bindgen(js_name = inFlight)]
    pub fn in_flight(&mut self) -> u32 {
        on_queue!(self, |queue| queue.in_flight, 4)
    }

    pub fn bytes(&mut self) -> f64 {
        on_queue!(self, |queue| queue.bytes as f64, 5.0)
    }

    #[cfg(feature = "stats")]
    pub fn stats(&mut self) -> Result<JsValue, JsError> {
        let stats = stats::Stats {
            depth: self.depth(),
            in_flight: self.in_flight(),
            next_attempt_at: Some(self.wake_at()).filter(|at| at.is_finite()),
            lanes: {
                #[cfg(feature = "queue")]
                {
                    let held = |at: u64| (at > 0).then_some(at as f64);
                    self.inner
                        .lanes
                        .iter()
                        .map(|(lane, row)| stats::LaneStats {
                            lane,
                            depth: row.depth,
                            in_flight: row.in_flight,
                            held_until_at: held(row.held_until),
                            circuit: "CLOSED",
                        })
                        .collect()
                }
                #[cfg(not(feature = "queue"))]
                vec![stats::LaneStats {
                    lane: 0,
                    depth: self.policies.len() as u32,
                    in_flight: 0,
                    held_until_at: None,
                    circuit: "CLOSED",
                }]
            },
        };
        serde_wasm_bindgen::to_value(&stats).map_err(JsError::from)
    }
}
