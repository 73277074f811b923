//! A set of status codes that is as quick to ask as an array and needs no memory of its own.
#![forbid(unsafe_code)]

use crate::error::PolicyError;

/// Status codes of final answers, `200..=599`, one bit each.
#[derive(Clone, Copy, Debug, Eq)]
pub struct StatusSet {
    bits: [u64; 7],
}

/// "Request timeout", "too many", "bad gateway", "unavailable", "gateway timeout": what usually goes away by itself. 408: the server had
/// not the whole request in time (RFC 9110, 15.5.9). Some frameworks give it when their handler takes too long, so it is no leave to
/// repeat what is not safe to.
const DEFAULT_CODES: [f64; 5] = [408.0, 429.0, 502.0, 503.0, 504.0];

/// Those, and what other clients try again beside them: "too early", "internal error", and the
/// codes of a proxy that could not reach its origin.
pub const BROAD_CODES: [u16; 12] = [408, 425, 429, 500, 502, 503, 504, 520, 521, 522, 523, 524];

const FIRST: u32 = 200;

impl PartialEq for StatusSet {
    /// Written by hand: the derived one becomes a comparison of bytes in order, 1.8 KB in the wasm.
    fn eq(&self, other: &StatusSet) -> bool {
        self.bits.iter().zip(&other.bits).fold(0, |differing, (a, b)| differing | (a ^ b)) == 0
    }
}

impl StatusSet {
    /// The set of `codes`; the default set when there are none given. An empty list is a list.
    pub(super) fn new(codes: Option<&[f64]>) -> Result<StatusSet, PolicyError> {
        let mut set = StatusSet { bits: [0; 7] };
        for &code in codes.unwrap_or(&DEFAULT_CODES) {
            if !(200.0..=599.0).contains(&code) || code as u32 as f64 != code {
                let (option, expected) = ("retryableStatusCodes", "whole numbers, 200..=599");
                return Err(PolicyError::Number { option, expected, got: code });
            }
            let (word, bit) = place(code as u32);
            if let Some(word) = set.bits.get_mut(word) {
                *word |= bit;
            }
        }
        Ok(set)
    }

    /// Whether `status` is in the set; no status outside `200..=599` is.
    pub fn contains(&self, status: u32) -> bool {
        let (word, bit) = place(status);
        status >= FIRST && self.bits.get(word).is_some_and(|word| word & bit != 0)
    }

    /// The codes in the set, ascending.
    pub fn iter(&self) -> impl Iterator<Item = u32> {
        (FIRST..600).filter(|&status| self.contains(status))
    }
}

const fn place(status: u32) -> (usize, u64) {
    let offset = status.saturating_sub(FIRST);
    ((offset / 64) as usize, 1 << (offset % 64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn holds_exactly_what_was_put_in() {
        let set = StatusSet::new(Some(&[200.0, 599.0, 429.0])).unwrap();
        assert_eq!(set.iter().collect::<Vec<_>>(), [200, 429, 599]);
        for outside in [0, 100, 199, 201, 600, 612, u32::MAX] {
            assert!(!set.contains(outside), "{outside}");
        }
    }

    #[test]
    fn an_empty_list_is_not_the_default() {
        assert_eq!(StatusSet::new(Some(&[])).unwrap().iter().count(), 0);
        assert_eq!(StatusSet::new(None).unwrap().iter().collect::<Vec<_>>(), [408, 429, 502, 503, 504]);
    }

    #[test]
    fn codes_outside_http_are_refused() {
        for code in [199.0, 600.0, 200.5, -1.0, f64::NAN, f64::INFINITY] {
            assert!(StatusSet::new(Some(&[503.0, code])).is_err(), "{code}");
        }
    }
}
