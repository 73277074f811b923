//! Chance: what worlds are drawn with. It comes from a seed, or from the bytes of a fuzzer.

use redrive::rng::SplitMix64;

enum Source {
    Seed(SplitMix64),
    /// What is left of the bytes, the next one last.
    Bytes(Vec<u8>),
}

/// Dice with the few throws that worlds are made of.
pub struct Dice(Source);

impl Dice {
    /// Dice that fall as `seed` says.
    pub fn new(seed: u64) -> Dice {
        Dice(Source::Seed(SplitMix64::new(seed)))
    }

    /// Dice that fall as `bytes` say, in turn: as few bytes for a throw as hold it, and zeros past the end. A changed byte
    /// changes one throw, which lets a fuzzer steer them.
    pub fn spelled(bytes: impl DoubleEndedIterator<Item = u8>) -> Dice {
        Dice(Source::Bytes(bytes.rev().collect()))
    }

    /// Whether the bytes are used up. A seed never is.
    pub fn is_spent(&self) -> bool {
        matches!(&self.0, Source::Bytes(left) if left.is_empty())
    }

    /// Sixty-four bits.
    pub fn bits(&mut self) -> u64 {
        match &mut self.0 {
            Source::Seed(seed) => seed.next_u64(),
            Source::Bytes(left) => (0..8).fold(0, |bits, _| bits << 8 | u64::from(left.pop().unwrap_or(0))),
        }
    }

    /// A number in `0..end`; 0 if there is none.
    pub fn below(&mut self, end: u64) -> u64 {
        if let Source::Bytes(left) = &mut self.0 {
            let width = (u64::BITS - end.saturating_sub(1).leading_zeros()).div_ceil(8);
            let number = (0..width).fold(0, |number, _| number << 8 | u64::from(left.pop().unwrap_or(0)));
            return number.checked_rem(end).unwrap_or(0);
        }
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
