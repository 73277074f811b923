//! Hosts: names, and numbers written as names.

use super::{ipv4, ipv6};

/// Ends with a host as the URL Standard serializes it; `None` if it is none.
pub(super) fn push_host(host: &[u8], out: &mut Vec<u8>) -> Option<()> {
    if let [b'[', address @ ..] = host {
        let address = address.strip_suffix(b"]")?;
        out.push(b'[');
        ipv6::push_address(&ipv6::parse(address)?, out);
        out.push(b']');
        return Some(());
    }
    let name = unescaped(host);
    core::str::from_utf8(&name).ok()?;
    if name.is_empty() || name.iter().any(|byte| is_forbidden(*byte)) {
        return None;
    }
    if ipv4::is_meant(&name) {
        ipv4::push_address(ipv4::parse(&name)?, out);
    } else {
        out.extend_from_slice(&name);
    }
    Some(())
}

/// Escapes undone, ASCII in lower-case.
fn unescaped(host: &[u8]) -> Vec<u8> {
    let mut name = Vec::with_capacity(host.len());
    let mut rest = host;
    while let [byte, tail @ ..] = rest {
        rest = tail;
        let mut byte = *byte;
        if let (b'%', [high, low, tail @ ..]) = (byte, tail)
            && let Some(high) = char::from(*high).to_digit(16)
            && let Some(low) = char::from(*low).to_digit(16)
        {
            byte = (high << 4 | low) as u8;
            rest = tail;
        }
        name.push(byte.to_ascii_lowercase());
    }
    name
}

/// The "forbidden domain code points" of the URL Standard.
fn is_forbidden(byte: u8) -> bool {
    matches!(byte, 0..=b' ' | 0x7F) || b"#%/:<>?@[\\]^|".contains(&byte)
}
