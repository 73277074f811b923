//! Numbers printed by the standard library, where there is no JavaScript to ask.

use super::numbers::Numbers;

/// Prints doubles as ECMAScript does. Not in the wasm, where the host does it.
#[derive(Clone, Copy, Debug, Default)]
pub struct NativeNumbers;

impl Numbers for NativeNumbers {
    fn shortest(&mut self, token: &[u8], out: &mut Vec<u8>) -> bool {
        let number = std::str::from_utf8(token).ok().and_then(|token| token.parse::<f64>().ok());
        let Some(number) = number.filter(|number| number.is_finite()) else {
            return false;
        };
        let printed = closest(number.abs());
        if number < 0.0 {
            out.push(b'-');
        }
        let (mantissa, exponent) = printed.split_once('e').unwrap_or((&printed, "0"));
        let digits: Vec<u8> = mantissa.bytes().filter(u8::is_ascii_digit).collect();
        arrange(&digits, exponent.parse().unwrap_or(0), out);
        true
    }
}

/// A finite double in as few digits as tell it from its neighbours: `1.25e-7`.
fn closest(number: f64) -> String {
    let shortest = format!("{number:e}");
    let digits = shortest.bytes().take_while(|byte| *byte != b'e').filter(u8::is_ascii_digit).count();
    // Between two decimals equally close the standard library's shortest takes the larger one,
    // ECMAScript the even one, as rounding to so many digits does. But below a power of two the
    // closest may already belong to the neighbour, and then it is not the one.
    let rounded = format!("{number:.0$e}", digits.saturating_sub(1));
    if rounded.parse() == Ok(number) { rounded } else { shortest }
}

/// `Number::toString` of ECMA-262, 6.1.6.1.20, steps 6 and on: `digits` is `s`, and the first of
/// them stands for `10^exponent`, so that its `n` is `exponent + 1`.
fn arrange(digits: &[u8], exponent: i32, out: &mut Vec<u8>) {
    let zeros = |count: usize| std::iter::repeat_n(b'0', count);
    match usize::try_from(exponent) {
        // Whole up to 21 digits, or with a point inside.
        Ok(exponent @ 0..=20) => {
            let whole = exponent.saturating_add(1);
            match digits.split_at_checked(whole) {
                Some((whole, [])) => out.extend_from_slice(whole),
                Some((whole, fraction)) => {
                    out.extend_from_slice(whole);
                    out.push(b'.');
                    out.extend_from_slice(fraction);
                }
                None => {
                    out.extend_from_slice(digits);
                    out.extend(zeros(whole.saturating_sub(digits.len())));
                }
            }
        }
        // Down to 0.000001.
        Err(_) if exponent >= -6 => {
            out.extend_from_slice(b"0.");
            out.extend(zeros(exponent.unsigned_abs().saturating_sub(1) as usize));
            out.extend_from_slice(digits);
        }
        _ => {
            if let Some((first, fraction)) = digits.split_first() {
                out.push(*first);
                if !fraction.is_empty() {
                    out.push(b'.');
                    out.extend_from_slice(fraction);
                }
            }
            out.extend_from_slice(if exponent < 0 { b"e-" } else { b"e+" });
            out.extend_from_slice(exponent.unsigned_abs().to_string().as_bytes());
        }
    }
}
