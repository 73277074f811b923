//! Chance: what worlds are drawn with.

use redrive::rng::SplitMix64;

/// Dice with the few throws that worlds are made of.
pub struct Dice(SplitMix64);

impl Dice {
    /// Dice that fall as `seed` says.
    pub fn new(seed: u64) -> Dice {
        Dice(SplitMix64::new(seed))
    }

    /// Sixty-four bits.
    pub fn bits(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// A number in `0..end`; 0 if there is none.
    pub fn below(&mut self, end: u64) -> u64 {
        ((u128::from(self.bits()) * u128::from(end)) >> 64) as u64
    }

    /// A number in `low..=high`.
    pub fn within(&mut self, low: u64, high: u64) -> u64 {
        low + self.below(high - low + 1)
    }

    /// True `percent` times in a hundred.
    pub fn chance(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }

    /// One of these.
    pub fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len() as u64) as usize]
    }

    /// A duration between 0 and `most`, short ones as likely as long ones.
    pub fn duration(&mut self, most: u64) -> u64 {
        let magnitude = self.below(u64::from(most.max(1).ilog2()) + 2) as u32;
        self.below(1 << magnitude).min(most)
    }
}
