//! A law broken, and the macro that finds one.

/// What a core did that it must not, and which invariant says so.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// Such as `S9`.
    pub id: &'static str,
    /// In words.
    pub what: String,
}

/// Fails with a [`Violation`] unless a condition holds.
#[macro_export]
macro_rules! ensure {
    ($holds:expr, $id:literal, $($what:tt)*) => {
        if !$holds {
            return Err($crate::violation::Violation { id: $id, what: format!($($what)*) });
        }
    };
}
