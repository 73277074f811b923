//! Waits that an answer calls for by what it means, where the curve alone would ask again too soon.
//!
//! A curve is made for failures that may pass at any moment. Some answers say more: a request that is still processed ends
//! when its work does, and a limit ends with its window. Asked by the curve, a call spends its attempts before either does. So
//! such an answer has a wait of its own: from `least`, doubled each time, up to `cap`, and the longer of that and of the
//! curve's holds. One table says it for every cause.
#![forbid(unsafe_code)]

use crate::time::Millis;

/// The meaning of an answer that is waited for with patience.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// The request is still processed: nothing has failed.
    InProgress,
    /// A limit that does not say until when.
    Limited,
}

/// The wait that a cause calls for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Patience {
    /// The shortest wait, the first time.
    pub least: Millis,
    /// No wait is longer.
    pub cap: Millis,
    /// Whether the attempt counts against the policy's.
    pub counts: bool,
}

impl Cause {
    /// The wait that the cause calls for.
    pub const fn patience(self) -> Patience {
        let least = Millis::new(1000);
        match self {
            Cause::InProgress => Patience { least, cap: Millis::new(10_000), counts: false },
            Cause::Limited => Patience { least, cap: Millis::new(30_000), counts: true },
        }
    }
}

impl Patience {
    /// The wait before asking for the `n`th time, 1 being the first: up to twice `least * 2^(n-1)`, by one uniform draw.
    /// The cap comes last.
    pub fn delay(self, n: u32, r32: u32) -> Millis {
        // Below 2^20, which is beyond every cap.
        let step = self.least.get().wrapping_mul(1 << n.saturating_sub(1).min(9));
        let more = step.wrapping_mul(u64::from(r32)) >> 32;
        Millis::new(step.wrapping_add(more)).min(self.cap)
    }
}

/// A body of more bytes is large.
const LARGE_BODY: u32 = 1 << 20;
const LONGEST_AFTER_UPLOAD: Millis = Millis::new(30_000);

/// The time that a task with a body of so many bytes waits beyond the curve after an attempt that had no answer: none for a small one, else a
/// second for each MiB and attempt, at most 30 s. A server that refuses an upload before it has read it may be heard as a lost connection, its
/// `Retry-After` with it, and each attempt sends the body again.
pub fn after_upload(bytes: u32, attempts: u32) -> Millis {
    if bytes <= LARGE_BODY {
        return Millis::ZERO;
    }
    let per_attempt = u64::from(bytes).wrapping_mul(1000) >> LARGE_BODY.trailing_zeros();
    Millis::new(per_attempt.wrapping_mul(u64::from(attempts))).min(LONGEST_AFTER_UPLOAD)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn s10_it_grows_from_the_least_to_the_cap_and_no_draw_leaves_the_range() {
        for cause in [Cause::InProgress, Cause::Limited] {
            let Patience { least, cap, .. } = cause.patience();
            for n in [0, 1, 2, 3, 4, 5, 6, 33, u32::MAX] {
                let step = u64::from(least.get() as u32) << n.clamp(1, 16).saturating_sub(1);
                for (r32, wait) in [(0, step), (1 << 31, step + step / 2)] {
                    assert_eq!(cause.patience().delay(n, r32), Millis::new(wait).min(cap), "{cause:?} {n}");
                }
                assert!(cause.patience().delay(n, u32::MAX) <= Millis::new(2 * step).min(cap));
            }
        }
    }
}
