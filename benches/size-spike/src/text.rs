//! Bytes in, bytes out. `str` methods that search, trim or slice link their tables and their panic messages; these do not.

/// What lies before and after the first `byte`.
pub fn cut(text: &[u8], byte: u8) -> (&[u8], Option<&[u8]>) {
    match text.iter().position(|b| *b == byte) {
        Some(at) => (text.get(..at).unwrap_or(&[]), text.get(at + 1..)),
        None => (text, None),
    }
}

/// Ends with the integer in decimal.
pub fn push_int(out: &mut Vec<u8>, value: u64) {
    let mut digits = [0_u8; 20];
    let (mut rest, mut from) = (value, 20);
    for (at, cell) in digits.iter_mut().enumerate().rev() {
        *cell = b'0' + (rest % 10) as u8;
        rest /= 10;
        from = at;
        if rest == 0 {
            break;
        }
    }
    out.extend_from_slice(digits.get(from..).unwrap_or(&[]));
}

pub fn push_hex(out: &mut Vec<u8>, byte: u8) {
    for nibble in [byte >> 4, byte & 15] {
        out.push(if nibble < 10 { b'0' + nibble } else { b'a' - 10 + nibble });
    }
}

pub fn unhex(byte: u8) -> Option<u8> {
    match byte {
        b'0'..=b'9' => Some(byte - b'0'),
        b'a'..=b'f' => Some(byte - b'a' + 10),
        b'A'..=b'F' => Some(byte - b'A' + 10),
        _ => None,
    }
}

pub fn lower(text: &[u8], out: &mut Vec<u8>) {
    out.extend(text.iter().map(u8::to_ascii_lowercase));
}

/// Bottom-up heap sort: never quadratic, and a tenth of the code of the standard library's sort.
pub fn sort_by<T>(items: &mut [T], before: impl Fn(&T, &T) -> bool) {
    #[cfg(feature = "std-sort")]
    items.sort_unstable_by(|a, b| {
        if before(a, b) {
            core::cmp::Ordering::Less
        } else if before(b, a) {
            core::cmp::Ordering::Greater
        } else {
            core::cmp::Ordering::Equal
        }
    });
    #[cfg(not(feature = "std-sort"))]
    {
        let less = |items: &[T], a: usize, b: usize| {
            items.get(a).zip(items.get(b)).is_some_and(|(a, b)| before(a, b))
        };
        let step = |items: &mut [T], mut root: usize, end: usize| loop {
            let mut child = root * 2 + 1;
            if child >= end {
                break;
            }
            if child + 1 < end && less(items, child, child + 1) {
                child += 1;
            }
            if !less(items, root, child) {
                break;
            }
            items.swap(root, child);
            root = child;
        };
        let len = items.len();
        let mut at = len / 2 + len;
        while at > 1 {
            at -= 1;
            if at >= len {
                step(items, at - len, len);
            } else {
                items.swap(0, at);
                step(items, 0, at);
            }
        }
    }
}
