//! Things by number: a slab whose handles know when they are stale.
//!
//! A handle is an index and a generation in one u32, so that it crosses the boundary as a plain
//! number and a handle kept too long finds nothing instead of another task. Freed slots
//! are reused oldest first and only when some hundreds are free: a generation has ten bits, and
//! a handle would have to be kept over a quarter of a million releases to be taken for another.
#![forbid(unsafe_code)]

use crate::chunks::{Chunks, Table};
use crate::index::PackedIndex;
use std::marker::PhantomData;

pub use crate::index::NONE;

const INDEX_BITS: u32 = 22;
/// The part of a handle that is its index.
pub const INDEX_MASK: u32 = (1 << INDEX_BITS) - 1;
const GENERATION_MASK: u16 = (1 << (u32::BITS - INDEX_BITS)) - 1;
/// How many slots rest before the one that has rested longest is used again.
const RESTING: u32 = 256;

/// A slab of `T`.
#[derive(Debug)]
pub struct Slots<T, Entries = Vec<Entry<T>>> {
    entries: Entries,
    /// One past the largest index in use or at rest.
    end: u32,
    /// The free slots, a queue threaded through the entries.
    oldest_free: u32,
    newest_free: u32,
    free: u32,
    values: PhantomData<T>,
}

/// A slab with room for a million.
pub type ManySlots<T> = Slots<T, Chunks<Entry<T>>>;

/// A slot.
#[derive(Debug)]
pub struct Entry<T> {
    generation: u16,
    content: Content<T>,
}

#[derive(Debug)]
enum Content<T> {
    Value(T),
    /// Nothing, and the slot that has been free for the next longest time.
    Free(PackedIndex),
}

impl<T> Default for Entry<T> {
    fn default() -> Entry<T> {
        Entry { generation: 0, content: Content::Free(NONE.into()) }
    }
}

impl<T> Entry<T> {
    const fn value(&self) -> Option<&T> {
        match &self.content {
            Content::Value(value) => Some(value),
            Content::Free(_) => None,
        }
    }
}

impl<T, Entries: Table<Entry<T>>> Default for Slots<T, Entries> {
    fn default() -> Slots<T, Entries> {
        Slots {
            entries: Entries::default(),
            end: 0,
            oldest_free: NONE,
            newest_free: NONE,
            free: 0,
            values: PhantomData,
        }
    }
}

impl<T, Entries: Table<Entry<T>>> Slots<T, Entries> {
    /// How many slots there can be: one short of the index range, so that no handle is [`NONE`].
    pub const MOST: u32 = INDEX_MASK;

    /// Puts `value` into a slot and gives its handle; `None` if every slot is taken.
    pub fn insert(&mut self, value: T) -> Option<u32> {
        let index = self.end;
        if self.free > RESTING || (self.free > 0 && index >= Self::MOST) {
            return self.reuse(value);
        }
        if index >= Self::MOST {
            return None;
        }
        self.entries.reach(index);
        self.entries.get_mut(index)?.content = Content::Value(value);
        self.end = index.saturating_add(1);
        Some(index)
    }

    /// Takes the value out; its handle is stale from now on.
    pub fn remove(&mut self, handle: u32) -> Option<T> {
        let index = index_of(handle);
        self.get(handle)?;
        let entry = self.entries.get_mut(index)?;
        let free = Content::Free(NONE.into());
        let Content::Value(value) = std::mem::replace(&mut entry.content, free) else { return None };
        entry.generation = entry.generation.wrapping_add(1) & GENERATION_MASK;
        match self.entries.get_mut(self.newest_free) {
            Some(newest) => newest.content = Content::Free(index.into()),
            None => self.oldest_free = index,
        }
        self.newest_free = index;
        self.free = self.free.saturating_add(1);
        Some(value)
    }

    /// The value behind a handle, unless the handle is stale.
    pub fn get(&self, handle: u32) -> Option<&T> {
        let entry = self.entries.get(index_of(handle))?;
        entry.value().filter(|_| entry.generation == generation_of(handle))
    }

    /// The value at an index, whatever its generation.
    pub fn at(&self, index: u32) -> Option<&T> {
        self.entries.get(index)?.value()
    }

    /// The value at an index, whatever its generation.
    pub fn at_mut(&mut self, index: u32) -> Option<&mut T> {
        match &mut self.entries.get_mut(index)?.content {
            Content::Value(value) => Some(value),
            Content::Free(_) => None,
        }
    }

    /// The handle of what is at `index` now; [`NONE`] if nothing is.
    pub fn handle(&self, index: u32) -> u32 {
        match self.entries.get(index) {
            Some(entry) if entry.value().is_some() => (u32::from(entry.generation) << INDEX_BITS) | index,
            _ => NONE,
        }
    }

    /// One past the largest index in use or at rest.
    pub const fn end(&self) -> u32 {
        self.end
    }

    /// How many values there are.
    pub const fn len(&self) -> u32 {
        self.end.saturating_sub(self.free)
    }

    /// Whether there is no value.
    pub const fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn reuse(&mut self, value: T) -> Option<u32> {
        let index = self.oldest_free;
        let entry = self.entries.get_mut(index)?;
        let Content::Free(next) = entry.content else { return None };
        entry.content = Content::Value(value);
        self.oldest_free = next.get();
        if self.oldest_free == NONE {
            self.newest_free = NONE;
        }
        self.free = self.free.saturating_sub(1);
        Some((u32::from(entry.generation) << INDEX_BITS) | index)
    }
}

/// The index part of a handle.
pub const fn index_of(handle: u32) -> u32 {
    handle & INDEX_MASK
}

const fn generation_of(handle: u32) -> u16 {
    (handle >> INDEX_BITS) as u16
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stale_handle_finds_nothing() {
        let mut slots: Slots<_> = Slots::default();
        let first = slots.insert("first").unwrap();
        assert_eq!(slots.remove(first), Some("first"));
        assert_eq!(slots.remove(first), None);
        for _ in 0..=RESTING {
            let other = slots.insert("other").unwrap();
            assert_ne!(other, first);
            slots.remove(other);
        }
        assert_eq!(slots.get(first), None);
        assert!(slots.is_empty());
    }

    #[test]
    fn a_handle_comes_back_only_after_a_quarter_of_a_million_releases() {
        let mut slots: Slots<_> = Slots::default();
        let first = slots.insert(0).unwrap();
        slots.remove(first);
        let mut releases = 0;
        loop {
            let handle = slots.insert(0).unwrap();
            if handle == first {
                break;
            }
            slots.remove(handle);
            releases += 1;
        }
        assert!(releases > 250_000, "{releases}");
    }

    #[test]
    fn a_slot_takes_three_bytes_more_than_its_value_at_most() {
        assert!(size_of::<Entry<[u8; 77]>>() <= 80, "{}", size_of::<Entry<[u8; 77]>>());
    }

    #[test]
    fn nothing_is_ever_handed_out_as_none() {
        let mut slots: Slots<u8> = Slots::default();
        for _ in 0..Slots::<u8>::MOST {
            assert_ne!(slots.insert(0), Some(NONE));
        }
        assert_eq!(slots.insert(0), None, "full");
        let last = slots.handle(Slots::<u8>::MOST - 1);
        slots.remove(last);
        assert!(slots.insert(0).is_some_and(|handle| handle != NONE && handle != last));
        assert_eq!(slots.insert(0), None, "full again");
    }
}
