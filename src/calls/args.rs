//! The words behind a call, as the core has them.

#![forbid(unsafe_code)]

use crate::codes::Said;
use crate::outcome::{Flags, Outcome, Reason};
use crate::queue::{Admission, Carry, Ended, Facts, Limits, Long, Past};
use crate::slots::NONE;
use crate::time::Millis;

/// The arguments of a call. One that is not there is NaN.
#[derive(Clone, Copy)]
pub struct Args<'a>(pub &'a [f64]);

impl Args<'_> {
    pub fn at(self, place: usize) -> f64 {
        self.0.get(place).copied().unwrap_or(f64::NAN)
    }

    pub fn u32(self, place: usize) -> u32 {
        self.at(place) as u32
    }

    pub fn bit(self, place: usize) -> bool {
        self.at(place) == 1.0
    }

    pub fn ms(self, place: usize) -> Millis {
        Millis::from_f64(self.at(place))
    }

    pub fn given(self, place: usize) -> Option<Millis> {
        (!self.at(place).is_nan()).then(|| self.ms(place))
    }

    pub fn lane(self, place: usize) -> Option<u32> {
        let lane = self.u32(place);
        (lane != NONE && !self.at(place).is_nan()).then_some(lane)
    }

    /// A handle that may be none: NaN is.
    pub fn handle(self, place: usize) -> u32 {
        if self.at(place).is_nan() { NONE } else { self.u32(place) }
    }

    pub fn limits(self) -> Limits {
        Limits {
            concurrency: self.u32(0),
            per_lane: self.u32(1),
            capacity: self.u32(2),
            capacity_bytes: self.at(3) as u64,
            max_lane_hold: self.ms(4),
        }
    }

    /// `order`, `started` and `seen`: where these stand.
    pub fn admission(self, order: usize, started: usize, seen: usize) -> Admission {
        Admission {
            lane: self.u32(1),
            policy: self.u32(2),
            priority: self.at(3) as i32,
            bytes: self.at(4) as u64,
            flags: Flags::from_bits(self.u32(5)),
            created_at: self.ms(6),
            expires_at: self.ms(7),
            wait_until: self.ms(8),
            order: self.handle(order),
            started: self.given(started).is_some(),
            began: self.given(started).or(self.given(seen)).unwrap_or_default(),
        }
    }

    pub fn standing(self) -> Admission {
        Admission {
            lane: self.u32(1),
            policy: self.u32(2),
            priority: self.at(3) as i32,
            bytes: 0,
            flags: Flags::default(),
            created_at: self.ms(4),
            expires_at: self.ms(5),
            wait_until: self.ms(6),
            order: NONE,
            started: false,
            began: Millis::ZERO,
        }
    }

    pub fn past(self) -> Past {
        let phase = self.at(12);
        let carry = Carry {
            phase: (phase >= 0.0).then_some(phase as u32),
            previous_delay: self.ms(13),
            marks: self.u32(14),
            ..Carry::default()
        };
        let reason = Reason::ALL.get(self.handle(17) as usize);
        Past {
            first_attempt_at: self.ms(9),
            deadline: reason.map(|reason| (self.ms(16), *reason)),
            attempts: self.u32(10),
            refunds: self.u32(11),
            carry,
        }
    }

    pub fn long(self) -> Long {
        Long {
            flags: Flags::from_bits(self.u32(3)),
            began: self.ms(4),
            answered_at: self.ms(5),
            wait_until: self.ms(6),
        }
    }

    pub fn word(self, place: usize) -> Option<bool> {
        Said::ALL.get(self.u32(place) as usize).and_then(|said| said.word())
    }

    pub fn ended(self) -> Ended {
        Ended {
            server_delay: self.given(4),
            duration: self.given(5),
            rate_limit: self.given(6),
            status: self.u32(3),
            unusable: self.bit(7),
            partitioned: self.bit(8),
            said: self.word(9),
            delay: self.given(10),
            asked: self.bit(11),
            replayed: self.bit(12),
            facts: Facts::from_bits(self.u32(13)),
            reason: Reason::ALL.get(self.handle(14) as usize).copied(),
            ..Ended::of(Outcome::from_code(self.u32(2)))
        }
    }

    pub fn heard(self) -> Ended {
        Ended {
            status: self.u32(5),
            server_delay: self.given(6),
            duration: self.given(7),
            rate_limit: self.given(8),
            partitioned: self.bit(9),
            said: self.word(10),
            ..Ended::of(Outcome::from_code(self.u32(4)))
        }
    }
}
