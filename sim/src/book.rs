//! What the simulation itself knows of a queue: only what it put in and what came out.
//!
//! Instants are in the queue's own time ([`Line`]), kept by its rules and not asked of the core.

use crate::event::{Answer, Bounds, Spec};
use crate::lane::Lane;
use crate::line::{Line, NEVER, sum};
use redrive::breaker::Circuit;
use redrive::gates::Gates;
use std::collections::{HashMap, VecDeque};

/// Most that a wait named by a server is spread by.
pub const MOST_SPREAD: u64 = 5000;
/// What a policy promises, defaults filled in.
#[derive(Clone, Debug)]
pub struct Promise {
    /// As it was given.
    pub spec: Spec,
    /// Attempts in total; `None`: 12, or one for each 2.5 s of a caller's wait if that is more.
    max_attempts: Option<u32>,
    /// From the task's creation.
    pub budget: u64,
    /// What a call takes, if the policy says.
    pub estimate: Option<u64>,
    /// The longest server's delay.
    pub max_server: u64,
    /// How long the server remembers a key.
    pub key_ttl: u64,
    /// Whether a lost connection is worth another attempt.
    pub retry_network: bool,
    /// Whether a call without an answer in time is.
    pub retry_timeouts: bool,
}

impl Promise {
    /// Attempts in total of a task.
    pub fn max_attempts(&self, task: &Task) -> u32 {
        let waits = (task.wait_until % NEVER).saturating_sub(task.created);
        self.max_attempts.unwrap_or(((waits / 2500) as u32).max(12))
    }

    /// What `spec` says.
    pub fn new(spec: &Spec) -> Promise {
        let day = 86_400_000.0;
        let field = |index: usize, default: f64| spec.fields[index].unwrap_or(default) as u64;
        Promise {
            spec: spec.clone(),
            max_attempts: spec.fields[1].map(|number| number as u32),
            budget: field(5, field(17, day) as f64),
            estimate: spec.fields[15].map(|ms| ms as u64),
            max_server: field(16, day),
            key_ttl: field(17, day),
            retry_network: field(13, 1.0) == 1,
            retry_timeouts: field(18, 1.0) == 1,
        }
    }

    /// Whether a status is worth another attempt.
    pub fn lists(&self, status: u16) -> bool {
        let given = self.spec.statuses.as_deref().unwrap_or(&[408.0, 429.0, 502.0, 503.0, 504.0]);
        given.contains(&f64::from(status))
    }
}

/// Where a task is. Whether it stands behind others of its order is the order's business.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// It waits for its time or its turn.
    Waiting,
    /// For a resume.
    Parked,
    /// An attempt runs that counts.
    InFlight,
    /// The caller's own first attempt.
    Started,
}

/// A task.
#[derive(Clone, Debug)]
pub struct Task {
    /// In the order of admission.
    pub id: u64,
    /// Its handle.
    pub slot: u32,
    /// Position of its lane.
    pub lane: usize,
    /// Position of its policy.
    pub policy: usize,
    /// Position of its order.
    pub order: Option<usize>,
    /// Higher first.
    pub priority: i32,
    /// Size.
    pub bytes: u64,
    /// 1 replayable, 2 keyed, 4 credentialed.
    pub flags: u8,
    /// When the budget began.
    pub created: u64,
    /// No start after it.
    pub expires: u64,
    /// Nor after this.
    pub wait_until: u64,
    /// When the first attempt began that was sent.
    pub first_sent: Option<u64>,
    /// When the attempt that runs began.
    pub started: u64,
    /// Attempts made and not given back.
    pub attempts: u32,
    /// Attempts given back.
    pub refunds: u32,
    /// Of these for a 401.
    pub refunds_401: u32,
    /// An attempt had no answer of its origin's.
    pub unanswered: bool,
    /// An attempt met the replay of a failure.
    pub replayed: bool,
    /// Whether the last attempt met a 401.
    pub was_401: bool,
    /// The curve's last wait.
    pub previous: Option<u64>,
    /// Not before the curve says so; a flush undercuts it.
    pub due: u64,
    /// Not before the server says so; nothing undercuts it.
    pub server_until: u64,
    /// Up to [`MOST_SPREAD`] later than that: it was parked, and the spread was not told.
    pub vague: bool,
    /// Its end was asked for while an attempt ran.
    pub cancelled: bool,
    /// A store's, and here for one attempt.
    pub leased: bool,
    /// Its position in the window of spread waits, as far as a store has told it.
    pub phase: Option<u32>,
    /// Whether its attempt has paid for itself.
    pub paid: bool,
    /// Where it is.
    pub place: Place,
}

