//! The queue under any story, eight bytes an event.
//!
//! What each task must do is in `tests/queue_model`, beside a naive queue. Here only what holds
//! of any queue is counted, and in far longer stories.

use std::collections::HashMap;

use redrive::policy::{Policy, PolicyOptions};
use redrive::queue::{Action, Admission, BATCH, Cancelled, Ended, Gate, Limits, Queue, Verdict};
use redrive::slots::NONE;
use redrive::task::{Flags, Outcome};
use redrive::time::Millis;

use super::input::Input;

/// Stories are cut here: each event looks at the whole queue.
const MOST_EVENTS: usize = 600;
const STATUSES: [u32; 8] = [200, 503, 429, 401, 400, 409, 302, 599];

/// What the host knows of a task.
struct Held {
    lane: usize,
    order: Option<usize>,
    bytes: u64,
    running: bool,
    by_queue: bool,
    most_attempts: u32,
    /// The order in which they came.
    number: usize,
}

struct Story {
    queue: Queue,
    limits: Limits,
    now: Millis,
    lanes: Vec<u32>,
    orders: Vec<u32>,
    policies: Vec<(u32, u32)>,
    held: HashMap<u32, Held>,
    /// Every slot ever given.
    slots: Vec<u32>,
    paused: bool,
    offline: bool,
    admitted: usize,
    ended: usize,
}

pub fn check(bytes: &[u8]) {
    let mut input = Input(bytes);
    let small = |byte: u8| u32::from(byte % 6) + 1;
    let limits = Limits {
        concurrency: small(input.u8()),
        per_lane: small(input.u8()),
        capacity: u32::from(input.u8() % 64) + 1,
        capacity_bytes: 4000,
    };
    let mut story = Story::new(limits, u64::from(input.u8()));
    for _ in 0..MOST_EVENTS {
        if input.0.is_empty() {
            break;
        }
        story.event(&mut input);
        story.check();
    }
}

fn policies() -> [PolicyOptions; 3] {
    [
        PolicyOptions {
            max_attempts: Some(3.0),
            initial_delay_ms: Some(100.0),
            total_budget_ms: Some(5000.0),
            max_server_delay_ms: Some(3000.0),
            ..PolicyOptions::default()
        },
        PolicyOptions {
            strategy: Some(7.0),
            max_attempts: Some(100.0),
            initial_delay_ms: Some(1.0),
            max_delay_ms: Some(500.0),
            key_ttl_ms: Some(60_000.0),
            total_budget_ms: Some(60_000.0),
            retryable_status_codes: Some(vec![401.0, 503.0, 599.0]),
            ..PolicyOptions::default()
        },
        PolicyOptions { strategy: Some(8.0), delays_ms: Some(vec![0.0, 7.0]), ..PolicyOptions::default() },
    ]
}

impl Story {
    fn new(limits: Limits, seed: u64) -> Story {
        let mut queue = Queue::new(limits, seed);
        let policies = policies().map(|options| Policy::new(&options).unwrap());
        Story {
            limits,
            now: Millis::new(1_700_000_000_000),
            lanes: (0..3).map(|_| queue.open_lane()).collect(),
            orders: (0..2).map(|_| queue.open_order()).collect(),
            policies: policies
                .map(|policy| (u32::from(policy.max_attempts()), queue.intern(policy)))
                .map(|(most, handle)| (handle, most))
                .into(),
            held: HashMap::new(),
            slots: Vec::new(),
            paused: false,
            offline: false,
            admitted: 0,
            ended: 0,
            queue,
        }
    }

