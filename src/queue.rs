//! The queue: which task is where, and what becomes of it.
//!
//! Events go in as calls with a time, decisions come out as values; nothing happens in between.
//! [`Queue::admit`] takes a task, [`Queue::poll`] says what to start and what has ended,
//! [`Queue::settle`] hears how an attempt ended, and [`Queue::wake_at`] when to ask again.
//! [`Queue::gate_status`] says what a task waits for.
//!
//! The gates before a start, in this order: its turn in its order, deadline, attempts, the lane's hold, breaker, retry
//! budget, rate, limits. What the queue starts never passes its limits; a caller's own first attempt
//! is neither held back nor counted, unless its host asks: [`Queue::enter_own`].
//!
//! A task that a store keeps is here for one attempt at a time: [`Queue::adopt`].

#![forbid(unsafe_code)]

mod admit;
mod adopt;
pub mod agenda;
mod agendas;
mod control;
mod door;
mod ended;
mod fifo;
mod gate_status;
mod hold;
mod lanes;
mod limits;
mod next;
mod orders;
mod poll;
pub mod rate;
mod report;
mod server_wait;
mod settle;
mod task;
mod told;
mod wheel;

pub use admit::{Admission, Cancelled};
pub use adopt::{Carry, Past};
pub use control::Long;
pub use ended::{Ended, Facts};
pub use gate_status::{Gate, GateStatus};
pub use hold::CHANCE;
pub use next::{Next, NextKind, ReleaseCause, Verdict};
pub use poll::{Action, BATCH, LOOKED_AT};
pub use report::{LaneStats, Stats};
pub use server_wait::Wait;
pub use settle::MOST_REFUNDS;

use crate::gates::WhenOpen;
use crate::outcome::{Flags, Reason};
use crate::policy::Policy;
use crate::rng::SplitMix64;
use crate::slots::{ManySlots, Slots};
use crate::time::{Millis, Timeline};
use agendas::Agendas;
use fifo::Links;
use lanes::{Lane, Lanes};
use orders::Orders;
use task::{State, Task};

/// The most that a queue holds and runs.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Attempts of the queue at a time, over all lanes; at least 1.
    pub concurrency: u32,
    /// Attempts of the queue at a time within one lane; at least 1.
    pub per_lane: u32,
    /// Tasks waiting, in flight, or given up and kept by the host.
    pub capacity: u32,
    /// Their bodies in bytes.
    pub capacity_bytes: u64,
    /// The longest that tasks wait for what the server of their lane has asked of another.
    pub max_lane_hold: Millis,
}

/// A policy and how many tasks and hosts use it.
#[derive(Debug)]
struct Interned {
    /// In a box: what is inside would be moved field by field.
    policy: Box<Policy>,
    uses: u32,
}

/// The state machine. See the module.
#[derive(Debug)]
pub struct Queue {
    limits: Limits,
    timeline: Timeline,
    rng: SplitMix64,
    phase_start: u32,
    policies: Slots<Interned>,
    lanes: Lanes,
    orders: Orders,
    tasks: ManySlots<Task>,
    /// Links of the lanes' queues of ready and of parked tasks, and of the orders' of the rest.
    links: Links,
    /// When tasks become ready, and when they end by themselves.
    agendas: Agendas,
    /// Tasks at their last instant: they end unless this very poll starts them.
    last_chances: Vec<u32>,
    in_flight: u32,
    /// Callers' own first attempts that count as well.
    own: u32,
    /// Tasks that a store has leased to this queue.
    leased: u32,
    /// Bodies of all others.
    bytes: u64,
    /// Tasks that were given up and that the host keeps, and their bodies.
    dead: u32,
    dead_bytes: u64,
    unusable_retry_after: u32,
    paused: bool,
    when_open: WhenOpen,
    /// Callers whose first attempt waits.
    at_door: u32,
}

impl Queue {
    /// An empty queue. Equal seeds and equal events give equal decisions.
    pub fn new(limits: Limits, seed: u64) -> Queue {
        let mut rng = SplitMix64::new(seed);
        Queue {
            limits: Limits { concurrency: limits.concurrency.max(1), ..limits },
            timeline: Timeline::default(),
            phase_start: rng.next_u32(),
            rng,
            policies: Slots::default(),
            lanes: Lanes::new(limits.per_lane.max(1), limits.max_lane_hold),
            orders: Orders::default(),
            tasks: ManySlots::default(),
            links: Links::default(),
            agendas: Agendas::default(),
            last_chances: Vec::new(),
            in_flight: 0,
            own: 0,
            leased: 0,
            bytes: 0,
            dead: 0,
            dead_bytes: 0,
            unusable_retry_after: 0,
            paused: false,
            when_open: WhenOpen::default(),
            at_door: 0,
        }
    }

    /// Puts a task that is nowhere into the agenda.
    fn wait(&mut self, index: u32, due: Millis) {
        self.agendas.push(State::Waiting, index, due);
        self.enter(index, State::Waiting);
    }

    /// Puts a task that is nowhere where its deadline ends it, and into its lane as `state` says.
    fn hold_back(&mut self, index: u32, state: State) {
        self.enter(index, state);
        self.agendas.push(state, index, self.last_start(index));
    }

    /// Moves a task to an instant in the agenda that its state says, if it says one.
    fn schedule(&mut self, index: u32, at: Millis) {
        if let Some(task) = self.tasks.at(index) {
            self.agendas.push(task.state, index, at);
        }
    }

