//! Which headers may be kept, and which parameters of a URL are secrets: names and suspicious
//! values cross, a byte for each comes back in their place.

use wasm_bindgen::prelude::*;

use super::text::with_text;
use crate::request::headers::{Rules, Text, classify_name, holds_named, looks_secret};
use crate::request::url_secrets::{UrlSecret, url_secrets as find_secrets, without_secrets};

/// The built-in lists with those of one queue.
#[wasm_bindgen]
pub struct HeaderRules {
    rules: Rules,
}

#[wasm_bindgen]
impl HeaderRules {
    /// Takes the names to keep and the names to deny, each joined by `\n`, lying one behind the
    /// other. Throws the name of the option with a wrong pattern: the host has
    /// looked at each before.
    #[wasm_bindgen(constructor)]
    pub fn new(persist: usize, deny: usize) -> Result<HeaderRules, JsError> {
        let rules = with_text(persist.saturating_add(deny), |text| {
            let (persist, deny) = text.split_at_checked(persist).unwrap_or((text, &[]));
            Rules::new(persist, deny)
        });
        rules.map(|rules| HeaderRules { rules }).map_err(|error| JsError::new(error.option))
    }

    /// Writes the class of each of the names, joined by `\n`, over them, a byte each, and says how
    /// many, by the numbers of [`crate::request::headers::Class`].
    pub fn classify(&self, length: usize) -> usize {
        with_text(length, |text| answer(text, |name| classify_name(&self.rules, name) as u8))
    }
}

/// Writes 1 for each of the values, joined by `\n`, that looks like a secret, else 0, over them, and
/// says whether one does: nearly always none, and then the host has nothing to read.
#[wasm_bindgen]
pub fn secret_values(length: usize) -> bool {
    let mut found = false;
    with_text(length, |text| {
        answer(text, |value| {
            let is_secret = looks_secret(value);
            found |= is_secret;
            u8::from(is_secret)
        })
    });
    found
}

/// Whether a message for people holds a secret, of a known form or by its name.
#[wasm_bindgen]
pub fn tells_secret(length: usize) -> bool {
    with_text(length, |text| looks_secret(text) || holds_named(text, Text::Message))
}

/// Writes the URL over itself without the secrets that can be taken out of it: its length.
#[wasm_bindgen]
pub fn strip_secrets(length: usize) -> usize {
    with_text(length, |url| {
        let left = without_secrets(url);
        for (place, byte) in url.iter_mut().zip(&left) {
            *place = *byte;
        }
        left.len()
    })
}

/// Where in the URL secrets lie: of each the start of its parameter, the start of its value and the end
/// of both, in bytes.
#[wasm_bindgen]
pub fn url_secrets(length: usize) -> Vec<u32> {
    with_text(length, |url| {
        let mut ranges = Vec::new();
        find_secrets(url, &mut |secret: UrlSecret| {
            ranges.extend([secret.start as u32, secret.value as u32, secret.end as u32]);
        });
        ranges
    })
}

/// Asks about each line and writes the answers over the text from its start: never over what was
/// not read yet, since a line and its `\n` take at least the byte that its answer takes, but for
/// the last.
fn answer(text: &mut [u8], mut of: impl FnMut(&[u8]) -> u8) -> usize {
    if text.is_empty() {
        return 0;
    }
    let mut answered = 0;
    let mut from: usize = 0;
    loop {
        let rest = text.get(from..).unwrap_or(&[]);
        let end = rest.iter().position(|byte| *byte == b'\n');
        let line = rest.get(..end.unwrap_or(rest.len())).unwrap_or(&[]);
        let class = of(line);
        if let Some(place) = text.get_mut(answered) {
            *place = class;
        }
        answered = answered.saturating_add(1);
        match end {
            Some(end) => from = from.saturating_add(end).saturating_add(1),
            None => return answered,
        }
    }
}
