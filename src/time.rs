//! Instants and durations in whole milliseconds, and a line of time that never runs backwards.
//!
//! The core reads no clock: `now` is an argument of every call. What arrives is a host's
//! wall clock, which people and NTP set back and forth, so [`Timeline`] turns it into a time
//! that only rises. All arithmetic saturates: a deadline too far away to name is simply never.
#![forbid(unsafe_code)]

mod packed;

pub(crate) use packed::PackedMillis;

/// A duration or an epoch instant in whole milliseconds, `0..=2^53`.
///
/// 2^53 is the last whole number an f64 can count to, and so the last that can cross the
/// boundary unharmed. It doubles as "never" ([`Millis::MAX`]).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Millis(u64);

impl Millis {
    /// No time at all; the epoch.
    pub const ZERO: Millis = Millis(0);
    /// The largest value, 2^53 ms: as an instant it means never.
    pub const MAX: Millis = Millis(1 << 53);

    /// `ms`, at most 2^53.
    pub const fn new(ms: u64) -> Millis {
        if ms > Millis::MAX.0 { Millis::MAX } else { Millis(ms) }
    }

    /// A number from outside: NaN and negatives become 0, fractions are dropped, infinity is never.
    pub fn from_f64(ms: f64) -> Millis {
        // `as` saturates and takes NaN to 0: exactly the rule above.
        Millis::new(ms as u64)
    }

    /// The plain number of milliseconds.
    pub const fn get(self) -> u64 {
        self.0
    }

    /// The number as f64, exactly; never becomes infinity.
    pub fn to_f64(self) -> f64 {
        if self == Millis::MAX { f64::INFINITY } else { self.0 as f64 }
    }

    /// The sum, at most [`Millis::MAX`].
    #[must_use]
    pub const fn plus(self, other: Millis) -> Millis {
        Millis::new(self.0.saturating_add(other.0))
    }

    /// The difference, at least 0.
    #[must_use]
    pub const fn minus(self, other: Millis) -> Millis {
        Millis(self.0.saturating_sub(other.0))
    }
}

/// How far a clock may fall back before that counts as a step and not as a wobble.
const WOBBLE: Millis = Millis(60_000);

/// The queue's own time: follows the host's clock forward and never goes back.
///
/// A fall of up to a minute makes time stand still until the clock has caught up. A longer
/// fall is a clock that was set: every instant the queue holds is shifted with it, so
/// that a wait of 2 s does not become a wait of 2 s and an hour. A jump forward counts as
/// time that has passed, because a machine that slept looks just like that.
#[derive(Clone, Copy, Debug, Default)]
pub struct Timeline {
    latest: Millis,
    shift: Millis,
}

impl Timeline {
    /// The queue's time at wall-clock time `now`; remembers it. In one copy: every call of a queue begins with it.
    #[inline(never)]
    pub fn advance(&mut self, now: Millis) -> Millis {
        let time = now.plus(self.shift);
        if time.plus(WOBBLE) < self.latest {
            self.shift = self.shift.plus(self.latest.minus(time));
        }
        self.latest = self.latest.max(time);
        self.latest
    }

    /// The latest time seen.
    pub const fn now(&self) -> Millis {
        self.latest
    }

    /// A wall-clock instant as an instant of the queue; never stays never.
    pub fn inward(&self, at: Millis) -> Millis {
        at.plus(self.shift)
    }

    /// An instant of the queue as a wall-clock instant; never stays never.
    #[inline(never)]
    pub fn outward(&self, at: Millis) -> Millis {
        if at == Millis::MAX { at } else { at.minus(self.shift) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_from_outside_become_whole_and_bounded() {
        let rows = [
            (f64::NAN, 0),
            (-1.0, 0),
            (f64::NEG_INFINITY, 0),
            (1.999, 1),
            (9_007_199_254_740_992.0, 1 << 53),
            (1e300, 1 << 53),
            (f64::INFINITY, 1 << 53),
        ];
        for (given, expected) in rows {
            assert_eq!(Millis::from_f64(given).get(), expected, "{given}");
        }
    }

    #[test]
    fn sums_stop_at_never_and_differences_at_zero() {
        assert_eq!(Millis::MAX.plus(Millis::new(1)), Millis::MAX);
        assert_eq!(Millis::new(3).minus(Millis::new(5)), Millis::ZERO);
        assert_eq!(Millis::new(u64::MAX), Millis::MAX);
        assert_eq!(Millis::MAX.to_f64(), f64::INFINITY);
    }

    #[test]
    fn a_wobble_stands_still_and_a_step_back_shifts() {
        let mut timeline = Timeline::default();
        let start = Millis::new(10_000_000);
        assert_eq!(timeline.advance(start), start);
        assert_eq!(timeline.advance(start.minus(Millis::new(60_000))), start);
        assert_eq!(timeline.outward(start), start, "a wobble shifts nothing");

        let hour = Millis::new(3_600_000);
        assert_eq!(timeline.advance(start.minus(hour)), start);
        assert_eq!(timeline.outward(start.plus(Millis::new(5))), start.minus(hour).plus(Millis::new(5)));
        assert_eq!(timeline.inward(start.minus(hour)), start);
        assert_eq!(timeline.advance(start.minus(hour).plus(Millis::new(7))), start.plus(Millis::new(7)));
    }

    #[test]
    fn never_stays_never_whatever_the_shift() {
        let mut timeline = Timeline::default();
        timeline.advance(Millis::new(10_000_000));
        timeline.advance(Millis::new(1));
        assert_eq!(timeline.inward(Millis::MAX), Millis::MAX);
        assert_eq!(timeline.outward(Millis::MAX), Millis::MAX);
    }
}