    /// Puts a task that is nowhere into its lane, as `state` says.
    fn enter(&mut self, index: u32, state: State) {
        let Some(task) = self.tasks.at_mut(index) else { return };
        task.state = state;
        let Some(lane) = self.lanes.at_mut(task.lane.get()) else { return };
        match state {
            State::Waiting => lane.waiting = lane.waiting.saturating_add(1),
            State::Behind => {
                lane.waiting = lane.waiting.saturating_add(1);
                self.orders.stand_behind(task.order.get(), &mut self.links, index);
            }
            State::AtDoor => {
                lane.door.callers = lane.door.callers.saturating_add(1);
                lane.callers.push(&mut self.links, index, task.priority);
            }
            State::Ready => {
                task.due = self.agendas.at(index).into();
                lane.waiting = lane.waiting.saturating_add(1);
                lane.ready.push(&mut self.links, index, task.priority);
            }
            State::Parked => {
                lane.waiting = lane.waiting.saturating_add(1);
                lane.parked.push(&mut self.links, index, task.priority);
            }
            State::InFlight => {
                lane.in_flight = lane.in_flight.saturating_add(1);
                lane.bucket.take(self.timeline.now());
                lane.hold.had_chance();
                self.in_flight = self.in_flight.saturating_add(1);
            }
            State::Started => lane.started = lane.started.saturating_add(1),
        }
    }

    /// Takes a task out of wherever it is, and its lane out of the line if it stood there for
    /// this task. What follows is another [`Queue::enter`] or the end.
    fn detach(&mut self, index: u32) {
        let Some(task) = self.tasks.at(index) else { return };
        let Some(lane) = self.lanes.at_mut(task.lane.get()) else { return };
        self.agendas.remove(task.state, index);
        match task.state {
            State::Waiting => lane.waiting = lane.waiting.saturating_sub(1),
            State::Behind => {
                self.orders.step_out(task.order.get(), &mut self.links, index);
                lane.waiting = lane.waiting.saturating_sub(1);
            }
            State::AtDoor => {
                lane.door.callers = lane.door.callers.saturating_sub(1);
                lane.callers.remove(&mut self.links, index, task.priority);
                self.at_door = self.at_door.saturating_sub(1);
            }
            State::Ready => {
                lane.ready.remove(&mut self.links, index, task.priority);
                lane.waiting = lane.waiting.saturating_sub(1);
            }
            State::Parked => {
                lane.parked.remove(&mut self.links, index, task.priority);
                lane.waiting = lane.waiting.saturating_sub(1);
            }
            State::InFlight => {
                lane.in_flight = lane.in_flight.saturating_sub(1);
                self.in_flight = self.in_flight.saturating_sub(1);
            }
            State::Started => lane.started = lane.started.saturating_sub(1),
        }
        if matches!(task.state, State::Ready | State::InFlight | State::AtDoor) {
            self.lanes.refresh(task.lane.get(), self.timeline.now());
        }
    }

    /// Frees the slot of a detached task, and gives the next of its order its turn.
    fn forget(&mut self, index: u32) {
        let Some(task) = self.tasks.remove(self.tasks.handle(index)) else { return };
        self.drop_use(task.policy.get());
        if task.flags.contains(Flags::LEASED) {
            self.leased = self.leased.saturating_sub(1);
            if let Some(lane) = self.lanes.at_mut(task.lane.get()) {
                lane.leased = lane.leased.saturating_sub(1);
            }
            return;
        }
        self.bytes = self.bytes.saturating_sub(u64::from(task.bytes));
        if let Some(next) = self.orders.succeed(task.order.get(), index) {
            let not_before = self.tasks.at(next).map_or(Millis::ZERO, |next| next.not_before.get());
            self.detach(next);
            self.wait(next, not_before.max(self.timeline.now()));
        }
    }

    fn drop_use(&mut self, policy: u32) {
        let Some(interned) = self.policies.at_mut(policy) else { return };
        interned.uses = interned.uses.saturating_sub(1);
        if interned.uses == 0 {
            self.policies.remove(self.policies.handle(policy));
        }
    }

    /// The time that an attempt of this task is expected to take: the policy's, else the average of its lane.
    fn estimate(&self, task: &Task, policy: &Policy) -> Millis {
        let average = || self.lanes.at(task.lane.get()).map_or(Millis::ZERO, Lane::average);
        policy.estimated_call().unwrap_or_else(average)
    }

    /// Why a task may not start at `start`. In one copy, as is the next: half a KB.
    #[inline(never)]
    fn refusal(&self, index: u32, start: Millis) -> Option<Reason> {
        let task = self.tasks.at(index)?;
        let policy = &self.policies.at(task.policy.get())?.policy;
        let refused = task.refusal(policy, self.estimate(task, policy), start);
        refused.or_else(|| self.is_turned_away(task).then_some(Reason::CircuitOpen))
    }

    /// The last instant at which a task may start.
    #[inline(never)]
    fn last_start(&self, index: u32) -> Millis {
        let Some(task) = self.tasks.at(index) else { return Millis::MAX };
        let Some(interned) = self.policies.at(task.policy.get()) else { return Millis::MAX };
        if self.is_turned_away(task) {
            return Millis::ZERO;
        }
        task.last_start(&interned.policy, self.estimate(task, &interned.policy))
    }
}
