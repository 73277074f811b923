//! The core behind a trait, so that the same worlds can be run on cores that are wrong on purpose.

use redrive::breaker::Circuit;
use redrive::gates::Gates;
use redrive::policy::Policy;
use redrive::queue::{Action, Admission, Cancelled, Ended, GateStatus, Limits, Next, Past, Queue, Stats};
use redrive::time::Millis;

macro_rules! port {
    ($($(#[$doc:meta])* fn $name:ident(&mut self $(, $arg:ident: $kind:ty)*) $(-> $answer:ty)?;)*) => {
        /// A queue as the simulation uses it; each function is that of [`Queue`].
        pub trait Core {
            /// An empty queue.
            fn create(limits: Limits, seed: u64) -> Self;
            $($(#[$doc])* fn $name(&mut self $(, $arg: $kind)*) $(-> $answer)?;)*
        }

        impl Core for Queue {
            fn create(limits: Limits, seed: u64) -> Queue {
                Queue::new(limits, seed)
            }
            $(fn $name(&mut self $(, $arg: $kind)*) $(-> $answer)? {
                Queue::$name(self $(, $arg)*)
            })*
        }
    };
}

port! {
    /// Keeps a policy.
    fn intern(&mut self, policy: Policy) -> u32;
    /// Takes that back.
    fn release(&mut self, policy: u32);
    /// Opens a lane.
    fn open_lane(&mut self) -> u32;
    /// Forgets one.
    fn drop_lane(&mut self, lane: u32) -> bool;
    /// Opens an order.
    fn open_order(&mut self) -> u32;
    /// Forgets one.
    fn drop_order(&mut self, order: u32) -> bool;
    /// Takes a task.
    fn admit(&mut self, now: Millis, admission: &Admission) -> Option<u32>;
    /// Takes a task that a store has leased.
    fn adopt(&mut self, now: Millis, admission: &Admission, past: &Past) -> Option<u32>;
    /// How many more may start in a lane.
    fn room(&mut self, now: Millis, lane: u32) -> u32;
    /// How many more over all lanes.
    fn vacancies(&mut self) -> u32;
    /// Sets the gates.
    fn set_gates(&mut self, gates: Gates);
    /// The state of a lane's breaker.
    fn circuit(&mut self, lane: u32, now: Millis) -> Circuit;
    /// Whether a caller's own attempt may start.
    fn admits(&mut self, now: Millis, lane: u32) -> bool;
    /// Hears of a caller's own attempt.
    fn heard(&mut self, now: Millis, lane: u32, policy: u32, began: Millis, ended: &Ended);
    /// Until when a store need not be asked.
    fn shut_until(&mut self, now: Millis, lane: u32) -> Option<Millis>;
    /// Holds a lane.
    fn hold(&mut self, now: Millis, lane: u32, wait: Millis);
    /// Says what to do.
    fn poll(&mut self, now: Millis, actions: &mut Vec<Action>);
    /// Hears how an attempt ended.
    fn next(&mut self, now: Millis, slot: u32, ended: &Ended) -> Next;
    /// Ends a task.
    fn cancel(&mut self, slot: u32) -> Cancelled;
    /// Starts nothing more.
    fn pause(&mut self, lane: Option<u32>);
    /// Starts again.
    fn resume(&mut self, now: Millis, lane: Option<u32>);
    /// Hears of the network.
    fn set_online(&mut self, now: Millis, online: bool);
    /// A task was enqueued.
    fn visit(&mut self, now: Millis, lane: u32);
    /// Undercuts the curve.
    fn flush(&mut self, now: Millis, lane: Option<u32>) -> u32;
    /// When to poll.
    fn wake_at(&mut self) -> Millis;
    /// When the next attempt may start.
    fn next_due_at(&mut self) -> Millis;
    /// When a task may start.
    fn due_at(&mut self, slot: u32) -> Option<Millis>;
    /// Attempts made.
    fn attempts(&mut self, slot: u32) -> u32;
    /// A task's lane.
    fn lane_of(&mut self, slot: u32) -> Option<u32>;
    /// Until when a lane is held.
    fn held_until(&mut self, lane: u32, now: Millis) -> Option<Millis>;
    /// What a task waits for.
    fn gate_status(&mut self, slot: u32) -> Option<GateStatus>;
    /// Tasks held.
    fn depth(&mut self) -> u32;
    /// Attempts that run.
    fn in_flight(&mut self) -> u32;
    /// Bytes held.
    fn bytes(&mut self) -> u64;
    /// Everything at once.
    fn stats(&mut self, now: Millis) -> Stats;
}
