//! Numbers: the grammar of RFC 8259, 6; the printing is left to the host.

use super::error::{JsonError, JsonErrorKind};
use super::scanner::Scanner;
use super::shortest::is_shortest;

/// A printer of numbers.
pub trait Numbers {
    /// Ends `out` with the double nearest to `token`, as ECMAScript's `Number::toString` prints it
    /// (RFC 8785, 3.2.2.3): `1e+21`, `0.000001`, `0` for `-0`. The token is a number of JSON in
    /// ASCII. False, and `out` as it was, if that double is not finite.
    fn shortest(&mut self, token: &[u8], out: &mut Vec<u8>) -> bool;
}

/// Doubles tell all decimals of so many significant digits apart (C's `DBL_DIG`), so that the shortest
/// text for the double nearest to one is that decimal itself, and the host need not be asked.
const CERTAIN_DIGITS: usize = 15;

/// ECMAScript prints numbers below a millionth with an exponent: so many zeros behind the point.
const ZEROS_OF_SMALL: usize = 6;

/// Reads a number and writes it as RFC 8785 prints it. If `exact`, one that a double cannot hold
/// is a fault.
pub(super) fn number(
    scanner: &mut Scanner<'_>,
    numbers: &mut dyn Numbers,
    exact: bool,
    out: &mut Vec<u8>,
) -> Result<(), JsonError> {
    let from = scanner.at();
    let _ = scanner.take(b'-');
    let leading_zero = scanner.peek() == Some(b'0');
    let whole = digits(scanner)?;
    if leading_zero && whole > 1 {
        return Err(JsonError { at: from, kind: JsonErrorKind::BadNumber });
    }
    let fraction = if scanner.take(b'.') { digits(scanner)? } else { 0 };
    let has_exponent = scanner.take(b'e') || scanner.take(b'E');
    if has_exponent {
        let _ = scanner.take(b'+') || scanner.take(b'-');
        digits(scanner)?;
    }
    let token = scanner.since(from);
    let significant = whole.saturating_sub(usize::from(leading_zero)).saturating_add(fraction);
    if !has_exponent
        && significant <= CERTAIN_DIGITS
        && let Some(text) = plain(token, fraction, leading_zero)
    {
        out.extend_from_slice(text);
        return Ok(());
    }
    if !has_exponent && stays(token, fraction) {
        out.extend_from_slice(token);
        return Ok(());
    }
    let start = out.len();
    if !numbers.shortest(token, out) {
        return Err(JsonError { at: from, kind: JsonErrorKind::NumberTooLarge });
    }
    if exact && !Decimal::of(token).equals(&Decimal::of(out.get(start..).unwrap_or(&[]))) {
        return Err(JsonError { at: from, kind: JsonErrorKind::InexactNumber });
    }
    Ok(())
}

/// The part of a number without an exponent that is printed, where printing comes to no more: without
/// zeros at the end of its fraction of so many digits, and without a point if none is left.
fn plain(token: &[u8], fraction: usize, leading_zero: bool) -> Option<&[u8]> {
    let (whole, digits) = token.split_at_checked(token.len().saturating_sub(fraction))?;
    let Some(last) = digits.iter().rposition(|digit| *digit != b'0') else {
        let whole = whole.strip_suffix(b".").unwrap_or(whole);
        return (whole != b"-0").then_some(whole);
    };
    let zeros = digits.iter().take_while(|digit| **digit == b'0').count();
    let is_small = leading_zero && zeros >= ZEROS_OF_SMALL;
    if is_small { None } else { token.get(..=whole.len().saturating_add(last)) }
}

/// Whether a number without an exponent, of so many digits behind its point, is printed as it is written.
fn stays(token: &[u8], fraction: usize) -> bool {
    let mut digits: u64 = 0;
    for byte in token.iter().filter(|byte| byte.is_ascii_digit()) {
        // A longer number is not counted to its end: nothing that long is printed.
        digits = digits.saturating_mul(10).saturating_add(u64::from(byte.wrapping_sub(b'0')));
    }
    u32::try_from(fraction).is_ok_and(|scale| is_shortest(digits, scale))
}

