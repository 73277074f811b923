//! The calls that are about text: header names, values, URLs, keys.

use redrive::calls::{Args, Op};
use redrive::duration::parse_duration;
use redrive::headers::{Rules, classify_name, looks_secret};
use redrive::json::{NativeNumbers, canonicalize};
use redrive::key::{self, KeyScope, Request};
use redrive::slots::NONE;
use redrive::url;
use redrive::url_secrets::without_secrets;

/// The text that crosses, and the rules of headers.
#[derive(Default)]
pub(crate) struct Text {
    pub bytes: Vec<u8>,
    rules: Option<Rules>,
}

impl Text {
    /// Puts an answer in the place of what was asked, and gives its length.
    pub fn answer(&mut self, answer: &[u8]) -> f64 {
        self.bytes.clear();
        self.bytes.extend_from_slice(answer);
        answer.len() as f64
    }

    /// The first bytes; `None`: there are not so many.
    pub fn take(&self, length: u32) -> Option<Vec<u8>> {
        self.bytes.get(..length as usize).map(<[u8]>::to_vec)
    }

    /// Parts one behind the other, of the lengths that stand from `from` on.
    fn parts<const N: usize>(&self, args: Args<'_>, from: usize) -> Option<[Vec<u8>; N]> {
        let mut rest = &*self.bytes;
        let mut parts = [const { Vec::new() }; N];
        for (place, part) in parts.iter_mut().enumerate() {
            let (head, tail) = rest.split_at_checked(args.u32(from.saturating_add(place)) as usize)?;
            *part = head.to_vec();
            rest = tail;
        }
        Some(parts)
    }

    /// `None`: its words are none of a call's.
    pub fn call(&mut self, op: Op, args: Args<'_>, answers: &mut Vec<f64>) -> Option<()> {
        let length = args.u32(0);
        match op {
            Op::HeaderRules => {
                let [persist, deny] = self.parts(args, 0)?;
                match Rules::new(&persist, &deny) {
                    Ok(rules) => {
                        self.rules = Some(rules);
                        answers.push(1.0);
                    }
                    Err(error) => {
                        answers.extend([0.0, self.answer(error.option.as_bytes())]);
                    }
                }
            }
            Op::Headers => {
                let names = self.take(length)?;
                let rules = self.rules.get_or_insert_default();
                answers.extend(lines(&names).map(|name| f64::from(classify_name(rules, name) as u8)));
            }
            Op::Secrets => {
                let values = self.take(length)?;
                answers.extend(lines(&values).map(|value| f64::from(u8::from(looks_secret(value)))));
            }
            Op::StripSecrets => {
                let left = without_secrets(&self.take(length)?);
                answers.push(self.answer(&left));
            }
            Op::Normalize => {
                let normal = url::normalize(&self.take(length)?);
                answers.push(self.answer_if(normal));
            }
            Op::ContentKey => {
                let [method, url, content_type, principal, scope, nonce, secret, body] =
                    self.parts(args, 1)?;
                let request =
                    Request { method: &method, url: &url, content_type: Some(&content_type), body: &body };
                let principal = args.bit(0).then_some(&*principal);
                let scope = KeyScope { principal, scope: &scope, nonce: &nonce, secret: &secret };
                let key = key::content_key(&request, &scope, &mut NativeNumbers).ok();
                // the buffer is kept, and the secret should not be
                self.bytes.fill(0);
                answers.push(self.answer_if(key.map(String::into_bytes)));
            }
            Op::Fingerprint => {
                let [method, url, content_type, body] = self.parts(args, 0)?;
                let request =
                    Request { method: &method, url: &url, content_type: Some(&content_type), body: &body };
                let fingerprint = key::fingerprint(&request, &mut NativeNumbers).ok();
                answers.push(self.answer_if(fingerprint.map(String::into_bytes)));
            }
            Op::CanonicalJson => {
                let canonical = canonicalize(&self.take(length)?, &mut NativeNumbers).ok();
                answers.push(self.answer_if(canonical));
            }
            Op::Duration => {
                let ms = parse_duration(&self.take(length)?);
                answers.push(ms.map_or(f64::NAN, |ms| ms.get() as f64));
            }
            _ => return None,
        }
        Some(())
    }

    /// The length of an answer; none: there is no answer.
    fn answer_if(&mut self, answer: Option<Vec<u8>>) -> f64 {
        answer.map_or(f64::from(NONE), |answer| self.answer(&answer))
    }
}

fn lines(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    text.split(|byte| *byte == b'\n')
}
