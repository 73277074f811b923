//! What can happen, as data.
//!
//! An event names lanes, tasks and orders by position and instants by distance from the present, so each means
//! something whatever happened before it: taking events out of a list leaves a list that still makes sense. That
//! is what lets a failure be shrunk, kept as JSON and replayed.

use serde::{Deserialize, Serialize};

use crate::gate_spec::GateSpec;

/// One world from its beginning: what the queue may hold, which policies there are, and all that happens.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Scenario {
    /// The seed of the queue's own dice.
    pub seed: u64,
    /// Limits of the queue.
    pub limits: Bounds,
    /// How many lanes.
    pub lanes: u8,
    /// How many orders.
    pub orders: u8,
    /// The policies that tasks choose from.
    pub policies: Vec<Spec>,
    /// What the wall clock says at first, in epoch ms.
    pub clock: u64,
    /// What stands between due tasks and their attempts.
    #[serde(default)]
    pub gates: Option<GateSpec>,
    /// What happens, in order.
    pub events: Vec<Event>,
}

/// What a queue may hold and run.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Bounds {
    /// Attempts of the queue at a time.
    pub concurrency: u32,
    /// The same in one lane.
    pub per_lane: u32,
    /// Tasks.
    pub capacity: u32,
    /// Bytes of their bodies.
    pub capacity_bytes: u64,
    /// The longest that tasks wait for what another was told.
    pub max_lane_hold_ms: u64,
}

/// A policy as its options, `null` where the default counts.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Spec {
    /// The options in the order in which they cross the boundary, without the two lists.
    pub fields: [Option<f64>; 19],
    /// The waits of a table.
    pub delays: Option<Vec<f64>>,
    /// The status codes worth another attempt.
    pub statuses: Option<Vec<f64>>,
}

impl Spec {
    /// The row of numbers that crosses the boundary: absent ones NaN, the lists behind.
    pub fn row(&self) -> Vec<f64> {
        let count = |list: &Option<Vec<f64>>| list.as_ref().map_or(f64::NAN, |list| list.len() as f64);
        let mut row: Vec<f64> = self.fields.iter().map(|field| field.unwrap_or(f64::NAN)).collect();
        row.extend([count(&self.delays), count(&self.statuses)]);
        row.extend(self.delays.iter().chain(&self.statuses).flatten());
        row
    }
}

/// One thing that happens. A lane or order out of range is taken modulo their number, unless it says `None`.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Event {
    /// Tasks come in, all alike.
    Admit(Arrival),
    /// The server (or what stands for it) answers one of the attempts that run, in the lane if one is named.
    Answer { lane: Option<u8>, pick: u32, answer: Answer },
    /// An answer arrives for a slot that has no attempt in flight: one settled before, or one that waits.
    Stale { pick: u32, answer: Answer },
    /// The host asks what to do.
    Poll,
    /// Time passes.
    Pass(u64),
    /// The wall clock is set, forward or backwards.
    SetClock(i64),
    /// Time passes until the queue asked to be polled, or `off` later, but no more than `within`; then it is polled.
    Wake { off: i64, within: u64 },
    /// Somebody cancels a task, waiting or in flight or gone.
    Cancel { pick: u32 },
    /// A pause, of one lane or of all.
    Pause(Option<u8>),
    /// Its end.
    Resume(Option<u8>),
    /// The host goes offline or online.
    Online(bool),
    /// What waits for its own curve is due.
    Flush(Option<u8>),
    /// An order is forgotten, if it may be, and opened anew.
    ReopenOrder(u8),
    /// A lane is forgotten, if it may be, and opened anew.
    ReopenLane(u8),
    /// A policy is given back and kept again.
    Renew(u8),
    /// A store leases a task for one attempt.
    Adopt(Adoption),
    /// A lane is held for what was learned elsewhere.
    Hold { lane: u8, ms: u64 },
    /// A caller's own attempt that makes no task ends; it began so long ago. 0 a success, 1 healthy, 2 a failure, 3 nothing is learned,
    /// 4 a limit.
    Hear { lane: u8, ago: u64, kind: u8 },
    /// A caller asks whether its own attempt may start.
    Ask { lane: u8 },
    /// A user looks.
    Visit { lane: u8 },
}

/// A task on lease.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Adoption {
    /// The request, as those that come in; its copies, order and priority have no say.
    pub task: Arrival,
    /// How long ago its first attempt began, if one was sent.
    pub sent: Option<u64>,
    /// Attempts counted, this one too.
    pub attempts: u32,
    /// Attempts given back.
    pub refunds: u32,
    /// Its position in the window of spread waits.
    pub phase: Option<u32>,
    /// The curve's last wait.
    pub previous: u64,
    /// The queue's own notes.
    pub marks: u32,
}

/// Tasks on their way in.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Arrival {
    /// How many.
    pub copies: u32,
    /// Which lane.
    pub lane: u8,
    /// Under which policy.
    pub policy: u8,
    /// In which order, if any.
    pub order: Option<u8>,
    /// Higher first.
    pub priority: i32,
    /// Size of each body.
    pub bytes: u32,
    /// 1 replayable, 2 keyed, 4 credentialed.
    pub flags: u8,
    /// How long ago the caller asked.
    pub age: u64,
    /// In how long it expires.
    pub expires: Option<u64>,
    /// For how long the caller waits.
    pub waits: Option<u64>,
    /// The caller has made the first attempt, and this is how it ended.
    pub made: Option<Answer>,
}

/// How an attempt ended.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Answer {
    /// 0 response, 1 network error, 2 timed out, 3 offline, 4 credentials failed, 5 vetoed, 6 released, 7 redirect refused,
    /// 8 own error, 9 aborted.
    pub outcome: u8,
    /// The status of a response.
    pub status: u16,
    /// `Retry-After`, in ms from now.
    pub server: Option<u64>,
    /// When the rate limit begins anew, in ms from now.
    pub limit: Option<u64>,
    /// A `Retry-After` that could not be read.
    pub unusable: bool,
    /// What the call took.
    pub took: Option<u64>,
    /// What hooks say of it and whom its rate limit is for.
    #[serde(default)]
    pub said: Said,
}

impl Answer {
    /// Whether a response arrived.
    pub const fn answered(&self) -> bool {
        matches!(self.outcome, 0 | 7)
    }

    /// Whether it has a `Retry-After`.
    pub const fn asks(&self) -> bool {
        self.server.is_some() || self.unusable
    }
}

/// What is said of an attempt beside its answer.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub struct Said {
    /// Whether the user's hook has it tried again.
    pub retry: Option<bool>,
    /// The wait of the user's hook, in ms.
    pub delay: Option<u64>,
    /// The rate limit is one partition's.
    pub partition: bool,
    /// It is marked as the replay of a stored one.
    #[serde(default)]
    pub replayed: bool,
}
