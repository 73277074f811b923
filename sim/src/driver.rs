//! Runs one world: turns its events into calls, and hands what comes out to the checks.

use redrive::breaker::Circuit;
use redrive::gates::{Gates, OnStorm};
use redrive::policy::Policy;
use redrive::queue::{Action, Admission, BATCH, Ended, Facts, Limits, Verdict};
use redrive::slots::NONE;
use redrive::task::{Flags, Outcome};
use redrive::time::Millis;

use crate::book::{Book, Place, Task};
use crate::ensure;
use crate::event::{Answer, Arrival, Event, Said, Scenario};
use crate::gate_spec::GateSpec;
use crate::line::{NEVER, sum};
use crate::port::Core;
use crate::tape::{self, Tape};
pub use crate::totals::Totals;
use crate::violation::Violation;
use crate::{checks, verdicts};

/// The wall clock is not set beyond this: far enough, and sums with it stay exact.
const LAST_CLOCK: u64 = 1 << 47;

/// A world in progress.
pub struct Driver<C> {
    pub(crate) core: C,
    pub(crate) book: Book,
    /// What was asked and answered.
    pub tape: Tape,
    /// What came of it.
    pub totals: Totals,
    pub(crate) wall: u64,
    pub(crate) handles: Vec<u32>,
    pub(crate) orders: Vec<u32>,
    actions: Vec<Action>,
    pub(crate) checked: bool,
    pub(crate) turn: usize,
}

impl<C: Core> Driver<C> {
    /// The beginning of a world. Unchecked, it only records.
    pub fn new(world: &Scenario, mut tape: Tape, checked: bool) -> Driver<C> {
        let bounds = world.limits;
        let (concurrency, per_lane, capacity) = (bounds.concurrency, bounds.per_lane, bounds.capacity);
        let (capacity_bytes, max_lane_hold) = (bounds.capacity_bytes, Millis::new(bounds.max_lane_hold_ms));
        let limits = Limits { concurrency, per_lane, capacity, capacity_bytes, max_lane_hold };
        let mut core = C::create(limits, world.seed);
        let numbers = [concurrency, per_lane, capacity].map(f64::from);
        // A seed crosses as its two halves: a number holds only 53 bits.
        let halves = [(world.seed >> 32) as f64, (world.seed & 0xFFFF_FFFF) as f64];
        tape.call(
            "new",
            &[&numbers[..], &[bounds.capacity_bytes as f64, bounds.max_lane_hold_ms as f64], &halves]
                .concat(),
            &[],
        );
        let rules = world.gates.as_ref().map_or_else(Gates::default, GateSpec::gates);
        if let Some(spec) = &world.gates {
            core.set_gates(rules);
            tape.call("gates", &spec.row(), &[]);
        }
        let mut handles = Vec::new();
        for spec in &world.policies {
            handles.push(keep(&mut core, &mut tape, &spec.row()));
        }
        let lanes: Vec<u32> = (0..world.lanes.max(1)).map(|_| core.open_lane()).collect();
        let orders: Vec<u32> = (0..world.orders.max(1)).map(|_| core.open_order()).collect();
        lanes.iter().for_each(|lane| tape.call("lane", &[], &[f64::from(*lane)]));
        orders.iter().for_each(|order| tape.call("openOrder", &[], &[f64::from(*order)]));
        let book = Book::new(bounds, &world.policies, lanes, orders.len(), rules);
        let totals = Totals::default();
        let wall = world.clock;
        Driver { core, book, tape, totals, wall, handles, orders, actions: Vec::new(), checked, turn: 0 }
    }