/// Everything known of a queue.
#[derive(Debug)]
pub struct Book {
    /// Its limits.
    pub bounds: Bounds,
    /// Its time.
    pub line: Line,
    /// Its policies.
    pub promises: Vec<Promise>,
    /// Its lanes.
    pub lanes: Vec<Lane>,
    /// The tasks of each order, in the order of admission.
    pub orders: Vec<VecDeque<u64>>,
    /// All tasks that have not ended, in the order of admission.
    pub tasks: Vec<Task>,
    ids: HashMap<u32, u64>,
    /// Slots with an attempt of the queue, in the order of their starts.
    pub running: Vec<u32>,
    /// Handles whose tasks have ended, latest last.
    pub gone: Vec<u32>,
    /// Everything is paused.
    pub paused: bool,
    /// The host is offline.
    pub offline: bool,
    /// A response has shown otherwise since it said so.
    pub overruled: bool,
    /// Tasks held that count against the capacity: all but those that a store has leased.
    pub held: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Tasks ever taken.
    pub accepted: u64,
    /// Tasks that have ended.
    pub ended: u64,
    /// Calls with a `Retry-After` that could not be read.
    pub unusable: u32,
}

impl Task {
    /// The last instant at which an attempt is worth sending to its caller: 100 ms before the end of the wait, or an eighth of it.
    pub fn leaves(&self) -> u64 {
        self.wait_until - (self.wait_until.saturating_sub(self.created) / 8).min(100)
    }
}

impl Book {
    /// What is known of an empty queue.
    pub fn new(bounds: Bounds, policies: &[Spec], lanes: Vec<u32>, orders: usize, rules: Gates) -> Book {
        Book {
            bounds,
            line: Line::default(),
            promises: policies.iter().map(Promise::new).collect(),
            lanes: lanes.into_iter().map(|handle| Lane::new(handle, rules)).collect(),
            orders: vec![VecDeque::new(); orders],
            tasks: Vec::new(),
            ids: HashMap::new(),
            running: Vec::new(),
            gone: Vec::new(),
            paused: false,
            offline: false,
            overruled: false,
            held: 0,
            bytes: 0,
            accepted: 0,
            ended: 0,
            unusable: 0,
        }
    }

    /// Where the task of a handle stands in the list; `None` if it has ended.
    pub fn find(&self, slot: u32) -> Option<usize> {
        let id = self.ids.get(&slot)?;
        self.tasks.binary_search_by_key(id, |task| task.id).ok()
    }

    /// Whether a handle has been given to a task before, which may have ended.
    pub fn knows(&self, slot: u32) -> bool {
        self.ids.contains_key(&slot) || self.gone.contains(&slot)
    }

    /// Whether none of its order comes before it.
    pub fn leads(&self, task: &Task) -> bool {
        task.order.is_none_or(|order| self.orders[order].front() == Some(&task.id))
    }

    /// Adds a task.
    pub fn add(&mut self, task: Task) {
        self.ids.insert(task.slot, task.id);
        if let Some(order) = task.order {
            self.orders[order].push_back(task.id);
        }
        if task.leased {
            self.lanes[task.lane].leased += 1;
        } else {
            self.lanes[task.lane].depth += 1;
            self.held += 1;
            self.bytes += task.bytes;
        }
        self.accepted += 1;
        self.tasks.push(task);
    }

    /// Takes a task out that has ended; the next of its order is due.
    pub fn remove(&mut self, at: usize) {
        self.stop(at);
        let task = self.tasks.remove(at);
        self.ids.remove(&task.slot);
        self.gone.push(task.slot);
        if task.leased {
            self.lanes[task.lane].leased -= 1;
        } else {
            self.lanes[task.lane].depth -= 1;
            self.held -= 1;
            self.bytes -= task.bytes;
        }
        self.ended += 1;
        let Some(order) = task.order else { return };
        let led = self.orders[order].front() == Some(&task.id);
        self.orders[order].retain(|id| *id != task.id);
        let next = self.orders[order].front().filter(|_| led);
        if let Some(at) = next.and_then(|id| self.tasks.binary_search_by_key(id, |task| task.id).ok()) {
            self.tasks[at].due = self.line.now;
        }
    }

    /// An attempt begins.
    pub fn start(&mut self, at: usize) {
        let task = &mut self.tasks[at];
        task.attempts += 1;
        task.started = self.line.now;
        task.vague = false;
        self.run(at);
    }

    /// An attempt runs, and counts.
    pub fn run(&mut self, at: usize) {
        let task = &mut self.tasks[at];
        task.place = Place::InFlight;
        self.lanes[task.lane].in_flight += 1;
        self.lanes[task.lane].owes_chance = false;
        self.running.push(task.slot);
    }

    /// The attempt of a task, if one runs, runs no more.
    pub fn stop(&mut self, at: usize) {
        let task = &mut self.tasks[at];
        if task.place == Place::InFlight {
            self.lanes[task.lane].in_flight -= 1;
            self.running.retain(|slot| *slot != task.slot);
        }
        task.place = Place::Waiting;
    }

