//! The content key: SHA-256 over length-prefixed fields of a request, in hex.

use crate::text::{cut, lower, push_hex, unhex};
use sha2::{Digest, Sha256};

fn field(hash: &mut Sha256, bytes: &[u8]) {
    hash.update((bytes.len() as u64).to_be_bytes());
    hash.update(bytes);
}

/// Escapes of bytes that need none are undone, the others get capital digits.
fn percent(text: &[u8], out: &mut Vec<u8>) {
    let mut at = 0;
    while let Some(byte) = text.get(at).copied() {
        at += 1;
        let digits = text.get(at).and_then(|b| unhex(*b)).zip(text.get(at + 1).and_then(|b| unhex(*b)));
        let Some((high, low)) = digits.filter(|_| byte == b'%') else {
            out.push(byte);
            continue;
        };
        at += 2;
        let decoded = high << 4 | low;
        if decoded.is_ascii_alphanumeric() || b"-._~".contains(&decoded) {
            out.push(decoded);
        } else {
            out.push(b'%');
            let from = out.len();
            push_hex(out, decoded);
            if let Some(digits) = out.get_mut(from..) {
                digits.make_ascii_uppercase();
            }
        }
    }
}

/// Scheme and host in lower case, no default port, no dot segments, no fragment, no user; the query keeps its order.
pub fn normalized(url: &[u8]) -> Option<Vec<u8>> {
    let (scheme, rest) = cut(cut(url, b'#').0, b':');
    let rest = rest?.strip_prefix(b"//")?;
    let (before, query) = cut(rest, b'?');
    let (authority, path) = cut(before, b'/');
    let host = match cut(authority, b'@') {
        (_, Some(host)) => host,
        (host, None) => host,
    };
    let mut out = Vec::with_capacity(url.len());
    lower(scheme, &mut out);
    let port: &[u8] = if out == b"https" { b":443" } else { b":80" };
    out.extend_from_slice(b"://");
    lower(host.strip_suffix(port).unwrap_or(host), &mut out);
    let root = out.len();
    for segment in path.unwrap_or(&[]).split(|b| *b == b'/') {
        match segment {
            b"." => {}
            b".." => {
                let slash =
                    out.get(root..).and_then(|path| path.iter().rposition(|b| *b == b'/')).unwrap_or(0);
                out.truncate(root + slash);
            }
            _ => {
                out.push(b'/');
                percent(segment, &mut out);
            }
        }
    }
    if let Some(query) = query {
        out.push(b'?');
        percent(query, &mut out);
    }
    Some(out)
}

/// `fields`: method, URL, content type, scope, nonce, divided by zero bytes.
pub fn key(fields: &[u8], body: &[u8]) -> Option<Vec<u8>> {
    let mut hash = Sha256::new();
    for (at, part) in fields.split(|b| *b == 0).enumerate() {
        let mut clean = Vec::new();
        match at {
            1 => clean = normalized(part)?,
            2 => lower(cut(part, b';').0.trim_ascii(), &mut clean),
            _ => clean.extend_from_slice(part),
        }
        field(&mut hash, &clean);
    }
    field(&mut hash, body);
    let mut text = Vec::with_capacity(64);
    for byte in hash.finalize() {
        push_hex(&mut text, byte);
    }
    Some(text)
}