    /// Lets one event happen, and checks all that must hold then.
    pub fn take(&mut self, event: &Event) -> Result<(), Violation> {
        self.totals.events += 1;
        self.turn += 1;
        match event {
            Event::Admit(arrival) => {
                for _ in 0..arrival.copies {
                    self.admit(arrival)?;
                }
            }
            Event::Answer { lane, pick, answer } => self.answer(*lane, *pick, answer)?,
            Event::Stale { pick, answer } => self.stale(*pick, answer)?,
            Event::Poll => self.poll()?,
            Event::Pass(ms) => self.wall = sum(self.wall, *ms).min(LAST_CLOCK),
            Event::SetClock(by) => self.wall = self.wall.saturating_add_signed(*by).min(LAST_CLOCK),
            Event::Wake { off, within } => self.wake(*off, *within)?,
            Event::Cancel { pick } => self.cancel(*pick)?,
            Event::Pause(lane) => self.pause(*lane),
            Event::Resume(lane) => self.resume(*lane),
            Event::Online(online) => self.set_online(*online),
            Event::Flush(lane) => self.flush(*lane)?,
            Event::ReopenOrder(order) => self.reopen_order(*order)?,
            Event::ReopenLane(lane) => self.reopen_lane(*lane)?,
            Event::Renew(policy) => self.renew(*policy),
            Event::Adopt(adoption) => self.adopt(adoption)?,
            Event::Hold { lane, ms } => self.hold(*lane, *ms),
            Event::Hear { lane, ago, kind } => self.hear(*lane, *ago, *kind)?,
            Event::Ask { lane } => self.ask(*lane)?,
            Event::Visit { lane } => self.visit(*lane),
        }
        self.note_state();
        if self.checked {
            checks::after_event(&self.book, &mut self.core, self.turn)?;
            self.check_room()?;
        }
        Ok(())
    }

    /// The end of the world is a good one: all resumed and online, a server that takes everything, and a
    /// host that polls when it is asked to. Every task ends, and no later than time holds it (L1).
    pub fn finish(&mut self) -> Result<(), Violation> {
        self.take(&Event::Online(true))?;
        self.take(&Event::Resume(None))?;
        let book = &self.book;
        let last = book.tasks.iter().map(|task| sum(book.ready_at(task), if task.vague { 5000 } else { 0 }));
        let last = last.max().unwrap_or(0).max(book.line.now);
        let gated = book.is_gated();
        // Without a token a task is put off every 100 ms for a minute, and more and more rarely then.
        let mut rounds = 64 + if gated { 700 } else { 20 } * book.tasks.len();
        let delivered = Answer {
            outcome: 0,
            status: 200,
            server: None,
            limit: None,
            unusable: false,
            took: Some(1),
            said: Said::default(),
        };
        while !self.book.tasks.is_empty() {
            ensure!(rounds > 0, "L1", "{} tasks do not end", self.book.tasks.len());
            rounds -= 1;
            while !self.book.running.is_empty() {
                self.take(&Event::Answer { lane: None, pick: 0, answer: delivered })?;
            }
            self.take(&Event::Poll)?;
            if self.book.running.is_empty() && !self.book.tasks.is_empty() {
                let wake = self.wake_at();
                ensure!(wake < NEVER, "L1", "{} tasks wait and nothing wakes them", self.book.tasks.len());
                self.wall = self.wall.max(wake);
            }
        }
        let now = self.book.line.now;
        ensure!(now <= last || gated, "L1", "the last task ended {} ms late", now.saturating_sub(last));
        Ok(())
    }

    pub(crate) fn now(&mut self) -> Millis {
        self.book.line.advance(self.wall);
        Millis::new(self.wall)
    }

