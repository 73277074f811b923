//! The ramp: how fast a lane's tasks come back once its circuit has been open or, where there is none, failures in a row
//! have told the same.
//!
//! A breaker that closes lets everything through that waited behind it, and a crowd of clients that all do so knock
//! the server over again. None of them knows how many they are. So from the first opening on a lane runs as many
//! attempts at a time as have gone well lately, from four on; below one, one at a time with a pause between, so
//! that clients without number can still slow down until the server keeps up. An answer that takes longer than half of
//! its timeout is a reason to slow down as well: a server with a long queue answers everything, too late.
//!
//! Additive increase, multiplicative decrease, as TCP's congestion avoidance (RFC 5681, section 3.1); the figures are
//! those of a simulation: docs/storms.md.
#![forbid(unsafe_code)]

use crate::time::Millis;

/// One attempt at a time.
const ONE: u32 = 1 << 16;
/// The window at first: as wide as most limits or narrower; the failures that follow narrow it further.
const BEGIN: u32 = ONE * 4;
/// A pause of 256 s, give or take a quarter.
const LEAST: u32 = ONE / 256;
/// Callers' own failures alone slow it down to a pause of 32 s: no longer than a circuit may be open.
const LEAST_BY_CALLERS: u32 = ONE / 32;
/// Failures within this time count as one.
const AT_ONCE: Millis = Millis::new(200);

/// One lane's ramp; not under way at first.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Ramp {
    /// Attempts at a time, in units of 1/65536; 0: it is not under way.
    width: u32,
    /// When it last became narrower for a failure.
    narrowed_at: Millis,
    /// When an attempt of the queue last started, and its draw.
    started_at: Millis,
    r32: u32,
}

impl Ramp {
    /// Whether it is under way.
    pub const fn is_on(&self) -> bool {
        self.width > 0
    }

    /// The circuit has opened, or would have.
    pub fn begin(&mut self, now: Millis) {
        if !self.is_on() {
            self.width = BEGIN;
            self.narrowed_at = now;
        }
    }

    /// How many attempts may run at a time; at least one.
    pub fn limit(&self) -> u32 {
        if self.is_on() { (self.width / ONE).max(1) } else { u32::MAX }
    }

    /// Whether it runs one attempt at a time, with a pause between.
    pub const fn pauses(&self) -> bool {
        self.is_on() && self.width < ONE
    }

    /// Until when its pause lasts; in the past, or zero: there is none.
    pub fn shut_until(&self) -> Millis {
        if !self.pauses() {
            return Millis::ZERO;
        }
        // Times 0.75 to 1.25.
        let pause = u64::from((ONE * 1000).checked_div(self.width).unwrap_or(0));
        let chance = pause.wrapping_mul(u64::from(self.r32)) >> 33;
        self.started_at.plus(Millis::new(pause.wrapping_sub(pause / 4).wrapping_add(chance)))
    }

    /// An attempt of the queue starts.
    pub const fn start(&mut self, now: Millis, r32: u32) {
        self.started_at = now;
        self.r32 = r32;
    }

    /// The attempt that started last was not sent: it is as if none had.
    pub const fn take_back(&mut self) {
        self.started_at = Millis::ZERO;
    }

    /// Hears how an attempt ended; `slow`: after more than half of its timeout. Never wider than `most` at a time.
    pub fn hear(&mut self, now: Millis, most: u32, healthy: bool, slow: bool, by_queue: bool) {
        if !self.is_on() {
            return;
        }
        let width = self.width;
        let next = if healthy && slow {
            width.saturating_sub(width / 4)
        } else if healthy && width < ONE {
            width.saturating_mul(16).min(ONE)
        } else if healthy {
            // 1 / width, in whole 256ths of its unit
            let more = (ONE << 8).checked_div(width >> 8).unwrap_or(0);
            let most = most.saturating_mul(ONE).max(ONE);
            width.saturating_add(more).min(most)
        } else if now >= self.narrowed_at.plus(AT_ONCE) {
            self.narrowed_at = now;
            let least = if by_queue { LEAST } else { LEAST_BY_CALLERS };
            (width / 2).max(least.min(width))
        } else {
            width
        };
        self.width = next.max(LEAST);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: u64 = 1000;

    fn at(ms: u64) -> Millis {
        Millis::new(ms)
    }

    /// A ramp that has heard these, a second apart: `+` a healthy answer, `~` a slow one, `-` a probe that failed,
    /// `c` a caller's own failure.
    fn after(heard: &str) -> Ramp {
        let mut ramp = Ramp::default();
        ramp.begin(at(0));
        for (seconds, letter) in (1..).map(at).zip(heard.chars()) {
            let (healthy, now) =
                (matches!(letter, '+' | '~'), Millis::new(seconds.get().wrapping_mul(SECOND)));
            ramp.hear(now, 3, healthy, letter == '~', letter != 'c');
        }
        ramp
    }

    /// The longest pause it asks for.
    fn pause(mut ramp: Ramp) -> u64 {
        ramp.start(at(SECOND), u32::MAX);
        ramp.shut_until().minus(at(SECOND)).get()
    }

    #[test]
    fn a_lane_whose_circuit_was_never_open_knows_no_ramp() {
        let mut ramp = Ramp::default();
        ramp.hear(at(SECOND), 3, false, false, true);
        ramp.start(at(SECOND), 0);
        assert_eq!((ramp.limit(), ramp.shut_until()), (u32::MAX, Millis::ZERO));
    }

    #[test]
    fn it_begins_with_four_and_widens_to_the_limit() {
        for (heard, limit) in
            [("", 4), ("-", 2), ("--", 1), ("--+", 2), ("--++", 2), ("--+++", 2), ("--++++", 3)]
        {
            assert_eq!((after(heard).limit(), pause(after(heard))), (limit, 0), "{heard}");
        }
        assert_eq!(after(&"+".repeat(100)).limit(), 3, "never wider than the lane's limit");
    }

    #[test]
    fn probes_that_fail_double_the_pause_up_to_four_minutes() {
        for (failures, seconds) in [(3, 2), (4, 4), (5, 8), (10, 256), (20, 256)] {
            assert_eq!(pause(after(&"-".repeat(failures))), seconds * 1250 - 1, "{failures}");
        }
    }

    #[test]
    fn callers_that_fail_double_it_up_to_half_a_minute_and_never_shorten_it() {
        assert_eq!(pause(after("cccccccccccc")), 32 * 1250 - 1);
        assert_eq!(pause(after("----------c")), 256 * 1250 - 1);
    }

    #[test]
    fn after_the_longest_pause_two_healthy_answers_are_enough_for_one_at_a_time() {
        assert_eq!(pause(after("------------+")), 16 * 1250 - 1);
        assert_eq!(pause(after("------------++")), 0);
    }

    #[test]
    fn a_slow_answer_takes_a_quarter() {
        assert_eq!([after("~").limit(), after("~~").limit(), after("~~~~~").limit()], [3, 2, 1]);
        assert!(pause(after("~~~~~")) > 0);
    }

    #[test]
    fn what_fails_at_the_same_moment_is_one_failure() {
        let mut ramp = after("");
        for ms in [200, 201, 399] {
            ramp.hear(at(ms), 3, false, false, true);
        }
        assert_eq!(ramp.limit(), 2);
        ramp.hear(at(400), 3, false, false, true);
        assert_eq!(ramp.limit(), 1);
    }
}