    fn event(&mut self, input: &mut Input) {
        let (kind, pick, bits, amount) = (input.u8(), input.u16(), input.u8(), input.u32());
        let lane = self.lanes.get(usize::from(pick % 4)).copied();
        match kind % 16 {
            0..=3 => self.admit(pick, bits, amount),
            4..=6 => self.settle(pick, bits, amount),
            7 | 8 => self.poll(),
            9 => {
                self.now = self.now.max(self.queue.wake_at()).min(self.now.plus(Millis::new(1 << 32)));
                self.poll();
            }
            10 => self.now = self.now.plus(Millis::new(u64::from(amount) >> (bits % 32))),
            11 if bits.is_multiple_of(8) => self.now = self.now.minus(Millis::new(u64::from(amount) >> 8)),
            11 | 12 => self.cancel(pick),
            13 => {
                self.paused |= lane.is_none();
                self.queue.pause(lane);
            }
            14 => {
                self.paused &= lane.is_some();
                self.queue.resume(self.now, lane);
            }
            _ if bits.is_multiple_of(3) => {
                self.queue.flush(self.now, lane);
            }
            _ => {
                self.offline = bits.is_multiple_of(2);
                self.queue.set_online(self.now, !self.offline);
            }
        }
    }

    fn admit(&mut self, pick: u16, bits: u8, amount: u32) {
        let (lane, policy) = (usize::from(pick % 3), usize::from(pick >> 4) % 3);
        let order = Some(usize::from(pick >> 8) % 4).filter(|order| *order < self.orders.len());
        let started = bits & 64 != 0 && order.is_none();
        let later = |bit: u8| match bits & bit {
            0 => Millis::MAX,
            _ => self.now.plus(Millis::new(u64::from(amount) >> 18)),
        };
        let bytes = u64::from(amount & 0xFF);
        let admission = Admission {
            lane: self.lanes[lane],
            policy: self.policies[policy].0,
            priority: i32::from(bits & 3) - 1,
            bytes,
            flags: Flags::from_bits(u32::from(bits >> 2) | 1),
            created_at: self.now,
            expires_at: later(16),
            wait_until: later(32),
            order: order.map_or(NONE, |order| self.orders[order]),
            started,
        };
        let depth = self.held.len() as u32;
        let full = depth >= self.limits.capacity || self.bytes() + bytes > self.limits.capacity_bytes;
        let slot = self.queue.admit(self.now, &admission);
        assert_eq!(slot.is_none(), full, "S17: refused when full, and only then");
        let Some(slot) = slot else { return };
        self.admitted += 1;
        let most_attempts = self.policies[policy].1;
        let number = self.admitted;
        let held = Held { lane, order, bytes, running: started, by_queue: false, most_attempts, number };
        assert!(self.held.insert(slot, held).is_none(), "a slot given twice");
        assert!(!self.slots.contains(&slot), "a handle given twice");
        self.slots.push(slot);
        if started {
            self.settle_slot(slot, bits, amount);
        }
    }

    fn poll(&mut self) {
        let mut actions = Vec::new();
        for _ in 0..1000 {
            self.queue.poll(self.now, &mut actions);
            assert!(actions.len() <= BATCH);
            for action in &actions {
                match *action {
                    Action::Start(slot) => self.started(slot),
                    Action::End(slot, _) => self.end(slot),
                    // without gates there are none
                    Action::Circuit(..) | Action::Storm(..) => {}
                }
            }
            if actions.len() < BATCH {
                assert!(self.queue.wake_at() > self.now, "L1: nothing left to do, and no rest");
                return;
            }
        }
        panic!("L1: polled a thousand times and not done");
    }

    fn started(&mut self, slot: u32) {
        assert!(!self.paused && !self.offline, "S8: started under a pause or offline");
        let held = self.held.get_mut(&slot).expect("S8: started a task that is not held");
        assert!(!held.running, "S8: started twice");
        (held.running, held.by_queue) = (true, true);
        let (order, number) = (held.order, held.number);
        assert!(self.queue.attempts(slot) <= held.most_attempts, "S8");
        let first = |other: &Held| order.is_none() || other.order != order || other.number >= number;
        assert!(self.held.values().all(first), "S19: not its turn");
    }

    fn end(&mut self, slot: u32) {
        self.held.remove(&slot).expect("S2: ended a task that is not held");
        self.ended += 1;
    }