    fn admit(&mut self, arrival: &Arrival) -> Result<(), Violation> {
        let now = self.now();
        let lane = usize::from(arrival.lane) % self.book.lanes.len();
        let policy = usize::from(arrival.policy) % self.handles.len();
        let order = arrival.order.map(|order| usize::from(order) % self.orders.len());
        let order_handle = order.map_or(NONE, |order| self.orders[order]);
        let admission = Admission { order: order_handle, ..self.admission(arrival) };
        let slot = self.core.admit(now, &admission);
        let numbers = [
            tape::instant(now),
            f64::from(admission.lane),
            f64::from(admission.policy),
            f64::from(admission.priority),
            admission.bytes as f64,
            f64::from(arrival.flags),
            tape::instant(admission.created_at),
            tape::instant(admission.expires_at),
            tape::instant(admission.wait_until),
            f64::from(admission.order),
            if admission.started { tape::instant(admission.created_at) } else { f64::NAN },
        ];
        let handle = slot.unwrap_or(NONE);
        let due_at = self.core.due_at(handle).map_or(f64::NAN, Millis::to_f64);
        self.tape.call("admit", &numbers, &[f64::from(handle), due_at]);
        let book = &self.book;
        let full = book.held >= u64::from(book.bounds.capacity)
            || book.bytes + admission.bytes > book.bounds.capacity_bytes;
        let unfit = order.is_some() && admission.started;
        ensure!(
            slot.is_none() == (full || unfit),
            "S17",
            "admit gave {slot:?}, full: {full}, unfit: {unfit}"
        );
        let Some(slot) = slot else {
            self.totals.refused += u64::from(full);
            return Ok(());
        };
        ensure!(!book.knows(slot), "S5", "slot {slot} was given to a second task");
        self.totals.tasks += 1;
        let line = book.line;
        let created = line.inward(admission.created_at.get());
        let task = Task {
            id: book.accepted,
            slot,
            lane,
            policy,
            order,
            priority: arrival.priority,
            bytes: admission.bytes,
            flags: arrival.flags & 7,
            created,
            expires: line.inward(admission.expires_at.get()),
            wait_until: line.inward(admission.wait_until.get()),
            first_sent: None,
            started: created,
            attempts: u32::from(admission.started),
            refunds: 0,
            refunds_401: 0,
            unanswered: false,
            replayed: false,
            was_401: false,
            previous: None,
            due: line.now,
            server_until: 0,
            vague: false,
            cancelled: false,
            leased: false,
            phase: None,
            paid: false,
            place: if admission.started { Place::Started } else { Place::Waiting },
        };
        self.book.add(task);
        match &arrival.made {
            Some(answer) => self.settle(slot, answer),
            None => Ok(()),
        }
    }

    /// An arrival as the core is told of it, in no order.
    pub(crate) fn admission(&self, arrival: &Arrival) -> Admission {
        let distant = |ms: Option<u64>| Millis::new(ms.map_or(NEVER, |ms| sum(self.wall, ms)));
        let lane = usize::from(arrival.lane) % self.book.lanes.len();
        Admission {
            lane: self.book.lanes[lane].handle,
            policy: self.handles[usize::from(arrival.policy) % self.handles.len()],
            priority: arrival.priority,
            bytes: u64::from(arrival.bytes),
            flags: Flags::from_bits(u32::from(arrival.flags)),
            created_at: Millis::new(self.wall.saturating_sub(arrival.age)),
            expires_at: distant(arrival.expires),
            wait_until: distant(arrival.waits),
            order: NONE,
            started: arrival.made.is_some(),
            began: Millis::ZERO,
        }
    }

    fn answer(&mut self, lane: Option<u8>, pick: u32, answer: &Answer) -> Result<(), Violation> {
        let book = &self.book;
        let only = lane.map(|lane| usize::from(lane) % book.lanes.len());
        let here = |slot: &&u32| {
            only.is_none() || book.find(**slot).is_some_and(|at| Some(book.tasks[at].lane) == only)
        };
        let running: Vec<u32> = book.running.iter().filter(here).copied().collect();
        let picked = running.get(pick as usize % running.len().max(1)).copied();
        picked.map_or(Ok(()), |slot| self.settle(slot, answer))
    }

    fn stale(&mut self, pick: u32, answer: &Answer) -> Result<(), Violation> {
        let waits = |task: &&Task| matches!(task.place, Place::Waiting | Place::Parked);
        let waiting = self.book.tasks.iter().filter(waits).map(|task| task.slot);
        let slots: Vec<u32> = self.book.gone.iter().rev().take(8).copied().chain(waiting.take(8)).collect();
        let picked = slots.get(pick as usize % slots.len().max(1)).copied();
        picked.map_or(Ok(()), |slot| self.settle(slot, answer))
    }

