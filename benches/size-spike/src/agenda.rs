//! A hierarchical timing wheel with removal by handle.

const LEVELS: usize = 9;
const NONE: u32 = u32::MAX;

#[derive(Clone, Copy)]
struct Node {
    due: u64,
    next: u32,
    prev: u32,
    bucket: u32,
}

pub struct Agenda {
    time: u64,
    occupied: [u64; LEVELS],
    heads: Vec<u32>,
    nodes: Vec<Node>,
    len: u32,
}

impl Agenda {
    pub fn new() -> Self {
        Self { time: 0, occupied: [0; LEVELS], heads: vec![NONE; LEVELS * 64], nodes: Vec::new(), len: 0 }
    }

    pub fn len(&self) -> u32 {
        self.len
    }

    pub fn push(&mut self, index: u32, due: u64) {
        self.remove(index);
        let due = due.max(self.time);
        let highest = 63_u32.saturating_sub((due ^ self.time).leading_zeros().min(63));
        let level = (highest / 6).min(LEVELS as u32 - 1);
        let bucket = level * 64 + ((due >> (level * 6)) & 63) as u32;
        let blank = Node { due: 0, next: NONE, prev: NONE, bucket: NONE };
        if self.nodes.len() <= index as usize {
            self.nodes.resize(index as usize + 1, blank);
        }
        let Some(head) = self.heads.get_mut(bucket as usize) else { return };
        let next = core::mem::replace(head, index);
        if let Some(node) = self.nodes.get_mut(next as usize) {
            node.prev = index;
        }
        if let Some(node) = self.nodes.get_mut(index as usize) {
            *node = Node { due, next, prev: NONE, bucket };
        }
        if let Some(bits) = self.occupied.get_mut(level as usize) {
            *bits |= 1 << (bucket & 63);
        }
        self.len = self.len.saturating_add(1);
    }

    pub fn remove(&mut self, index: u32) -> bool {
        let Some(node) = self.nodes.get(index as usize).copied() else { return false };
        if node.bucket == NONE {
            return false;
        }
        if let Some(next) = self.nodes.get_mut(node.next as usize) {
            next.prev = node.prev;
        }
        if let Some(prev) = self.nodes.get_mut(node.prev as usize) {
            prev.next = node.next;
        } else if let Some(head) = self.heads.get_mut(node.bucket as usize) {
            *head = node.next;
            if node.next == NONE
                && let Some(bits) = self.occupied.get_mut((node.bucket / 64) as usize)
            {
                *bits &= !(1 << (node.bucket & 63));
            }
        }
        if let Some(own) = self.nodes.get_mut(index as usize) {
            own.bucket = NONE;
        }
        self.len = self.len.saturating_sub(1);
        true
    }

    fn first(&self) -> Option<(u32, u64)> {
        for level in 0..LEVELS as u32 {
            let bits = self.occupied.get(level as usize).copied().unwrap_or(0);
            if bits == 0 {
                continue;
            }
            let slot = bits.trailing_zeros();
            let shift = level * 6;
            let above = self.time.checked_shr(shift + 6).unwrap_or(0).checked_shl(shift + 6).unwrap_or(0);
            return Some((level * 64 + slot, above | u64::from(slot) << shift));
        }
        None
    }

    pub fn next_at(&self) -> Option<u64> {
        let (bucket, start) = self.first()?;
        let (mut at, mut best) = (self.heads.get(bucket as usize).copied()?, u64::MAX);
        for _ in 0..64 {
            let Some(node) = self.nodes.get(at as usize) else { return Some(best.max(start)) };
            best = best.min(node.due);
            at = node.next;
        }
        Some(start)
    }

    pub fn advance(&mut self, now: u64, mut due: impl FnMut(u32)) {
        while let Some((bucket, start)) = self.first() {
            if start > now {
                break;
            }
            self.time = self.time.max(start);
            let mut at = self.heads.get(bucket as usize).copied().unwrap_or(NONE);
            while let Some(node) = self.nodes.get(at as usize).copied() {
                self.remove(at);
                if node.due <= now {
                    due(at);
                } else {
                    self.push(at, node.due);
                }
                at = node.next;
            }
        }
        self.time = self.time.max(now);
    }
}
