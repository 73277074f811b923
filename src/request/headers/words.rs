//! Words that make a name one of a secret.
//!
//! No list has every vendor's header, but most names say what they carry. The words are looked for
//! byte by byte in a window of the last sixteen: nothing is stored, so a name may come decoded on
//! the fly and be of any length.
//!
//! Anywhere in the name, since they are joined freely (`authtoken`, `x_csrftoken`): the words of
//! [`ending`]. Across separators (`api-key`, `api_key`, `apikey`): [`KEYS`] and a client's certificate. Only whole,
//! since they hide in others (`x-side`, `options`, `design`): those of [`is_whole`]. In a header `key` alone is none:
//! `x-partition-key` and `idempotency-key` are harmless.
//! Sources: the scrubbing lists of Sentry's SDKs and Relay, the advice on sensitive headers in
//! OpenTelemetry's HTTP conventions, and the naming of the vendors in `names.rs`.
#![forbid(unsafe_code)]

use super::decoded::Decoded;

/// Found anywhere in a name, by their last letter. `auth`, which authors also begin with, is apart.
/// `passw` is password, passwd, passwort; `sessid` is PHPSESSID; `saml` is SAMLResponse.
fn ending(last: u8) -> &'static [Word] {
    match last {
        b'c' => &const { [packed(b"hmac")] },
        b'd' => &const { [packed(b"pwd"), packed(b"sessid")] },
        b'e' => {
            &const { [packed(b"cookie"), packed(b"passcode"), packed(b"passphrase"), packed(b"signature")] }
        }
        b'f' => &const { [packed(b"csrf"), packed(b"xsrf")] },
        b'l' => &const { [packed(b"credential"), packed(b"saml")] },
        b'n' => &const { [packed(b"assertion"), packed(b"session"), packed(b"token")] },
        b'r' => &const { [packed(b"bearer")] },
        b't' => &const { [packed(b"jwt"), packed(b"secret")] },
        b'w' => &const { [packed(b"passw")] },
        _ => &[],
    }
}

/// Found in a name without its separators: all that end in `y`, and one in `t`.
static KEYS: [Word; 7] = [
    packed(b"accesskey"),
    packed(b"apikey"),
    packed(b"masterkey"),
    packed(b"passkey"),
    packed(b"privatekey"),
    packed(b"sharedkey"),
    packed(b"signingkey"),
];
static CLIENT_CERT: Word = packed(b"clientcert");

/// Found likewise in parameters of URLs and in messages, where names are shorter and say less about themselves.
static NO_HEADERS: [Word; 38] = [
    packed(b"subscriptionkey"),
    packed(b"consumerkey"),
    packed(b"applicationkey"),
    packed(b"appkey"),
    packed(b"userkey"),
    packed(b"clientkey"),
    packed(b"accountkey"),
    packed(b"adminkey"),
    packed(b"writekey"),
    packed(b"licensekey"),
    packed(b"cryptionkey"),
    packed(b"ingestionkey"),
    packed(b"devicecode"),
    packed(b"usercode"),
    packed(b"oobcode"),
    packed(b"accesscode"),
    packed(b"verificationcode"),
    packed(b"securitycode"),
    packed(b"recoverycode"),
    packed(b"resetcode"),
    packed(b"smscode"),
    packed(b"codeverifier"),
    packed(b"cardnumber"),
    packed(b"magiclink"),
    packed(b"invitecode"),
    packed(b"invitationcode"),
    packed(b"logincode"),
    packed(b"activationcode"),
    packed(b"confirmationcode"),
    packed(b"backupcode"),
    packed(b"onetimecode"),
    packed(b"streamkey"),
    packed(b"serverkey"),
    packed(b"servicekey"),
    packed(b"functionkey"),
    packed(b"recoverykey"),
    packed(b"activationkey"),
    packed(b"productkey"),
];

/// Whether a whole word, between bytes that are neither letter nor digit, is a secret's.
fn is_whole(word: u64, place: Place) -> bool {
    const SHARED: [u64; 6] =
        [short(b"cred"), short(b"creds"), short(b"otp"), short(b"sid"), short(b"sig"), short(b"totp")];
    const NO_HEADERS: [u64; 7] = [
        short(b"pass"),
        short(b"pin"),
        short(b"cvv"),
        short(b"cvv2"),
        short(b"cvc"),
        short(b"ssn"),
        short(b"dsn"),
    ];
    SHARED.contains(&word) || (place != Place::Header && NO_HEADERS.contains(&word))
}

/// Whether a whole name of a query's parameter is a secret's: OAuth's and Azure's `code`, Google's `key`, the `ticket` of
/// CAS, and short spellings. As parts of names they are harmless: `country_code`, `sort_key`, `ticket_id`.
fn is_whole_name(letters: u128) -> bool {
    static NAMES: [Word; 5] =
        [packed(b"code"), packed(b"key"), packed(b"pw"), packed(b"sas"), packed(b"ticket")];
    NAMES.iter().any(|name| name.letters == letters)
}