    pub(crate) fn settle(&mut self, slot: u32, answer: &Answer) -> Result<(), Violation> {
        let now = self.now();
        let ended = Ended {
            outcome: Outcome::from_code(u32::from(answer.outcome)),
            status: u32::from(answer.status),
            server_delay: answer.server.map(Millis::new),
            rate_limit: answer.limit.map(Millis::new),
            unusable: answer.unusable,
            duration: answer.took.map(Millis::new),
            partitioned: answer.said.partition,
            said: answer.said.retry,
            delay: answer.said.delay.map(Millis::new),
            asked: answer.asks(),
            replayed: answer.said.replayed,
            facts: Facts::default(),
            reason: None,
        };
        let ends = self.about_to_end(slot)?;
        let next = self.core.next(now, slot, &ended);
        let verdict = next.verdict;
        let numbers = [&[tape::instant(now), f64::from(slot)][..], &tape::answer(answer)].concat();
        self.tape.call("settle", &numbers, &tape::next(&next));
        if let Some(end) = tape::end(verdict) {
            self.totals.ends[end] += 1;
        }
        let counted = if ends.is_some() { self.book.see(answer) } else { *answer };
        let answer = &counted;
        if let Some(ends) = ends {
            self.has_ended(ends, answer, verdict)?;
        }
        let runs = |task: &Task| matches!(task.place, Place::InFlight | Place::Started);
        match self.book.find(slot).filter(|at| runs(&self.book.tasks[*at])) {
            Some(at) => verdicts::settled(&mut self.book, at, answer, &next),
            None => {
                let stale = verdict == Verdict::Stale;
                ensure!(stale, "S14", "slot {slot} has no attempt in flight and was judged {verdict:?}");
                Ok(())
            }
        }
    }

    fn poll(&mut self) -> Result<(), Violation> {
        self.now();
        self.look()?;
        let mut polls = 0;
        loop {
            let now = self.now();
            let mut actions = std::mem::take(&mut self.actions);
            self.core.poll(now, &mut actions);
            let mut answers = vec![actions.len() as f64];
            answers.extend(actions.iter().flat_map(|action| tape::action(*action)));
            self.tape.call("poll", &[tape::instant(now)], &answers);
            for action in &actions {
                match *action {
                    Action::Start(slot) => {
                        self.totals.starts += 1;
                        checks::start(&mut self.book, slot)?;
                    }
                    Action::End(slot, reason) => {
                        self.totals.ends[16 + reason.code() as usize] += 1;
                        checks::end(&mut self.book, slot, reason)?;
                    }
                    Action::LetIn(_) => ensure!(false, "S8", "no caller stands at a door"),
                    Action::Circuit(lane, change) => {
                        self.totals.openings += u64::from(change.1 == Circuit::Open);
                        self.gates_of(lane)?.tell(change)?;
                    }
                    Action::Storm(lane, _) => {
                        let on_storm = self.gates_of(lane)?.rules.on_storm;
                        ensure!(on_storm == OnStorm::Tell, "S8", "{action:?} of a queue that does not look");
                    }
                }
            }
            let count = actions.len();
            self.actions = actions;
            polls += 1;
            ensure!(count <= BATCH && polls < 10_000, "L1", "a poll of {count} actions does not end");
            if count < BATCH {
                break;
            }
        }
        self.note_put_off()?;
        if !self.checked {
            return Ok(());
        }
        checks::after_poll(&self.book)?;
        let (wake, gated) = (self.core.wake_at().get(), self.book.is_gated());
        ensure!(gated || wake > self.wall, "L1", "all is done, and the queue wants to be woken at {wake}");
        Ok(())
    }

    fn wake_at(&mut self) -> u64 {
        let wake = self.core.wake_at();
        self.tape.call("wakeAt", &[], &[tape::instant(wake)]);
        wake.get()
    }

    fn wake(&mut self, off: i64, within: u64) -> Result<(), Violation> {
        let wake = self.wake_at();
        let at = if wake == NEVER { sum(self.wall, 1000) } else { wake.saturating_add_signed(off) };
        self.wall = self.wall.max(at.min(sum(self.wall, within))).min(LAST_CLOCK);
        self.poll()
    }
}

pub(crate) fn keep<C: Core>(core: &mut C, tape: &mut Tape, row: &[f64]) -> u32 {
    let handle = core.intern(Policy::from_fields(row).expect("worlds have sound policies only"));
    tape.call("policy", row, &[f64::from(handle)]);
    handle
}
