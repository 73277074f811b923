//! An index in three bytes, for tables with a million of them.
#![forbid(unsafe_code)]

/// No slot: never a valid handle, index or link.
pub const NONE: u32 = u32::MAX;

/// An index of a slot, or [`NONE`]. An index has 22 bits, so its lowest three bytes say which.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PackedIndex([u8; 3]);

impl PackedIndex {
    /// The index, or [`NONE`].
    pub const fn get(self) -> u32 {
        let [a, b, c] = self.0;
        let index = u32::from_le_bytes([a, b, c, 0]);
        if index == NONE >> 8 { NONE } else { index }
    }
}

impl From<u32> for PackedIndex {
    fn from(index: u32) -> PackedIndex {
        let [a, b, c, _] = index.to_le_bytes();
        PackedIndex([a, b, c])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::slots::INDEX_MASK;
    use proptest::prelude::*;

    #[test]
    fn the_ends_and_none_stay_as_they_are() {
        for index in [0, 1, INDEX_MASK - 1, INDEX_MASK, NONE] {
            assert_eq!(PackedIndex::from(index).get(), index);
        }
    }

    proptest! {
        #[test]
        fn nothing_is_lost(index in 0..=INDEX_MASK) {
            prop_assert_eq!(PackedIndex::from(index).get(), index);
        }
    }
}
