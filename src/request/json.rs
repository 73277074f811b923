//! One text for equal JSON: RFC 8785, the JSON Canonicalization Scheme.
//!
//! A retry that a page sends after a reload may print the same object with its members in another
//! order; its content key must not change for that. Only the text is looked at, no value is
//! built, and nothing is guessed: what RFC 8259 forbids is refused with its place, and so are
//! duplicate names, lone surrogates and numbers beyond a double (RFC 8785, 3.1). Noncharacters
//! such as U+FFFF are text like any other: RFC 8785 does not name them.
//!
//! Numbers that are not printed as they are written are printed by the host ([`Numbers`]), since a
//! float parser and printer would weigh more than all of this module.
//!
//! **Cost.** Nesting is as deep as the text allows: nothing here recurses. The text is read once
//! into a draft that keeps the source's order; objects out of order are noted, and one more pass
//! copies each byte to its place. Time is `n log n`, the logarithm from sorting names. Memory is
//! linear: the draft and the result are at most 5.25 times the text each (`1e20` is printed as 21
//! digits), beside sixteen words for each member, six for each object and a byte for each level.
#![forbid(unsafe_code)]

mod error;
#[cfg(not(all(target_arch = "wasm32", feature = "boundary")))]
mod native;
mod numbers;
mod objects;
mod scanner;
mod shortest;
mod strings;

pub use error::{JsonError, JsonErrorKind};
#[cfg(not(all(target_arch = "wasm32", feature = "boundary")))]
pub use native::NativeNumbers;
pub use numbers::Numbers;

use numbers::number;
use objects::Objects;
use scanner::Scanner;
use strings::string;

/// The canonical form of a JSON text in UTF-8.
///
/// # Errors
///
/// The first fault met, reading from the left; an object's duplicate names are met at its end.
///
/// ```
/// # use redrive::json::{NativeNumbers, canonicalize};
/// let text = br#"{ "b": 1.0, "a": "\u0041" }"#;
/// assert_eq!(canonicalize(text, &mut NativeNumbers).unwrap(), br#"{"a":"A","b":1}"#);
/// ```
pub fn canonicalize(text: &[u8], numbers: &mut dyn Numbers) -> Result<Vec<u8>, JsonError> {
    Walk::new(text, numbers, false).run()
}

/// The canonical form, if no number in it stands for another decimal than the text's.
///
/// RFC 8785 prints the double nearest to a number, so 9007199254740993 becomes 9007199254740992:
/// right for a signature, wrong for a key, under which two orders would be one. A `-0` is such a
/// number too, for its sign is not printed.
///
/// # Errors
///
/// As [`canonicalize`], and [`JsonErrorKind::InexactNumber`].
pub fn canonicalize_exact(text: &[u8], numbers: &mut dyn Numbers) -> Result<Vec<u8>, JsonError> {
    Walk::new(text, numbers, true).run()
}

/// The opening that a closing bracket has to match.
#[derive(Clone, Copy)]
enum Container {
    Array,
    Object,
}

/// One reading of a text. The draft is canonical but for the order of members.
struct Walk<'a> {
    scanner: Scanner<'a>,
    numbers: &'a mut dyn Numbers,
    exact: bool,
    draft: Vec<u8>,
    nesting: Vec<Container>,
    objects: Objects,
}

impl<'a> Walk<'a> {
    fn new(text: &'a [u8], numbers: &'a mut dyn Numbers, exact: bool) -> Walk<'a> {
        Walk {
            scanner: Scanner::new(text),
            numbers,
            exact,
            draft: Vec::with_capacity(text.len()),
            nesting: Vec::new(),
            objects: Objects::default(),
        }
    }

    fn run(mut self) -> Result<Vec<u8>, JsonError> {
        self.scanner.check_encoding()?;
        loop {
            self.scanner.space();
            if self.value()? && self.climb()? {
                return Ok(self.objects.arrange(self.draft));
            }
        }
    }

    /// Reads a value, or the opening of one; whether it is complete.
    fn value(&mut self) -> Result<bool, JsonError> {
        match self.scanner.peek() {
            Some(b'{') => return self.open_object(),
            Some(b'[') => return Ok(self.open_array()),
            Some(b'"') => string(&mut self.scanner, &mut self.draft)?,
            Some(b'-' | b'0'..=b'9') => {
                number(&mut self.scanner, self.numbers, self.exact, &mut self.draft)?;
            }
            _ => self.draft.extend_from_slice(self.scanner.literal()?),
        }
        Ok(true)
    }

    fn open_array(&mut self) -> bool {
        self.scanner.advance(1);
        self.draft.push(b'[');
        self.scanner.space();
        let is_empty = self.scanner.take(b']');
        if is_empty {
            self.draft.push(b']');
        } else {
            self.nesting.push(Container::Array);
        }
        is_empty
    }

    fn open_object(&mut self) -> Result<bool, JsonError> {
        self.scanner.advance(1);
        let start = self.draft.len();
        self.draft.push(b'{');
        self.scanner.space();
        if self.scanner.take(b'}') {
            self.draft.push(b'}');
            return Ok(true);
        }
        self.nesting.push(Container::Object);
        self.objects.open(start);
        self.name()?;
        Ok(false)
    }

    /// Reads `"name" :`, up to where the value begins.
    fn name(&mut self) -> Result<(), JsonError> {
        self.scanner.space();
        self.objects.name(self.draft.len(), self.scanner.at());
        string(&mut self.scanner, &mut self.draft)?;
        self.scanner.space();
        self.scanner.expect(b':')?;
        self.draft.push(b':');
        Ok(())
    }

    /// Goes on after a value: closes what ends here. Whether the text is complete; if not, the
    /// next value is expected.
    fn climb(&mut self) -> Result<bool, JsonError> {
        loop {
            self.scanner.space();
            let Some(container) = self.nesting.last() else {
                return self.scanner.end().map(|()| true);
            };
            let closing = match container {
                Container::Array => b']',
                Container::Object => {
                    self.objects.value_ends(self.draft.len());
                    b'}'
                }
            };
            let goes_on = self.scanner.take(b',');
            if goes_on {
                self.draft.push(b',');
                if closing == b'}' {
                    self.name()?;
                }
                return Ok(false);
            }
            self.scanner.expect(closing)?;
            self.draft.push(closing);
            self.nesting.pop();
            if closing == b'}' {
                self.objects.close(&self.draft)?;
            }
        }
    }
}
