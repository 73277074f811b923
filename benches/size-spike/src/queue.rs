//! The state machine: admit, start, settle, cancel, pause, wake; lanes, limits, order keys.

use crate::agenda::Agenda;
#[cfg(feature = "gates")]
use crate::gates::Gates;
use crate::slots::Slots;

mod control;
mod settle;

const NONE: u32 = u32::MAX;
/// Priority; tickets of lanes with ready tasks of it; how many were taken.
type Turn = (i32, Vec<(u32, u32)>, usize);

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum State {
    Waiting,
    Ready,
    InFlight,
    CancelRequested,
    Parked,
}

pub struct Task {
    pub lane: u32,
    pub policy: u32,
    pub priority: i32,
    pub state: State,
    pub attempts: u32,
    pub refunds: u32,
    pub created_at: u64,
    pub first_at: u64,
    pub due_at: u64,
    pub not_before: u64,
    pub expires_at: u64,
    pub wait_until: u64,
    pub phase: u32,
    pub previous_ms: u64,
    pub bytes: u64,
    pub flags: u32,
    pub next: u32,
    pub order_next: u32,
    pub log: Vec<(u64, u32, u32)>,
}

struct Fifo {
    priority: i32,
    head: u32,
    tail: u32,
}

pub struct Lane {
    pub in_flight: u32,
    pub depth: u32,
    pub held_until: u64,
    pub paused: bool,
    probing: bool,
    failures: u32,
    pub average_ms: u64,
    ready: Vec<Fifo>,
    ticket: u32,
    order_tails: Vec<(u32, u32)>,
    #[cfg(feature = "gates")]
    gates: Gates,
}

impl Lane {
    fn new() -> Self {
        Self {
            in_flight: 0,
            depth: 0,
            held_until: 0,
            paused: false,
            probing: false,
            failures: 0,
            average_ms: 0,
            ready: Vec::new(),
            ticket: 0,
            order_tails: Vec::new(),
            #[cfg(feature = "gates")]
            gates: Gates::new(),
        }
    }

    fn best(&self) -> Option<i32> {
        self.ready.first().map(|list| list.priority)
    }

    fn list(&mut self, priority: i32) -> Option<&mut Fifo> {
        let at = match self.ready.binary_search_by(|list| priority.cmp(&list.priority)) {
            Ok(at) => at,
            Err(at) => {
                self.ready.insert(at, Fifo { priority, head: NONE, tail: NONE });
                at
            }
        };
        self.ready.get_mut(at)
    }
}

pub struct Limits {
    pub max_attempts: u32,
    pub total_budget_ms: u64,
    pub max_server_ms: u64,
    pub key_ttl_ms: u64,
    pub estimate_ms: u64,
}

pub struct Queue {
    concurrency: u32,
    per_lane: u32,
    capacity: u32,
    capacity_bytes: u64,
    pub bytes: u64,
    pub in_flight: u32,
    online: bool,
    paused: bool,
    start: u32,
    seed: u64,
    pub tasks: Slots<Task>,
    pub lanes: Slots<Lane>,
    due: Agenda,
    expiry: Agenda,
    holds: Agenda,
    eligible: Vec<Turn>,
    handles: Vec<u32>,
    lane_handles: Vec<u32>,
    pub actions: Vec<u32>,
    pub last_delay: u64,
    pub authorize: bool,
}

impl Queue {
    pub fn new(concurrency: u32, per_lane: u32, capacity: u32, capacity_bytes: u64, seed: u64) -> Self {
        let mut queue = Self {
            concurrency,
            per_lane,
            capacity,
            capacity_bytes,
            bytes: 0,
            in_flight: 0,
            online: true,
            paused: false,
            start: 0,
            seed,
            tasks: Slots::new(),
            lanes: Slots::new(),
            due: Agenda::new(),
            expiry: Agenda::new(),
            holds: Agenda::new(),
            eligible: Vec::new(),
            handles: Vec::new(),
            lane_handles: Vec::new(),
            actions: Vec::with_capacity(512),
            last_delay: 0,
            authorize: false,
        };
        queue.start = queue.draw();
        queue
    }

    pub fn draw(&mut self) -> u32 {
        self.seed = self.seed.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.seed;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((z ^ (z >> 31)) >> 32) as u32
    }

    pub fn lane(&mut self) -> u32 {
        let handle = self.lanes.insert(Lane::new()).unwrap_or(NONE);
        remember(&mut self.lane_handles, handle);
        handle
    }

    pub fn drop_lane(&mut self, lane: u32) -> bool {
        match self.lanes.get(lane) {
            Some(row) if row.depth == 0 && row.in_flight == 0 && row.held_until == 0 => {
                self.lanes.remove(lane).is_some()
            }
            _ => false,
        }
    }

