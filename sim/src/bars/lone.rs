//! A lone process whose server is away for a while: a few tasks were enqueued meanwhile, and all of them are to be delivered
//! soon after its return.

use redrive::gates::Gates;
use redrive::policy::presets;
use redrive::rng::SplitMix64;

use crate::bars::run::{Load, Server, World, run};

/// What an attempt meets while the server is away: a connection that is refused, a 503, silence until the timeout.
const REFUSED: u64 = 2;
const UNAVAILABLE: u64 = 60;
const SILENT: u64 = 10_000;

/// How soon the tasks must be delivered after the return, in ms: the last of them.
#[derive(Clone, Copy, Debug)]
pub struct Bound {
    /// In the middle one of the runs.
    pub middle: u64,
    /// In 99 of 100 runs.
    pub late: u64,
    /// In the worst run.
    pub worst: u64,
}

/// One process.
#[derive(Clone, Debug)]
pub struct Lone {
    /// How many tasks, and what they meet for how long.
    pub name: String,
    world: World,
    back: u64,
    /// What it must keep.
    pub bound: Bound,
}

/// No bound.
const NONE: u64 = u64::MAX;

fn away<const BACK: u64, const TOOK: u64>(dice: &mut SplitMix64, now: u64, _: u32) -> (bool, u64) {
    if now < BACK { (false, TOOK) } else { (true, 20 + u64::from(dice.next_u32()) % 80) }
}

/// All of them.
pub fn all() -> Vec<Lone> {
    let short = Bound { middle: 10_000, late: NONE, worst: 15_000 };
    let long = Bound { middle: 25_000, late: NONE, worst: 30_000 };
    let servers: [(&str, u64, Bound, Server); 6] = [
        ("refused for 20 s", 20_000, short, away::<20_000, REFUSED>),
        ("503 for 20 s", 20_000, short, away::<20_000, UNAVAILABLE>),
        ("silent for 20 s", 20_000, short, away::<20_000, SILENT>),
        ("refused for 45 s", 45_000, long, away::<45_000, REFUSED>),
        ("503 for 45 s", 45_000, long, away::<45_000, UNAVAILABLE>),
        ("silent for 45 s", 45_000, long, away::<45_000, SILENT>),
    ];
    let of = |(name, back, bound, server)| {
        [1, 4, 15, 20].map(|tasks| {
            lone(format!("{tasks} enqueued, {name}"), Load::Backlog { tasks }, back, bound, server)
        })
    };
    servers.into_iter().flat_map(of).collect()
}

fn lone(name: String, load: Load, back: u64, bound: Bound, server: Server) -> Lone {
    Lone {
        name,
        world: World { load, server, policy: presets::background(), end: back + 600_000 },
        back,
        bound,
    }
}

/// Those of a page in view, whose user waits for an order that was made in the first half of the outage. A server that is silent may be at work on more than it can do, so
/// that there is no bound where it is.
pub fn in_view() -> Vec<Lone> {
    let soon = Bound { middle: 2_000, late: 10_000, worst: NONE };
    let unbound = Bound { middle: NONE, late: NONE, worst: NONE };
    let servers: [(&str, u64, Bound, Server); 12] = [
        ("refused for 5 s", 5_000, soon, away::<5_000, REFUSED>),
        ("refused for 20 s", 20_000, soon, away::<20_000, REFUSED>),
        ("refused for 45 s", 45_000, soon, away::<45_000, REFUSED>),
        ("refused for 60 s", 60_000, soon, away::<60_000, REFUSED>),
        ("503 for 5 s", 5_000, soon, away::<5_000, UNAVAILABLE>),
        ("503 for 20 s", 20_000, soon, away::<20_000, UNAVAILABLE>),
        ("503 for 45 s", 45_000, soon, away::<45_000, UNAVAILABLE>),
        ("503 for 60 s", 60_000, soon, away::<60_000, UNAVAILABLE>),
        ("silent for 5 s", 5_000, unbound, away::<5_000, SILENT>),
        ("silent for 20 s", 20_000, unbound, away::<20_000, SILENT>),
        ("silent for 45 s", 45_000, unbound, away::<45_000, SILENT>),
        ("silent for 60 s", 60_000, unbound, away::<60_000, SILENT>),
    ];
    let of = |(name, back, bound, server): (&str, u64, Bound, Server)| {
        lone(format!("an order, {name}"), Load::Order { within: back / 2 }, back, bound, server)
    };
    servers.map(of).into()
}

/// How long after the return the first and the last of the tasks were delivered: the middle and the worst of the runs.
#[derive(Clone, Copy, Debug)]
pub struct Delivered {
    /// The first.
    pub first: Bound,
    /// The last.
    pub last: Bound,
}

impl Lone {
    /// Runs it behind these gates.
    pub fn delivered(&self, gates: Gates, seeds: u64) -> Delivered {
        let (mut firsts, mut lasts) = (Vec::new(), Vec::new());
        for seed in 1..=seeds {
            let (calls, _) = run(&self.world, gates, seed);
            let at = || calls.iter().map(|call| call.ended.map_or(u64::MAX, |(at, _)| at));
            firsts.push(at().min().unwrap_or(u64::MAX).saturating_sub(self.back));
            lasts.push(at().max().unwrap_or(u64::MAX).saturating_sub(self.back));
        }
        Delivered { first: bound_of(firsts), last: bound_of(lasts) }
    }
}

/// The figures of these runs.
pub fn bound_of(mut of: Vec<u64>) -> Bound {
    of.sort_unstable();
    let at = |index: usize| of.get(index).copied().unwrap_or(u64::MAX);
    let late = (of.len() * 99).div_ceil(100).saturating_sub(1);
    Bound { middle: at(of.len() / 2), late: at(late), worst: at(of.len().saturating_sub(1)) }
}
