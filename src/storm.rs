//! Sees a retry storm: far more tasks come in than succeed.
//!
//! One call that fails is news of a call. Twenty in ten seconds with hardly a success among them are a client that
//! keeps asking a server which cannot answer, whatever each of them waits for.
#![forbid(unsafe_code)]

use crate::recent::Recent;
use crate::time::Millis;

/// What is lately.
const WINDOW: Millis = Millis::new(10_000);
/// So many tasks are the fewest to speak of.
const FEWEST: u32 = 20;
/// More tasks than this for each success are a storm.
pub const TASKS_PER_SUCCESS: u32 = 10;

/// What one lane's tasks came to lately.
#[derive(Clone, Debug, Default)]
pub(crate) struct Storm {
    /// Tasks that came in, and successes.
    recent: Recent,
    /// Told of; not again before a window has passed.
    quiet_until: Millis,
}

impl Storm {
    /// A task came in. How many there were for each success, if that is a storm nobody was told of lately.
    pub fn queued(&mut self, now: Millis) -> Option<u32> {
        self.recent.add(WINDOW, now, true);
        let (queued, succeeded) = self.recent.counts();
        let ratio = queued.checked_div(succeeded.max(1)).unwrap_or(0);
        let is_storm = queued >= FEWEST && ratio > TASKS_PER_SUCCESS && self.quiet_until <= now;
        is_storm.then(|| {
            self.quiet_until = now.plus(WINDOW);
            ratio
        })
    }

    /// Something succeeded.
    pub fn succeeded(&mut self, now: Millis) {
        self.recent.add(WINDOW, now, false);
    }
}
