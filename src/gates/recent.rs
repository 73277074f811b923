//! Two counts of the last stretch of time, kept in ten buckets: what happened, without a list of when.
#![forbid(unsafe_code)]

use crate::time::Millis;

const BUCKETS: u64 = 10;
/// Those that a new one does not push out.
const KEPT: usize = 9;

/// How often one thing and another happened lately. The stretch ends between nine and ten tenths ago.
#[derive(Clone, Debug, Default)]
pub(crate) struct Recent {
    /// The newest first.
    buckets: [(u32, u32); BUCKETS as usize],
    /// The number of the newest bucket, counted from the epoch.
    newest: u64,
}

impl Recent {
    /// One more of the first kind (`first`) or of the second, at `now`.
    #[inline(never)]
    pub fn add(&mut self, length: Millis, now: Millis, first: bool) {
        let width = (length.get() / BUCKETS).max(1);
        let at = now.get().checked_div(width).unwrap_or(0);
        while self.newest < at {
            // Ten steps empty them all, however much time has passed.
            self.newest = self.newest.saturating_add(1).max(at.saturating_sub(BUCKETS - 1));
            self.buckets.copy_within(..KEPT, 1);
            self.buckets[0] = (0, 0);
        }
        let [(one, other), ..] = &mut self.buckets;
        let count = if first { one } else { other };
        *count = count.saturating_add(1);
    }

    /// Both counts, as of the last [`Recent::add`].
    pub fn counts(&self) -> (u32, u32) {
        self.buckets.iter().fold((0, 0), |(one, other), bucket| {
            (one.saturating_add(bucket.0), other.saturating_add(bucket.1))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::SplitMix64;

    #[test]
    fn the_buckets_say_what_a_list_of_everything_says() {
        let mut rng = SplitMix64::new(3);
        let mut below = |end: u64| rng.next_u64() % end;
        for _ in 0..300 {
            let length = 1 + below(30_000);
            let width = (length / BUCKETS).max(1);
            let (mut recent, mut all, mut now) = (Recent::default(), Vec::new(), below(1 << 41));
            for _ in 0..100 {
                now += match below(10) {
                    0 => below(length * 3),
                    1 => width * below(12),
                    2..6 => below(width * 2),
                    _ => 0,
                };
                let first = below(2) == 0;
                recent.add(Millis::new(length), Millis::new(now), first);
                all.push((now, first));
                let lately = |wanted: bool| {
                    let counts =
                        |(at, first): &&(u64, bool)| *first == wanted && now / width - at / width < BUCKETS;
                    all.iter().filter(counts).count() as u32
                };
                assert_eq!(recent.counts(), (lately(true), lately(false)), "{length} ms, at {now}");
            }
        }
    }

    #[test]
    fn what_is_nine_tenths_old_counts_and_what_is_as_old_as_the_window_does_not() {
        for (later, counts) in [(9000, true), (9999, true), (10_000, false), (u64::MAX / 2, false)] {
            let mut recent = Recent::default();
            recent.add(Millis::new(10_000), Millis::new(0), true);
            recent.add(Millis::new(10_000), Millis::new(later), false);
            assert_eq!(recent.counts(), (u32::from(counts), 1), "{later} ms later");
        }
    }
}
