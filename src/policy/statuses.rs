//! A set of status codes that is as quick to ask as an array and needs no memory of its own.
#![forbid(unsafe_code)]

/// Status codes `100..=599`, one bit each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StatusSet {
    bits: [u64; 8],
}

/// "Too many", "bad gateway", "unavailable", "gateway timeout": what usually goes away by itself.
const DEFAULT_CODES: [f64; 4] = [429.0, 502.0, 503.0, 504.0];
const FIRST: u32 = 100;

impl StatusSet {
    /// The set of `codes`, and the last of them that is no status code. The default set when
    /// there are none given; an empty list is a list.
    pub(super) fn new(codes: Option<&[f64]>) -> (StatusSet, Option<f64>) {
        let mut set = StatusSet { bits: [0; 8] };
        let mut unknown = None;
        for &code in codes.unwrap_or(&DEFAULT_CODES) {
            if !(100.0..=599.0).contains(&code) || code as u32 as f64 != code {
                unknown = Some(code);
                continue;
            }
            let (word, bit) = place(code as u32);
            if let Some(word) = set.bits.get_mut(word) {
                *word |= bit;
            }
        }
        (set, unknown)
    }

    /// Whether `status` is in the set; no status outside `100..=599` is.
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
        let set = StatusSet::new(Some(&[100.0, 599.0, 429.0])).0;
        assert_eq!(set.iter().collect::<Vec<_>>(), [100, 429, 599]);
        for outside in [0, 99, 101, 600, 612, u32::MAX] {
            assert!(!set.contains(outside), "{outside}");
        }
    }

    #[test]
    fn an_empty_list_is_not_the_default() {
        assert_eq!(StatusSet::new(Some(&[])).0.iter().count(), 0);
        assert_eq!(StatusSet::new(None).0.iter().collect::<Vec<_>>(), [429, 502, 503, 504]);
    }

    #[test]
    fn codes_outside_http_are_refused() {
        for code in [99.0, 600.0, 200.5, -1.0, f64::NAN, f64::INFINITY] {
            let (set, unknown) = StatusSet::new(Some(&[503.0, code]));
            assert!(unknown.is_some(), "{code}");
            assert_eq!(set.iter().collect::<Vec<_>>(), [503]);
        }
    }
}
