//! The middle of many numbers.

/// The mean of the two in the middle, `len / 2` and the one before, as the figures have always had it; of one, itself. Moves
/// the numbers about.
pub fn median(numbers: &mut [f64]) -> f64 {
    let middle = numbers.len() / 2;
    let (below, upper, _) = numbers.select_nth_unstable_by(middle, f64::total_cmp);
    let upper = *upper;
    let lower = below.iter().copied().reduce(f64::max).unwrap_or(upper);
    (upper + lower) / 2.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_two_in_the_middle_are_those_of_the_sorted_list() {
        for numbers in [&[5.0][..], &[9.0, 1.0], &[3.0, 1.0, 2.0], &[4.0, 4.0, 1.0, 8.0, 2.0, 7.0]] {
            let mut sorted = numbers.to_vec();
            sorted.sort_by(f64::total_cmp);
            let middle = sorted.len() / 2;
            let expected = (sorted[middle] + sorted[middle.saturating_sub(1)]) / 2.0;
            assert_eq!(median(&mut numbers.to_vec()), expected, "{numbers:?}");
        }
    }
}