/// Passes digits, at least one; how many.
fn digits(scanner: &mut Scanner<'_>) -> Result<usize, JsonError> {
    let rest = scanner.rest();
    let count = rest.iter().position(|byte| !byte.is_ascii_digit()).unwrap_or(rest.len());
    scanner.advance(count);
    if count == 0 { Err(scanner.fault(JsonErrorKind::BadNumber)) } else { Ok(count) }
}

/// A decimal as written: `0.d1d2d3.. * 10^exponent`, without zeros in front or behind.
struct Decimal<'a> {
    negative: bool,
    /// Digits from the first that is not 0 to the last that is not 0, a point perhaps among them.
    digits: &'a [u8],
    exponent: i64,
}

impl<'a> Decimal<'a> {
    /// Takes a number of JSON. An exponent beyond counting is a very large one: no double has it.
    fn of(token: &'a [u8]) -> Decimal<'a> {
        let negative = token.first() == Some(&b'-');
        let end = token.iter().position(|byte| matches!(byte, b'e' | b'E')).unwrap_or(token.len());
        let (mantissa, power) = token.split_at_checked(end).unwrap_or((token, &[]));
        let is_digit = |byte: &u8| matches!(byte, b'1'..=b'9');
        let Some(first) = mantissa.iter().position(is_digit) else {
            return Decimal { negative, digits: &[], exponent: 0 };
        };
        let last = mantissa.iter().rposition(is_digit).unwrap_or(first);
        let point = mantissa.iter().position(|byte| *byte == b'.').unwrap_or(mantissa.len());
        // Behind the point its own place is no digit.
        let shift = (point as i64).saturating_sub(first as i64);
        let shift = if first > point { shift.saturating_add(1) } else { shift };
        Decimal {
            negative,
            digits: mantissa.get(first..=last).unwrap_or(&[]),
            exponent: shift.saturating_add(exponent(power)),
        }
    }

    fn equals(&self, other: &Decimal<'_>) -> bool {
        let significant = |byte: &&u8| **byte != b'.';
        self.negative == other.negative
            && self.exponent == other.exponent
            && self.digits.iter().filter(significant).eq(other.digits.iter().filter(significant))
    }
}

/// The number behind the `e` of `e-7`; 0 for nothing.
fn exponent(power: &[u8]) -> i64 {
    let size = power
        .iter()
        .filter(|byte| byte.is_ascii_digit())
        .fold(0_i64, |size, byte| size.saturating_mul(10).saturating_add(i64::from(byte.wrapping_sub(b'0'))));
    if power.get(1) == Some(&b'-') { size.saturating_neg() } else { size }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimals_are_equal_however_they_are_written() {
        for (one, other) in [
            ("100", "1e2"),
            ("0.001", "1e-3"),
            ("0.0010", "0.1E-2"),
            ("12.5", "1250e-2"),
            ("-0.5", "-5e-1"),
            ("0", "0.00e99"),
            ("1e+21", "1000000000000000000000"),
            ("101.01", "1.0101e2"),
        ] {
            assert!(Decimal::of(one.as_bytes()).equals(&Decimal::of(other.as_bytes())), "{one} {other}");
        }
    }

    #[test]
    fn decimals_differ_in_sign_digits_and_exponent() {
        for (one, other) in [
            ("1", "-1"),
            ("0", "-0"),
            ("1", "10"),
            ("0.1", "0.01"),
            ("9007199254740993", "9007199254740992"),
            ("1e-400", "0"),
            ("101", "11"),
            ("1e99999999999999999999", "1e308"),
        ] {
            assert!(!Decimal::of(one.as_bytes()).equals(&Decimal::of(other.as_bytes())), "{one} {other}");
        }
    }
}
