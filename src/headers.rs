//! Which request headers may be kept with a task.
//!
//! An allow-list: whatever is not known to be harmless is withheld, so a credential under a name
//! nobody thought of stays out of the store. Names only; no value is looked at here yet.
#![forbid(unsafe_code)]

/// Whole names that may be kept, lower-case.
const NAMES: [&str; 13] = [
    "accept",
    "baggage",
    "content-encoding",
    "content-language",
    "content-type",
    "idempotency-key",
    "prefer",
    "range",
    "traceparent",
    "tracestate",
    "x-correlation-id",
    "x-request-id",
    "x-requested-with",
];

/// Families that may be kept: content negotiation and conditional requests.
const PREFIXES: [&str; 2] = ["accept-", "if-"];

/// Whether a header of this lower-case `name` may be kept. A name in any other case is
/// withheld, as every unknown name is.
pub fn is_kept(name: &str) -> bool {
    NAMES.contains(&name) || PREFIXES.iter().any(|prefix| name.starts_with(prefix))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn harmless_names_are_kept_and_everything_else_is_withheld() {
        for name in NAMES {
            assert!(is_kept(name), "{name}");
        }
        for name in ["accept-language", "if-match", "if-none-match", "if-modified-since"] {
            assert!(is_kept(name), "{name}");
        }
        for name in [
            "",
            "authorization",
            "cookie",
            "x-api-key",
            "Accept",
            "acceptance",
            "if",
            "content-length",
            "accept ",
        ] {
            assert!(!is_kept(name), "{name}");
        }
    }
}
