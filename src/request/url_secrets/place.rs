//! Where something stands in a URL.
#![forbid(unsafe_code)]

/// Where a secret stands, as byte offsets into the URL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UrlSecret {
    /// Where the parameter begins; its name ends one byte before `value`, or it has none.
    pub start: usize,
    /// Where its value begins.
    pub value: usize,
    /// Where the value and the parameter end.
    pub end: usize,
    /// Set for a part of the path, without which the URL would be another's.
    pub in_path: bool,
}

/// Where `byte` stands first at or after `from`; the end if nowhere.
pub(super) fn place_of(url: &[u8], from: usize, byte: u8) -> usize {
    let place = url.get(from..).and_then(|rest| rest.iter().position(|&other| other == byte));
    place.map_or(url.len(), |place| from.saturating_add(place))
}
