//! IPv4 addresses, in all the ways browsers read them: `0x7f.1` is 127.0.0.1.

use super::digits::push_number;

/// Whether a name is to be read as an address: its last part is a number.
pub(super) fn is_meant(name: &[u8]) -> bool {
    let last = without_last_dot(name).rsplit(|byte| *byte == b'.').next().unwrap_or(&[]);
    // `09` is meant as a number, and a wrong one.
    !last.is_empty() && (last.iter().all(u8::is_ascii_digit) || part(last).is_some())
}

/// The address of a name, or `None` if it is none after all.
pub(super) fn parse(name: &[u8]) -> Option<u32> {
    let parts: Vec<&[u8]> = without_last_dot(name).split(|byte| *byte == b'.').collect();
    let (last, leading) = parts.split_last()?;
    let mut address: u64 = 0;
    for leading in leading {
        address = address << 8 | part(leading).filter(|number| *number < 0x100)?;
    }
    // The last part fills the bytes that are left, one at least.
    let others = 3_usize.checked_sub(leading.len())?;
    let bits = u32::try_from(others).ok()?.saturating_add(1).saturating_mul(8);
    let last = part(last).filter(|number| number.checked_shr(bits) == Some(0))?;
    u32::try_from(address << bits | last).ok()
}

pub(super) fn push_address(address: u32, out: &mut Vec<u8>) {
    for (at, byte) in address.to_be_bytes().into_iter().enumerate() {
        if at > 0 {
            out.push(b'.');
        }
        push_number(u32::from(byte), 10, out);
    }
}

fn without_last_dot(name: &[u8]) -> &[u8] {
    name.strip_suffix(b".").unwrap_or(name)
}

/// A number in decimal, in octal after a 0, in hexadecimal after `0x`, which alone is 0.
fn part(text: &[u8]) -> Option<u64> {
    let (digits, base) = match text {
        [] => return None,
        [b'0', b'x' | b'X', digits @ ..] => (digits, 16),
        [b'0', digits @ ..] => (digits, 8),
        digits => (digits, 10),
    };
    digits.iter().try_fold(0_u64, |number, byte| {
        let digit = char::from(*byte).to_digit(base)?;
        Some(number.saturating_mul(u64::from(base)).saturating_add(u64::from(digit)))
    })
}
