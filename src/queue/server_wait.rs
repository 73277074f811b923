//! The wait that a server asks of a task, and the time that is added to it: those who were asked the same should not all come back at once.
#![forbid(unsafe_code)]

use super::Queue;
use super::lanes::Lanes;
use super::task::Task;
use crate::outcome::{Flags, Reason};
use crate::time::Millis;

/// The parts of a delay, which is `max(curve, server) + spread`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Wait {
    /// The curve's part; 0 if nothing failed.
    pub curve: Millis,
    /// The server's part.
    pub server: Option<Millis>,
    /// The time added to it, so that clients with the same wait do not come back together.
    pub spread: Millis,
}

impl Wait {
    pub(super) fn delay(&self) -> Millis {
        self.curve.max(self.server.unwrap_or(Millis::ZERO)).plus(self.spread)
    }
}

impl Queue {
    /// Adds what the server asked for to a wait; the reason to end if that is more than the policy allows.
    pub(super) fn ask_server(
        &mut self,
        index: u32,
        now: Millis,
        server: Option<Millis>,
        wait: &mut Wait,
    ) -> Option<Reason> {
        let asked = server?;
        let alone = self.is_alone(index, now);
        let task = self.tasks.at_mut(index)?;
        if asked > self.policies.at(task.policy.get())?.policy.max_retry_after() {
            return Some(Reason::RetryAfterTooLong);
        }
        give_phase(task, &mut self.lanes, self.phase_start);
        wait.server = server;
        wait.spread = if alone { Millis::ZERO } else { spread(asked, task.phase) };
        task.not_before = now.plus(asked).plus(wait.spread).into();
        None
    }

    /// Whether a caller waits for this task, and its lane has no other that waits, or that its store knows to wait, as the server asked. The
    /// first of a crowd is: one call that is not spread is no crowd.
    fn is_alone(&self, index: u32, now: Millis) -> bool {
        let Some(task) = self.tasks.at(index) else { return false };
        let lane = self.lanes.at(task.lane.get());
        self.lanes.rules.exact_alone
            && task.wait_until.get() != Millis::MAX
            && lane.is_some_and(|lane| lane.waiting == 0 && lane.told_until <= now)
    }
}

/// A task's place on the staircase of its lane, fixed when it first needs one.
pub(super) fn give_phase(task: &mut Task, lanes: &mut Lanes, start: u32) {
    if !task.flags.contains(Flags::PHASED)
        && let Some(lane) = lanes.at_mut(task.lane.get())
    {
        task.phase = lane.next_phase(start);
        task.flags = task.flags.with(Flags::PHASED);
    }
}

/// The time that a task waits beyond the server's delay, so that clients with the same wait do not come back
/// together: a tenth of it, at least 1 s and at most 5 s, times the task's phase. "Now" is not spread.
fn spread(server: Millis, phase: u32) -> Millis {
    if server == Millis::ZERO {
        return Millis::ZERO;
    }
    let window = (server.get() / 10).clamp(1000, 5000);
    Millis::new(window.wrapping_mul(u64::from(phase)) >> 32)
}
