//! What runs added up to, so that worlds in which nothing happens are seen.

/// What a run added up to.
#[derive(Clone, Debug, Default)]
pub struct Totals {
    /// Events taken.
    pub events: u64,
    /// Tasks accepted.
    pub tasks: u64,
    /// Tasks leased by a store.
    pub leases: u64,
    /// Tasks refused because the queue was full.
    pub refused: u64,
    /// Attempts of the queue.
    pub starts: u64,
    /// Breakers that opened.
    pub openings: u64,
    /// Retries put off for want of a token.
    pub put_off: u64,
    /// Ends, by what the boundary calls them: 0 succeeded, 2 cancelled, 16 + reason.
    pub ends: [u64; 32],
}

impl Totals {
    /// Adds another run.
    pub fn add(&mut self, more: &Totals) {
        self.events += more.events;
        self.tasks += more.tasks;
        self.leases += more.leases;
        self.refused += more.refused;
        self.starts += more.starts;
        self.openings += more.openings;
        self.put_off += more.put_off;
        self.ends.iter_mut().zip(more.ends).for_each(|(sum, count)| *sum += count);
    }
}
