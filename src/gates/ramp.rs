//! The ramp: how fast a lane's tasks come back once failures in a row have shown that its server is in trouble.
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
/// In view, what is refused at once is asked again after so much, until nothing has succeeded for a minute; then after so many
/// quarters of the silence.
const IN_VIEW: u64 = 3000;
const SHORT: u64 = 60_000;
const QUARTERS_IN_VIEW: u64 = 6;
/// For so long another task may take the place of one that has just failed.
const SPARE: Millis = Millis::new(500);
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
    /// From when until when an extra attempt may go, whatever the pause is.
    extra_at: Option<(Millis, Millis)>,
    /// When one may go next for a task that is enqueued.
    visit_at: Millis,
    /// The attempt that started last was an extra one.
    is_extra: bool,
    /// One of many, whose server was slow to fail: it may be at work on more than it can do.
    is_busy: bool,
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
        /// One of those that is in view: its user waits.
        InView = 3,
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

    /// Until when its pause lasts, where so many tasks wait, and so many callers; in the past, or zero: there is none. A caller makes
    /// few attempts, and leaves soon: a pause that outlasts it would only take them away.
    pub fn shut_until(&self, now: Millis, waiting: u32, callers: u32) -> Millis {
        if !self.pauses() {
            return Millis::ZERO;
        }
        let gaps = self.silence.saturating_mul(GAPS).checked_div(u64::from(waiting)).unwrap_or(u64::MAX);
        let longest = match callers {
            0 => gaps.max(LEAST),
            _ if self.is_busy => gaps.max(LEAST),
            _ => LEAST.checked_div(u64::from(callers)).unwrap_or(LEAST).max(SHORTEST),
        };
        let until = self.ends_at(self.pause.min(longest));
        self.extra_at.filter(|(_, end)| now < *end).map_or(until, |(extra, _)| extra.min(until))
    }

    /// A task's own wait where nothing succeeds: in view the ramp decides alone, so that none is longer than its shortest pause.
    pub fn curb(&self, comeback: Comeback, wait: Millis) -> Millis {
        let decides = comeback == Comeback::InView && self.failures > 0 && self.is_on();
        if decides { wait.min(Millis::new(self.pause.max(IN_VIEW) / 2)) } else { wait }
    }

    /// When such a pause ends: times 0.5 to 1.5.
    fn ends_at(&self, pause: u64) -> Millis {
        let chance = pause.wrapping_mul(u64::from(self.r32)) >> 32;
        self.started_at.plus(Millis::new((pause / 2).wrapping_add(chance)))
    }

    /// An attempt of the queue starts. An extra one does not begin the pause anew.
    pub fn start(&mut self, now: Millis, r32: u32) {
        let extra = self.extra_at.take_if(|(extra, _)| *extra <= now);
        self.is_extra = extra.is_some_and(|(_, end)| now < end) && self.ends_at(self.pause) > now;
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
        self.extra_at = Some((Millis::ZERO, Millis::MAX));
    }

    /// An attempt failed that may have been its task's own trouble: lets an extra one go, of a task that is due by then.
    pub fn spare(&mut self, now: Millis) {
        self.extra_at = Some((now, now.plus(SPARE)));
    }

    /// A task was enqueued: where the server is in trouble, lets an extra attempt go, one in two seconds, and says when. Each call adds one
    /// request at most, as an awaited one does.
    pub fn visit(&mut self, now: Millis) -> Option<Millis> {
        if self.failures == 0 {
            return None;
        }
        let at = self.visit_at.max(now);
        if !matches!(self.extra_at, Some((_, Millis::MAX))) {
            self.extra_at = Some((at, Millis::MAX));
            self.visit_at = at.plus(Millis::new(LEAST));
        }
        self.extra_at()
    }

    /// When an extra attempt goes.
    pub fn extra_at(&self) -> Option<Millis> {
        self.extra_at.map(|(at, _)| at)
    }

    /// Hears how an attempt ended.
    pub fn hear(&mut self, now: Millis, course: Course) {
        let silent = self.failures > 0;
        // The pause did not let it go, so its failure does not lengthen the pause.
        let was_extra = course.by_queue && std::mem::take(&mut self.is_extra);
        if course.healthy {
            self.failures = 0;
            self.is_busy = false;
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
        let is_few = matches!(course.comeback, Comeback::AtOnce | Comeback::OfFew);
        // To refuse costs a server little; one that is silent may be at work on more than it can do.
        self.is_busy = !is_few && course.pace != Pace::Quick;
        let refused = course.comeback == Comeback::InView && !self.is_busy;
        let quarters = match refused {
            true => QUARTERS_IN_VIEW,
            false if is_few => QUARTERS_OF_FEW,
            false => QUARTERS_OF_MANY,
        };
        let by_silence = self.silence.saturating_mul(quarters) / 4;
        let least = self.silence.saturating_mul(2).min(SOON).max(by_silence);
        let longest = if refused && self.silence <= SHORT { IN_VIEW } else { LONGEST };
        self.pause = self.pause.saturating_add(more).max(least).min(longest);
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
mod tests;
