//! Which request headers may be kept with a task.
//!
//! What is stored outlives the page and is read by more people than the request ever was, so a
//! credential must not be in it. An allow-list decides: a name on no list is not kept.
//! Above it stands a deny-list that no option lifts, since `persistHeaders: ['x-*']` is quickly
//! written. Values are sniffed as well: a token in a harmless header is still a token.
//!
//! Nothing here allocates but for an escaped member, and every answer takes time linear in the name or value. The values
//! themselves are not changed here: the host drops what must not be kept.
#![forbid(unsafe_code)]

mod decoded;
mod members;
mod named;
mod names;
mod rules;
mod values;
mod words;

pub(crate) use decoded::Decoded;
pub use members::looks_secret;
pub use named::{Text, holds_named};
pub use names::Class;
pub use rules::{Rules, RulesError};
pub use values::check_value;
pub(crate) use words::in_query;

/// How a header of this `name`, in any letter case, is treated.
///
/// The order, first match wins: not a token; a listed name; the prefixes and words of credentials;
/// the prefixes of what is dropped; `denyHeaders`; the allow-list; `persistHeaders`.
pub fn classify_name(rules: &Rules, name: &[u8]) -> Class {
    if !names::is_token(name) {
        return Class::Refused;
    }
    match built_in(name) {
        class @ (Class::Withheld | Class::Dropped) => class,
        _ if rules.denies(name) => Class::Withheld,
        Class::Unknown if rules.persists(name) => Class::Kept,
        class => class,
    }
}

/// The class of a token by the built-in lists.
fn built_in(name: &[u8]) -> Class {
    let mut buffer = [0; names::LONGEST];
    for (lower, &byte) in buffer.iter_mut().zip(name) {
        *lower = names::lower(byte);
    }
    // A longer name is none of those listed, but may begin or be worded like one.
    let lower = buffer.get(..name.len()).unwrap_or(&buffer);
    if lower.len() == name.len()
        && let Some(class) = names::listed(lower)
    {
        return class;
    }
    let by_prefix = names::by_prefix(lower);
    if by_prefix == Class::Withheld || words::in_header(name) { Class::Withheld } else { by_prefix }
}
