//! Sees a retry storm: far more tasks begin with a failure than succeed.
//!
//! One call that fails is news of a call. Twenty in ten seconds with hardly a success among them are a client that
//! keeps asking a server which cannot answer, whatever each of them waits for.
#![forbid(unsafe_code)]

use super::recent::Recent;
use crate::time::Millis;

/// The time for which the counts are kept.
const WINDOW: Millis = Millis::new(10_000);
/// So many tasks are the fewest to speak of.
const FEWEST: u32 = 20;
/// More tasks than this for each success are a storm.
pub const TASKS_PER_SUCCESS: u32 = 10;

/// Counts of how one lane's tasks fared lately.
#[derive(Clone, Debug, Default)]
pub(crate) struct Storm {
    /// Successes, and tasks whose first attempt failed.
    recent: Recent,
    /// Reported; not again before a window has passed.
    quiet_until: Millis,
}

impl Storm {
    /// The first attempt of a task failed, or any succeeded. Returns how many failed so for each success, if that is a storm
    /// that has not been reported lately.
    pub fn hear(&mut self, now: Millis, succeeded: bool) -> Option<u32> {
        self.recent.add(WINDOW, now, succeeded);
        let (successes, failed) = self.recent.counts();
        let ratio = failed.checked_div(successes.max(1)).unwrap_or(0);
        let is_storm = failed >= FEWEST && ratio > TASKS_PER_SUCCESS && self.quiet_until <= now;
        is_storm.then(|| {
            self.quiet_until = now.plus(WINDOW);
            ratio
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The storms reported after so many successes, then so many failures, at one moment.
    fn told(successes: u32, failures: u32) -> Vec<u32> {
        let mut storm = Storm::default();
        let ends = std::iter::repeat_n(true, successes as usize)
            .chain(std::iter::repeat_n(false, failures as usize));
        ends.filter_map(|succeeded| storm.hear(Millis::new(5), succeeded)).collect()
    }

    #[test]
    fn twenty_failures_and_more_than_ten_for_each_success_are_a_storm_and_fewer_are_none() {
        let rows = [
            (0, 19, vec![]),
            (0, 20, vec![20]),
            (1, 20, vec![20]),
            (2, 21, vec![]),
            (2, 22, vec![11]),
            (9, 98, vec![]),
            (9, 99, vec![11]),
        ];
        for (successes, failures, expected) in rows {
            assert_eq!(told(successes, failures), expected, "{failures} failures, {successes} successes");
        }
    }

    #[test]
    fn it_is_told_once_in_ten_seconds() {
        let mut storm = Storm::default();
        let mut tell = |at: u64| (0..30).filter_map(|_| storm.hear(Millis::new(at), false)).count();
        assert_eq!([0, 9999, 10_000, 15_000, 20_000].map(&mut tell), [1, 0, 1, 0, 1]);
    }
}
