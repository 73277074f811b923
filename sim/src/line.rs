//! Times, as the books have them: plain numbers, and a line that never runs backwards.

/// Never.
pub const NEVER: u64 = 1 << 53;
/// How far a clock may fall back before that counts as being set.
const WOBBLE: u64 = 60_000;

/// The sum of two times, never more than never.
pub fn sum(at: u64, ms: u64) -> u64 {
    at.saturating_add(ms).min(NEVER)
}

/// The queue's time: follows the wall clock forward, stands still on a wobble of up to a minute, and shifts on more.
#[derive(Clone, Copy, Debug, Default)]
pub struct Line {
    /// The latest time.
    pub now: u64,
    shift: u64,
}

impl Line {
    /// Hears what the wall clock says.
    pub fn advance(&mut self, wall: u64) -> u64 {
        let time = sum(wall, self.shift);
        if sum(time, WOBBLE) < self.now {
            self.shift = sum(self.shift, self.now - time);
        }
        self.now = self.now.max(time);
        self.now
    }

    /// An instant of the wall clock in the queue's time.
    pub fn inward(&self, wall: u64) -> u64 {
        sum(wall, self.shift)
    }

    /// The other way round.
    pub fn outward(&self, at: u64) -> u64 {
        if at == NEVER { at } else { at.saturating_sub(self.shift) }
    }
}
