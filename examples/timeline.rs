//! One task against a server that is down for a while, in virtual time: `cargo run --example timeline`.
//!
//! The crate decides and does nothing else, so a host brings the clock, the network and the timer.
//! Here the clock is a number, the network a function, and the timer the jump to `wake_at`.
#![allow(clippy::expect_used, clippy::panic)]

use redrive::policy::{Policy, PolicyOptions};
use redrive::queue::{Action, Admission, Ended, Limits, Queue, Verdict};
use redrive::retry_after::parse_retry_after;
use redrive::slots::NONE;
use redrive::task::{Flags, Outcome};
use redrive::time::Millis;

/// Status and `Retry-After` of a server that refuses until 1.5 s, then asks for 2 s, then works.
fn server(now: Millis) -> (u32, Option<&'static [u8]>) {
    match now.get() {
        0..1500 => (503, None),
        1500..4000 => (429, Some(b"2")),
        _ => (200, None),
    }
}

/// Runs the task to its end and returns the statuses it met.
pub fn main() {
    let max_lane_hold = Millis::new(60_000);
    let limits =
        Limits { concurrency: 3, per_lane: 3, capacity: 100, capacity_bytes: 1 << 20, max_lane_hold };
    let mut queue = Queue::new(limits, 7);
    let policy = Policy::new(&PolicyOptions { max_attempts: Some(8.0), ..PolicyOptions::default() });
    let policy = queue.intern(policy.expect("the options are sound"));
    let lane = queue.open_lane();
    let admission = Admission {
        lane,
        policy,
        order: NONE,
        priority: 0,
        bytes: 0,
        flags: Flags::REPLAYABLE.with(Flags::KEYED),
        created_at: Millis::ZERO,
        expires_at: Millis::MAX,
        wait_until: Millis::MAX,
        started: false,
        began: Millis::ZERO,
    };
    queue.admit(Millis::ZERO, &admission).expect("there is room");

    let (mut now, mut actions) = (Millis::ZERO, Vec::new());
    loop {
        queue.poll(now, &mut actions);
        for action in &actions {
            let Action::Start(slot) = *action else { panic!("it ran out of time") };
            let (status, header) = server(now);
            let server_delay = header.and_then(|header| parse_retry_after(header, None, now));
            let ended = Ended { status, server_delay, ..Ended::of(Outcome::Response) };
            match queue.settle(now, slot, &ended) {
                Verdict::Succeeded => return println!("{:>6} ms: {status}, delivered", now.get()),
                Verdict::Retry { delay, .. } => {
                    println!("{:>6} ms: {status}, again in {} ms", now.get(), delay.get());
                }
                other => panic!("{other:?}"),
            }
        }
        now = queue.wake_at();
    }
}
