//! The face the finished core will show, with every part behind a feature of its own. Code here is of realistic size and
//! does the real work, so that its bytes are honest; it is not the code that ships.

#![allow(dead_code, missing_docs, clippy::too_many_arguments)]

#[cfg(feature = "queue")]
mod agenda;
#[cfg(feature = "backoff")]
mod backoff;
#[cfg(feature = "dates")]
mod dates;
#[cfg(feature = "gates")]
mod gates;
#[cfg(feature = "headers")]
mod headers;
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
mod text;
mod time;

use policy::Policy;
use time::millis;
use wasm_bindgen::prelude::*;

#[cfg(feature = "talc")]
#[global_allocator]
static ALLOCATOR: talc::wasm::WasmDynamicTalc = talc::wasm::new_wasm_dynamic_allocator();

#[cfg(feature = "queue")]
type Inner = queue::Queue;
#[cfg(not(feature = "queue"))]
type Inner = Vec<f64>;

fn thrown(message: Vec<u8>) -> JsError {
    JsError::new(core::str::from_utf8(&message).unwrap_or(""))
}

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

#[wasm_bindgen]
impl CoreQueue {
    #[wasm_bindgen(constructor)]
    pub fn new(concurrency: u32, per_lane: u32, capacity: u32, capacity_bytes: f64, seed: Option<u64>) -> Result<CoreQueue, JsError> {
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
        let inner = vec![f64::from(concurrency), f64::from(per_lane), f64::from(capacity), capacity_bytes, seed as f64];
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
        on_queue!(self, |queue| queue.lanes.get(lane).map_or(0.0, |row| if row.held_until > millis(now) { row.held_until as f64 } else { 0.0 }), now)
    }

    pub fn admit(&mut self, now: f64, lane: u32, policy: u32, priority: i32, bytes: f64, flags: u32, created_at: f64, expires_at: f64, wait_until: f64, started: bool, order: u32) -> u32 {
        on_queue!(
            self,
            |queue| queue.admit(millis(now), lane, policy, priority, millis(bytes), flags, millis(created_at), millis(expires_at), millis(wait_until), started, order),
            lane ^ policy ^ flags ^ order ^ u32::from(started) ^ priority as u32 ^ millis(now + bytes + created_at + expires_at + wait_until) as u32
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

    pub fn settle(&mut self, now: f64, slot: u32, policy: u32, outcome: u32, status: u32, server_ms: f64, took_ms: f64) -> u32 {
        let verdict = self.classify(policy, outcome, status, 7);
        let Some(policy) = self.policies.get(policy as usize) else { return 4 };
        #[cfg(all(feature = "backoff", feature = "queue"))]
        let curve = {
            let (n, phase, previous) = self.inner.tasks.get(slot).map_or((1, 0, 0), |task| (task.attempts, task.phase, task.previous_ms));
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
                queue.settle(millis(now), slot, &limits, outcome, verdict, curve, server, millis(took_ms), status)
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
        on_queue!(self, |queue| queue.tasks.get(slot).map_or(f64::NAN, |task| task.due_at as f64), f64::from(slot))
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
                    self.inner.lanes.iter().map(|(lane, row)| stats::LaneStats { lane, depth: row.depth, in_flight: row.in_flight, held_until_at: held(row.held_until), circuit: "CLOSED" }).collect()
                }
                #[cfg(not(feature = "queue"))]
                vec![stats::LaneStats { lane: 0, depth: self.policies.len() as u32, in_flight: 0, held_until_at: None, circuit: "CLOSED" }]
            },
        };
        serde_wasm_bindgen::to_value(&stats).map_err(|error| JsError::from(error))
    }
}

#[cfg(feature = "stats")]
mod stats {
    use serde::Serialize;

    #[derive(Serialize)]
    #[serde(rename_all = "camelCase")]
    pub struct LaneStats {
        pub lane: u32,
        pub depth: u32,
        pub in_flight: u32,
        pub held_until_at: Option<f64>,
        pub circuit: &'static str,
    }

    #[derive(Serialize)]
    #[serde(rename_all = "camelCase")]
    pub struct Stats {
        pub depth: u32,
        pub in_flight: u32,
        pub next_attempt_at: Option<f64>,
        pub lanes: Vec<LaneStats>,
    }
}

#[cfg(feature = "serde-inward")]
mod inward {
    use wasm_bindgen::prelude::*;

    #[derive(serde::Deserialize)]
    #[serde(rename_all = "camelCase", deny_unknown_fields)]
    struct PolicyIn {
        policy_id: String,
        strategy: Option<String>,
        max_attempts: Option<f64>,
        initial_delay_ms: Option<f64>,
        multiplier: Option<f64>,
        delays_ms: Option<Vec<f64>>,
        retry_network_errors: Option<bool>,
    }

