//! Tables that grow and never move.
//!
//! A vector that doubles leaves the room it had behind it and has up to half of its own to spare. The memory of a WebAssembly
//! module never shrinks, so with a million entries most of it would be holes. A table in chunks leaves none and copies nothing.
#![forbid(unsafe_code)]

const CHUNK_BITS: u32 = 5;
/// Entries of a chunk: few enough for a table that stays small, and a thirtieth of what they hold pays for their own bookkeeping.
/// A power of two that is known beforehand, so that one comparison finds an entry.
const CHUNK: usize = 1 << CHUNK_BITS;

/// A table of `T` by index, each its default until it is changed. A vector does for few.
pub trait Table<T>: Default {
    /// The entry at an index; `None` if the table does not reach so far.
    fn get(&self, index: u32) -> Option<&T>;
    /// The entry at an index, to change; `None` if the table does not reach so far.
    fn get_mut(&mut self, index: u32) -> Option<&mut T>;
    /// Grows until there is an entry at an index.
    fn reach(&mut self, index: u32);
}

impl<T: Default> Table<T> for Vec<T> {
    fn get(&self, index: u32) -> Option<&T> {
        <[T]>::get(self, index as usize)
    }

    fn get_mut(&mut self, index: u32) -> Option<&mut T> {
        <[T]>::get_mut(self, index as usize)
    }

    fn reach(&mut self, index: u32) {
        while self.len() <= index as usize {
            self.push(T::default());
        }
    }
}

/// A table for a million.
#[derive(Debug)]
pub struct Chunks<T> {
    chunks: Vec<Box<[T; CHUNK]>>,
}

impl<T> Default for Chunks<T> {
    fn default() -> Chunks<T> {
        Chunks { chunks: Vec::new() }
    }
}

impl<T: Default> Table<T> for Chunks<T> {
    #[inline(always)]
    fn get(&self, index: u32) -> Option<&T> {
        self.chunks.as_slice().get((index >> CHUNK_BITS) as usize)?.get(index as usize % CHUNK)
    }

    #[inline(always)]
    fn get_mut(&mut self, index: u32) -> Option<&mut T> {
        self.chunks.as_mut_slice().get_mut((index >> CHUNK_BITS) as usize)?.get_mut(index as usize % CHUNK)
    }

    #[inline(never)]
    fn reach(&mut self, index: u32) {
        while self.chunks.len() <= (index >> CHUNK_BITS) as usize {
            self.make_room();
            let chunk: Vec<T> = (0..CHUNK).map(|_| T::default()).collect();
            let Ok(chunk) = chunk.try_into() else { return };
            self.chunks.push(chunk);
        }
    }
}

impl<T> Chunks<T> {
    /// Asks the host for the room of the next thirtieth or so at once: by the page of 64 KiB, V8 would collect all garbage every
    /// hundred pages, which with a million tasks took twice as long as their attempts.
    fn make_room(&self) {
        let step = self.chunks.len().checked_ilog2().map_or(0, |log| 1_usize << log >> 5);
        if step > 0 && self.chunks.len().is_multiple_of(step) {
            // The allocator keeps what is given back and hands out chunks from it; opaque, or the pair would be optimized away.
            drop(std::hint::black_box(Vec::<[T; CHUNK]>::with_capacity(step)));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::slots::NONE;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_table_in_chunks_is_a_vector_that_ends_with_a_chunk(
            steps in prop::collection::vec((0_u32..1_000, any::<bool>(), any::<u16>()), 0..60),
        ) {
            let (mut table, mut model) = (Chunks::default(), Vec::new());
            for (index, grows, value) in steps {
                let at = index as usize;
                if grows {
                    table.reach(index);
                    model.resize(model.len().max((at | (CHUNK - 1)).saturating_add(1)), 0);
                }
                if let (Some(entry), Some(twin)) = (table.get_mut(index), model.as_mut_slice().get_mut(at)) {
                    (*entry, *twin) = (value, value);
                }
                prop_assert_eq!(table.get(index), model.as_slice().get(at));
            }
            for index in (0..1_100).chain([NONE]) {
                prop_assert_eq!(table.get(index), model.as_slice().get(index as usize));
                prop_assert_eq!(table.get_mut(index), model.as_mut_slice().get_mut(index as usize));
            }
        }
    }

    #[test]
    fn what_has_a_place_keeps_it() {
        let mut table = Chunks::default();
        table.reach(7);
        *table.get_mut(7).unwrap() = 7_u64;
        let place = std::ptr::from_ref(table.get(7).unwrap());
        table.reach(100_000);
        assert_eq!(std::ptr::from_ref(table.get(7).unwrap()), place);
        assert_eq!((table.get(7), table.get(8), table.get(100_000)), (Some(&7), Some(&0), Some(&0)));
    }
}
