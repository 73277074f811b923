//! A lane of the naive queue.

#[derive(Clone, Debug, Default)]
pub struct Lane {
    pub handle: u32,
    pub held_until: u64,
    /// The end that no renewal of the present or last hold passes.
    pub ends_by: u64,
    /// Its store keeps its own tasks back.
    pub shared: bool,
    /// No attempt has started since.
    pub owes_chance: bool,
    pub paused: bool,
    pub probing: bool,
    pub failed_offline: bool,
    pub first_failures: u32,
}

impl Lane {
    /// The server wants nothing for `ms`: at most for `most` on end, and who waited then has a second to start.
    pub fn hold(&mut self, now: u64, ms: u64, most: u64) {
        if ms == 0 {
            return;
        }
        if self.held_until <= now {
            if self.owes_chance && now < self.held_until + 1000 {
                return;
            }
            self.ends_by = now + most;
            self.owes_chance = true;
        }
        let until = (now + ms).min(self.ends_by);
        if until > self.held_until {
            self.held_until = until;
            self.shared = false;
        }
    }

    /// The store holds it for `ms`; for 0: it knows of what is known here.
    pub fn share(&mut self, now: u64, ms: u64) {
        if ms > 0 && !self.shared && self.held_until > now + ms {
            return;
        }
        self.shared = true;
        if ms > 0 {
            (self.held_until, self.ends_by, self.owes_chance) = (now + ms, now + ms, true);
        }
    }
}
