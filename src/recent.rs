//! Two counts of the last stretch of time, kept in ten buckets: what happened, without a list of when.
#![forbid(unsafe_code)]

use crate::time::Millis;

const BUCKETS: u64 = 10;

/// How often one thing and another happened lately. The stretch ends between nine and ten tenths ago.
#[derive(Clone, Debug, Default)]
pub(crate) struct Recent {
    buckets: [(u32, u32); BUCKETS as usize],
    /// The number of the newest bucket, counted from the epoch.
    newest: u64,
}

impl Recent {
    /// One more of the first kind (`first`) or of the second, at `now`.
    pub fn add(&mut self, length: Millis, now: Millis, first: bool) {
        let width = (length.get() / BUCKETS).max(1);
        let at = now.get().checked_div(width).unwrap_or(0);
        let passed = at.saturating_sub(self.newest).min(BUCKETS);
        for step in 1..=passed {
            if let Some(bucket) = self.bucket(self.newest.wrapping_add(step)) {
                *bucket = (0, 0);
            }
        }
        self.newest = self.newest.max(at);
        let newest = self.newest;
        if let Some((one, other)) = self.bucket(newest) {
            let count = if first { one } else { other };
            *count = count.saturating_add(1);
        }
    }

    /// Both counts, as of the last [`Recent::add`].
    pub fn counts(&self) -> (u32, u32) {
        self.buckets.iter().fold((0, 0), |(one, other), bucket| {
            (one.saturating_add(bucket.0), other.saturating_add(bucket.1))
        })
    }

    fn bucket(&mut self, number: u64) -> Option<&mut (u32, u32)> {
        self.buckets.get_mut((number % BUCKETS) as usize)
    }
}
