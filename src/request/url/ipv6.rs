//! IPv6 addresses, in the one way RFC 5952 and browsers write them.

use super::digits::{decimal, push_number};

type Pieces = [u16; 8];

/// The address between the brackets, or `None`. Zones (`%eth0`) are none.
pub(super) fn parse(text: &[u8]) -> Option<Pieces> {
    let gap = text.windows(2).position(|pair| pair == b"::");
    let Some(gap) = gap else {
        return pieces(text, true)?.try_into().ok();
    };
    let before = pieces(text.get(..gap)?, false)?;
    let after = pieces(text.get(gap.checked_add(2)?..)?, true)?;
    // The gap stands for one piece at least.
    let zeros = 7_usize.checked_sub(before.len().saturating_add(after.len()))?.saturating_add(1);
    let mut all = before;
    all.extend(std::iter::repeat_n(0, zeros));
    all.extend(after);
    all.try_into().ok()
}

/// Pieces with colons between them; nothing is none. At the end of the address the last may be
/// IPv4, which makes two.
fn pieces(text: &[u8], at_end: bool) -> Option<Vec<u16>> {
    let mut pieces = Vec::new();
    if text.is_empty() {
        return Some(pieces);
    }
    let mut rest = text.split(|byte| *byte == b':').peekable();
    while let Some(piece) = rest.next() {
        if at_end && rest.peek().is_none() && piece.contains(&b'.') {
            pieces.extend(dotted(piece)?);
        } else if (1..=4).contains(&piece.len()) {
            let value =
                piece.iter().try_fold(0, |value, byte| Some(value << 4 | char::from(*byte).to_digit(16)?))?;
            pieces.push(value as u16);
        } else {
            return None;
        }
    }
    Some(pieces)
}

/// Four decimal numbers without leading zeros: `a.b.c.d`, nothing looser here.
fn dotted(text: &[u8]) -> Option<[u16; 2]> {
    let mut bytes = Vec::new();
    for part in text.split(|byte| *byte == b'.') {
        if part.is_empty() || (part.len() > 1 && part.starts_with(b"0")) {
            return None;
        }
        bytes.push(decimal(part).and_then(|number| u8::try_from(number).ok())?);
    }
    let [a, b, c, d] = bytes.try_into().ok()?;
    Some([u16::from_be_bytes([a, b]), u16::from_be_bytes([c, d])])
}

pub(super) fn push_address(pieces: &Pieces, out: &mut Vec<u8>) {
    let (from, to) = longest_zeros(pieces);
    for (at, piece) in pieces.iter().enumerate() {
        if at == from && from < to {
            out.extend_from_slice(if at == 0 { b"::" } else { b":" });
        }
        if (from..to).contains(&at) {
            continue;
        }
        push_number(u32::from(*piece), 16, out);
        if at < 7 {
            out.push(b':');
        }
    }
}

/// The first of the longest runs of zeros, if it is longer than one piece: from, and before.
fn longest_zeros(pieces: &Pieces) -> (usize, usize) {
    let (mut best, mut from) = ((0_usize, 0_usize), 0_usize);
    for (at, piece) in pieces.iter().enumerate() {
        let end = at.saturating_add(1);
        if *piece != 0 {
            from = end;
        } else if end.saturating_sub(from) > best.1.saturating_sub(best.0).max(1) {
            best = (from, end);
        }
    }
    best
}
