//! The budget of a page, found by trying, with the ramp and without: what a lone call can do in time, and whether a crowd
//! of tabs lets a server recover.
//!
//! A page is alone: it has a call or two that failed and cannot know of the 20,000 others. Its full bucket must pay for
//! all retries of one call; after that, without a ramp, the refill decides what a crowd of empty buckets asks of a server.

use redrive::gates::Gates;
use redrive::policy::{Policy, PolicyOptions};

use crate::storm::client::{Client, Step};
use crate::storm::grid::{Progress, Several};
use crate::storm::model::{Backlog, Outage, Setup, gates, patient};
use crate::storm::server::Fate;

/// What a caller waits by default, in ms.
const WAIT_MS: u64 = 30_000;
/// Tokens, one more in so many seconds, and whether there is a ramp.
const PAIRS: [(f64, f64, bool); 10] = [
    (3.0, 300.0, false),
    (5.0, 300.0, false),
    (5.0, 150.0, false),
    (5.0, 80.0, false),
    (10.0, 150.0, false),
    (100.0, 10.0, false),
    (5.0, 150.0, true),
    (10.0, 10.0, true),
    (100.0, 10.0, true),
    (1000.0, 1.0, true),
];
const PER_SUCCESS: f64 = 0.2;

/// How many retries each of `calls` calls of one page may make within 30 s, the fewest; they fail together, at once and
/// each time, and nothing else succeeds.
pub fn retries_in_time(
    (capacity, refill, ramp): (f64, f64, bool),
    calls: usize,
    policy: &PolicyOptions,
    seed: u64,
) -> u32 {
    let setup = Setup::new(1, Backlog::Deep, Outage::Refusing).with(of_page((capacity, refill, ramp)));
    let mut client = Client::new(&setup, Policy::new(policy).expect("a sound policy"), seed);
    let mut steps = Vec::new();
    let mut retries = vec![0; calls];
    // The call of a task is told from the others by when it was made.
    for call in 0..calls as u64 {
        client.failed(Fate::Refused, call, calls as u64);
    }
    let mut now = calls as u64;
    while now < WAIT_MS {
        let wake = client.act(now, &mut steps);
        if steps.is_empty() {
            now = wake;
        }
        for step in steps.drain(..) {
            if let Step::Send(slot) = step {
                retries[client.made(slot) as usize] += 1;
                client.retried(slot, Fate::Refused, now, now);
            }
        }
    }
    retries.into_iter().min().unwrap_or(0)
}

/// The least of twenty seeds.
fn surely(pair: (f64, f64, bool), calls: usize, policy: &PolicyOptions) -> u32 {
    (1..=20).map(|seed| retries_in_time(pair, calls, policy, seed)).min().unwrap_or(0)
}

/// The table of pairs: what a page's calls can do in time, and what the crowd does to the server.
pub fn table(seeds: u64) -> String {
    let mut text = String::from(
        "| tokens | refill, 1 in | ramp | a call's retries in time | of three calls | of a 10-attempt policy \
         | drained | amplification | last call |\n|---|---|---|---|---|---|---|---|---|\n",
    );
    let mut progress = Progress::of(PAIRS.len());
    let ten = PolicyOptions { max_attempts: Some(10.0), ..patient(4000.0) };
    for pair in PAIRS {
        let (capacity, refill, ramp) = pair;
        let setup = Setup::new(20_000, Backlog::Deep, Outage::Hanging).with(of_page(pair));
        let several = Several::of(&setup, seeds);
        let row = format!(
            "| {capacity} | {refill} s | {} | {} of 4 | {} | {} of 9 | {} | {:.2} | {} |",
            if ramp { "yes" } else { "no" },
            surely(pair, 1, &PolicyOptions::default()),
            surely(pair, 3, &PolicyOptions::default()),
            surely(pair, 1, &ten),
            several.drained(),
            several.middle(|figures| figures.amplification),
            several.last()
        );
        progress.step(&row);
        text.push_str(&row);
        text.push('\n');
    }
    text
}

fn of_page((capacity, refill, ramp): (f64, f64, bool)) -> Gates {
    Gates { ramp, ..gates(None, Some((capacity, PER_SUCCESS, 1.0 / refill))) }
}
