//! The ramp: how fast a lane's tasks come back once failures in a row have told that its server is in trouble.
//!
//! A circuit that closes lets everything through that waited behind it, and a crowd of clients that all do so knock the
//! server over again. None of them knows how many they are. So from then on a lane runs as many attempts at a time as have
//! gone well lately; below one, one at a time with a pause between, so that clients without number can still slow down
//! until the server keeps up. An answer that takes longer than half of its timeout is a reason to slow down as well: a
//! server with a long queue answers everything, too late.
//!
//! While nothing succeeds the pause grows with the silence: a server that has been away for long has the longer queue
//! before its door. How fast depends on how many such lanes there may be. No lane can see that, but its host knows what it is: the
//! processes of a service are hundreds, and a quarter of the silence is enough; the tabs of a page may be tens of thousands,
//! whose attempts would keep the server down, so they pause for two and a half times the silence. A lane's own traffic bounds
//! the pause: a lane with thousands of tasks may look after its server every other second, and a thousand lanes with one task
//! each ask no more than that together. An answer that comes at once ends it: a server with a long queue takes longer.
//!
//! Additive increase, multiplicative decrease, as TCP's congestion avoidance (RFC 5681, section 3.1); the figures are those of
//! a simulation: docs/storms.md.
#![forbid(unsafe_code)]

use super::pace::Pace;
use crate::numbered::numbered;
use crate::time::Millis;

/// One attempt at a time.
const ONE: u32 = 1 << 16;
/// So many failures in a row begin it.
const FAILURES: u32 = 3;
/// Failures within this time count as one.
const AT_ONCE: Millis = Millis::new(200);
/// A pause is so many quarters of the silence, for one lane of few and for one of many, and at first twice as long, up to `SOON`,
const QUARTERS_OF_FEW: u64 = 1;
const QUARTERS_OF_MANY: u64 = 10;
const SOON: u64 = 1000;
/// or as the mean time between the lane's calls, if that is less;
const GAPS: u64 = 8;
/// but for a lane with many calls that may come to so much,
const LEAST: u64 = 2000;
/// and never is it longer.
const LONGEST: u64 = 256_000;
/// Slow answers alone begin with a pause of so much.
const SLOW: u64 = 1000;
/// A pause that would be shorter is none.
const SHORTEST: u64 = 500;

/// One lane's ramp; not under way at first.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Ramp {
    /// Attempts at a time, in units of 1/65536; 0: it is not under way.
    width: u32,
    /// The pause between two attempts, in ms, where even one at a time is too much.
    pause: u64,
    /// Failures in a row.
    failures: u32,
    /// When the first of them was heard of.
    silent_since: Millis,
    /// For how long nothing had succeeded when it last became narrower for a failure, and when that was.
    silence: u64,
    narrowed_at: Millis,
    /// When a regular attempt of the queue last started, and its draw.
    started_at: Millis,
    r32: u32,
    /// When any attempt of the queue last started.
    last_at: Millis,
    /// From when on an extra attempt may go, whatever the pause is.
    extra_at: Option<Millis>,
    /// The attempt that started last was an extra one.
    is_extra: bool,
}

numbered! {
    /// How a lane comes back once its server was in trouble.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub enum Comeback {
        /// At once: there is no ramp.
        #[default]
        AtOnce = 0,
        /// One of a few hundred processes that call the server, such as those of a service.
        OfFew = 1,
        /// One of tens of thousands, such as the tabs of a page: it asks a silent server less often.
        OfMany = 2,
    }
}

/// How an attempt ended, as a ramp hears it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Course {
    /// The server answered as one that works.
    pub healthy: bool,
    /// How long that took.
    pub pace: Pace,
    /// The most attempts at a time that the lane may ever run.
    pub most: u32,
    /// The attempt was the queue's own.
    pub by_queue: bool,
    /// The server has just failed more often in a row than it does by chance.
    pub odd: bool,
    /// How the lane comes back.
    pub comeback: Comeback,
}

impl Ramp {
    /// Whether it is under way.
    pub const fn is_on(&self) -> bool {
        self.width > 0
    }

    /// Begins the ramp, if it has not begun.
    pub const fn begin(&mut self) {
        if !self.is_on() {
            self.width = ONE;
        }
    }

