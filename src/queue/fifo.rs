//! Queues by priority whose members can leave from the middle.
//!
//! Used for the tasks of a lane that are ready, for the lanes that may start one, and without
//! priorities for the tasks of an order that stand behind its first. The links live in one table beside the members, so a queue costs nothing per
//! member and leaving is a matter of four writes.
#![forbid(unsafe_code)]

use crate::chunks::{Chunks, Table};
use crate::index::{NONE, PackedIndex};

/// The neighbours before and behind, for every index that can be in a queue. An index may be in
/// one queue of a table at a time.
#[derive(Debug, Default)]
pub struct Links {
    table: Chunks<Link>,
}

#[derive(Clone, Copy, Debug)]
struct Link {
    before: PackedIndex,
    behind: PackedIndex,
}

impl Default for Link {
    fn default() -> Link {
        Link { before: NONE.into(), behind: NONE.into() }
    }
}

impl Links {
    fn at(&self, index: u32) -> Link {
        self.table.get(index).copied().unwrap_or_default()
    }

    /// Sets both links of `index`, growing the table to it.
    fn set(&mut self, index: u32, link: Link) {
        self.table.reach(index);
        if let Some(place) = self.table.get_mut(index) {
            *place = link;
        }
    }

    fn set_before(&mut self, index: u32, before: u32) {
        if let Some(link) = self.table.get_mut(index) {
            link.before = before.into();
        }
    }

    fn set_behind(&mut self, index: u32, behind: u32) {
        if let Some(link) = self.table.get_mut(index) {
            link.behind = behind.into();
        }
    }
}

/// First in, first out; anyone may leave from anywhere.
#[derive(Clone, Copy, Debug)]
pub struct Chain {
    first: u32,
    last: u32,
}

impl Default for Chain {
    fn default() -> Chain {
        Chain { first: NONE, last: NONE }
    }
}

impl Chain {
    /// The first index; [`NONE`] if the queue is empty.
    pub const fn first(&self) -> u32 {
        self.first
    }

    /// Puts `index` behind all others. It must not be in a queue of `links`.
    pub fn push(&mut self, links: &mut Links, index: u32) {
        links.set(index, Link { before: self.last.into(), behind: NONE.into() });
        links.set_behind(self.last, index);
        if self.first == NONE {
            self.first = index;
        }
        self.last = index;
    }

    /// Takes `index`, which is in here, out.
    pub fn remove(&mut self, links: &mut Links, index: u32) {
        let link = links.at(index);
        let (before, behind) = (link.before.get(), link.behind.get());
        links.set_behind(before, behind);
        links.set_before(behind, before);
        if self.first == index {
            self.first = behind;
        }
        if self.last == index {
            self.last = before;
        }
    }

    /// How many stand before `index`, counted up to `most`.
    pub fn ahead_of(links: &Links, index: u32, most: u32) -> u32 {
        let mut ahead: u32 = 0;
        let mut before = links.at(index).before.get();
        while before != NONE && ahead < most {
            ahead = ahead.saturating_add(1);
            before = links.at(before).before.get();
        }
        ahead
    }
}

/// Those from `first` on, in the order of their chain.
pub fn from_here(links: &Links, first: u32) -> impl Iterator<Item = u32> {
    let behind = |index: &u32| Some(links.at(*index).behind.get()).filter(|behind| *behind != NONE);
    std::iter::successors(Some(first), behind)
}

/// First in, first out within a priority; higher priorities first.
///
/// Priorities are few in practice, so they are a sorted list, the highest last where it is
/// cheapest to reach. A priority that no task has takes no room.
#[derive(Debug, Default)]
pub struct Fifo {
    ranks: Vec<Rank>,
}

#[derive(Clone, Copy, Debug)]
struct Rank {
    priority: i32,
    chain: Chain,
}

impl Fifo {
    /// The highest priority present and who is first at it.
    pub fn front(&self) -> Option<(i32, u32)> {
        self.ranks.last().map(|rank| (rank.priority, rank.chain.first()))
    }

    /// Puts `index` behind all others of its priority. It must not be in a queue of `links`.
    pub fn push(&mut self, links: &mut Links, index: u32, priority: i32) {
        let place = self.place_of(priority);
        if self.ranks.get(place).is_none_or(|rank| rank.priority != priority) {
            self.ranks.insert(place, Rank { priority, chain: Chain::default() });
        }
        if let Some(rank) = self.ranks.get_mut(place) {
            rank.chain.push(links, index);
        }
    }

    /// Takes `index`, which was put here with this `priority`, out.
    pub fn remove(&mut self, links: &mut Links, index: u32, priority: i32) {
        let place = self.place_of(priority);
        let Some(rank) = self.ranks.get_mut(place).filter(|rank| rank.priority == priority) else { return };
        rank.chain.remove(links, index);
        if rank.chain.first() == NONE {
            self.ranks.remove(place);
        }
    }

    /// Where a priority stands among the ranks, or would: many may be in use at once.
    fn place_of(&self, priority: i32) -> usize {
        self.ranks.partition_point(|rank| rank.priority < priority)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drain(fifo: &mut Fifo, links: &mut Links) -> Vec<u32> {
        let mut order = Vec::new();
        while let Some((priority, index)) = fifo.front() {
            fifo.remove(links, index, priority);
            order.push(index);
        }
        order
    }

    #[test]
    fn higher_priorities_come_first_and_equals_in_order() {
        let (mut fifo, mut links) = (Fifo::default(), Links::default());
        for (index, priority) in [(0, 0), (1, 5), (2, -5), (3, 0), (4, 5), (5, 1)] {
            fifo.push(&mut links, index, priority);
        }
        assert_eq!(fifo.front(), Some((5, 1)));
        assert_eq!(drain(&mut fifo, &mut links), [1, 4, 5, 0, 3, 2]);
        assert_eq!(fifo.front(), None);
    }

    #[test]
    fn anyone_may_leave_from_anywhere() {
        for leaver in 0..4 {
            let (mut fifo, mut links) = (Fifo::default(), Links::default());
            for index in 0..4 {
                fifo.push(&mut links, index, 0);
            }
            fifo.remove(&mut links, leaver, 0);
            fifo.push(&mut links, leaver, 0);
            let mut expected: Vec<u32> = (0..4).filter(|&index| index != leaver).collect();
            expected.push(leaver);
            assert_eq!(drain(&mut fifo, &mut links), expected);
        }
    }

    #[test]
    fn any_number_of_priorities_stay_in_order() {
        let (mut fifo, mut links) = (Fifo::default(), Links::default());
        // Each once, in an order that is neither rising nor falling.
        let priority = |index: u32| (index * 7919 % 1000) as i32 - 500;
        for index in 0..1000 {
            fifo.push(&mut links, index, priority(index));
        }
        let drained: Vec<i32> = drain(&mut fifo, &mut links).into_iter().map(priority).collect();
        assert_eq!(drained, (-500..500).rev().collect::<Vec<_>>());
    }

    #[test]
    fn those_before_are_counted_up_to_a_limit() {
        let (mut chain, mut links) = (Chain::default(), Links::default());
        (0..5).for_each(|index| chain.push(&mut links, index));
        assert_eq!(Chain::ahead_of(&links, 0, 9), 0);
        assert_eq!(Chain::ahead_of(&links, 4, 9), 4);
        assert_eq!(Chain::ahead_of(&links, 4, 3), 3);
        chain.remove(&mut links, 2);
        assert_eq!(Chain::ahead_of(&links, 4, 9), 3);
    }
}
