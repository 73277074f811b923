//! Lanes: the tasks of one origin, and who may start one next.
//!
//! A lane that is held, paused, at its limit or probing is not among those asked, so neither
//! it nor its thousands of tasks cost the others anything. Lanes with equally urgent tasks take
//! turns. A hold is watched by the clock only while it keeps something back.
#![forbid(unsafe_code)]

use super::agenda::Agenda;
use super::fifo::{Fifo, Links};
use super::hold::Hold;
use super::rate::{Bucket, Rate};
use crate::gates::breaker::Circuit;
use crate::gates::{Door, Ending, Gates, LaneGates, Notice, Silence};
use crate::policy::Policy;
use crate::rng::SplitMix64;
use crate::slots::Slots;
use crate::time::Millis;

/// A lane.
#[derive(Debug, Default)]
pub(crate) struct Lane {
    /// Tasks that wait: for their time, for their turn, or parked.
    pub waiting: u32,
    /// Until when a caller waits at most whose task has waited here.
    pub awaited_until: Millis,
    /// Until when a task of its store waits at most that was given its wait here. Those in memory are among `waiting`.
    pub told_until: Millis,
    /// Attempts that run and count.
    pub in_flight: u32,
    /// Callers' own first attempts that run and count.
    pub own: u32,
    /// First attempts of callers between admission and settlement.
    pub started: u32,
    /// How many of those two are of tasks that a store has leased.
    pub leased: u32,
    pub hold: Hold,
    pub paused: bool,
    /// Failed while the host was offline.
    pub failed_offline: bool,
    /// One at a time until any response arrives.
    pub probing: bool,
    /// Until then nothing starts, since the host says that it is offline: as long as it is, one attempt now and then sees whether that is
    /// so. In the past: it does.
    pub dark_until: Millis,
    /// When the last of them ended, or it went offline.
    dark_since: Millis,
    /// How many tasks had their first failure here.
    pub first_failures: u32,
    pub ready: Fifo,
    pub parked: Fifo,
    /// Callers whose first attempt waits.
    pub callers: Fifo,
    pub door: Door,
    pub gates: LaneGates,
    pub silence: Silence,
    /// When its breaker opened, the first time since it was closed.
    pub open_since: Millis,
    pub bucket: Bucket,
    /// Eight times the moving average of what a call takes, so that small changes add up.
    average_x8: Option<u64>,
    /// The priority at which it stands in line.
    in_line_at: Option<i32>,
    /// Its priority in the line of those that let a caller in.
    door_at: Option<i32>,
}

/// A host that says it is offline is believed for so long at a time,
const DARK: Millis = Millis::new(30_000);
/// or since the last attempt for so long, where its user asks for more or waits for an answer.
const DARK_AT_LEAST: Millis = Millis::new(2_000);

impl Lane {
    /// Takes note of what a call took: `avg += (x - avg) / 8`, the first one as it is.
    pub fn observe(&mut self, duration: Millis) {
        let sample = duration.get();
        self.average_x8 = Some(match self.average_x8 {
            None => sample.wrapping_mul(8),
            Some(average) => average.saturating_sub(average / 8).saturating_add(sample),
        });
    }

    /// The time that a call is expected to take; zero at first.
    pub fn average(&self) -> Millis {
        Millis::new(self.average_x8.unwrap_or(0) / 8)
    }

    /// Whether calls take longer than half of their limit.
    pub fn is_slow(&self, policy: &Policy) -> bool {
        self.average() > policy.attempt_timeout().minus(self.average())
    }

    /// The position of the next task to have its first failure here, on the golden staircase.
    pub fn next_phase(&mut self, start: u32) -> u32 {
        let phase = start.wrapping_add(self.first_failures.wrapping_mul(0x9E37_79B9));
        self.first_failures = self.first_failures.wrapping_add(1);
        phase
    }

    /// The host says that it is offline, or an attempt has failed meanwhile.
    pub fn go_dark(&mut self, now: Millis) {
        self.dark_since = now;
        self.dark_until = now.plus(if self.awaited_until > now { DARK_AT_LEAST } else { DARK });
    }

    /// Someone waits for an attempt: it comes sooner, whatever the host says.
    pub fn hurry(&mut self) {
        self.dark_until = self.dark_until.min(self.dark_since.plus(DARK_AT_LEAST));
    }

    /// Its user may expect an attempt soon.
    pub fn visit(&mut self, now: Millis) {
        self.hurry();
        self.gates.visit(now);
    }

    /// Whether it may be forgotten. Its pause is the host's to remember: lanes of users who have left are paused for good.
    pub fn is_idle(&self, rules: &Gates, now: Millis) -> bool {
        let tasks = self.waiting > 0 || self.running() > 0 || self.started > 0 || self.door.callers > 0;
        !tasks && self.bucket.is_full(now) && self.hold.until <= now && self.gates.is_quiet(rules, now)
    }

