//! Path and query: dot segments, and which bytes are escaped.

/// Ends with a path of `http`, which begins with a slash or is empty; a slash at least.
pub(super) fn push_path(path: &[u8], out: &mut Vec<u8>) {
    let root = out.len();
    let mut segments = path.get(1..).unwrap_or(&[]).split(|byte| is_slash(*byte)).peekable();
    while let Some(segment) = segments.next() {
        let dots = dots(segment);
        if dots == 2 {
            let parent = out.get(root..).unwrap_or(&[]).iter().rposition(|byte| *byte == b'/');
            out.truncate(root.saturating_add(parent.unwrap_or(0)));
        }
        if dots == 0 || segments.peek().is_none() {
            out.push(b'/');
        }
        if dots == 0 {
            push_escaped(segment, b" \"#<>?^`{}", out);
        }
    }
}

/// Ends with a query, which begins with its `?` or is absent.
pub(super) fn push_query(query: &[u8], out: &mut Vec<u8>) {
    push_escaped(query, b" \"#<>'", out);
}

/// `http` and `https` take a backslash for a slash.
pub(super) fn is_slash(byte: u8) -> bool {
    matches!(byte, b'/' | b'\\')
}

/// 1 for `.`, 2 for `..`, `%2e` being a dot too; 0 for a name.
fn dots(segment: &[u8]) -> u32 {
    let mut rest = segment;
    for dots in 0..3 {
        rest = match rest {
            [] => return dots,
            [b'.', rest @ ..] | [b'%', b'2', b'e' | b'E', rest @ ..] => rest,
            _ => return 0,
        };
    }
    0
}

/// Copies `text`, escapes what is `listed`, no ASCII or not printable, and turns escapes that are
/// there into capitals. A `%` that begins no escape stays.
fn push_escaped(text: &[u8], listed: &[u8], out: &mut Vec<u8>) {
    let mut rest = text;
    while let [byte, tail @ ..] = rest {
        rest = tail;
        match (byte, tail) {
            (b'%', [high, low, tail @ ..]) if high.is_ascii_hexdigit() && low.is_ascii_hexdigit() => {
                out.extend([b'%', high.to_ascii_uppercase(), low.to_ascii_uppercase()]);
                rest = tail;
            }
            (0x20..0x7F, _) if !listed.contains(byte) => out.push(*byte),
            _ => {
                let digits = b"0123456789ABCDEF";
                let digit = |nibble: u8| digits.get(usize::from(nibble)).copied().unwrap_or(b'0');
                out.extend([b'%', digit(byte >> 4), digit(byte & 15)]);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_circumflex_is_escaped_in_a_path_and_not_in_a_query() {
        let mut out = Vec::new();
        push_path(b"/a^b", &mut out);
        push_query(b"?a^b", &mut out);
        assert_eq!(out, b"/a%5Eb?a^b");
    }
}
