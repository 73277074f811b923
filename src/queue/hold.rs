//! How long a server's word holds those whom it did not answer.
//!
//! The task that was answered waits as long as its server asked. The other tasks of its lane wait with it, but
//! only up to a limit: one answer, from one path of a host or from a server that is not well, must not
//! silence the whole host for a day. The limit counts from the beginning of a hold however often it is
//! renewed, and those who waited get their chance before the next one: callers' own first attempts, which
//! no hold keeps back, may go on hearing that nothing is left.
#![forbid(unsafe_code)]

use crate::time::Millis;

/// The time after a hold in which none begins unless the lane has started something: a turn of a store needs that long.
pub const CHANCE: Millis = Millis::new(1_000);

/// The hold of a lane.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Hold {
    /// In the past: there is none.
    pub until: Millis,
    /// The end that no renewal passes.
    latest: Millis,
    /// The lane has started nothing since it began.
    owes_chance: bool,
    /// The store of the lane knows of it, and decides by its own how long it keeps back stored tasks.
    shared: bool,
}

impl Hold {
    /// Holds for `wait`, at most for `most` from its beginning, and no shorter than it holds already. No time holds nothing.
    pub fn extend(&mut self, now: Millis, wait: Millis, most: Millis) {
        if wait == Millis::ZERO {
            return;
        }
        if self.until <= now {
            if self.owes_chance && now < self.until.plus(CHANCE) {
                return;
            }
            self.latest = now.plus(most);
            self.owes_chance = true;
        }
        let until = now.plus(wait).min(self.latest);
        if until > self.until {
            self.until = until;
            self.shared = false;
        }
    }

    /// The store has heard of it, and holds the lane for `wait` from now, as far as it has said.
    pub fn share(&mut self, now: Millis, wait: Millis) {
        if wait > Millis::ZERO {
            let until = now.plus(wait);
            if !self.shared && self.until > until {
                return;
            }
            self.until = until;
            // by the store's limit, and not by one that begins now
            self.latest = until;
            self.owes_chance = true;
        }
        self.shared = true;
    }

    /// Until when it keeps back the tasks of a store that does so itself where it knows of the hold.
    pub const fn unshared_until(&self) -> Millis {
        if self.shared { Millis::ZERO } else { self.until }
    }

    /// The lane has started an attempt of the queue's own.
    pub const fn had_chance(&mut self) {
        self.owes_chance = false;
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::arithmetic_side_effects)]

    use super::*;

    const MOST: Millis = Millis::new(60_000);
    const DAY: Millis = Millis::new(86_400_000);

    fn at(ms: u64) -> Millis {
        Millis::new(1_000_000 + ms)
    }

    #[test]
    fn a_wait_is_cut_to_the_limit_and_a_shorter_one_shortens_nothing() {
        for (waits, until) in [
            (&[20_000][..], 20_000),
            (&[20_000, 5_000], 20_000),
            (&[5_000, 20_000], 20_000),
            (&[86_400_000], 60_000),
            (&[0], 0),
        ] {
            let mut hold = Hold::default();
            for wait in waits {
                hold.extend(at(0), Millis::new(*wait), MOST);
            }
            assert_eq!(hold.until.max(at(0)), at(until), "{waits:?}");
        }
    }

    #[test]
    fn l1_renewed_again_and_again_it_ends_at_the_limit_and_leaves_a_chance() {
        let mut hold = Hold::default();
        for ms in (0..60_900).step_by(100) {
            hold.extend(at(ms), DAY, MOST);
            assert_eq!(hold.until, at(60_000), "at {ms}");
        }
        hold.extend(at(61_000), DAY, MOST);
        assert_eq!(hold.until, at(121_000), "nothing wanted the chance");
    }

    #[test]
    fn who_had_a_chance_may_be_held_again_at_once() {
        let mut hold = Hold::default();
        hold.extend(at(0), DAY, MOST);
        hold.had_chance();
        hold.extend(at(60_000), DAY, MOST);
        assert_eq!(hold.until, at(120_000));
    }

    #[test]
    fn what_a_store_holds_ends_when_the_store_says_and_no_limit_is_added() {
        let mut hold = Hold::default();
        hold.extend(at(0), DAY, MOST);
        assert_eq!(hold.unshared_until(), at(60_000));
        hold.share(at(0), Millis::ZERO);
        assert_eq!((hold.until, hold.unshared_until()), (at(60_000), Millis::ZERO));
        hold.share(at(100), Millis::new(500));
        assert_eq!(hold.until, at(600), "the store's end is the hold's");
        hold.extend(at(200), DAY, MOST);
        assert_eq!((hold.until, hold.unshared_until()), (at(600), Millis::ZERO));
        hold.extend(at(1_599), DAY, MOST);
        assert_eq!(hold.until, at(600), "its chance");
        hold.extend(at(1_600), DAY, MOST);
        assert_eq!(hold.unshared_until(), at(61_600), "another, which the store does not know of");
        hold.share(at(1_700), Millis::new(100));
        assert_eq!(hold.unshared_until(), at(61_600), "and which the store's own does not cover");
    }

    #[test]
    fn without_a_limit_worth_a_millisecond_there_are_no_holds() {
        let mut hold = Hold::default();
        hold.extend(at(0), DAY, Millis::ZERO);
        assert!(hold.until <= at(0));
    }
}