/// Whether the name of a header says that it carries a secret, in any letter case.
pub(super) fn in_header(name: &[u8]) -> bool {
    is_secret(Decoded::plain(name), Place::Header)
}

/// Whether the name of a parameter of a URL says so, form-encoded as it stands there; here a
/// capital after a small letter begins a word, too.
pub(crate) fn in_query(name: &[u8]) -> bool {
    is_secret(Decoded::form(name), Place::Query)
}

/// Whether a name in a message for people says so. There `code` and `key` are ordinary words.
pub(super) fn in_message(name: &[u8]) -> bool {
    is_secret(Decoded::form(name), Place::Message)
}

#[derive(Clone, Copy, PartialEq)]
enum Place {
    Header,
    Query,
    Message,
}

/// How far `auth` has been followed, from its last letter on: author and authority are not secrets, authorize is.
#[derive(Clone, Copy)]
enum Auth {
    No,
    H,
    Ho,
    Hor,
    Hori,
}

/// In one copy for both places.
#[inline(never)]
fn is_secret(name: Decoded<'_>, place: Place) -> bool {
    let mut window: u128 = 0;
    let mut letters: u128 = 0;
    let mut word: u64 = 0;
    let mut auth = Auth::No;
    let mut after_small = false;
    for byte in name {
        let lower = byte.to_ascii_lowercase();
        let is_letter = lower.is_ascii_alphanumeric();
        let begins_word = place != Place::Header && after_small && byte.is_ascii_uppercase();
        after_small = byte.is_ascii_lowercase() || byte.is_ascii_digit();
        if begins_word || !is_letter {
            if is_whole(word, place) {
                return true;
            }
            word = 0;
        }
        window = window << 8 | u128::from(lower);
        if is_letter {
            letters = letters << 8 | u128::from(lower);
            // A word too long to fit stays recognizable as none.
            word = if word >> 56 == 0 { word << 8 | u64::from(lower) } else { u64::MAX };
        }
        auth = match (auth, lower) {
            (Auth::No, b'h') if AUTH.ends(window) => Auth::H,
            (Auth::No, _) => Auth::No,
            (Auth::H, b'o') => Auth::Ho,
            (Auth::Ho, b'r') => Auth::Hor,
            (Auth::H | Auth::Ho, _) | (Auth::Hori, b's' | b'z') => return true,
            (Auth::Hor, b'i') => Auth::Hori,
            (Auth::Hor | Auth::Hori, _) => Auth::No,
        };
        let found = ending(lower).iter().any(|secret| secret.ends(window));
        let found_joined = match lower {
            b'y' => KEYS.iter().any(|secret| secret.ends(letters)),
            b't' => CLIENT_CERT.ends(letters),
            _ => false,
        };
        let found_short = place != Place::Header
            && is_letter
            && matches!(lower, b'y' | b'e' | b'r' | b'k')
            && NO_HEADERS.iter().any(|secret| secret.ends(letters));
        if found || found_joined || found_short {
            return true;
        }
    }
    matches!(auth, Auth::H | Auth::Ho)
        || is_whole(word, place)
        || (place == Place::Query && is_whole_name(letters))
}

static AUTH: Word = packed(b"auth");

/// A word of up to sixteen bytes as a number, its last byte lowest.
struct Word {
    letters: u128,
    /// All ones where the letters are.
    mask: u128,
}

impl Word {
    /// Whether the window ends with this word.
    fn ends(&self, window: u128) -> bool {
        (window ^ self.letters) & self.mask == 0
    }
}

/// At compile time only.
#[allow(clippy::indexing_slicing, clippy::arithmetic_side_effects)]
const fn packed(word: &[u8]) -> Word {
    assert!(word.len() <= 16);
    let (mut letters, mut mask, mut at) = (0, 0, 0);
    while at < word.len() {
        letters = letters << 8 | word[at] as u128;
        mask = mask << 8 | 0xFF;
        at += 1;
    }
    Word { letters, mask }
}

/// A word of up to eight bytes.
const fn short(word: &[u8]) -> u64 {
    assert!(word.len() <= 8);
    packed(word).letters as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_word_stands_under_its_last_letter() {
        for last in 0..=u8::MAX {
            for word in ending(last) {
                assert_eq!(word.letters as u8, last);
            }
        }
        assert!(KEYS.iter().all(|key| key.letters as u8 == b'y'));
    }

    #[test]
    fn only_a_query_has_camel_case_and_whole_names() {
        for name in ["userSid", "key", "KEY", "pw", "sas", "pass", "db_pass"] {
            assert!(in_query(name.as_bytes()) && !in_header(name.as_bytes()), "{name}");
        }
        for name in [
            "country_code",
            "postcode",
            "zipcode",
            "currency_code",
            "sort_key",
            "ticket_id",
            "pinned",
            "x-key",
        ] {
            assert!(!in_query(name.as_bytes()), "{name}");
        }
        for name in ["code", "key", "ticket"] {
            assert!(in_query(name.as_bytes()) && !in_message(name.as_bytes()), "{name}");
        }
        assert!(!in_query(b"compass"));
    }
}
