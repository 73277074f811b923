//! A slab whose handles carry a generation, so that a stale handle is noticed.

const INDEX_BITS: u32 = 20;
const INDEX_MASK: u32 = (1 << INDEX_BITS) - 1;

enum Entry<T> {
    Free { next: u32 },
    Used(T),
}

pub struct Slots<T> {
    entries: Vec<(u32, Entry<T>)>,
    free: u32,
    len: u32,
}

impl<T> Slots<T> {
    pub fn new() -> Self {
        Self { entries: Vec::new(), free: u32::MAX, len: 0 }
    }

    pub fn len(&self) -> u32 {
        self.len
    }

    pub fn insert(&mut self, value: T) -> Option<u32> {
        let index = if self.free == u32::MAX {
            let index = self.entries.len() as u32;
            if index >= INDEX_MASK {
                return None;
            }
            self.entries.push((0, Entry::Used(value)));
            index
        } else {
            let index = self.free;
            let slot = self.entries.get_mut(index as usize)?;
            if let Entry::Free { next } = slot.1 {
                self.free = next;
            }
            slot.1 = Entry::Used(value);
            index
        };
        self.len = self.len.saturating_add(1);
        let generation = self.entries.get(index as usize)?.0;
        Some(index | generation << INDEX_BITS)
    }

    pub fn get(&self, handle: u32) -> Option<&T> {
        match self.entries.get((handle & INDEX_MASK) as usize)? {
            (generation, Entry::Used(value)) if *generation == handle >> INDEX_BITS => Some(value),
            _ => None,
        }
    }

    pub fn get_mut(&mut self, handle: u32) -> Option<&mut T> {
        match self.entries.get_mut((handle & INDEX_MASK) as usize)? {
            (generation, Entry::Used(value)) if *generation == handle >> INDEX_BITS => Some(value),
            _ => None,
        }
    }

    pub fn remove(&mut self, handle: u32) -> Option<T> {
        self.get(handle)?;
        let index = handle & INDEX_MASK;
        let slot = self.entries.get_mut(index as usize)?;
        slot.0 = slot.0.wrapping_add(1) & (u32::MAX >> INDEX_BITS);
        let old = core::mem::replace(&mut slot.1, Entry::Free { next: self.free });
        self.free = index;
        self.len = self.len.saturating_sub(1);
        match old {
            Entry::Used(value) => Some(value),
            Entry::Free { .. } => None,
        }
    }

    pub fn iter(&self) -> impl Iterator<Item = (u32, &T)> {
        self.entries.iter().enumerate().filter_map(|(index, (generation, entry))| match entry {
            Entry::Used(value) => Some((index as u32 | generation << INDEX_BITS, value)),
            Entry::Free { .. } => None,
        })
    }
}
