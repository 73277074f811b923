//! Enums whose numbers cross the boundary: each variant's number and name are written once.
//!
//! `xtask` prints them for TypeScript from the list of all variants, so there can be none that is not printed.
#![forbid(unsafe_code)]

/// Declares a fieldless enum with its numbers, which count up from 0, and lists of its variants and their names.
macro_rules! numbered {
    (
        $(#[$meta:meta])*
        pub enum $name:ident {
            $($(#[$about:meta])* $variant:ident = $code:literal,)+
        }
    ) => {
        $(#[$meta])*
        pub enum $name {
            $($(#[$about])* $variant = $code,)+
        }

        impl $name {
            /// Every variant, in the order of their numbers.
            pub const ALL: &[$name] = &[$($name::$variant,)+];

            /// Their names.
            pub const NAMES: &[&str] = &[$(stringify!($variant),)+];

            /// The number that crosses the boundary.
            pub const fn code(self) -> u32 {
                self as u32
            }
        }
    };
}

pub(crate) use numbered;
