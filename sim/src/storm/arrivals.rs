//! How many calls are made in a millisecond: Poisson's distribution, by inversion of a draw.
//!
//! A draw of 32 bits cannot tell the far ends of the distribution of a large mean apart. So what has a mean of more than 1
//! is drawn as several of 1 at most each, whose sum it is.

use redrive::rng::SplitMix64;

/// The draws of one mean.
#[derive(Clone, Copy, Debug)]
pub struct Arrivals {
    mean: f64,
    /// So many draws make one number, each of this mean, and with this share of zeros.
    parts: u32,
    part: f64,
    none: f64,
}

impl Arrivals {
    /// Numbers of this mean, at least 0.
    pub fn of(mean: f64) -> Arrivals {
        let parts = mean.ceil().max(1.0);
        let part = mean / parts;
        Arrivals { mean, parts: parts as u32, part, none: exp_of_negative(part) }
    }

    /// The mean they were made for.
    pub const fn mean(&self) -> f64 {
        self.mean
    }

    /// The next number.
    pub fn draw(&self, dice: &mut SplitMix64) -> u32 {
        (0..self.parts).map(|_| self.part(dice)).sum()
    }

    fn part(&self, dice: &mut SplitMix64) -> u32 {
        let mut u = f64::from(dice.next_u32()) / 2_f64.powi(32);
        let mut share = self.none;
        let mut count = 0;
        // Beyond 20 there is less than a draw can tell.
        while u >= share && count < 20 {
            u -= share;
            count += 1;
            share *= self.part / f64::from(count);
        }
        count
    }
}

/// `e^-x` for `x` in `[0, 1]`, by its series from the last term on. That of std has other bits natively than in wasm.
fn exp_of_negative(x: f64) -> f64 {
    (1..=20).rev().fold(1.0, |sum, n| 1.0 - sum * x / f64::from(n))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_series_is_that_of_the_exponential_function() {
        for x in [0.0, 1e-9, 0.05, 0.65, 0.7, 0.95, 1.0] {
            let (own, std) = (exp_of_negative(x), (-x).exp());
            assert!((own - std).abs() <= 2.0 * f64::EPSILON * std, "{x}: {own}, {std}");
        }
    }

    #[test]
    fn numbers_have_the_mean_and_the_variance_of_poisson_s() {
        for mean in [0.01, 0.7, 1.0, 3.5, 9.5] {
            let (arrivals, mut dice) = (Arrivals::of(mean), SplitMix64::new(1));
            let draws: Vec<f64> = (0..200_000).map(|_| f64::from(arrivals.draw(&mut dice))).collect();
            let average = draws.iter().sum::<f64>() / draws.len() as f64;
            let variance = draws.iter().map(|n| (n - average).powi(2)).sum::<f64>() / draws.len() as f64;
            // four standard errors, of the mean and of the variance
            let error = 4.0 * (mean / draws.len() as f64).sqrt();
            assert!((average - mean).abs() < error, "{mean}: {average}");
            let error = 4.0 * ((mean + 2.0 * mean * mean) / draws.len() as f64).sqrt();
            assert!((variance - mean).abs() < error, "{mean}: {variance}");
        }
    }
}
