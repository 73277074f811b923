//! One text for equal URLs, to be hashed into a key; never to be sent.
//!
//! What browsers hold to be the same address has to give the same key, so this follows the WHATWG
//! URL Standard for absolute `http` and `https` URLs: the result is what `new URL(url).href` gives,
//! without user, password and fragment, and with percent-escapes in capitals. Where versions of
//! that standard differ, the newer is taken: `^` in a path is escaped.
//!
//! Nothing is unified beyond that. An escape is not undone, since `%2F` is not `/` and servers
//! disagree about the rest; a query keeps its order, and `?` with nothing behind it stays.
//!
//! Hosts beyond ASCII are left as they are, in ASCII lower-case: IDNA's tables would outweigh the
//! module, and a URL that comes from a `URL` or a `Request` has them in Punycode already. For the
//! same reason labels that begin with `xn--` are not checked.
#![forbid(unsafe_code)]

mod digits;
mod host;
mod ipv4;
mod ipv6;
mod path;

pub(crate) use digits::push_number;

use digits::decimal;
use path::is_slash;

/// The text of a URL that a key is made of, or `None` if it is no absolute `http` or `https` URL.
///
/// ```
/// # use redrive::url::normalize;
/// let url = normalize(b"HTTP://me@Example.COM:80/a/./b/%2e%2e/c d?q=%c3%a9#top");
/// assert_eq!(url.as_deref(), Some(&b"http://example.com/a/c%20d?q=%C3%A9"[..]));
/// ```
pub fn normalize(url: &[u8]) -> Option<Vec<u8>> {
    core::str::from_utf8(url).ok()?;
    let is_edge = |byte: &u8| *byte > b' ';
    let start = url.iter().position(is_edge)?;
    let end = url.iter().rposition(is_edge)?;
    let url: Vec<u8> = url.get(start..=end)?.iter().copied().filter(|byte| !is_removed(*byte)).collect();

    let (scheme, rest) = cut(&url, |byte| byte == b':');
    let scheme = scheme.to_ascii_lowercase();
    let default_port = match scheme.as_slice() {
        b"http" => 80,
        b"https" => 443,
        _ => return None,
    };
    let rest = rest.get(1..)?;
    // Any number of slashes, of either kind, even none.
    let slashes = rest.iter().position(|byte| !is_slash(*byte))?;
    let (rest, _fragment) = cut(rest.get(slashes..)?, |byte| byte == b'#');
    let (authority, rest) = cut(rest, |byte| is_slash(byte) || byte == b'?');
    let (path, query) = cut(rest, |byte| byte == b'?');

    let mut out = Vec::with_capacity(url.len());
    out.extend_from_slice(&scheme);
    out.extend_from_slice(b"://");
    push_authority(authority, default_port, &mut out)?;
    path::push_path(path, &mut out);
    path::push_query(query, &mut out);
    Some(out)
}

/// Host and port, without the user in front; the last `@` is the one that divides them.
fn push_authority(authority: &[u8], default_port: u32, out: &mut Vec<u8>) -> Option<()> {
    let user = authority.iter().rposition(|byte| *byte == b'@').map_or(0, |at| at.saturating_add(1));
    let authority = authority.get(user..)?;
    let mut inside_brackets = false;
    let (host, port) = cut(authority, |byte| {
        match byte {
            b'[' => inside_brackets = true,
            b']' => inside_brackets = false,
            _ => {}
        }
        byte == b':' && !inside_brackets
    });
    host::push_host(host, out)?;
    let port = port.get(1..).unwrap_or(&[]);
    let number = decimal(port)?;
    if number > 0xFFFF {
        return None;
    }
    if !port.is_empty() && number != default_port {
        out.push(b':');
        push_number(number, 10, out);
    }
    Some(())
}

/// Divides a text before the first byte that is meant.
fn cut(text: &[u8], is_meant: impl FnMut(u8) -> bool) -> (&[u8], &[u8]) {
    let at = text.iter().copied().position(is_meant).unwrap_or(text.len());
    text.split_at_checked(at).unwrap_or((text, &[]))
}

/// Removed wherever they stand.
fn is_removed(byte: u8) -> bool {
    matches!(byte, b'\t' | b'\n' | b'\r')
}