    /// How many attempts may run at a time; at least one.
    pub fn limit(&self) -> u32 {
        if self.is_on() { (self.width / ONE).max(1) } else { u32::MAX }
    }

    /// Whether it runs one attempt at a time, with a pause between.
    pub const fn pauses(&self) -> bool {
        self.pause > 0
    }

    /// Until when its pause lasts, where so many tasks wait, and with `awaited` a caller for one of them; in the past, or zero:
    /// there is none. A caller makes few attempts, and leaves soon: a pause that outlasts it would only take them away.
    pub fn shut_until(&self, waiting: u32, awaited: bool) -> Millis {
        if !self.pauses() {
            return Millis::ZERO;
        }
        let gaps = self.silence.saturating_mul(GAPS).checked_div(u64::from(waiting)).unwrap_or(u64::MAX);
        let longest = if awaited { LEAST } else { gaps.max(LEAST) };
        let until = self.ends_at(self.pause.min(longest));
        self.extra_at.map_or(until, |extra| extra.min(until))
    }

    /// When such a pause ends: times 0.5 to 1.5.
    fn ends_at(&self, pause: u64) -> Millis {
        let chance = pause.wrapping_mul(u64::from(self.r32)) >> 32;
        self.started_at.plus(Millis::new((pause / 2).wrapping_add(chance)))
    }

    /// An attempt of the queue starts. An extra one does not begin the pause anew.
    pub fn start(&mut self, now: Millis, r32: u32) {
        self.last_at = now;
        self.is_extra =
            self.extra_at.take_if(|extra| *extra <= now).is_some() && self.ends_at(self.pause) > now;
        if !self.is_extra {
            self.started_at = now;
            self.r32 = r32;
        }
    }

    /// The attempt that started last was not sent: it is as if none had.
    pub const fn take_back(&mut self) {
        self.started_at = Millis::ZERO;
        self.is_extra = false;
    }

    /// Lets an extra attempt go at once.
    pub const fn hasten(&mut self) {
        self.extra_at = Some(Millis::ZERO);
    }

    /// A task was handed over while the pause lasts until `until`: lets an extra attempt go, but none sooner than two seconds after the
    /// last. Each call adds one request at most, as an awaited one does.
    pub fn visit(&mut self, until: Millis) {
        if self.pauses() && until > self.last_at.plus(Millis::new(LEAST + LEAST / 2)) {
            self.extra_at = Some(self.last_at.plus(Millis::new(LEAST)));
        }
    }

    /// Hears how an attempt ended.
    pub fn hear(&mut self, now: Millis, course: Course) {
        let silent = self.failures > 0;
        // The pause did not let it go, so its failure does not lengthen the pause.
        let was_extra = course.by_queue && std::mem::take(&mut self.is_extra);
        if course.healthy {
            self.failures = 0;
            if self.is_on() {
                self.widen(course, silent);
            }
            return;
        }
        if !silent {
            self.silent_since = now;
        }
        self.failures = self.failures.saturating_add(1);
        let odd = course.odd && self.failures >= FAILURES;
        if odd {
            self.begin();
        }
        if !was_extra && (odd || self.pauses()) && self.is_on() && now >= self.narrowed_at.plus(AT_ONCE) {
            self.narrowed_at = now;
            self.narrow(now, course);
        }
    }

    /// A failure: half as wide; below one a pause.
    fn narrow(&mut self, now: Millis, course: Course) {
        if self.width >= 2 * ONE {
            self.width /= 2;
            return;
        }
        self.width = ONE;
        self.silence = now.minus(self.silent_since).get();
        // Callers call as often as they like, and each of their failures is no reason to wait still longer.
        let more = if course.by_queue { self.pause / 5 } else { 0 };
        let quarters = if course.comeback == Comeback::OfMany { QUARTERS_OF_MANY } else { QUARTERS_OF_FEW };
        let by_silence = self.silence.saturating_mul(quarters) / 4;
        let least = self.silence.saturating_mul(2).min(SOON).max(by_silence);
        self.pause = self.pause.saturating_add(more).max(least).min(LONGEST);
    }

