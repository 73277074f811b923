//! What a wrong core takes an ended attempt for.

use redrive::queue::Ended;
use redrive::task::Outcome;
use redrive::time::Millis;

use crate::wrong::fault::*;

/// A server's delay that the queue is not told of.
fn deaf(ended: &Ended, to_limits: bool) -> Ended {
    let zero = |ms: Option<Millis>| ms.map(|ms| ms.min(Millis::new(1)));
    let rate_limit = if to_limits { None } else { zero(ended.rate_limit) };
    Ended { server_delay: zero(ended.server_delay), rate_limit, ..*ended }
}

/// `has_met_401`: so did the caller's own first attempt before it.
pub fn told<const FAULT: u8>(ended: &Ended, has_met_401: bool) -> Ended {
    let mut told = *ended;
    match FAULT {
        BELIEVES_SERVERS if told.outcome == Outcome::Response && told.status >= 500 => told.status = 200,
        IGNORES_RETRY_AFTER => told = deaf(ended, false),
        // Statuses that do not speak for the whole server, and otherwise mean the same.
        IGNORES_HOLDS if ended.status == 503 => told.status = 502,
        IGNORES_HOLDS if ended.status == 429 && ended.server_delay.is_some() => told.status = 408,
        GOES_ON_AFTER_A_VETO if told.said == Some(false) => told.said = None,
        IGNORES_A_HOOK_THAT_INSISTS if told.said == Some(true) => told.said = None,
        LETS_A_HOOK_UNDERCUT_THE_SERVER if told.delay.is_some() => {
            (told.server_delay, told.rate_limit) = (None, None);
        }
        IGNORES_CHOSEN_WAITS => told.delay = None,
        HOLDS_ALL_FOR_A_PARTITION => told.partitioned = false,
        TAKES_WORK_FOR_A_CONFLICT => told.asked = false,
        ASKS_FOR_WHAT_IS_STORED => told.replayed = false,
        REFRESHES_TWICE if told.status == 401 && has_met_401 => told.status = 503,
        _ => {}
    }
    told
}
