//! The user's additions to the lists: names to keep, names to withhold.
//!
//! Checked once, when the queue is made, so that a slip of the pen is an error there and not a
//! header that silently stays in the store.
#![forbid(unsafe_code)]

use std::fmt;

use super::names::is_token;

/// The user's patterns. The default has none.
///
/// A pattern is a header name in any letter case, with `*` at either end or both for any bytes,
/// none included: `x-acme-*`, `*-version`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rules {
    persist: Box<[u8]>,
    deny: Box<[u8]>,
}

impl Rules {
    /// Rules from `persistHeaders` and `denyHeaders`, each as its patterns joined by `\n`; empty: none.
    ///
    /// # Errors
    /// The first pattern that is not a name: empty, only `*`, `*` inside, or no token.
    pub fn new(persist: &[u8], deny: &[u8]) -> Result<Rules, RulesError> {
        check("persistHeaders", persist)?;
        check("denyHeaders", deny)?;
        Ok(Rules { persist: persist.into(), deny: deny.into() })
    }

    pub(super) fn persists(&self, name: &[u8]) -> bool {
        matches(&self.persist, name)
    }

    pub(super) fn denies(&self, name: &[u8]) -> bool {
        matches(&self.deny, name)
    }
}

/// A pattern that cannot be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RulesError {
    /// `persistHeaders` or `denyHeaders`.
    pub option: &'static str,
    /// Its place in that list, from 0.
    pub index: usize,
}

impl fmt::Display for RulesError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.option)?;
        f.write_str("[")?;
        self.index.fmt(f)?;
        f.write_str("]: expected a header name, `*` allowed at its ends")
    }
}

impl std::error::Error for RulesError {}

fn patterns(list: &[u8]) -> impl Iterator<Item = &[u8]> {
    list.split(|&byte| byte == b'\n')
}

fn check(option: &'static str, list: &[u8]) -> Result<(), RulesError> {
    // No list is no pattern; an empty pattern in a list of several is the caller's mistake.
    if list.is_empty() {
        return Ok(());
    }
    let wrong = patterns(list).position(|pattern| {
        let (_, name, _) = parts(pattern);
        !is_token(name) || name.contains(&b'*')
    });
    wrong.map_or(Ok(()), |index| Err(RulesError { option, index }))
}

/// Whether it may begin anyhow, what it holds, whether it may end anyhow.
fn parts(pattern: &[u8]) -> (bool, &[u8], bool) {
    let (open_start, rest) = pattern.strip_prefix(b"*").map_or((false, pattern), |rest| (true, rest));
    let (open_end, rest) = rest.strip_suffix(b"*").map_or((false, rest), |rest| (true, rest));
    (open_start, rest, open_end)
}

fn matches(list: &[u8], name: &[u8]) -> bool {
    if list.is_empty() {
        return false;
    }
    patterns(list).any(|pattern| {
        let (open_start, wanted, open_end) = parts(pattern);
        let Some(spare) = name.len().checked_sub(wanted.len()) else { return false };
        let first = if open_end { 0 } else { spare };
        let last = if open_start { spare } else { 0 };
        (first..=last).any(|at| {
            let part = name.get(at..at.saturating_add(wanted.len()));
            part.is_some_and(|part| part.eq_ignore_ascii_case(wanted))
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_is_a_name_with_stars_at_its_ends() {
        for (pattern, name, matches) in [
            ("x-a", "X-A", true),
            ("X-A", "x-a", true),
            ("x-a", "x-ab", false),
            ("x-a", "xx-a", false),
            ("x-a*", "x-a", true),
            ("x-a*", "x-abc", true),
            ("x-a*", "y-x-a", false),
            ("*-key", "sort-key", true),
            ("*-key", "-key", true),
            ("*-key", "key", false),
            ("*-key", "a-key-b", false),
            ("*mid*", "a-mid-b", true),
            ("*mid*", "mid", true),
            ("*mid*", "mi-d", false),
        ] {
            let rules = Rules::new(pattern.as_bytes(), b"").unwrap();
            assert_eq!(rules.persists(name.as_bytes()), matches, "{pattern} {name}");
        }
    }

    #[test]
    fn a_wrong_pattern_is_named_by_its_place() {
        for (list, index) in
            [("\n", 0), ("a\n", 1), ("*", 0), ("**", 0), ("a\nb*c", 1), ("a\nb\nc d", 2), ("a\n\u{e9}", 1)]
        {
            let error = RulesError { option: "denyHeaders", index };
            assert_eq!(Rules::new(b"", list.as_bytes()), Err(error), "{list:?}");
        }
        let error = Rules::new(b"x-a\n*", b"").unwrap_err();
        assert_eq!(error.to_string(), "persistHeaders[1]: expected a header name, `*` allowed at its ends");
    }
}
