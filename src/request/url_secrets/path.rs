//! Secrets in a path.
//!
//! Most of a path says nothing about itself: `/reset/` and what follows may be a token or a page. Found are
//! parameters of a segment (`;jsessionid=..`), tokens of a known form, and the addresses of services
//! that are a secret as a whole: who knows a webhook's address can post to it.
#![forbid(unsafe_code)]

use super::place::{UrlSecret, place_of};
use super::value::{LEVELS, Unpacking, decoded, is_name, is_secret};
use crate::request::headers::looks_secret;

/// Hosts whose paths are secrets, from their ends: Slack, Zapier, Make, Teams, IFTTT, Pipedream, webhook.site.
const HOSTS: [&[u8]; 9] = [
    b"hooks.slack.com",
    b"hooks.slack-gov.com",
    b"hooks.zapier.com",
    b"make.com",
    b"hook.integromat.com",
    b"webhook.office.com",
    b"maker.ifttt.com",
    b"m.pipedream.net",
    b"webhook.site",
];

/// Segments behind which a segment that is drawn at random is a secret: Discord, n8n, Mattermost, Netlify and their like.
const MARKERS: [&[u8]; 8] = [
    b"webhook",
    b"webhooks",
    b"webhookb2",
    b"webhook-test",
    b"hook",
    b"hooks",
    b"build_hooks",
    b"incomingwebhook",
];

/// Before the rest of a webhook of Slack's, through whatever host: `/services/T0123456789/B0123456789/...`.
const SLACK: [&[u8]; 3] = [b"services", b"workflows", b"triggers"];

/// Reports the secrets of the path between `start`, where it begins, and `end`.
pub(super) fn path(
    url: &[u8],
    host: &[u8],
    start: usize,
    end: usize,
    unpacking: Unpacking,
    found: &mut impl FnMut(UrlSecret),
) {
    let is_hooks = HOSTS.iter().any(|known| is_host(host, known));
    if is_hooks {
        let first = start.saturating_add(1);
        if first < end {
            found(UrlSecret { start: first, value: first, end, in_path: true });
        }
        return;
    }
    let mut behind_marker = false;
    let mut behind_slack = false;
    let mut from = start;
    while from < end {
        let next = place_of(url.get(..end).unwrap_or(url), from, b'/').min(end);
        let segment_end = place_of(url.get(..next).unwrap_or(url), from, b';').min(next);
        let segment = url.get(from..segment_end).unwrap_or(&[]);
        if behind_slack && is_team(segment) {
            found(UrlSecret { start: from, value: from, end, in_path: true });
            return;
        }
        behind_slack = SLACK.contains(&segment);
        if let Some(skipped) = secret_from(segment, behind_marker) {
            let value = from.saturating_add(skipped);
            found(UrlSecret { start: value, value, end: segment_end, in_path: true });
        }
        behind_marker |= MARKERS.iter().any(|marker| segment.eq_ignore_ascii_case(marker));
        segment_parameters(url, segment_end, next, unpacking, found);
        from = next.saturating_add(1);
    }
}

fn is_host(host: &[u8], known: &[u8]) -> bool {
    let Some(before) = host.len().checked_sub(known.len()) else { return false };
    let Some((before, tail)) = host.split_at_checked(before) else { return false };
    // Of Make only the hosts of hooks: `hook.eu1.make.com`.
    let is_sub = before.ends_with(b".") && (known != b"make.com" || before.starts_with(b"hook."));
    tail.eq_ignore_ascii_case(known) && (before.is_empty() && known != b"make.com" || is_sub)
}

/// How much of a segment comes before its secret; None: it holds none.
fn secret_from(segment: &[u8], behind_marker: bool) -> Option<usize> {
    if let Some(token) = segment.strip_prefix(b"bot")
        && is_bot(token)
    {
        return Some(3);
    }
    if segment.is_empty() {
        return None;
    }
    let escaped = segment.contains(&b'%');
    let is_token = looks_secret(segment) || (escaped && looks_secret(&decoded(segment)));
    (is_token || (behind_marker && is_random(segment))).then_some(0)
}

/// Telegram's `123456:AAH...`, the colon escaped or not.
fn is_bot(token: &[u8]) -> bool {
    let digits = token.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let rest = token.get(digits..).unwrap_or(&[]);
    let rest = [b":".as_slice(), b"%3A", b"%3a"].into_iter().find_map(|colon| rest.strip_prefix(colon));
    digits > 0 && rest.is_some_and(|secret| secret.len() >= 20)
}

/// A team of Slack's.
fn is_team(segment: &[u8]) -> bool {
    segment.len() >= 8
        && segment.starts_with(b"T")
        && segment.iter().all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit())
}

/// Sixteen characters or more with a digit among them, that are no words between hyphens: an id, or a secret.
fn is_random(segment: &[u8]) -> bool {
    let any = |is: fn(&u8) -> bool| segment.iter().any(is);
    let all = |is: fn(&u8) -> bool| segment.iter().all(is);
    let is_mixed = any(u8::is_ascii_uppercase) && any(u8::is_ascii_lowercase);
    let is_hex = all(|byte| byte.is_ascii_hexdigit() || *byte == b'-');
    let is_whole = is_mixed || is_hex || all(u8::is_ascii_alphanumeric);
    segment.len() >= 16 && any(u8::is_ascii_digit) && (is_whole || has_random_part(segment))
}

/// Whether a part of a segment is drawn at random, behind a prefix or between others: `wh_3f9a8b7c6d5e4f3a`. In words with a
/// number the digits stand together.
fn has_random_part(segment: &[u8]) -> bool {
    segment.split(|byte| matches!(byte, b'_' | b'.' | b'~')).any(|part| {
        let runs = part.split(|byte| !byte.is_ascii_digit()).filter(|digits| !digits.is_empty()).count();
        let is_number = part.iter().all(u8::is_ascii_digit);
        part.len() >= 12 && part.iter().all(u8::is_ascii_alphanumeric) && (runs > 1 || is_number)
    })
}

/// `;name=value` behind a segment.
fn segment_parameters(
    url: &[u8],
    mut start: usize,
    end: usize,
    unpacking: Unpacking,
    found: &mut impl FnMut(UrlSecret),
) {
    while start < end {
        start = start.saturating_add(1);
        let next = place_of(url.get(..end).unwrap_or(url), start, b';').min(end);
        let parameter = url.get(start..next).unwrap_or(&[]);
        if let Some(equals) = parameter.iter().position(|&byte| byte == b'=') {
            let (name, value) = parameter.split_at_checked(equals).unwrap_or((parameter, &[]));
            let value = value.get(1..).unwrap_or(&[]);
            if !value.is_empty() && (is_name(name, LEVELS) || is_secret(value, unpacking)) {
                found(UrlSecret {
                    start,
                    value: next.saturating_sub(value.len()),
                    end: next,
                    in_path: false,
                });
            }
        }
        start = next;
    }
}
