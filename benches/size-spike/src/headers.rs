//! Which names may be stored, which values give themselves away, which URLs carry secrets. Each list is one byte string:
//! an array of `&str` costs eight bytes of pointer and length for every entry, and they do not compress.

use crate::text::{cut, lower};

// kept
const ALLOW: &[u8] = b"\
    accept\naccept-charset\naccept-encoding\naccept-language\naccept-patch\naccept-post\naccept-ranges\nbaggage\n\
    cache-control\ncontent-disposition\ncontent-encoding\ncontent-language\ncontent-location\ncontent-type\n\
    idempotency-key\nif-match\nif-modified-since\nif-none-match\nif-range\nif-unmodified-since\npragma\nprefer\n\
    range\ntraceparent\ntracestate\nuser-agent\nx-correlation-id\nx-request-id\nx-requested-with";
// never kept
const DENY: &[u8] = b"\
    api-key\napikey\nauthentication\nauthentication-info\nauthorization\naws-session-token\ncf-access-client-id\n\
    cf-access-client-secret\ncf-access-jwt-assertion\ncf-access-token\ncf-connecting-ip\nconnection\n\
    content-length\ncookie\ncookie2\ndate\ndd-api-key\ndd-application-key\ndnt\ndpop\nexpect\nfastly-key\n\
    forwarded\nhost\nid-token\njob-token\nkeep-alive\nmailgun-key\nocp-apim-subscription-key\n\
    openai-organization\norigin\nprivate-token\nproxy-authenticate\nproxy-authentication-info\n\
    proxy-authorization\nproxy-connection\nreferer\nremote-user\nsec-ch-ua\nsec-fetch-mode\nsec-websocket-key\n\
    sentry-trace-auth\nset-cookie\nset-cookie2\nshopify-access\nstripe-signature\nte\ntrailer\ntransfer-encoding\n\
    upgrade\nvia\nwww-authenticate\nx-access-token\nx-amz-credential\nx-amz-date\nx-amz-security-token\n\
    x-amz-signature\nx-amzn-oidc-data\nx-amzn-oidc-identity\nx-api-key\nx-api-secret\nx-app-key\nx-auth\n\
    x-auth-email\nx-auth-key\nx-auth-token\nx-client-cert\nx-client-ip\nx-client-secret\nx-csrf-token\n\
    x-csrftoken\nx-datadog-key\nx-devtools-id\nx-figma-token\nx-forwarded-access-token\nx-forwarded-client-cert\n\
    x-forwarded-email\nx-forwarded-for\nx-forwarded-user\nx-github-token\nx-gitlab-token\nx-goog-api-key\n\
    x-goog-authenticated-user-email\nx-goog-iam-authority\nx-goog-iap-jwt-assertion\nx-honeycomb-team\n\
    x-ms-client-principal\nx-ms-token-aad-access-token\nx-newrelic-key\nx-real-ip\nx-session-id\n\
    x-shopify-access-token\nx-slack-signature\nx-vault-token\nx-wp-nonce\nx-xsrf-token";
// never kept where the name contains one
const WORDS: &[u8] = b"\
    auth\ntoken\nsecret\nsession\npasswd\npassword\npwd\napi-key\napikey\naccess-key\nprivate-key\njwt\nbearer\n\
    csrf\nxsrf\ncredential\nsid\nsignature\notp\nassertion\napi_key\naccess_key";
// a value that starts like this is a secret
const VALUES: &[u8] = b"\
    Bearer \nBasic \nDigest \nDPoP \nNegotiate \nNTLM \nAWS4-HMAC-SHA256 \nSharedKey \nGoogleLogin \nAKIA\nASIA\n\
    ghp_\ngho_\nghs_\ngithub_pat_\nglpat-\nxoxb-\nxoxp-\nsk_live_\nrk_live_\nAIza\nya29.\nnpm_\n-----BEGIN ";
// query parameters
const QUERY: &[u8] = b"\
    access_token\napi_key\napikey\nauth\nawsaccesskeyid\ncode\nid_token\njwt\nkey\npassword\nrefresh_token\n\
    secret\nsessionid\nsig\nsignature\nstate\ntoken\nx-amz-credential\nx-amz-security-token\nx-amz-signature";

