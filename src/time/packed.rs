//! [`Millis`] in seven bytes, for tables with a million of them. Nothing is lost: 2^53 is a number of 54 bits.
#![forbid(unsafe_code)]

use super::Millis;

/// A [`Millis`] that takes no more room than it needs and lies anywhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PackedMillis([u8; 7]);

impl PackedMillis {
    /// The duration or instant.
    pub const fn get(self) -> Millis {
        let [a, b, c, d, e, f, g] = self.0;
        Millis(u64::from_le_bytes([a, b, c, d, e, f, g, 0]))
    }
}

impl From<Millis> for PackedMillis {
    fn from(millis: Millis) -> PackedMillis {
        let [a, b, c, d, e, f, g, _] = millis.0.to_le_bytes();
        PackedMillis([a, b, c, d, e, f, g])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_ends_stay_as_they_are() {
        for millis in [Millis::ZERO, Millis::new(1), Millis::new((1 << 53) - 1), Millis::MAX] {
            assert_eq!(PackedMillis::from(millis).get(), millis);
        }
    }

    proptest! {
        #[test]
        fn nothing_is_lost(ms in 0_u64..=1 << 53) {
            prop_assert_eq!(PackedMillis::from(Millis::new(ms)).get().get(), ms);
        }
    }
}
