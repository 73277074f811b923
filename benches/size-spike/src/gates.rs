//! Breaker, retry budget and adaptive limit of one lane.

use crate::time::{add, scale};

#[derive(PartialEq, Eq, Clone, Copy)]
enum Circuit {
    Closed,
    Open,
    HalfOpen,
}

pub struct Gates {
    circuit: Circuit,
    consecutive: u32,
    window: [(u32, u32); 10],
    window_at: u64,
    open_ms: u64,
    open_until: u64,
    successes: u32,
    tokens_milli: u64,
    refilled_at: u64,
    limit_milli: u32,
    halved_at: u64,
}

impl Gates {
    pub fn new() -> Self {
        Self {
            circuit: Circuit::Closed,
            consecutive: 0,
            window: [(0, 0); 10],
            window_at: 0,
            open_ms: 5_000,
            open_until: 0,
            successes: 0,
            tokens_milli: 10_000,
            refilled_at: 0,
            limit_milli: 64_000,
            halved_at: 0,
        }
    }

    pub fn limit(&self) -> u32 {
        (self.limit_milli / 1_000).max(1)
    }

    pub fn admit(&mut self, now: u64) -> bool {
        if self.circuit == Circuit::Open {
            if now < self.open_until {
                return false;
            }
            self.circuit = Circuit::HalfOpen;
            self.successes = 0;
            return true;
        }
        let elapsed = now.saturating_sub(self.refilled_at);
        self.refilled_at = now;
        self.tokens_milli = self.tokens_milli.saturating_add(elapsed / 10).min(10_000);
        if self.tokens_milli < 1_000 {
            return false;
        }
        self.tokens_milli = self.tokens_milli.saturating_sub(1_000);
        true
    }

    pub fn settled(&mut self, now: u64, success: bool, took_ms: u64) {
        let second = now / 1_000;
        let stale = second.saturating_sub(self.window_at).min(10);
        for step in 0..stale {
            let at = ((self.window_at.saturating_add(step).saturating_add(1)) % 10) as usize;
            if let Some(cell) = self.window.get_mut(at) {
                *cell = (0, 0);
            }
        }
        self.window_at = self.window_at.max(second);
        if let Some(cell) = self.window.get_mut((second % 10) as usize) {
            cell.0 = cell.0.saturating_add(1);
            cell.1 = cell.1.saturating_add(u32::from(!success));
        }
        if success {
            self.consecutive = 0;
            self.successes = self.successes.saturating_add(1);
            self.tokens_milli = self.tokens_milli.saturating_add(200).min(10_000);
            self.limit_milli =
                self.limit_milli.saturating_add(1_000_000 / self.limit_milli.max(1)).min(64_000);
            if took_ms > 15_000 {
                self.limit_milli = self.limit_milli / 10 * 9;
            }
            if self.circuit == Circuit::HalfOpen && self.successes >= 5 {
                self.circuit = Circuit::Closed;
                self.open_ms = 5_000;
            }
            return;
        }
        self.consecutive = self.consecutive.saturating_add(1);
        if now.saturating_sub(self.halved_at) >= 200 {
            self.halved_at = now;
            self.limit_milli = (self.limit_milli / 2).max(1_000);
        }
        let (calls, failures) = self.window.iter().fold((0_u32, 0_u32), |(calls, failures), cell| {
            (calls.saturating_add(cell.0), failures.saturating_add(cell.1))
        });
        if self.circuit == Circuit::HalfOpen
            || self.consecutive >= 5
            || (calls >= 20 && failures.saturating_mul(2) >= calls)
        {
            self.circuit = Circuit::Open;
            let jitter = scale(self.open_ms / 2, (now as u32).wrapping_mul(0x9E37_79B9));
            self.open_until = add(now, (self.open_ms / 4).saturating_mul(3).saturating_add(jitter));
            self.open_ms = self.open_ms.saturating_mul(2).min(60_000);
        }
    }
}
