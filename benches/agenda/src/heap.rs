//! The alternative: a heap of four children a node, with a back pointer per entry, so that an
//! index can be taken out wherever it lies. Equal times come out in any order, which the wheel
//! does not allow itself: a heap that keeps them in order would need a sequence number more.

const CHILDREN: usize = 4;
const NOWHERE: u32 = u32::MAX;

#[derive(Default)]
pub struct Heap {
    entries: Vec<(u64, u32)>,
    /// Where an index lies in `entries`.
    places: Vec<u32>,
}

impl Heap {
    pub fn push(&mut self, index: u32, due: u64) {
        self.remove(index);
        if self.places.len() <= index as usize {
            self.places.resize(index as usize + 1, NOWHERE);
        }
        self.entries.push((due, index));
        self.up(self.entries.len() - 1);
    }

    pub fn remove(&mut self, index: u32) -> bool {
        let Some(&place) = self.places.get(index as usize).filter(|place| **place != NOWHERE) else {
            return false;
        };
        let place = place as usize;
        self.places[index as usize] = NOWHERE;
        let last = self.entries.len() - 1;
        self.entries.swap(place, last);
        self.entries.pop();
        if place < last {
            self.down(place);
            self.up(place);
        }
        true
    }

    pub fn next_at(&self) -> u64 {
        self.entries.first().map_or(u64::MAX, |entry| entry.0)
    }

    pub fn pop(&mut self, now: u64) -> Option<u32> {
        let &(due, index) = self.entries.first()?;
        (due <= now).then(|| {
            self.remove(index);
            index
        })
    }

    fn up(&mut self, mut place: usize) {
        let entry = self.entries[place];
        while place > 0 {
            let parent = (place - 1) / CHILDREN;
            if self.entries[parent].0 <= entry.0 {
                break;
            }
            self.put(place, self.entries[parent]);
            place = parent;
        }
        self.put(place, entry);
    }

    fn down(&mut self, mut place: usize) {
        let entry = self.entries[place];
        loop {
            let first = place * CHILDREN + 1;
            let end = (first + CHILDREN).min(self.entries.len());
            let Some(least) = (first..end).min_by_key(|&child| self.entries[child].0) else { break };
            if self.entries[least].0 >= entry.0 {
                break;
            }
            self.put(place, self.entries[least]);
            place = least;
        }
        self.put(place, entry);
    }

    fn put(&mut self, place: usize, entry: (u64, u32)) {
        self.entries[place] = entry;
        self.places[entry.1 as usize] = place as u32;
    }
}
