//! The budget of a page, found by trying: few tokens let a crowd of tabs recover, too few fail a lone call.
//!
//! A page is alone: it has a call or two that failed and cannot know of the 20,000 others. Its full bucket must pay for
//! all retries of one call; after that the refill decides what a crowd of empty buckets asks of a server that is back.

use redrive::policy::{Policy, PolicyOptions};

use crate::storm::client::{Client, Step};
use crate::storm::grid::{Progress, Several};
use crate::storm::model::{Backlog, Outage, Setup, paged, patient};
use crate::storm::server::Fate;

/// What a caller waits by default, in ms.
const WAIT_MS: u64 = 30_000;
const CAPACITIES: [f64; 5] = [5.0, 10.0, 30.0, 100.0, 1000.0];
/// One token in so many seconds.
const REFILLS: [f64; 1] = [10.0];
const PER_SUCCESS: f64 = 0.2;

/// How many retries each of `calls` calls of one page may make within 30 s, the fewest; they fail together, at once and
/// each time, and nothing else succeeds.
pub fn retries_in_time(
    capacity: f64,
    per_second: f64,
    calls: usize,
    policy: &PolicyOptions,
    seed: u64,
) -> u32 {
    let setup =
        Setup::new(1, Backlog::Deep, Outage::Refusing).with(paged(Some((capacity, PER_SUCCESS, per_second))));
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
fn surely(capacity: f64, per_second: f64, calls: usize, policy: &PolicyOptions) -> u32 {
    (1..=20).map(|seed| retries_in_time(capacity, per_second, calls, policy, seed)).min().unwrap_or(0)
}

/// The table of pairs: what a page's calls can do in time, and what the crowd does to the server.
pub fn table(seeds: u64) -> String {
    let mut text = String::from(
        "| tokens | refill, 1 in | a call's retries in time | of three calls | of a 10-attempt policy \
         | drained | amplification | last call |\n|---|---|---|---|---|---|---|---|\n",
    );
    let mut progress = Progress::of(CAPACITIES.len() * REFILLS.len());
    let ten = PolicyOptions { max_attempts: Some(10.0), ..patient(4000.0) };
    for capacity in CAPACITIES {
        for refill in REFILLS {
            let per_second = 1.0 / refill;
            let setup = Setup::new(20_000, Backlog::Deep, Outage::Hanging).with(paged(Some((
                capacity,
                PER_SUCCESS,
                per_second,
            ))));
            let several = Several::of(&setup, seeds);
            let row = format!(
                "| {capacity} | {refill} s | {} of 4 | {} | {} of 9 | {} | {:.2} | {} |",
                surely(capacity, per_second, 1, &PolicyOptions::default()),
                surely(capacity, per_second, 3, &PolicyOptions::default()),
                surely(capacity, per_second, 1, &ten),
                several.drained(),
                several.middle(|figures| figures.amplification),
                several.last()
            );
            progress.step(&row);
            text.push_str(&row);
            text.push('\n');
        }
    }
    text
}
