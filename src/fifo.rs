//! Queues by priority whose members can leave from the middle.
//!
//! Used twice: for the tasks of a lane that are ready, and for the lanes that may start one.
//! The links live in one table beside the members, so a queue costs nothing per member and
//! leaving is a matter of four writes.
#![forbid(unsafe_code)]

use crate::slots::NONE;

/// Who stands before and behind, for every index that can be in a queue. An index may be in
/// one queue of a table at a time.
#[derive(Debug, Default)]
pub struct Links {
    table: Vec<Link>,
}

#[derive(Clone, Copy, Debug)]
struct Link {
    before: u32,
    behind: u32,
}

impl Links {
    fn at(&self, index: u32) -> Link {
        self.table.get(index as usize).copied().unwrap_or(Link { before: NONE, behind: NONE })
    }

    /// Sets both links of `index`, growing the table to it.
    fn set(&mut self, index: u32, link: Link) {
        let index = index as usize;
        if index >= self.table.len() {
            self.table.resize(index.saturating_add(1), Link { before: NONE, behind: NONE });
        }
        if let Some(place) = self.table.get_mut(index) {
            *place = link;
        }
    }

    fn set_before(&mut self, index: u32, before: u32) {
        if let Some(link) = self.table.get_mut(index as usize) {
            link.before = before;
        }
    }

    fn set_behind(&mut self, index: u32, behind: u32) {
        if let Some(link) = self.table.get_mut(index as usize) {
            link.behind = behind;
        }
    }
}

/// First in, first out within a priority; higher priorities first.
///
/// Priorities are few in practice, so they are a sorted list, the highest last where it is
/// cheapest to reach. A priority that nobody has takes no room.
#[derive(Debug, Default)]
pub struct Fifo {
    ranks: Vec<Rank>,
}

#[derive(Clone, Copy, Debug)]
struct Rank {
    priority: i32,
    first: u32,
    last: u32,
}

impl Fifo {
    /// The highest priority present and who is first at it.
    pub fn front(&self) -> Option<(i32, u32)> {
        self.ranks.last().map(|rank| (rank.priority, rank.first))
    }

    /// Puts `index` behind all others of its priority. It must not be in a queue of `links`.
    pub fn push(&mut self, links: &mut Links, index: u32, priority: i32) {
        // From the back: the highest priority is the one most used.
        let place = self.ranks.iter().rposition(|rank| rank.priority <= priority);
        let rank = place.and_then(|place| self.ranks.get_mut(place)).filter(|rank| rank.priority == priority);
        match rank {
            Some(rank) => {
                links.set(index, Link { before: rank.last, behind: NONE });
                links.set_behind(rank.last, index);
                rank.last = index;
            }
            None => {
                links.set(index, Link { before: NONE, behind: NONE });
                let place = place.map_or(0, |place| place.saturating_add(1));
                self.ranks.insert(place, Rank { priority, first: index, last: index });
            }
        }
    }

    /// Takes `index`, which was put here with this `priority`, out.
    pub fn remove(&mut self, links: &mut Links, index: u32, priority: i32) {
        let Some(place) = self.ranks.iter().rposition(|rank| rank.priority == priority) else { return };
        let Some(rank) = self.ranks.get_mut(place) else { return };
        let Link { before, behind } = links.at(index);
        links.set_behind(before, behind);
        links.set_before(behind, before);
        if rank.first == index {
            rank.first = behind;
        }
        if rank.last == index {
            rank.last = before;
        }
        if rank.first == NONE {
            self.ranks.remove(place);
        }
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
}
