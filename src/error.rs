//! What the core says about a value it cannot take.
//!
//! One error type, with the option, what was expected and what came, as three separate texts:
//! the host builds its own `RangeError` or `TypeError` from them. Numbers are printed without
//! float formatting, which alone would cost the wasm 9 KB of gzip.
#![forbid(unsafe_code)]

use std::fmt;

/// A policy option that cannot be used. Nothing was changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PolicyError {
    /// The option's public name, such as `maxAttempts`.
    pub option: &'static str,
    /// What it has to be, such as `a whole number, 1..=100`.
    pub expected: String,
    /// What it was, as text.
    pub got: String,
}

impl PolicyError {
    /// An error about a number.
    pub fn number(option: &'static str, expected: &str, got: f64) -> PolicyError {
        PolicyError { option, expected: expected.to_owned(), got: plain(got) }
    }
}

impl fmt::Display for PolicyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.option)?;
        f.write_str(": expected ")?;
        f.write_str(&self.expected)?;
        f.write_str(", got ")?;
        f.write_str(&self.got)
    }
}

impl std::error::Error for PolicyError {}

/// The largest whole number printed digit by digit, 2^53.
const COUNTABLE: f64 = 9_007_199_254_740_992.0;

/// A number for a message: whole part and up to three decimals, rounded.
fn plain(number: f64) -> String {
    if number.is_nan() {
        return "NaN".to_owned();
    }
    let sign = if number < 0.0 { "-" } else { "" };
    let size = number.abs();
    if size == f64::INFINITY {
        return [sign, "Infinity"].concat();
    }
    if size > COUNTABLE {
        return [sign, "more than 2^53"].concat();
    }
    let whole = size as u64;
    // 1.9 - 1 is 0.8999..: hence the rounding; at most .999, so that the whole part stays true.
    let thousandths = (((size - whole as f64) * 1000.0 + 0.5) as u64).min(999);
    let whole = whole.to_string();
    if thousandths == 0 {
        // A fraction below a thousandth must not look like a whole number.
        let rest = if size == size as u64 as f64 { "" } else { ".000.." };
        return [sign, whole.as_str(), rest].concat();
    }
    let decimals = thousandths.saturating_add(1000).to_string();
    let decimals = decimals.get(1..).unwrap_or("").trim_end_matches('0');
    [sign, whole.as_str(), ".", decimals].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_printed_plainly() {
        let rows = [
            (0.0, "0"),
            (-3.0, "-3"),
            (0.5, "0.5"),
            (1.005, "1.005"),
            (1.9, "1.9"),
            (-2.25, "-2.25"),
            (1e-9, "0.000.."),
            (9_007_199_254_740_992.0, "9007199254740992"),
            (1e300, "more than 2^53"),
            (f64::NAN, "NaN"),
            (f64::NEG_INFINITY, "-Infinity"),
        ];
        for (number, text) in rows {
            assert_eq!(plain(number), text);
        }
    }

    #[test]
    fn an_error_says_option_expectation_and_value() {
        let error = PolicyError::number("maxAttempts", "a whole number, 1..=100", 0.0);
        assert_eq!(error.to_string(), "maxAttempts: expected a whole number, 1..=100, got 0");
    }
}
