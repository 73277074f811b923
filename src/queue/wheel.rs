//! A hierarchical timing wheel with removal by index.
//!
//! Nine levels of 64 buckets cover 2^54 ms. An entry lies at the level of the highest group of
//! six bits in which its time differs from the wheel's, so it is touched at most once a level
//! on its way down and putting in, taking out and finding the next are all a few steps however
//! many there are. (Varghese and Lauck, "Hashed and hierarchical timing wheels", 1987.)
//!
//! The nodes lie beside the wheel, so that wheels can share them. An index is in one wheel of its nodes, once, or in none:
//! which one, the owner knows.
#![forbid(unsafe_code)]

use crate::chunks::{Chunks, Table};
use crate::index::{NONE, PackedIndex};
use crate::time::Millis;

const LEVELS: usize = 9;
const GROUP_BITS: u32 = 6;
const BUCKETS: usize = 64;
/// In no wheel. One past the last bucket would do as well; this is all ones.
const NOWHERE: u16 = PLACE_MASK as u16;
const PLACE_BITS: u32 = 10;
const PLACE_MASK: u64 = (1 << PLACE_BITS) - 1;
/// How far a bucket is searched for its earliest entry before its own start has to do.
const SEARCHED: u32 = 64;

/// The wheel.
#[derive(Debug)]
pub(super) struct Wheel {
    /// No entry is earlier than this: what is put in late lies in the bucket of this instant.
    time: u64,
    occupied: [u64; LEVELS],
    buckets: Vec<Bucket>,
    len: u32,
    /// The answer of [`Wheel::next_at`], while it holds.
    next: Option<Millis>,
}

#[derive(Clone, Copy, Debug)]
struct Bucket {
    first: u32,
    last: u32,
}

/// The times and the neighbours of every index that can be in a wheel.
#[derive(Debug, Default)]
pub(super) struct Nodes {
    table: Chunks<Node>,
}

impl Nodes {
    /// When `index` is due, or was when it was last in a wheel.
    pub fn due_of(&self, index: u32) -> Millis {
        Millis::new(self.get(index).due())
    }

    /// Whether `index` is in a wheel.
    pub fn contains(&self, index: u32) -> bool {
        self.get(index).place() != NOWHERE
    }

    fn get(&self, index: u32) -> Node {
        self.table.get(index).copied().unwrap_or_default()
    }

    fn get_mut(&mut self, index: u32) -> Option<&mut Node> {
        self.table.get_mut(index)
    }

    fn set(&mut self, index: u32, node: Node) {
        if let Some(place) = self.table.get_mut(index) {
            *place = node;
        }
    }
}

/// The due time (54 bits) and the place (10 bits) in one word: 14 bytes an entry.
#[derive(Clone, Copy, Debug)]
#[repr(Rust, packed)]
struct Node {
    due_and_place: u64,
    before: PackedIndex,
    behind: PackedIndex,
}

const EMPTY: Bucket = Bucket { first: NONE, last: NONE };

impl Default for Node {
    fn default() -> Node {
        Node::new(0, NOWHERE, NONE)
    }
}

impl Node {
    fn new(due: u64, place: u16, before: u32) -> Node {
        let due_and_place = (due << PLACE_BITS) | u64::from(place);
        Node { due_and_place, before: before.into(), behind: NONE.into() }
    }

    const fn due(self) -> u64 {
        self.due_and_place >> PLACE_BITS
    }

    const fn place(self) -> u16 {
        (self.due_and_place & PLACE_MASK) as u16
    }
}

impl Default for Wheel {
    fn default() -> Wheel {
        Wheel {
            time: 0,
            occupied: [0; LEVELS],
            buckets: vec![EMPTY; LEVELS.saturating_mul(BUCKETS)],
            len: 0,
            next: Some(Millis::MAX),
        }
    }
}

impl Wheel {
    /// Puts `index` in at `due`, or moves it there. At equal times, first in is first out; a time
    /// already passed counts as the present.
    pub fn push(&mut self, nodes: &mut Nodes, index: u32, due: Millis) {
        self.remove(nodes, index);
        nodes.table.reach(index);
        self.append(nodes, index, due.get());
        self.len = self.len.saturating_add(1);
        self.next = self.next.map(|next| next.min(Millis::new(due.get().max(self.time))));
    }

    /// Takes `index` out, if it is in. It must not be in another wheel of `nodes`.
    pub fn remove(&mut self, nodes: &mut Nodes, index: u32) -> bool {
        let node = nodes.get(index);
        if node.place() == NOWHERE {
            return false;
        }
        self.unlink(nodes, index, node);
        if self.next.is_some_and(|next| node.due() <= next.get() || self.len == 0) {
            self.next = (self.len == 0).then_some(Millis::MAX);
        }
        true
    }

    /// How many are in.
    pub const fn len(&self) -> u32 {
        self.len
    }

