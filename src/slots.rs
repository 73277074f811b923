//! Things by number: a slab whose handles know when they are stale.
//!
//! A handle is an index and a generation in one u32, so that it crosses the boundary as a plain
//! number and a handle kept too long finds nothing instead of another task. Freed slots
//! are reused oldest first and only when some hundreds are free: a generation has ten bits, and
//! a handle would have to be kept over a quarter of a million releases to be taken for another.
#![forbid(unsafe_code)]

/// No slot: never a valid handle, index or link.
pub const NONE: u32 = u32::MAX;

const INDEX_BITS: u32 = 22;
/// The part of a handle that is its index.
pub const INDEX_MASK: u32 = (1 << INDEX_BITS) - 1;
const GENERATION_MASK: u16 = (1 << (u32::BITS - INDEX_BITS)) - 1;
/// How many slots rest before the one that has rested longest is used again.
const RESTING: u32 = 256;

/// A slab of `T`.
#[derive(Debug)]
pub struct Slots<T> {
    entries: Vec<Entry<T>>,
    /// The free slots, a queue threaded through the entries.
    oldest_free: u32,
    newest_free: u32,
    free: u32,
}

#[derive(Debug)]
struct Entry<T> {
    value: Option<T>,
    next_free: u32,
    generation: u16,
}

impl<T> Default for Slots<T> {
    fn default() -> Slots<T> {
        Slots { entries: Vec::new(), oldest_free: NONE, newest_free: NONE, free: 0 }
    }
}

impl<T> Slots<T> {
    /// How many slots there can be: one short of the index range, so that no handle is [`NONE`].
    pub const MOST: u32 = INDEX_MASK;

    /// Puts `value` into a slot and gives its handle; `None` if every slot is taken.
    pub fn insert(&mut self, value: T) -> Option<u32> {
        let grown = u32::try_from(self.entries.len()).unwrap_or(NONE);
        if self.free > RESTING || (self.free > 0 && grown >= Self::MOST) {
            return self.reuse(value);
        }
        if grown >= Self::MOST {
            return None;
        }
        self.entries.push(Entry { value: Some(value), next_free: NONE, generation: 0 });
        Some(grown)
    }

    /// Takes the value out; its handle is stale from now on.
    pub fn remove(&mut self, handle: u32) -> Option<T> {
        let index = index_of(handle);
        let entry =
            self.entries.get_mut(index as usize).filter(|entry| entry.generation == generation_of(handle))?;
        let value = entry.value.take()?;
        entry.generation = entry.generation.wrapping_add(1) & GENERATION_MASK;
        entry.next_free = NONE;
        match self.entries.get_mut(self.newest_free as usize) {
            Some(newest) => newest.next_free = index,
            None => self.oldest_free = index,
        }
        self.newest_free = index;
        self.free = self.free.saturating_add(1);
        Some(value)
    }

    /// The value behind a handle, unless the handle is stale.
    pub fn get(&self, handle: u32) -> Option<&T> {
        let entry = self.entries.get(index_of(handle) as usize)?;
        entry.value.as_ref().filter(|_| entry.generation == generation_of(handle))
    }

    /// The value at an index, whatever its generation.
    pub fn at(&self, index: u32) -> Option<&T> {
        self.entries.get(index as usize)?.value.as_ref()
    }

    /// The value at an index, whatever its generation.
    pub fn at_mut(&mut self, index: u32) -> Option<&mut T> {
        self.entries.get_mut(index as usize)?.value.as_mut()
    }

    /// The handle of what is at `index` now; [`NONE`] if nothing is.
    pub fn handle(&self, index: u32) -> u32 {
        match self.entries.get(index as usize) {
            Some(entry) if entry.value.is_some() => (u32::from(entry.generation) << INDEX_BITS) | index,
            _ => NONE,
        }
    }

    /// One past the largest index in use or at rest.
    pub fn end(&self) -> u32 {
        u32::try_from(self.entries.len()).unwrap_or(NONE)
    }

    /// How many values there are.
    pub fn len(&self) -> u32 {
        self.end().saturating_sub(self.free)
    }

    /// Whether there is no value.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn reuse(&mut self, value: T) -> Option<u32> {
        let index = self.oldest_free;
        let entry = self.entries.get_mut(index as usize)?;
        entry.value = Some(value);
        self.oldest_free = entry.next_free;
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
        let mut slots = Slots::default();
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
        let mut slots = Slots::default();
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
