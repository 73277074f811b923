//! Whether a value looks like a secret, whatever its header is called.
//!
//! A name cannot tell that an application put a token into `baggage` or `x-request-id`. Secrets are known
//! by the forms that their issuers gave them for this very purpose. A secret without a form, such
//! as a password, is not found: the names have to catch it.
//!
//! Every form is looked for where a word begins, over a number of bytes that is fixed, or over a run
//! that is not looked at again: the time is linear in the value.
#![forbid(unsafe_code)]

/// Whether `value` can be sent: no CR, LF or NUL (RFC 9110 5.5), which would end the header.
pub fn check_value(value: &[u8]) -> bool {
    !value.iter().any(|byte| matches!(byte, b'\r' | b'\n' | 0))
}

/// Whether `value` holds a credential of a known form.
pub(super) fn have_form(value: &[u8]) -> bool {
    let is_space = |byte: &u8| matches!(byte, b' ' | b'\t');
    let start = value.iter().take_while(|byte| is_space(byte)).count();
    let mut may_hold_jwt = false;
    let mut after_word = false;
    for (at, &byte) in value.iter().enumerate() {
        let begins_word = !after_word && byte.is_ascii_alphabetic();
        after_word = byte.is_ascii_alphanumeric();
        if begins_word || byte == b'-' {
            let rest = value.get(at..).unwrap_or(&[]);
            if is_pem(rest) || is_vendors(byte, rest) || is_scheme(byte, rest, at == start) {
                return true;
            }
            may_hold_jwt |= rest.starts_with(JWT);
        }
    }
    may_hold_jwt && holds_jwt(value)
}

/// The characters of a token after its prefix.
#[derive(Clone, Copy)]
enum Of {
    Capitals,
    Letters,
    /// Letters, digits, `_` and `-`.
    Url,
}

/// The vendors' tokens that begin with this byte: prefix, shortest rest, and the characters of the rest. Lengths are the
/// documented ones less a few, since issuers change them; AWS' is exact, as four capitals are soon
/// found in a word.
fn vendors(first: u8) -> &'static [(&'static [u8], usize, Of)] {
    match first {
        // AWS access keys, long-lived and temporary; Google API keys.
        b'A' => &[(b"AKIA", 16, Of::Capitals), (b"ASIA", 16, Of::Capitals), (b"AIza", 32, Of::Url)],
        // Google: client secrets, OAuth access tokens.
        b'G' => &[(b"GOCSPX-", 24, Of::Url)],
        b'y' => &[(b"ya29.", 20, Of::Url)],
        // GitHub: classic, OAuth, user, server, refresh, fine-grained. GitLab: personal, trigger,
        // deploy, runner.
        b'g' => &[
            (b"ghp_", 30, Of::Url),
            (b"gho_", 30, Of::Url),
            (b"ghu_", 30, Of::Url),
            (b"ghs_", 30, Of::Url),
            (b"ghr_", 30, Of::Url),
            (b"github_pat_", 40, Of::Url),
            (b"glpat-", 16, Of::Url),
            (b"glptt-", 16, Of::Url),
            (b"gldt-", 16, Of::Url),
            (b"glrt-", 16, Of::Url),
        ],
        // Slack: token types.
        b'x' => &[
            (b"xoxa-", 10, Of::Url),
            (b"xoxb-", 10, Of::Url),
            (b"xoxe-", 10, Of::Url),
            (b"xoxe.", 10, Of::Url),
            (b"xoxo-", 10, Of::Url),
            (b"xoxp-", 10, Of::Url),
            (b"xoxr-", 10, Of::Url),
            (b"xoxs-", 10, Of::Url),
            (b"xapp-", 10, Of::Url),
        ],
        // Stripe: secret and restricted keys, webhook secrets; the publishable pk_ are no secrets.
        // Shopify: access tokens and secrets of apps. OpenAI and Anthropic: sk- and more.
        b's' => &[
            (b"sk_live_", 16, Of::Letters),
            (b"sk_test_", 16, Of::Letters),
            (b"shpat_", 28, Of::Letters),
            (b"shpca_", 28, Of::Letters),
            (b"shppa_", 28, Of::Letters),
            (b"shpss_", 28, Of::Letters),
            (b"sk-", 32, Of::Url),
        ],
        b'r' => &[(b"rk_live_", 16, Of::Letters), (b"rk_test_", 16, Of::Letters)],
        b'w' => &[(b"whsec_", 24, Of::Letters)],
        // npm, PyPI.
        b'n' => &[(b"npm_", 30, Of::Letters)],
        b'p' => &[(b"pypi-AgE", 30, Of::Url)],
        // SendGrid, DigitalOcean, HashiCorp Vault.
        b'S' => &[(b"SG.", 16, Of::Url)],
        b'd' => &[(b"dop_v1_", 32, Of::Letters)],
        b'h' => &[(b"hvs.", 24, Of::Url), (b"hvb.", 24, Of::Url)],
        _ => &[],
    }
}