    fn settle(&mut self, pick: u16, bits: u8, amount: u32) {
        let mut running: Vec<_> = self.held.iter().filter(|(_, held)| held.running).collect();
        running.sort_by_key(|(_, held)| held.number);
        // Now and then a stale one.
        let slot = match running.get(usize::from(pick >> 2) % running.len().max(1)) {
            Some((slot, _)) if !pick.is_multiple_of(4) => **slot,
            _ => match self.slots.get(usize::from(pick >> 2) % self.slots.len().max(1)) {
                Some(slot) => *slot,
                None => return,
            },
        };
        self.settle_slot(slot, bits, amount);
    }

    fn settle_slot(&mut self, slot: u32, bits: u8, amount: u32) {
        let asked = |there: bool| there.then(|| Millis::new(u64::from(amount) >> 16));
        let ended = Ended {
            outcome: Outcome::from_code(if bits & 8 == 0 { 0 } else { amount % 8 }),
            status: STATUSES[usize::from(bits & 7)],
            server_delay: asked(bits & 16 != 0),
            rate_limit: asked(bits & 32 != 0),
            unusable: false,
            duration: asked(bits & 64 != 0),
        };
        let running = self.held.get(&slot).is_some_and(|held| held.running);
        let verdict = self.queue.settle(self.now, slot, &ended);
        assert_eq!(verdict == Verdict::Stale, !running, "S14: only what runs is settled");
        match verdict {
            Verdict::Succeeded | Verdict::Cancelled | Verdict::Exhausted(_) => self.end(slot),
            Verdict::Retry { delay, wait, .. } => {
                assert!(delay >= wait.server.unwrap_or(Millis::ZERO) && delay >= wait.curve, "S9");
                self.rest(slot);
            }
            Verdict::Parked => self.rest(slot),
            Verdict::Stale => {}
        }
        if let Some(held) = self.held.get(&slot) {
            assert!(self.queue.attempts(slot) <= held.most_attempts);
        }
    }

    fn rest(&mut self, slot: u32) {
        let held = self.held.get_mut(&slot).expect("S2");
        (held.running, held.by_queue) = (false, false);
    }

    fn cancel(&mut self, pick: u16) {
        let Some(&slot) = self.slots.get(usize::from(pick) % self.slots.len().max(1)) else { return };
        let before = self.held.get(&slot).map(|held| held.running);
        let expected = match before {
            None => Cancelled::Gone,
            Some(false) => Cancelled::Done,
            Some(true) => Cancelled::Requested,
        };
        assert_eq!(self.queue.cancel(slot), expected, "S14");
        if expected == Cancelled::Done {
            self.end(slot);
        }
    }

    fn bytes(&self) -> u64 {
        self.held.values().map(|held| held.bytes).sum()
    }

    fn check(&mut self) {
        assert_eq!(self.admitted, self.held.len() + self.ended, "S2");
        let stats = self.queue.stats();
        assert_eq!(stats.depth as usize, self.held.len(), "S2");
        assert_eq!(self.queue.bytes(), self.bytes());
        let by_queue = self.held.values().filter(|held| held.by_queue).count();
        assert_eq!(stats.in_flight as usize, by_queue);
        assert!(stats.in_flight <= self.limits.concurrency, "S7");
        for (at, lane) in stats.lanes.iter().enumerate() {
            assert!(lane.in_flight <= self.limits.per_lane, "S7");
            assert_eq!(lane.depth as usize, self.held.values().filter(|held| held.lane == at).count(), "S2");
        }
        for (&slot, held) in &self.held {
            let standing = self.queue.gate_status(slot).expect("S2: a task that is held stands somewhere");
            assert_eq!(held.running, matches!(standing.gate, Gate::InFlight | Gate::Started));
            let before = |other: &&Held| other.order == held.order && other.number < held.number;
            let ahead = held.order.map_or(0, |_| self.held.values().filter(before).count());
            assert_eq!(standing.gate == Gate::Behind, ahead > 0, "S19");
        }
    }
}
