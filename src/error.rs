//! The core's errors about values it cannot take.
//!
//! A case says which option, what was expected and what came; the caller that prints makes a text
//! of it. The wasm prints none: the host checks options before they cross, with messages of its
//! own, and formatting would cost the module 2 KB, that of floats another 9 KB.
#![forbid(unsafe_code)]

use std::fmt;

/// A policy option that cannot be used. Nothing was changed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum PolicyError {
    /// A number that its option, or the list in it, does not take.
    Number {
        /// The option's public name, such as `maxAttempts`.
        option: &'static str,
        /// The values it takes, such as `a whole number, 1..=100`.
        expected: &'static str,
        /// The value that was given.
        got: f64,
    },
    /// An option that others ask for.
    Missing {
        /// Its public name.
        option: &'static str,
        /// The values it takes.
        expected: &'static str,
    },
}

impl PolicyError {
    /// The public name of the option that is wrong.
    pub const fn option(&self) -> &'static str {
        match self {
            PolicyError::Number { option, .. } | PolicyError::Missing { option, .. } => option,
        }
    }
}

impl fmt::Display for PolicyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let option = self.option();
        match self {
            PolicyError::Number { expected, got, .. } => {
                write!(f, "{option}: expected {expected}, got {}", plain(*got))
            }
            PolicyError::Missing { expected, .. } => write!(f, "{option}: expected {expected}, got nothing"),
        }
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
        let error =
            PolicyError::Number { option: "maxAttempts", expected: "a whole number, 1..=100", got: 0.0 };
        assert_eq!(error.to_string(), "maxAttempts: expected a whole number, 1..=100, got 0");
    }
}
