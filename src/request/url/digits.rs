//! Numbers as text and back, without the formatting of the standard library, which would weigh more than the rest of
//! this folder.

/// A number in decimal digits; nothing is 0, and what passes a u32 is its largest.
pub(super) fn decimal(digits: &[u8]) -> Option<u32> {
    digits.iter().try_fold(0_u32, |number, byte| {
        let digit = char::from(*byte).to_digit(10)?;
        Some(number.saturating_mul(10).saturating_add(digit))
    })
}

/// Ends with a number, 10 or 16 being its base, digits in lower-case.
pub(crate) fn push_number(number: u32, base: u32, out: &mut Vec<u8>) {
    let mut digits = Vec::new();
    let mut rest = number;
    loop {
        let digit = rest.checked_rem(base).and_then(|digit| char::from_digit(digit, base));
        digits.push(digit.unwrap_or('0') as u8);
        rest = rest.checked_div(base).unwrap_or(0);
        if rest == 0 {
            break;
        }
    }
    out.extend(digits.iter().rev());
}