    /// When a task must start at the latest, for each reason by its code: budget, expiry, key, caller's wait.
    /// What a call takes counts as `longest`, or as nothing, where the policy does not say it.
    pub fn deadlines(&self, task: &Task, longest: bool) -> [(u32, u64); 4] {
        let promise = &self.promises[task.policy];
        let seen = if longest { self.lanes[task.lane].longest_call } else { 0 };
        let budget = sum(task.created, promise.budget).saturating_sub(promise.estimate.unwrap_or(seen));
        let first = task.first_sent.filter(|_| task.flags & 2 != 0);
        let key = first.map_or(NEVER, |first| sum(first, promise.key_ttl));
        [(1, budget), (6, task.expires), (4, key), (2, if longest { task.leaves() } else { task.wait_until })]
    }

    /// The first of them.
    pub fn deadline(&self, task: &Task, longest: bool) -> u64 {
        self.deadlines(task, longest).iter().map(|(_, at)| *at).min().unwrap_or(NEVER)
    }

    /// From when on time does not hold a waiting task back.
    pub fn ready_at(&self, task: &Task) -> u64 {
        let lane = &self.lanes[task.lane];
        task.due.max(task.server_until).max(lane.held_until).max(lane.dark_until)
    }

    /// The host says how its network is.
    pub fn set_online(&mut self, online: bool) {
        self.overruled = false;
        let was_offline = std::mem::replace(&mut self.offline, !online);
        for at in 0..self.lanes.len() {
            let lane = &mut self.lanes[at];
            if online {
                lane.probing |= std::mem::take(&mut lane.failed_offline);
                self.hasten(at);
            } else if !was_offline {
                lane.go_dark(self.line.now);
            }
        }
    }

    /// An answer as it counts: a host may say with it alone that it is offline, and once a response has shown otherwise it is lost as any other.
    pub fn see(&mut self, answer: &Answer) -> Answer {
        let lost = answer.outcome == 3 && self.overruled;
        if answer.outcome == 3 && !lost {
            self.set_online(false);
        }
        Answer { outcome: if lost { 1 } else { answer.outcome }, ..*answer }
    }

    /// An answer has come: there is a network, whatever the host says.
    pub fn overrule(&mut self) {
        if std::mem::take(&mut self.offline) {
            self.overruled = true;
            (0..self.lanes.len()).for_each(|lane| self.hasten(lane));
        }
    }

    /// One attempt of a lane may go to see.
    pub fn hasten(&mut self, lane: usize) {
        self.lanes[lane].dark_until = 0;
        self.lanes[lane].gates.hasten(self.line.now);
    }

    /// Most attempts at a time in a lane.
    pub fn most(&self, lane: &Lane) -> u32 {
        if lane.probing || self.offline { self.bounds.per_lane.min(1) } else { self.bounds.per_lane }
    }

    /// Whether pauses and limits let a lane start another attempt.
    pub fn lets_start(&self, lane: usize) -> bool {
        let lane = &self.lanes[lane];
        !lane.paused && lane.in_flight < self.most(lane) && self.vacancies() > 0
    }

    /// Whether there is a gate in any lane.
    pub fn is_gated(&self) -> bool {
        self.lanes.iter().any(|lane| lane.gates.rules != Gates::default())
    }

    /// How many more attempts may start over all lanes.
    pub fn vacancies(&self) -> u32 {
        if self.paused { 0 } else { self.bounds.concurrency.saturating_sub(self.running.len() as u32) }
    }

    /// How many more a lane lets start at `now`.
    pub fn room(&self, lane: usize, now: u64) -> u32 {
        let lane = &self.lanes[lane];
        if lane.paused || lane.held_until.max(lane.dark_until) > now {
            return 0;
        }
        self.most(lane).saturating_sub(lane.in_flight)
    }

    /// Whether breaker and budget surely let a task start.
    pub fn gates_let(&self, task: &Task) -> bool {
        let lane = &self.lanes[task.lane];
        let now = self.line.now;
        let probes = lane.gates.circuit == Circuit::HalfOpen && (lane.in_flight > 0 || lane.gates.mixed);
        let is_shut = lane.gates.circuit == Circuit::Open || lane.gates.room(now) == 0 || probes;
        !is_shut && (task.attempts == 0 || !lane.gates.is_broke(now))
    }

    /// Whether a task could surely start now.
    pub fn could_start(&self, task: &Task) -> bool {
        task.place == Place::Waiting
            && self.leads(task)
            && sum(self.ready_at(task), if task.vague { MOST_SPREAD } else { 0 }) <= self.line.now
            && self.lets_start(task.lane)
            && self.gates_let(task)
    }
}
