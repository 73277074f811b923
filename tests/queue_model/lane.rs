//! A lane of the naive queue.

#[derive(Clone, Debug, Default)]
pub struct Lane {
    pub handle: u32,
    pub held_until: u64,
    /// When the present or last hold began.
    pub held_since: u64,
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
            self.held_since = now;
            self.owes_chance = true;
        }
        self.held_until = self.held_until.max((now + ms).min(self.held_since + most));
    }
}