    /// How many more attempts of the queue may start, as far as the lane has a say.
    pub fn room(&self, now: Millis, limit: u32) -> u32 {
        if self.hold.until > now { 0 } else { self.stored_room(now, limit) }
    }

    /// [`Lane::room`] for tasks of a store, but for holds that the store knows of.
    pub fn stored_room(&self, now: Millis, limit: u32) -> u32 {
        if self.paused || self.hold.unshared_until() > now || self.ramp_until(now).max(self.dark_until) > now
        {
            return 0;
        }
        let limit = if self.probing { 1 } else { limit.min(self.gates.limit(now)) };
        let room = limit.saturating_sub(self.running()).min(self.gates.breaker.room(now));
        room.min(self.bucket.room(now))
    }

    /// Attempts that count against its limit.
    pub const fn running(&self) -> u32 {
        self.in_flight.saturating_add(self.own)
    }

    /// Until when its hold, its breaker, its ramp or its rate lets nothing start; in the past, or zero: they do.
    #[inline(never)]
    pub fn shut_until(&self, now: Millis) -> Millis {
        self.hold.until.max(self.gates_until(now)).max(self.bucket.opens_at(now))
    }

    /// Until when its breaker or its ramp lets nothing start.
    pub fn gates_until(&self, now: Millis) -> Millis {
        self.gates.breaker.shut_until(now).max(self.ramp_until(now))
    }

    /// Until when its ramp lets nothing start.
    pub fn ramp_until(&self, now: Millis) -> Millis {
        let callers = self.door.callers.max(u32::from(self.awaited_until > now));
        self.gates.ramp.shut_until(now, self.waiting, callers)
    }
}

/// All lanes, and the line of those that may start a task.
#[derive(Debug)]
pub(crate) struct Lanes {
    pub slots: Slots<Lane>,
    limit: u32,
    longest_hold: Millis,
    line: Fifo,
    links: Links,
    /// Lanes that let in a caller.
    doors: Fifo,
    door_links: Links,
    /// The host says that it is offline, and nothing has shown otherwise.
    pub offline: bool,
    /// The host has said so since, and a response has shown otherwise.
    pub overruled: bool,
    /// When lanes that keep something back may start it, by hold or breaker.
    holds: Agenda,
    pub rules: Gates,
    /// The rate of each lane that is opened from now on.
    pub rate: Option<Rate>,
    /// News that the host has not heard yet, by the index of the lane.
    pub notices: Vec<(u32, Notice)>,
}

impl Lanes {
    pub fn new(limit: u32, longest_hold: Millis) -> Lanes {
        Lanes {
            slots: Slots::default(),
            limit,
            longest_hold,
            line: Fifo::default(),
            links: Links::default(),
            doors: Fifo::default(),
            door_links: Links::default(),
            offline: false,
            overruled: false,
            holds: Agenda::default(),
            rules: Gates::default(),
            rate: None,
            notices: Vec::new(),
        }
    }

    /// Opens a lane; `None`: there are too many.
    pub fn open(&mut self, now: Millis) -> Option<u32> {
        let mut lane = Lane { bucket: Bucket::new(self.rate), ..Lane::default() };
        if self.offline {
            lane.go_dark(now);
        }
        self.slots.insert(lane)
    }

    /// Most attempts at a time in one lane.
    pub const fn limit(&self) -> u32 {
        if self.offline { 1 } else { self.limit }
    }

    /// Changes that; each lane's [`Lanes::refresh`] must follow.
    pub const fn set_limit(&mut self, limit: u32) {
        self.limit = limit;
    }

    /// The lane at an index.
    pub fn at(&self, index: u32) -> Option<&Lane> {
        self.slots.at(index)
    }

    /// The lane at an index, to change; [`Lanes::refresh`] must follow if it may matter who starts.
    pub fn at_mut(&mut self, index: u32) -> Option<&mut Lane> {
        self.slots.at_mut(index)
    }

    /// Holds a lane for `wait`, as its server asked; [`Lanes::refresh`] must follow.
    pub fn hold(&mut self, index: u32, now: Millis, wait: Millis) {
        if let Some(lane) = self.slots.at_mut(index) {
            lane.hold.extend(now, wait, self.longest_hold);
        }
    }

    /// Takes over the hold that the store of a lane keeps; [`Lanes::refresh`] must follow.
    pub fn share_hold(&mut self, index: u32, now: Millis, wait: Millis) {
        if let Some(lane) = self.slots.at_mut(index) {
            lane.hold.share(now, wait);
        }
    }