    #[wasm_bindgen(js_name = policyFrom)]
    pub fn policy_from(value: JsValue) -> Result<f64, JsError> {
        let policy: PolicyIn = serde_wasm_bindgen::from_value(value)?;
        let sum: f64 = policy.delays_ms.unwrap_or_default().iter().sum();
        Ok(sum + policy.policy_id.len() as f64 + policy.strategy.map_or(0.0, |text| text.len() as f64) + policy.max_attempts.unwrap_or(0.0) + policy.initial_delay_ms.unwrap_or(0.0) + policy.multiplier.unwrap_or(0.0) + f64::from(u8::from(policy.retry_network_errors.unwrap_or(true))))
    }
}

#[cfg(feature = "backoff")]
#[wasm_bindgen(js_name = calculateBackoffDelay)]
pub fn calculate_backoff_delay(fields: &[f64], attempt: u32, r32: u32, phase: u32, previous_ms: f64) -> Result<f64, JsError> {
    let policy = policy::policy(fields).map_err(thrown)?;
    Ok(backoff::delay(&policy, attempt, r32, phase, millis(previous_ms)) as f64)
}

#[cfg(feature = "backoff")]
#[wasm_bindgen(js_name = backoffSchedule)]
pub fn backoff_schedule(fields: &[f64]) -> Result<Vec<f64>, JsError> {
    let policy = policy::policy(fields).map_err(thrown)?;
    Ok(backoff::schedule(&policy))
}

#[cfg(feature = "dates")]
#[wasm_bindgen(js_name = parseRetryAfter)]
pub fn parse_retry_after(header: &[u8], date: &[u8], now: f64) -> f64 {
    dates::wait_ms(header, date, millis(now)).map_or(-1.0, |ms| ms as f64)
}

#[cfg(feature = "ratelimit")]
#[wasm_bindgen(js_name = parseRateLimit)]
pub fn parse_rate_limit(header: &[u8]) -> Vec<f64> {
    ratelimit::tightest(header).map_or_else(Vec::new, |(left, reset)| vec![left as f64, reset.map_or(f64::NAN, |ms| ms as f64)])
}

#[cfg(feature = "headers")]
#[wasm_bindgen(js_name = keptHeaders)]
pub fn kept_headers(names: &[u8], allow: &[u8], deny: &[u8]) -> Vec<u8> {
    headers::kept(names, allow, deny)
}

#[cfg(feature = "headers")]
#[wasm_bindgen(js_name = tells)]
pub fn tells(value: &[u8], url: &[u8]) -> bool {
    headers::tells(value) || headers::url_secret(url)
}

#[cfg(feature = "json")]
#[wasm_bindgen(js_name = canonicalJson)]
pub fn canonical_json(text: &[u8]) -> Result<Vec<u8>, JsValue> {
    json::canonical(text).map_err(|at| JsValue::from_f64(at as f64))
}

#[cfg(feature = "key")]
#[wasm_bindgen(js_name = generateIdempotencyKey)]
pub fn generate_idempotency_key(fields: &[u8], body: &[u8]) -> Option<Vec<u8>> {
    key::key(fields, body)
}

#[cfg(feature = "entropy")]
#[wasm_bindgen(js_name = randomU32)]
pub fn random_u32() -> Result<u32, JsError> {
    getrandom::u32().map_err(|_| JsError::new("no entropy"))
}

#[cfg(feature = "float-parse")]
#[wasm_bindgen(js_name = floatParse)]
pub fn float_parse(text: &str) -> f64 {
    text.parse().unwrap_or(f64::NAN)
}

#[cfg(feature = "float-print")]
#[wasm_bindgen(js_name = floatPrint)]
pub fn float_print(value: f64) -> String {
    format!("{value}")
}

#[cfg(feature = "timer")]
mod timer {
    use gloo_timers::callback::Timeout;
    use wasm_bindgen::prelude::*;

    /// The one wake-up of a queue; arming again replaces the last.
    #[wasm_bindgen]
    pub struct WakeTimer {
        wake: js_sys::Function,
        timeout: Option<Timeout>,
    }

    #[wasm_bindgen]
    impl WakeTimer {
        #[wasm_bindgen(constructor)]
        pub fn new(wake: js_sys::Function) -> WakeTimer {
            WakeTimer { wake, timeout: None }
        }

        pub fn arm(&mut self, delay_ms: f64) {
            let wake = self.wake.clone();
            let delay = crate::time::millis(delay_ms).min(0x7FFF_FFFF) as u32;
            self.timeout = Some(Timeout::new(delay, move || {
                let _ = wake.call0(&JsValue::NULL);
            }));
        }

        pub fn disarm(&mut self) {
            self.timeout = None;
        }
    }
}