    /// Takes the earliest entry that is due at `now` out. A `now` before the last one changes
    /// nothing and gives what was due already.
    pub fn pop(&mut self, nodes: &mut Nodes, now: Millis) -> Option<u32> {
        loop {
            let Some((level, bucket, start)) = self.first_bucket().filter(|first| first.2 <= now.get())
            else {
                // Every entry's group differs from `now` where it differed before, so all of
                // them lie right for the later time too.
                self.time = self.time.max(now.get());
                // A range that began before `now` has nothing left in it: to name its start again
                // would wake the host again, at once and for ever.
                self.next = self.next.filter(|next| *next > now);
                return None;
            };
            self.time = self.time.max(start);
            if level == 0 {
                let index = self.bucket(bucket).first;
                self.unlink(nodes, index, nodes.get(index));
                self.next = (self.len == 0).then_some(Millis::MAX);
                return Some(index);
            }
            self.scatter(nodes, level, bucket);
        }
    }

    /// A time by which nothing has been due yet, and no later than the first: exactly the first,
    /// unless more than 64 lie so far off that only their range is known. [`Millis::MAX`] if
    /// nothing is in.
    pub fn next_at(&mut self, nodes: &Nodes) -> Millis {
        if let Some(next) = self.next {
            return next;
        }
        let next = match self.first_bucket() {
            None => Millis::MAX,
            Some((0, _, start)) => Millis::new(start),
            Some((_, bucket, start)) => Millis::new(self.earliest_in(nodes, bucket).unwrap_or(start)),
        };
        self.next = Some(next);
        next
    }

    /// The first bucket in time: its level, its place and the first instant it covers.
    fn first_bucket(&self) -> Option<(usize, u16, u64)> {
        let (level, bits) = self.occupied.iter().enumerate().find(|(_, bits)| **bits != 0)?;
        let group = bits.trailing_zeros();
        let low = GROUP_BITS.wrapping_mul(level as u32);
        // The wheel's time above this level, the bucket at it, zeros below.
        let above = (self.time >> low >> GROUP_BITS) << GROUP_BITS;
        let start = (above | u64::from(group)) << low;
        Some((level, place_of(level, group), start))
    }

    /// The earliest time in a bucket, if it is short enough to look.
    fn earliest_in(&self, nodes: &Nodes, bucket: u16) -> Option<u64> {
        let mut index = self.bucket(bucket).first;
        let mut earliest = u64::MAX;
        for _ in 0..SEARCHED {
            if index == NONE {
                return Some(earliest);
            }
            let node = nodes.get(index);
            earliest = earliest.min(node.due());
            index = node.behind.get();
        }
        (index == NONE).then_some(earliest)
    }

    /// Empties a bucket into the levels below, in order.
    fn scatter(&mut self, nodes: &mut Nodes, level: usize, bucket: u16) {
        let mut index = self.bucket(bucket).first;
        self.set_bucket(bucket, EMPTY);
        self.vacate(level, bucket);
        // It may have been this bucket's start, and would stay in the past for ever.
        self.next = None;
        while index != NONE {
            let node = nodes.get(index);
            self.append(nodes, index, node.due());
            index = node.behind.get();
        }
    }

    fn append(&mut self, nodes: &mut Nodes, index: u32, due: u64) {
        let effective = due.max(self.time);
        let differing = u64::BITS.saturating_sub((effective ^ self.time).leading_zeros());
        let level = (differing.saturating_sub(1) / GROUP_BITS) as usize;
        let group = (effective >> GROUP_BITS.wrapping_mul(level as u32)) as u32 & 63;
        let place = place_of(level, group);
        let Bucket { first, last } = self.bucket(place);
        nodes.set(index, Node::new(due, place, last));
        match nodes.get_mut(last) {
            Some(node) => node.behind = index.into(),
            None => {
                if let Some(bits) = self.occupied.get_mut(level) {
                    *bits |= 1 << group;
                }
            }
        }
        let first = if first == NONE { index } else { first };
        self.set_bucket(place, Bucket { first, last: index });
    }

    fn unlink(&mut self, nodes: &mut Nodes, index: u32, node: Node) {
        let mut bucket = self.bucket(node.place());
        match nodes.get_mut(node.before.get()) {
            Some(before) => before.behind = node.behind,
            None => bucket.first = node.behind.get(),
        }
        match nodes.get_mut(node.behind.get()) {
            Some(behind) => behind.before = node.before,
            None => bucket.last = node.before.get(),
        }
        self.set_bucket(node.place(), bucket);
        if bucket.first == NONE {
            self.vacate(usize::from(node.place()) / BUCKETS, node.place());
        }
        nodes.set(index, Node::new(node.due(), NOWHERE, NONE));
        self.len = self.len.saturating_sub(1);
    }

    fn vacate(&mut self, level: usize, bucket: u16) {
        if let Some(bits) = self.occupied.get_mut(level) {
            *bits &= !(1 << (u32::from(bucket) & 63));
        }
    }

    fn bucket(&self, place: u16) -> Bucket {
        self.buckets.get(usize::from(place)).copied().unwrap_or(EMPTY)
    }

    fn set_bucket(&mut self, place: u16, bucket: Bucket) {
        if let Some(held) = self.buckets.get_mut(usize::from(place)) {
            *held = bucket;
        }
    }
}

/// `level` is below 9 and `group` below 64, so this fits its ten bits.
const fn place_of(level: usize, group: u32) -> u16 {
    (level as u16).wrapping_mul(BUCKETS as u16).wrapping_add(group as u16)
}