    /// A healthy answer: no more pauses if it was quick, and shorter ones else, then wider by one for each round that goes well.
    /// The first one after a silence is news of a server that may be about to fall again, so that less is made of it.
    fn widen(&mut self, course: Course, silent: bool) {
        if course.pace == Pace::Slow {
            let width = self.width.saturating_sub(self.width / 4);
            if self.pause > 0 {
                self.pause = self.pause.saturating_add(self.pause / 4);
            } else if self.width > ONE {
                self.width = if width > ONE { width } else { ONE };
            } else {
                self.pause = SLOW;
            }
        } else if self.pause > 0 {
            self.pause = if silent { self.pause.saturating_mul(2) / 3 } else { self.pause / 3 };
            if course.pace == Pace::Quick || self.pause < SHORTEST {
                self.pause = 0;
            }
        } else {
            // 1 / width, in whole 256ths of its unit
            let more = (ONE << 8).checked_div(self.width >> 8).unwrap_or_default();
            let width = self.width.saturating_add(more);
            let most = course.most.saturating_mul(ONE);
            self.width = if width < most { width } else { most };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Millis {
        Millis::new(ms)
    }

    /// A ramp of one lane of many that has heard these, so many ms apart: `+` a healthy answer, `!` a quick one, `~` a slow one,
    /// `-` a failure. And the time.
    fn after(heard: &str, ms: u64) -> (Ramp, Millis) {
        heard_by(Comeback::OfMany, heard, ms)
    }

    fn course(letter: char, comeback: Comeback) -> Course {
        let pace = match letter {
            '!' => Pace::Quick,
            '~' => Pace::Slow,
            _ => Pace::Fair,
        };
        Course { healthy: letter != '-', pace, most: 6, by_queue: false, odd: true, comeback }
    }

    fn heard_by(comeback: Comeback, heard: &str, ms: u64) -> (Ramp, Millis) {
        let (mut ramp, mut now) = (Ramp::default(), at(1_000_000));
        for letter in heard.chars() {
            now = now.plus(at(ms));
            ramp.hear(now, course(letter, comeback));
        }
        (ramp, now)
    }

    /// The longest pause it asks for while one task waits.
    fn pause(after: (Ramp, Millis)) -> u64 {
        pause_of(after, 1, false)
    }

    fn pause_of((mut ramp, now): (Ramp, Millis), waiting: u32, awaited: bool) -> u64 {
        ramp.start(now, u32::MAX);
        ramp.shut_until(waiting, awaited).minus(now).get()
    }

    #[test]
    fn two_failures_in_a_row_begin_no_ramp_and_three_do() {
        for (heard, begins) in [("", false), ("--+--+--", false), ("---", true), ("+---", true)] {
            assert_eq!(after(heard, 1000).0.is_on(), begins, "{heard}");
        }
        let (ramp, _) = after("--", 1000);
        assert_eq!((ramp.limit(), ramp.shut_until(1, false)), (u32::MAX, Millis::ZERO));
    }

    #[test]
    fn it_begins_with_one_and_widens_by_one_for_each_round_that_goes_well() {
        // three failures at one moment: no silence yet, and so no pause
        for (heard, limit) in [("---", 1), ("---+", 2), ("---++", 2), ("---++++", 3), ("---+++++++", 4)] {
            let (ramp, now) = after(heard, 0);
            assert_eq!((ramp.limit(), pause((ramp, now))), (limit, 0), "{heard}");
        }
        let (ramp, _) = after(&format!("---{}", "+".repeat(100)), 0);
        assert_eq!(ramp.limit(), 6, "never wider than the lane's limit");
    }

    #[test]
    fn a_lane_of_many_pauses_for_two_and_a_half_times_the_silence_and_at_most_six_minutes() {
        for (ms, failures, pauses) in [(1000, 3, 7500), (1000, 11, 37_500), (60_000, 9, 384_000)] {
            assert_eq!(pause(after(&"-".repeat(failures), ms)), pauses - 1, "{failures} in {ms} ms each");
        }
    }

    #[test]
    fn a_lane_of_few_pauses_for_a_quarter_of_the_silence() {
        for (ms, failures, pauses) in [(100, 3, 600), (1000, 3, 1500), (1000, 11, 3750), (60_000, 9, 180_000)]
        {
            let found = pause(heard_by(Comeback::OfFew, &"-".repeat(failures), ms));
            assert_eq!(found, pauses - 1, "{failures} in {ms} ms each");
        }
    }

    #[test]
    fn a_quick_answer_ends_the_pause() {
        for (answers, pauses) in [("!", 0), ("+!", 0), ("~", 93_750)] {
            let found = pause(after(&format!("{}{answers}", "-".repeat(21)), 1000));
            assert!(found.abs_diff(pauses) <= 2, "{answers}: {found}");
        }
    }

    #[test]
    fn hastened_it_lets_an_extra_attempt_go_and_waits_no_longer_for_it() {
        let (mut ramp, now) = after(&"-".repeat(21), 1000);
        ramp.start(now, 0);
        let until = ramp.shut_until(1, false);
        ramp.hasten();
        assert!(until > now && ramp.shut_until(1, false) <= now);
        ramp.start(now.plus(at(500)), u32::MAX);
        assert_eq!(ramp.shut_until(1, false), until);
        ramp.hear(now.plus(at(500)), Course { by_queue: true, ..course('-', Comeback::OfMany) });
        assert_eq!(ramp.shut_until(1, false), until);
    }

    #[test]
    fn a_task_that_is_handed_over_lets_an_extra_attempt_go_two_seconds_after_the_last() {
        let (mut ramp, now) = after(&"-".repeat(21), 1000);
        ramp.start(now, 0);
        ramp.visit(ramp.shut_until(1, false));
        assert_eq!(ramp.shut_until(1, false), now.plus(at(2000)));
        ramp.start(now.plus(at(3000)), 0);
        ramp.visit(ramp.shut_until(1, false));
        assert_eq!(ramp.shut_until(1, false), now.plus(at(5000)), "after the extra one as well");
    }

    #[test]
    fn a_lane_that_looks_every_other_second_needs_no_extra_attempt() {
        let (mut ramp, now) = after(&"-".repeat(21), 1000);
        ramp.start(now, u32::MAX);
        ramp.visit(ramp.shut_until(1, true));
        assert_eq!(ramp.shut_until(1, true), now.plus(at(2999)));
    }

    #[test]
    fn a_lane_with_many_tasks_looks_more_often_and_no_more_often_than_every_other_second() {
        for (waiting, pauses) in [(1, 150_000), (4, 120_000), (8, 60_000), (80, 6000), (8000, 3000)] {
            let silent = after(&"-".repeat(41), 1000);
            assert_eq!(pause_of(silent, waiting, false), pauses - 1, "{waiting} tasks wait");
            assert_eq!(pause_of(silent, waiting, true), 2999, "and a caller for one of them");
        }
    }

    #[test]
    fn the_first_answer_after_a_silence_takes_a_third_of_the_pause_and_each_after_it_two() {
        for (answers, pauses) in [("+", 50_000), ("++", 16_666), ("+++", 5555), ("++++", 1851), ("+++++", 0)]
        {
            let found = pause(after(&format!("{}{answers}", "-".repeat(21)), 1000));
            assert!(found.abs_diff(pauses) <= 2, "{answers}: {found}");
        }
    }

    #[test]
    fn a_slow_answer_takes_a_quarter_and_below_one_makes_a_pause() {
        let wide = format!("---{}", "+".repeat(100));
        for (slow, limit) in [("~", 4), ("~~", 3), ("~~~~~~", 1), ("~~~~~~~", 1)] {
            assert_eq!(after(&format!("{wide}{slow}"), 0).0.limit(), limit, "{slow}");
        }
        assert_eq!(pause(after("---~", 0)), 1499);
        assert_eq!(pause(after("---~~", 0)), 1874);
    }

    #[test]
    fn what_fails_at_the_same_moment_is_one_failure() {
        let wide = format!("---{}", "+".repeat(100));
        for (failures, ms, limit) in [("--", 200, 6), ("---", 200, 3), ("-----", 50, 3), ("----", 200, 1)] {
            let (mut ramp, begun) = after(&wide, 0);
            let mut now = begun.plus(AT_ONCE);
            for _ in failures.chars() {
                ramp.hear(now, Course { by_queue: true, ..course('-', Comeback::OfMany) });
                now = now.plus(at(ms));
            }
            assert_eq!(ramp.limit(), limit, "{failures} {ms} ms apart");
        }
    }
}