fn lines(list: &[u8]) -> impl Iterator<Item = &[u8]> {
    list.split(|byte| *byte == b'\n')
}

fn listed(list: &[u8], name: &[u8]) -> bool {
    lines(list).any(|entry| entry == name)
}

fn token_byte(byte: &u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(byte)
}

#[cfg(not(feature = "str-search"))]
fn worded(name: &[u8]) -> bool {
    let mut free = true;
    (0..name.len()).any(|at| {
        let rest = name.get(at..).unwrap_or(&[]);
        let alone = free;
        free = rest.first().is_some_and(|byte| !byte.is_ascii_alphanumeric());
        lines(WORDS).any(|word| {
            let ends = rest.get(word.len()).is_none_or(|byte| !byte.is_ascii_alphanumeric());
            rest.starts_with(word) && (word.len() > 3 || (alone && ends))
        })
    })
}

#[cfg(feature = "str-search")]
fn worded(name: &[u8]) -> bool {
    let name = core::str::from_utf8(name).unwrap_or("");
    lines(WORDS).filter_map(|word| core::str::from_utf8(word).ok()).any(|word| {
        name.match_indices(word).any(|(at, _)| {
            let before =
                name.as_bytes().get(at.wrapping_sub(1)).is_none_or(|byte| !byte.is_ascii_alphanumeric());
            let after = name.as_bytes().get(at + word.len()).is_none_or(|byte| !byte.is_ascii_alphanumeric());
            word.len() > 3 || (before && after)
        })
    })
}

fn wild(patterns: &[u8], name: &[u8]) -> bool {
    lines(patterns).any(|pattern| match (pattern.strip_suffix(b"*"), pattern.strip_prefix(b"*")) {
        (Some(prefix), _) => name.starts_with(prefix),
        (_, Some(suffix)) => name.ends_with(suffix),
        _ => name == pattern,
    })
}

/// One byte a name: 1 kept, 0 withheld, 2 unknown, 3 refused. Names are lower-case, joined by line feeds.
pub fn kept(names: &[u8], allow: &[u8], deny: &[u8]) -> Vec<u8> {
    lines(names)
        .map(|name| {
            if name.is_empty() || !name.iter().all(token_byte) {
                3
            } else if name == b"idempotency-key" {
                1
            } else if listed(DENY, name)
                || wild(deny, name)
                || name.starts_with(b"sec-")
                || name.starts_with(b"proxy-")
                || worded(name)
            {
                0
            } else if listed(ALLOW, name) || wild(allow, name) {
                1
            } else {
                2
            }
        })
        .collect()
}

fn jwt_shaped(value: &[u8]) -> bool {
    let mut parts = 0;
    let sound = value.split(|byte| *byte == b'.').all(|part| {
        parts += 1;
        part.len() >= 8 && part.iter().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'))
    });
    sound && parts == 3 && value.starts_with(b"eyJ")
}

pub fn tells(value: &[u8]) -> bool {
    let starts = |text: &[u8]| {
        lines(VALUES)
            .any(|prefix| text.get(..prefix.len()).is_some_and(|head| head.eq_ignore_ascii_case(prefix)))
    };
    starts(value)
        || value
            .split(|byte| matches!(byte, b' ' | b',' | b';' | b'=' | b'"'))
            .any(|word| jwt_shaped(word) || starts(word))
        || value.iter().any(|byte| matches!(byte, b'\r' | b'\n' | 0))
}

pub fn url_secret(url: &[u8]) -> bool {
    let (before, after) = cut(url, b'?');
    let authority = before.split(|byte| *byte == b'/').nth(2).unwrap_or(&[]);
    authority.contains(&b'@')
        || cut(after.unwrap_or(&[]), b'#').0.split(|byte| *byte == b'&').any(|pair| {
            let (raw, value) = cut(pair, b'=');
            let mut name = Vec::new();
            lower(raw, &mut name);
            listed(QUERY, &name) || worded(&name) || tells(value.unwrap_or(&[]))
        })
}
