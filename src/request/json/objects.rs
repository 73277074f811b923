//! Members in order.
//!
//! Sorting an object's text where it stands would copy inner objects once for every level around
//! them. So the draft keeps the source's order, only places in it are sorted, and the result is
//! put together at the end, each byte copied once.

use super::error::{JsonError, JsonErrorKind};
use super::strings::SortUnits;
use std::cmp::Ordering;

/// `"name":value` in the draft.
#[derive(Clone, Copy)]
struct Member {
    start: usize,
    end: usize,
    /// The name's place in the source, for a message.
    at: usize,
    /// The first object that begins in it or behind it, by its place among all.
    next: usize,
}

impl Member {
    /// In one copy for all who compare.
    #[inline(never)]
    fn order(&self, other: &Member, draft: &[u8]) -> Ordering {
        let name =
            |member: &Member| draft.get(member.start.saturating_add(1)..member.end).unwrap_or(&[]).iter();
        // Nearly all names differ in a byte that stands for itself, and most in the first.
        let mut bytes =
            name(self).zip(name(other)).skip_while(|(one, other)| one == other && is_own_unit(**one));
        match bytes.next() {
            Some((one, other)) if is_own_unit(*one) && is_own_unit(*other) => one.cmp(other),
            _ => SortUnits(name(self)).cmp(SortUnits(name(other))),
        }
    }
}

/// Whether a byte of a name is its own sort key: neither the end, nor an escape, nor out of UTF-16's order.
fn is_own_unit(byte: u8) -> bool {
    byte < 0xEE && byte != b'"' && byte != b'\\'
}

/// Members by name, of equal names the earlier first: runs are merged into longer ones. The sort of
/// the standard library weighs 1.5 KB of gzip more.
fn sorted(members: &[Member], draft: &[u8]) -> Vec<Member> {
    let mut from = members.to_vec();
    let mut to = Vec::with_capacity(from.len());
    let mut run: usize = 1;
    while run < from.len() {
        let mut rest = from.as_slice();
        while !rest.is_empty() {
            let (mut left, behind) = rest.split_at_checked(run).unwrap_or((rest, &[]));
            let (mut right, behind) = behind.split_at_checked(run).unwrap_or((behind, &[]));
            rest = behind;
            while let ([a, after_a @ ..], [b, after_b @ ..]) = (left, right) {
                if b.order(a, draft).is_lt() {
                    to.push(*b);
                    right = after_b;
                } else {
                    to.push(*a);
                    left = after_a;
                }
            }
            to.extend_from_slice(left);
            to.extend_from_slice(right);
        }
        std::mem::swap(&mut from, &mut to);
        to.clear();
        run = run.saturating_mul(2);
    }
    from
}

/// An object: from `{` to behind `}` in the draft, and its members.
///
/// While it is open they are those pending from `first` on. Once it is closed they are those
/// sorted from `first` to before `last`, or none if the draft has them in order.
struct Object {
    start: usize,
    end: usize,
    first: usize,
    last: usize,
    /// The first object that begins behind it, by its place among all.
    next: usize,
}

#[derive(Default)]
pub(super) struct Objects {
    /// In the order in which they begin.
    all: Vec<Object>,
    /// The places in `all` of those that are open, the innermost last.
    open: Vec<usize>,
    /// Members of open objects, those of the innermost last.
    pending: Vec<Member>,
    /// Members of moved objects, each object's together and in order.
    sorted: Vec<Member>,
}

/// The rest that is still to be written.
enum Rest {
    /// A stretch of the draft, and the first object that begins in it or behind it: some of those in it may have
    /// to be moved.
    Span(usize, usize, usize),
    /// Members among those sorted, from the first to before the last.
    Members(usize, usize),
}

impl Objects {
    /// An object begins in the draft.
    pub(super) fn open(&mut self, start: usize) {
        self.open.push(self.all.len());
        self.all.push(Object { start, end: start, first: self.pending.len(), last: 0, next: 0 });
    }

    /// A member begins in the draft, its name at `at` in the source.
    pub(super) fn name(&mut self, start: usize, at: usize) {
        self.pending.push(Member { start, end: start, at, next: self.all.len() });
    }

    /// The innermost object's last member ends in the draft.
    pub(super) fn value_ends(&mut self, end: usize) {
        if let Some(member) = self.pending.last_mut() {
            member.end = end;
        }
    }

    /// The innermost object has ended with the draft.
    pub(super) fn close(&mut self, draft: &[u8]) -> Result<(), JsonError> {
        let next = self.all.len();
        let Some(object) = self.open.pop().and_then(|place| self.all.get_mut(place)) else {
            return Ok(());
        };
        let first = object.first;
        let members = self.pending.get_mut(first..).unwrap_or(&mut []);
        if !members.is_sorted_by(|a, b| a.order(b, draft).is_lt()) {
            let members = sorted(members, draft);
            for (one, next) in members.iter().zip(members.iter().skip(1)) {
                if one.order(next, draft).is_eq() {
                    return Err(JsonError { at: next.at, kind: JsonErrorKind::DuplicateName });
                }
            }
            object.first = self.sorted.len();
            self.sorted.extend_from_slice(&members);
            object.last = self.sorted.len();
            object.end = draft.len();
            object.next = next;
        }
        self.pending.truncate(first);
        Ok(())
    }

    /// The draft with every member in its place.
    pub(super) fn arrange(self, draft: Vec<u8>) -> Vec<u8> {
        let is_moved = |object: &&Object| object.last > 0;
        if !self.all.iter().any(|object| is_moved(&object)) {
            return draft;
        }
        let mut out = Vec::with_capacity(draft.len());
        let mut work = vec![Rest::Span(0, draft.len(), 0)];
        while let Some(rest) = work.pop() {
            match rest {
                Rest::Span(from, to, next) => {
                    let behind = self.all.get(next..).unwrap_or(&[]).iter();
                    let object = behind.take_while(|object| object.start < to).find(is_moved);
                    let until = object.map_or(to, |object| object.start);
                    out.extend_from_slice(draft.get(from..until).unwrap_or(&[]));
                    if let Some(object) = object {
                        out.push(b'{');
                        work.push(Rest::Span(object.end.saturating_sub(1), to, object.next));
                        work.push(Rest::Members(object.first, object.last));
                    }
                }
                Rest::Members(first, last) => {
                    let Some(member) = self.sorted.get(first).filter(|_| first < last) else {
                        continue;
                    };
                    if out.last() != Some(&b'{') {
                        out.push(b',');
                    }
                    work.push(Rest::Members(first.saturating_add(1), last));
                    work.push(Rest::Span(member.start, member.end, member.next));
                }
            }
        }
        out
    }
}
