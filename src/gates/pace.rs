//! How quickly an answer came, by the time that it was given.
#![forbid(unsafe_code)]

use crate::time::Millis;

/// An answer is quick that takes at most this part of its timeout, and slow that takes more than half of it.
const QUICK: u64 = 16;

/// How long an answer took, by the timeout that its attempt was given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pace {
    /// A sixteenth of it at most: none waits before its server.
    Quick,
    /// Up to half of it.
    Fair,
    /// More: a little longer, and it answers only those who have left.
    Slow,
}

impl Pace {
    /// The pace of an answer that took so long. Without a timeout none waits in vain, and all are quick.
    pub fn of(took: Millis, timeout: Millis) -> Pace {
        let (took, timeout) = (took.get(), timeout.get());
        match timeout {
            0 => Pace::Quick,
            _ if took.saturating_mul(QUICK) <= timeout => Pace::Quick,
            _ if took.saturating_mul(2) <= timeout => Pace::Fair,
            _ => Pace::Slow,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_quick_up_to_a_sixteenth_of_its_timeout_and_slow_beyond_half_of_it() {
        for (took, timeout, pace) in [
            (625, 10_000, Pace::Quick),
            (626, 10_000, Pace::Fair),
            (5000, 10_000, Pace::Fair),
            (5001, 10_000, Pace::Slow),
            (u64::MAX, 10_000, Pace::Slow),
            (60_000, 0, Pace::Quick),
        ] {
            assert_eq!(Pace::of(Millis::new(took), Millis::new(timeout)), pace, "{took} of {timeout} ms");
        }
    }
}
