//! Attempts that hang while their server answers no one.
//!
//! An attempt has a limit on its time since its connection may be dead while the server is well: another attempt, over another
//! connection, is answered. Where a server answers none of its calls, another attempt brings nothing. It has been stopped, and would find
//! each request twice once it goes on. So the attempts stay, and only now and then one is given up, to see whether another does better.
#![forbid(unsafe_code)]

use crate::time::Millis;

/// While a server is silent, so much time lies between the first two attempts that are given up, and twice as much each time after: those that
/// follow them hang, too, and the more of these there are, the less another one tells.
const LOOK: u64 = 2000;
/// So many times at most.
const MOST_DOUBLINGS: u8 = 2;
/// One whose limit is over only now goes first, since its caller waits for longer: another is given up so much later, if none has come.
const YIELDS: Millis = Millis::new(500);
/// Once a server answers again, those that have stayed wait so long for their own answers.
const GRACE: Millis = Millis::new(3000);

/// One server's silence. It is none at first.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Silence {
    /// When it answered last.
    answered_at: Millis,
    /// When it first answered after attempts had stayed.
    ended_at: Millis,
    /// When an attempt was last asked to stay.
    stayed_at: Millis,
    /// When the next attempt is given up.
    look_at: Millis,
    /// Attempts that were given up since it answered.
    looks: u8,
}

impl Silence {
    /// The server has answered an attempt, whatever it said.
    // inlined, it would stand in each of its callers, and a page would load it as often
    #[inline(never)]
    pub fn hear(&mut self, at: Millis) {
        if at <= self.answered_at {
            return;
        }
        (self.answered_at, self.looks) = (at, 0);
        if at >= self.stayed_at && self.stayed_at > self.ended_at {
            self.ended_at = at;
        }
    }

    const fn pause(self) -> Millis {
        let doublings = if self.looks < MOST_DOUBLINGS { self.looks } else { MOST_DOUBLINGS };
        Millis::new(LOOK << doublings)
    }

    /// Until when an attempt that began at `began` stays though its `limit` is over; in the past, or zero: it is given up.
    pub fn lasts(&mut self, now: Millis, began: Millis, limit: Millis) -> Millis {
        if self.answered_at > began {
            return if self.ended_at > began { self.ended_at.plus(GRACE) } else { Millis::ZERO };
        }
        let has_stayed = now.minus(began) > limit.plus(YIELDS);
        if now >= if has_stayed { self.look_at.plus(YIELDS) } else { self.look_at } {
            self.look_at = now.plus(self.pause());
            self.looks = self.looks.saturating_add(1);
            return Millis::ZERO;
        }
        self.stayed_at = now;
        self.look_at.plus(YIELDS)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMIT: Millis = Millis::new(10_000);

    const fn at(ms: u64) -> Millis {
        Millis::new(ms.saturating_add(100_000))
    }

    #[test]
    fn of_attempts_that_hang_at_a_silent_server_one_is_given_up_now_and_then() {
        let mut silence = Silence::default();
        let (mut waiting, mut given_up) =
            ((0..100).map(|i| (i, at(10_000 + i))).collect::<Vec<_>>(), Vec::new());
        for now in (10_000..20_000).map(at) {
            waiting.retain_mut(|(began, asks_at)| {
                if *asks_at > now {
                    return true;
                }
                *asks_at = silence.lasts(now, at(*began), LIMIT);
                if *asks_at <= now {
                    given_up.push(now);
                }
                *asks_at > now
            });
        }
        assert_eq!(given_up, [10_000, 12_500, 17_000].map(at));
    }

    #[test]
    fn it_is_one_whose_limit_is_over_only_then_if_there_is_any() {
        let mut silence = Silence::default();
        let given_up: Vec<u64> = (0..10_000)
            .step_by(100)
            .filter(|began| silence.lasts(at(began + 10_000), at(*began), LIMIT) == Millis::ZERO)
            .collect();
        assert_eq!(given_up, [0, 2000, 6000]);
        assert_eq!(silence.lasts(at(24_100), at(100), LIMIT), at(24_500), "one that has stayed yields");
    }

    #[test]
    fn what_hung_meanwhile_has_three_seconds_once_the_server_answers_again() {
        let mut silence = Silence::default();
        assert_eq!(silence.lasts(at(10_000), at(0), LIMIT), Millis::ZERO);
        assert_eq!(silence.lasts(at(10_001), at(1), LIMIT), at(12_500));
        for now in [15_000, 15_500] {
            silence.hear(at(now));
        }
        assert_eq!(silence.lasts(at(16_000), at(1), LIMIT), at(18_000));
        // of one that began afterwards, others are answered
        assert!(silence.lasts(at(26_000), at(15_400), LIMIT) <= at(26_000));
    }

    #[test]
    fn where_others_are_answered_none_stays() {
        let mut silence = Silence::default();
        silence.hear(at(5_000));
        for began in 0..100 {
            assert_eq!(silence.lasts(at(10_000 + began), at(began), LIMIT), Millis::ZERO);
        }
    }
}
