//! The one wake-up of a queue.

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