fn is_vendors(first: u8, rest: &[u8]) -> bool {
    vendors(first).iter().any(|&(prefix, shortest, of)| {
        let token = rest.strip_prefix(prefix).and_then(|token| token.get(..shortest));
        token.is_some_and(|token| {
            token.iter().all(|&byte| match of {
                Of::Capitals => byte.is_ascii_uppercase() || byte.is_ascii_digit(),
                Of::Letters => byte.is_ascii_alphanumeric(),
                Of::Url => is_base64url(byte),
            })
        })
    })
}

/// Schemes of `Authorization`: RFC 6750, 7617, 7616, 9449, in any letter case.
const SCHEMES: [&[u8]; 4] = [b"basic", b"bearer", b"digest", b"dpop"];

/// Amid other text these are ordinary words, too: there something like a token must follow.
const SHORTEST_AMID: usize = 8;

fn is_scheme(first: u8, rest: &[u8], at_start: bool) -> bool {
    // Most words are none: one look at their first letter tells.
    if !matches!(first, b'B' | b'b' | b'D' | b'd') {
        return false;
    }
    SCHEMES.iter().any(|scheme| {
        let Some((begins, after)) = rest.split_at_checked(scheme.len()) else { return false };
        if !begins.eq_ignore_ascii_case(scheme) {
            return false;
        }
        let spaces = after.iter().take_while(|byte| matches!(byte, b' ' | b'\t')).count();
        let credential = after.get(spaces..).unwrap_or(&[]);
        let enough = if at_start {
            !credential.is_empty()
        } else {
            credential.iter().take(SHORTEST_AMID).filter(|&&byte| is_token68(byte)).count() == SHORTEST_AMID
        };
        spaces > 0 && enough
    })
}

/// token68 of RFC 9110 11.2, its padding taken for a part of it.
fn is_token68(byte: u8) -> bool {
    is_base64url(byte) || matches!(byte, b'.' | b'~' | b'+' | b'/' | b'=')
}

/// Any PEM (RFC 7468): certificates are not secret, but no header that is kept needs one. The space
/// may be escaped, as proxies do.
fn is_pem(rest: &[u8]) -> bool {
    let label = rest.strip_prefix(b"-----BEGIN");
    label.and_then(<[u8]>::first).is_some_and(|byte| matches!(byte, b' ' | b'\t' | b'%' | b'+'))
}

fn is_base64url(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_')
}

/// How a JSON object begins in base64url, and with it every JWS and JWE.
const JWT: &[u8] = b"eyJ";

fn holds_jwt(value: &[u8]) -> bool {
    let mut jwt = Jwt::default();
    value.iter().any(|byte| jwt.push(*byte)) || jwt.end()
}

/// Follows base64url runs joined by dots: a JWS (RFC 7515) has three, a JWE (RFC 7516) five; the
/// second may be empty (detached payload, direct encryption).
#[derive(Default)]
struct Jwt {
    /// Bytes of the current run.
    length: usize,
    /// How much of `eyJ` was seen where a word begins; a number above three if it was another word.
    begins: usize,
    header_before: bool,
    header_two_before: bool,
}

/// `{"alg":""}` in base64url has more.
const SHORTEST_HEADER: usize = 12;
/// A JWS signature has 43 bytes or more, the initialization vector of a JWE 16.
const SHORTEST_THIRD: usize = 8;

impl Jwt {
    /// Takes the next byte. True once a whole token has been seen.
    fn push(&mut self, byte: u8) -> bool {
        if is_base64url(byte) {
            self.begins = match self.begins {
                3 => 3,
                _ if !byte.is_ascii_alphanumeric() => 0,
                seen if JWT.get(seen) == Some(&byte) => seen.saturating_add(1),
                _ => 4,
            };
            self.length = self.length.saturating_add(1);
            return false;
        }
        let found = self.end();
        let is_header = self.begins == 3 && self.length >= SHORTEST_HEADER;
        let joined = byte == b'.';
        *self = Jwt {
            length: 0,
            begins: 0,
            header_before: joined && is_header,
            header_two_before: joined && self.header_before,
        };
        found
    }

    /// Whether the run that ends here completes a token.
    fn end(&self) -> bool {
        self.header_two_before && self.length >= SHORTEST_THIRD
    }
}
