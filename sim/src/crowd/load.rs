//! The load of a crowd in log time, where the curve doubles.

use redrive::curve::{Curve, Growth};
use redrive::policy::Strategy;

use crate::crowd::chart::variation;
use crate::crowd::draws::{Draws, Waits};

/// Bins of an octave of time.
const PER_OCTAVE: usize = 16;
/// The octaves looked at, as powers of two of a minute: late enough that the beginning is forgotten.
const OCTAVES: (u32, u32) = (5, 11);
const BINS: usize = (OCTAVES.1 - OCTAVES.0) as usize * PER_OCTAVE;
const MINUTE: f64 = 60_000.0;
/// Retries of each job: from a base of ten seconds they reach beyond the last octave.
pub const RETRIES: u32 = 24;

/// Jobs whose load is counted at most: with so many, chance moves the variation by less than one part in a hundred.
pub const MOST_JOBS: u32 = 100_000;

/// Whether a load per octave has a meaning: the curve doubles without meeting a cap from a minute or less to beyond the last
/// octave, and attempts last so long.
pub fn doubles(waits: &Waits) -> bool {
    let Waits::Core(policy) = waits else { return false };
    let (Strategy::Curved(curve, _) | Strategy::Spread(curve, _)) = policy.strategy() else { return false };
    let Curve { growth: Growth::Exponential { multiplier: 2.0 }, base, cap } = curve else { return false };
    let base = base.get() as f64;
    let last = base * f64::from(1_u32 << (RETRIES - 1));
    let end = MINUTE * f64::from(1_u32 << OCTAVES.1);
    base <= MINUTE && last >= end && last <= cap.to_f64() && waits.retries() >= RETRIES
}

/// Counts the retries of a crowd, job by job.
#[derive(Debug)]
pub struct Load {
    draws: Draws,
    /// Where the bins of an octave end, as a share of its beginning.
    ends: [f64; PER_OCTAVE],
    bins: [f64; BINS],
}

impl Load {
    /// A crowd that falls from a seed.
    pub fn new(waits: Waits, seed: u64) -> Load {
        Load { draws: Draws::new(waits, seed), ends: ends(), bins: [0.0; BINS] }
    }

    /// Counts the next job's.
    pub fn count(&mut self) {
        let mut job = self.draws.job();
        for _ in 0..RETRIES {
            let minutes = self.draws.arrival(&mut job) / MINUTE;
            if let Some(bin) = self.bin(minutes).and_then(|bin| self.bins.get_mut(bin)) {
                *bin += 1.0;
            }
        }
    }

    /// The bin of a moment; None: it is too early. One too large: it is too late.
    fn bin(&self, minutes: f64) -> Option<usize> {
        // An f64 is a power of two and a factor in 1..2, exactly: no logarithm, which has other bits in wasm.
        let bits = minutes.to_bits();
        let octave = ((bits >> 52) as u32).checked_sub(1023 + OCTAVES.0)?;
        let factor = f64::from_bits(bits & ((1 << 52) - 1) | 1023 << 52);
        Some(octave as usize * PER_OCTAVE + self.ends.partition_point(|end| *end <= factor))
    }

    /// Coefficient of variation of the counts.
    pub fn cv(&self) -> f64 {
        variation(&self.bins)
    }
}

/// `2^(1/16)`, `2^(2/16)` and so on up to 2.
fn ends() -> [f64; PER_OCTAVE] {
    // The square root is exact to the last bit everywhere.
    let step = 2_f64.sqrt().sqrt().sqrt().sqrt();
    let mut end = 1.0;
    [(); PER_OCTAVE].map(|()| {
        end *= step;
        end
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moment_is_in_the_bin_of_its_logarithm() {
        let load = Load::new(Waits::SpreadOnSidekiq, 1);
        assert_eq!(load.bin(31.999), None);
        assert_eq!(load.bin(0.0), None);
        let mut ms = 32.0 * MINUTE;
        while ms < 3000.0 * MINUTE {
            let log = (ms / MINUTE).log2() * PER_OCTAVE as f64 - 80.0;
            assert_eq!(load.bin(ms / MINUTE), Some(log as usize), "{ms} ms");
            ms = (ms * 1.0001 + 1.0).floor();
        }
    }
}
