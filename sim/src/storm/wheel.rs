//! What happens when: a ring of milliseconds, since a run has tens of millions of events and none is far away.

/// How far the ring reaches, in ms.
const REACH: u64 = 1 << 17;

/// Events by the millisecond. At equal times, first in is first out.
#[derive(Debug)]
pub struct Wheel<E> {
    ring: Vec<Vec<E>>,
    now: u64,
}

impl<E> Default for Wheel<E> {
    fn default() -> Wheel<E> {
        Wheel { ring: (0..REACH).map(|_| Vec::new()).collect(), now: 0 }
    }
}

impl<E> Wheel<E> {
    /// Puts an event in. What is further away than the ring reaches comes early, at its end: who puts such a thing in
    /// looks at the clock when it comes.
    pub fn push(&mut self, at: u64, event: E) {
        let at = at.clamp(self.now, self.now + REACH - 1);
        self.ring[(at % REACH) as usize].push(event);
    }

    /// Turns to `now`, which is one later than before, and swaps what happens then for the empty `events`. What is put in for
    /// the same instant meanwhile comes with another call.
    pub fn turn(&mut self, now: u64, events: &mut Vec<E>) {
        self.now = now;
        events.clear();
        std::mem::swap(&mut self.ring[(now % REACH) as usize], events);
    }
}
