//! The browser's one wake-up timer per queue.
//!
//! Browsers fire at once when asked for more than 2^31-1 ms, so the delay is clamped;
//! a wake-up is a hint, and the runner asks the queue what is due.

use gloo_timers::callback::Timeout;
use js_sys::Function;
use wasm_bindgen::prelude::*;

/// The longest delay a browser's timer takes, in milliseconds.
const LONGEST_MS: u32 = 2_147_483_647;

/// One timer that calls `wake`; arming it again replaces the earlier arming.
#[wasm_bindgen]
pub struct WakeTimer {
    wake: Function,
    armed: Option<Timeout>,
}

#[wasm_bindgen]
impl WakeTimer {
    /// A timer that is not armed yet.
    #[wasm_bindgen(constructor)]
    pub fn new(wake: Function) -> WakeTimer {
        WakeTimer { wake, armed: None }
    }

    /// Calls `wake` once in `delayMs`, clamped to `0..=2^31-1` (NaN counts as 0).
    pub fn arm(&mut self, #[wasm_bindgen(js_name = delayMs)] delay_ms: f64) {
        // `as` takes NaN and negatives to 0 and what is too large to the largest u32.
        let clamped = (delay_ms as u32).min(LONGEST_MS);
        let wake = self.wake.clone();
        // Dropping the earlier Timeout clears it.
        self.armed = Some(Timeout::new(clamped, move || {
            // An exception inside `wake` is its own to report: there is no caller to give it to.
            let _ = wake.call0(&JsValue::UNDEFINED);
        }));
    }

    /// Forgets the wake-up, if one is armed.
    pub fn disarm(&mut self) {
        self.armed = None;
    }
}