    /// Puts the lane in line, takes it out or moves it, as its state now asks for.
    pub fn refresh(&mut self, index: u32, now: Millis) {
        self.look(index, now);
        let limit = self.limit();
        let Some(lane) = self.slots.at_mut(index) else { return };
        let front = lane.ready.front().map(|(priority, _)| priority);
        let wanted = front.filter(|_| lane.room(now, limit) > 0);
        if wanted != lane.in_line_at {
            if let Some(priority) = lane.in_line_at {
                self.line.remove(&mut self.links, index, priority);
            }
            if let Some(priority) = wanted {
                self.line.push(&mut self.links, index, priority);
            }
            lane.in_line_at = wanted;
        }
        let caller = lane.callers.front().map(|(priority, _)| priority);
        let wanted = caller.filter(|_| lane.lets_in(now));
        if wanted != lane.door_at {
            if let Some(priority) = lane.door_at {
                self.doors.remove(&mut self.door_links, index, priority);
            }
            if let Some(priority) = wanted {
                self.doors.push(&mut self.door_links, index, priority);
            }
            lane.door_at = wanted;
        }
        let own = front.map_or(Millis::ZERO, |_| lane.shut_until(now).max(lane.dark_until));
        let theirs = caller.map_or(Millis::ZERO, |_| lane.door_until(now));
        // The earlier of the two that is to come.
        let shut_until = if own > now && theirs > now { own.min(theirs) } else { own.max(theirs) };
        if shut_until > now {
            if !self.holds.contains(index) || self.holds.due_of(index) != shut_until {
                self.holds.push(index, shut_until);
            }
        } else {
            self.holds.remove(index);
        }
    }

    /// Makes its breaker half-open, if it is time.
    pub fn look(&mut self, index: u32, now: Millis) {
        if let Some(lane) = self.slots.at_mut(index)
            && let Some(change) = lane.gates.breaker.look(now)
        {
            self.notices.push((index, Notice::Circuit(change)));
        }
    }

    /// The gates of a lane hear how an attempt ended; [`Lanes::refresh`] must follow.
    pub fn hear(&mut self, index: u32, now: Millis, ending: &Ending, rng: &mut SplitMix64) {
        self.look(index, now);
        let Some(lane) = self.slots.at_mut(index) else { return };
        lane.gates.breaker.callers = lane.door.callers;
        lane.gates.others = lane.waiting > 0;
        let (storm, change) = lane.gates.hear(&self.rules, now, ending, self.limit, rng);
        lane.door.hear(ending.heard.healthy, ending.pace, lane.gates.breaker.circuit(now));
        if let Some(tasks) = storm {
            self.notices.push((index, Notice::Storm(tasks)));
        }
        if let Some(change) = change {
            if change.0 == Circuit::Closed {
                lane.open_since = now;
            }
            self.notices.push((index, Notice::Circuit(change)));
        }
    }

    /// Sends the lane to the back of the line: it has had its turn.
    pub fn rotate(&mut self, index: u32, now: Millis) {
        if let Some(lane) = self.slots.at_mut(index)
            && let Some(priority) = lane.in_line_at.take()
        {
            self.line.remove(&mut self.links, index, priority);
        }
        self.refresh(index, now);
    }

    /// Puts lanes in line whose hold has ended.
    pub fn end_holds(&mut self, now: Millis) {
        while let Some(index) = self.holds.pop(now) {
            self.refresh(index, now);
        }
    }

    /// The lane whose turn it is.
    pub fn front(&self) -> Option<u32> {
        self.line.front().map(|(_, index)| index)
    }

    /// The lane that lets in the next caller.
    pub fn front_door(&self) -> Option<u32> {
        self.doors.front().map(|(_, index)| index)
    }

    /// When the next hold ends that keeps something back.
    pub fn next_hold_end(&mut self) -> Millis {
        self.holds.next_at()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_average_follows_by_eighths() {
        let mut lane = Lane::default();
        assert_eq!(lane.average(), Millis::ZERO);
        lane.observe(Millis::new(800));
        assert_eq!(lane.average(), Millis::new(800));
        lane.observe(Millis::new(0));
        assert_eq!(lane.average(), Millis::new(700));
        for _ in 0..200 {
            lane.observe(Millis::new(100));
        }
        assert_eq!(lane.average(), Millis::new(100), "small changes are not lost");
    }

    #[test]
    fn phases_start_anywhere_and_climb_by_the_golden_ratio() {
        let mut lane = Lane::default();
        assert_eq!(lane.next_phase(7), 7);
        assert_eq!(lane.next_phase(7), 7_u32.wrapping_add(0x9E37_79B9));
        assert_eq!(lane.next_phase(7), 7_u32.wrapping_add(0x9E37_79B9_u32.wrapping_mul(2)));
    }
}