    #[allow(clippy::too_many_arguments)]
    pub fn admit(
        &mut self,
        now: u64,
        lane: u32,
        policy: u32,
        priority: i32,
        bytes: u64,
        flags: u32,
        created_at: u64,
        expires_at: u64,
        wait_until: u64,
        started: bool,
        order: u32,
    ) -> u32 {
        if self.tasks.len() >= self.capacity || self.bytes.saturating_add(bytes) > self.capacity_bytes {
            return NONE;
        }
        let state = if started { State::InFlight } else { State::Waiting };
        let task = Task {
            lane,
            policy,
            priority,
            state,
            attempts: u32::from(started),
            refunds: 0,
            created_at,
            first_at: now,
            due_at: now,
            not_before: 0,
            expires_at,
            wait_until,
            phase: 0,
            previous_ms: 0,
            bytes,
            flags,
            next: NONE,
            order_next: NONE,
            log: Vec::new(),
        };
        let Some(slot) = self.tasks.insert(task) else { return NONE };
        remember(&mut self.handles, slot);
        self.bytes = self.bytes.saturating_add(bytes);
        let mut behind = NONE;
        if let Some(row) = self.lanes.get_mut(lane) {
            row.depth = row.depth.saturating_add(1);
            if order != NONE {
                match row.order_tails.iter_mut().find(|(key, _)| *key == order) {
                    Some(tail) => behind = core::mem::replace(&mut tail.1, slot),
                    None => row.order_tails.push((order, slot)),
                }
            }
        }
        if behind != NONE
            && let Some(head) = self.tasks.get_mut(behind)
        {
            head.order_next = slot;
        } else if !started {
            self.due.push(slot & 0xF_FFFF, now);
        }
        if expires_at != u64::MAX {
            self.expiry.push(slot & 0xF_FFFF, expires_at.min(wait_until));
        }
        slot
    }

    fn make_ready(&mut self, slot: u32) {
        let Some(task) = self.tasks.get_mut(slot) else { return };
        task.state = State::Ready;
        task.next = NONE;
        let (lane_handle, priority) = (task.lane, task.priority);
        let Some(lane) = self.lanes.get_mut(lane_handle) else { return };
        let Some(list) = lane.list(priority) else { return };
        let tail = core::mem::replace(&mut list.tail, slot);
        if tail == NONE {
            list.head = slot;
        }
        if let Some(before) = self.tasks.get_mut(tail) {
            before.next = slot;
        }
        self.offer(lane_handle);
    }

    fn offer(&mut self, lane_handle: u32) {
        let Some(lane) = self.lanes.get_mut(lane_handle) else { return };
        let Some(priority) = lane.best() else { return };
        lane.ticket = lane.ticket.wrapping_add(1);
        let ticket = (lane_handle, lane.ticket);
        match self.eligible.binary_search_by(|row| priority.cmp(&row.0)) {
            Ok(at) => {
                if let Some(row) = self.eligible.get_mut(at) {
                    row.1.push(ticket);
                }
            }
            Err(at) => self.eligible.insert(at, (priority, vec![ticket], 0)),
        }
    }

    pub fn poll(&mut self, now: u64) -> u32 {
        self.actions.clear();
        let mut fresh = Vec::new();
        self.due.advance(now, |index| fresh.push(index));
        for index in fresh {
            let slot = self.handles.get(index as usize).copied().unwrap_or(NONE);
            self.make_ready(slot);
        }
        let mut ended = Vec::new();
        self.expiry.advance(now, |index| ended.push(index));
        for index in ended {
            let slot = self.handles.get(index as usize).copied().unwrap_or(NONE);
            let reason = match self.tasks.get(slot) {
                Some(task) if task.state == State::InFlight => continue,
                Some(task) if task.expires_at <= now => 6,
                Some(_) => 2,
                None => continue,
            };
            self.actions.extend([slot, 16 | reason]);
            self.finish(slot);
        }
        let mut opened = Vec::new();
        self.holds.advance(now, |index| opened.push(index));
        for index in opened {
            let lane = self.lane_handles.get(index as usize).copied().unwrap_or(NONE);
            self.offer(lane);
        }
        while self.actions.len() < 512 && self.online && !self.paused && self.in_flight < self.concurrency {
            let Some(slot) = self.pick(now) else { break };
            if let Some(task) = self.tasks.get_mut(slot) {
                task.state = State::InFlight;
                task.attempts = task.attempts.saturating_add(1);
            }
            self.in_flight = self.in_flight.saturating_add(1);
            self.actions.extend([slot, 0]);
        }
        (self.actions.len() / 2) as u32
    }

    fn pick(&mut self, now: u64) -> Option<u32> {
        let mut row_at = 0;
        loop {
            let row = self.eligible.get_mut(row_at)?;
            let Some(&(lane_handle, ticket)) = row.1.get(row.2) else {
                row.1.clear();
                row.2 = 0;
                row_at += 1;
                continue;
            };
            row.2 += 1;
            let per_lane = self.per_lane;
            let Some(lane) = self.lanes.get_mut(lane_handle) else { continue };
            if lane.ticket != ticket || lane.paused || lane.held_until > now {
                continue;
            }
            let limit = if lane.probing { 1 } else { per_lane };
            #[cfg(feature = "gates")]
            let limit = if per_lane == NONE {
                limit
            } else if lane.gates.admit(now) {
                limit.min(lane.gates.limit())
            } else {
                0
            };
            if lane.in_flight >= limit {
                continue;
            }
            let Some(list) = lane.ready.first_mut() else { continue };
            let slot = list.head;
            let next = self.tasks.get(slot).map_or(NONE, |task| task.next);
            list.head = next;
            if next == NONE {
                lane.ready.remove(0);
            }
            lane.in_flight = lane.in_flight.saturating_add(1);
            if !lane.ready.is_empty() {
                self.offer(lane_handle);
            }
            return Some(slot);
        }
    }

    pub fn wake_at(&self) -> Option<u64> {
        [self.due.next_at(), self.expiry.next_at(), self.holds.next_at()].into_iter().flatten().min()
    }
}

fn remember(handles: &mut Vec<u32>, handle: u32) {
    let index = (handle & 0xF_FFFF) as usize;
    if handle != NONE && handles.len() <= index {
        handles.resize(index + 1, NONE);
    }
    if let Some(row) = handles.get_mut(index) {
        *row = handle;
    }
}
