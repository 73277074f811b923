//! What can happen to a queue.

use proptest::prelude::*;

/// One thing that happens. A lane out of range means all lanes.
#[derive(Clone, Debug)]
pub enum Step {
    Admit {
        lane: usize,
        policy: usize,
        /// One out of range was dropped long ago.
        order: Option<usize>,
        priority: i32,
        bytes: u64,
        flags: u32,
        lives: Option<u64>,
        waits: Option<u64>,
        started: bool,
    },
    /// An attempt ends, or somebody says so: the slot may be stale or not in flight.
    Settle {
        pick: usize,
        outcome: u32,
        status: u32,
        server: Option<u64>,
        limit: Option<u64>,
        unusable: bool,
    },
    Poll,
    Cancel(usize),
    Pass(u64),
    SetBack(u64),
    PassToWake,
    Pause(usize),
    Resume(usize),
    Online(bool),
    Flush(usize),
    /// A task was enqueued, so that its user expects an attempt.
    Visit(usize),
    /// Drop an order and open it anew, if nobody is in it.
    Reopen(usize),
    Adopt(Adoption),
    Hold(usize, u64),
    Share(usize, u64),
}

/// A store leases a task.
#[derive(Clone, Debug)]
pub struct Adoption {
    pub lane: usize,
    pub policy: usize,
    pub bytes: u64,
    pub flags: u32,
    pub lives: Option<u64>,
    pub waits: Option<u64>,
    pub started: bool,
    /// How long ago its first attempt was.
    pub sent: Option<u64>,
    pub attempts: u32,
    pub refunds: u32,
    pub phase: Option<u32>,
    pub previous: u64,
    pub marks: u32,
}

fn adopt() -> impl Strategy<Value = Step> {
    let limit = || prop_oneof![3 => Just(None), 1 => (0_u64..3000).prop_map(Some)];
    let request = (0_usize..3, 0_usize..4, 0_u64..300, 0_u32..8, limit(), limit(), prop::bool::weighted(0.2));
    let refunds = prop_oneof![4 => 0_u32..3, 1 => 17_u32..40];
    let marks = prop_oneof![4 => 0_u32..8, 1 => any::<u32>()];
    let past = (limit(), 1_u32..6, refunds, any::<Option<u32>>(), 0_u64..1000, marks);
    (request, past).prop_map(|(request, past)| {
        let (lane, policy, bytes, flags, lives, waits, started) = request;
        let (sent, attempts, refunds, phase, previous, marks) = past;
        let flags = if flags == 0 { 0 } else { flags | 1 };
        Step::Adopt(Adoption {
            lane,
            policy,
            bytes,
            flags,
            lives,
            waits,
            started,
            sent,
            attempts,
            refunds,
            phase,
            previous,
            marks,
        })
    })
}

fn admit() -> impl Strategy<Value = Step> {
    let limit = || prop_oneof![3 => Just(None), 1 => (0_u64..3000).prop_map(Some)];
    let order = prop_oneof![10 => Just(None), 15 => (0_usize..3).prop_map(Some), 1 => Just(Some(3))];
    // Most orders' tasks are enqueued; one with its first attempt made is refused.
    let made = (any::<bool>(), 0..8);
    let parts = (0_usize..3, 0_usize..4, order, -1_i32..2, 0_u64..300, 0_u32..8, limit(), limit(), made);
    parts.prop_map(|(lane, policy, order, priority, bytes, flags, lives, waits, made)| Step::Admit {
        lane,
        policy,
        order,
        priority,
        bytes,
        // Mostly requests that may be repeated, or nothing would ever wait.
        flags: if flags == 0 { 0 } else { flags | 1 },
        lives,
        waits,
        started: made.0 && (order.is_none() || made.1 == 0),
    })
}

fn settle() -> impl Strategy<Value = Step> {
    let outcome = prop_oneof![10 => Just(0), 3 => Just(1), 3 => 2_u32..10];
    let status =
        prop::sample::select(vec![102, 200, 503, 503, 429, 502, 401, 401, 400, 403, 409, 409, 422, 500]);
    let server = prop_oneof![4 => Just(None), 2 => (0_u64..3000).prop_map(Some), 1 => Just(Some(5000))];
    let limit = prop_oneof![6 => Just(None), 2 => (0_u64..3000).prop_map(Some), 1 => Just(Some(5000))];
    let parts = (0_usize..40, outcome, status, server, limit, any::<bool>());
    parts.prop_map(|(pick, outcome, status, server, limit, unusable)| Step::Settle {
        pick,
        outcome,
        status,
        server,
        limit,
        unusable: unusable && server.is_none(),
    })
}

pub fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        20 => admit(),
        40 => settle(),
        20 => Just(Step::Poll),
        15 => Just(Step::PassToWake),
        10 => (0_u64..400).prop_map(Step::Pass),
        2 => (400_u64..100_000).prop_map(Step::Pass),
        1 => (0_u64..200_000).prop_map(Step::SetBack),
        4 => (0_usize..40).prop_map(Step::Cancel),
        2 => (0_usize..4).prop_map(Step::Pause),
        5 => (0_usize..4).prop_map(Step::Resume),
        3 => prop::sample::select(vec![true, true, false]).prop_map(Step::Online),
        2 => (0_usize..4).prop_map(Step::Flush),
        1 => (0_usize..4).prop_map(Step::Visit),
        2 => (0_usize..3).prop_map(Step::Reopen),
        8 => adopt(),
        2 => (0_usize..4, prop_oneof![1 => Just(0), 4 => 0_u64..3000]).prop_map(|(lane, ms)| Step::Hold(lane, ms)),
        2 => (0_usize..4, prop_oneof![2 => Just(0), 3 => 0_u64..3000]).prop_map(|(lane, ms)| Step::Share(lane, ms)),
    ]
}
