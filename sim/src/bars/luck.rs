//! Worlds in which attempts fail by chance, and calls should fare as without gates.

use redrive::policy::PolicyOptions;
use redrive::rng::SplitMix64;

use crate::bars::run::{Load, Server, World};

const SERVERS: [(u32, Server); 5] =
    [(10, fails::<10>), (20, fails::<20>), (30, fails::<30>), (40, fails::<40>), (60, fails::<60>)];
const PAUSES: [u64; 4] = [0, 100, 1000, 5000];
const CALLS: u32 = 200;

/// How long an answer takes.
pub fn took(dice: &mut SplitMix64) -> u64 {
    20 + u64::from(dice.next_u32()) % 80
}

/// A server that fails so many of a hundred attempts.
pub fn fails<const PERCENT: u32>(dice: &mut SplitMix64, _: u64, _: u32) -> (bool, u64) {
    let answered = dice.next_u32() % 100 >= PERCENT;
    (answered, took(dice))
}

/// A world of awaited calls.
pub fn calls(load: Load, server: Server) -> World {
    World { load, server, policy: PolicyOptions::default(), end: u64::MAX / 4 }
}

/// Each row: its name, and the worlds that must all keep its bar, which differ in the pause between a caller's calls. A circuit that
/// opens by mistake costs those most who call again at once; of those who pause, the record knows least.
pub fn rows() -> Vec<(String, Vec<World>)> {
    let mut rows = Vec::new();
    for (callers, pauses) in [(10, &PAUSES[..1]), (5, &PAUSES), (2, &PAUSES), (1, &PAUSES)] {
        for (percent, server) in SERVERS {
            let load = |pause| Load::Loop { callers, calls: CALLS, pause };
            let name = format!("fails {percent} %, {callers} at a time, {pauses:?} ms between calls");
            rows.push((name, pauses.iter().map(|pause| calls(load(*pause), server)).collect()));
        }
    }
    rows
}
