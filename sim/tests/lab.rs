//! What the lab shows: crowds and storms in slices, and the file that its module is held to.

#![allow(clippy::unwrap_used)]

use serde_json::Value;
use sim::crowd::chart::{BINS, Crowd};
use sim::crowd::raster::Raster;
use sim::crowd::{Strategy, strategies};
use sim::lab::{answer, vectors};
use sim::storm::measure::Second;
use sim::storm::model::{Backlog, Outage, Setup, variants};
use sim::storm::run::{Storm, run, run_until};

#[test]
fn the_vectors_are_what_the_lab_answers() {
    assert_eq!(
        include_str!("../../tests/vectors/lab.json"),
        vectors(),
        "npm run sim:lab -- --vectors tests/vectors/lab.json"
    );
}

#[test]
fn slices_come_to_the_same_as_one_go() {
    let file: Value = serde_json::from_str(include_str!("../../tests/vectors/lab.json")).unwrap();
    let rows = file["vectors"].as_array().unwrap();
    assert_eq!(rows.len(), 10);
    for row in rows {
        let whole = answer(&row["ask"], u32::MAX);
        for slice in [1, 37, 5000] {
            assert_eq!(answer(&row["ask"], slice), whole, "{}, slices of {slice}", row["ask"]);
        }
    }
}

fn whole(strategy: &Strategy, jobs: u32, retries: u32, seed: u64) -> Crowd {
    let mut crowd = Crowd::new(strategy.waits.clone(), jobs, retries, seed, None);
    while !crowd.advance(u32::MAX) {}
    crowd
}

#[test]
fn a_crowd_falls_as_its_strategy_does() {
    for strategy in strategies() {
        for (jobs, retries, seed) in [(1, 1, 1), (7, 25, 2), (100, 10, 3)] {
            let times = strategy.times(jobs, retries, seed).concat();
            assert_eq!(whole(&strategy, jobs, retries, seed).times(), times, "{}", strategy.name);
        }
    }
}

/// The figures by their definitions, from all times at once.
#[test]
fn figures_are_those_of_the_whole_table() {
    for strategy in strategies() {
        for (jobs, retries) in [(1, 3), (2, 2), (99, 10), (100, 7)] {
            let (crowd, times) = (whole(&strategy, jobs, retries, 5), strategy.times(jobs, retries, 5));
            let figures = crowd.figures();
            let column = |n: usize| times.iter().map(|row| row[n]).collect::<Vec<f64>>();
            for (n, retry) in crowd.retries().enumerate() {
                let mut sorted = column(n);
                sorted.sort_by(f64::total_cmp);
                assert_eq!((retry.first_ms, retry.last_ms), (sorted[0], *sorted.last().unwrap()));
                let waits: Vec<f64> =
                    times.iter().map(|row| row[n] - if n == 0 { 0.0 } else { row[n - 1] }).collect();
                let mean = |values: &[f64]| values.iter().sum::<f64>() / f64::from(jobs);
                let near = |one: f64, other: f64| (one - other).abs() <= 1e-9 * other.abs();
                assert!(near(retry.mean_ms, mean(&column(n))) && near(retry.mean_wait_ms, mean(&waits)));
                let squares: Vec<f64> = waits.iter().map(|wait| (wait - mean(&waits)).powi(2)).collect();
                assert!((retry.wait_cv - mean(&squares).sqrt() / mean(&waits)).abs() < 1e-9);
            }
            let mut lasts = column(retries as usize - 1);
            lasts.sort_by(f64::total_cmp);
            let middle = lasts.len() / 2;
            let end = (lasts[middle] + lasts[middle.saturating_sub(1)]) / 2.0;
            assert_eq!(figures.end_ms, *lasts.last().unwrap());
            let in_time = times.iter().flatten().filter(|at| **at <= end).count();
            assert_eq!(crowd.bins().iter().sum::<f64>(), in_time as f64, "{}", strategy.name);
            assert_eq!(figures.mean_count, in_time as f64 / BINS as f64);
            let busiest = (0..BINS).map(|bin| {
                let of = |at: &&f64| (**at / end * BINS as f64) as usize == bin && **at < end;
                times.iter().flatten().filter(of).count()
            });
            assert!(figures.peak_count >= busiest.max().unwrap() as f64);
            let load = strategy.name.starts_with("exponential")
                || ["decorrelated", "spread", "spread, no fresh jitter"].contains(&strategy.name);
            assert_eq!(figures.load_cv.is_some(), load, "{}", strategy.name);
        }
    }
}

#[test]
fn a_picture_has_a_dot_for_every_retry() {
    let strategy = strategies().pop().unwrap();
    let (jobs, retries, width, height) = (50, 10, 300, 25);
    let picture = Some(Raster::new(width, height));
    let mut crowd = Crowd::new(strategy.waits.clone(), jobs, retries, 4, picture);
    while !crowd.advance(64) {}
    let (times, end) = (strategy.times(jobs, retries, 4), crowd.figures().end_ms);
    let mut drawn = vec![0; (width * height) as usize];
    for (job, row) in times.iter().enumerate() {
        for (n, at) in row.iter().enumerate() {
            let x = (at * (f64::from(width) / end)) as usize;
            drawn[job / 2 * width as usize + x.min(width as usize - 1)] = n as u8 + 1;
        }
    }
    assert_eq!(crowd.picture().unwrap().pixels(), drawn);
}

fn shipped(setup: Setup) -> Setup {
    setup.with(variants()[4].1)
}

/// Figures of `sim storm --part course`.
#[test]
fn the_sizes_that_come_by_themselves_are_those_of_the_document() {
    for (clients, drained, amplification, requests) in [
        (200, 141.686, 0.999_276_187_263_706_8, 466_623),
        (20_000, 163.718, 0.997_370_460_232_974_7, 523_405),
    ] {
        let setup = shipped(Setup::new(clients, Backlog::Deep, Outage::Hanging));
        let outcome = run_until(&setup, 1, 600_000);
        assert_eq!(outcome.figures.drained, Some(drained));
        assert_eq!(outcome.figures.amplification, amplification);
        assert_eq!(outcome.seconds.iter().map(|second| second.requests).sum::<u32>(), requests);
    }
}

#[test]
fn a_server_does_as_much_as_it_is_made_for() {
    for capacity in [100.0, 333.0, 7000.0] {
        let setup = Setup { capacity, outage_ms: 10_000, ..Setup::new(50, Backlog::Deep, Outage::Refusing) };
        let outcome = run(&shipped(setup.clone()), 3);
        let most = outcome.seconds.iter().map(|second| second.answered).max().unwrap();
        assert!(
            f64::from(most) > 0.9 * capacity && f64::from(most) < 1.05 * capacity + 2.0,
            "{capacity}: {most}"
        );
        let calls = outcome.figures.calls as f64 / outcome.seconds.len() as f64;
        assert!((calls / setup.calls_per_second() - 1.0).abs() < 0.1, "{capacity}: {calls} calls a second");
        assert!(outcome.figures.drained.unwrap() > 0.8 * setup.ideal_s(), "{:?}", outcome.figures);
    }
}

#[test]
fn open_calls_are_those_made_and_not_ended() {
    let setup = Setup { outage_ms: 5000, capacity: 100.0, ..Setup::new(30, Backlog::Short, Outage::Hanging) };
    let outcome = run(&shipped(setup), 1);
    assert_eq!(outcome.figures.lost, 0);
    let mut open = 0;
    for Second { calls, answered, open: said, .. } in &outcome.seconds {
        open += calls;
        open -= answered;
        assert_eq!(*said, open);
    }
}

#[test]
fn nothing_is_said_to_have_collapsed_while_it_goes_on() {
    let setup =
        Setup { outage_ms: 10_000, capacity: 50.0, ..Setup::new(100, Backlog::Deep, Outage::Hanging) };
    let mut storm = Storm::new(setup, 1);
    let mut shares = Vec::new();
    while !storm.advance(1000) {
        assert!(!storm.figures().collapsed);
        shares.push(storm.share());
    }
    assert!(storm.figures().collapsed, "{:?}", storm.figures());
    assert!(shares.iter().all(|share| (0.0..=1.0).contains(share)));
    assert_eq!(storm.share(), 1.0);
}

/// So many jobs are enough: with half of them the figure is hardly another.
#[test]
fn the_load_of_a_million_is_that_of_a_hundred_thousand() {
    let strategy = strategies().pop().unwrap();
    let load = |jobs| whole(&strategy, jobs, 1, 1).figures().load_cv.unwrap();
    assert_eq!(load(100_001), load(100_000));
    assert_ne!(load(100_000), load(99_999));
    let (few, many) = (load(50_000), load(100_000));
    assert!((few / many - 1.0).abs() < 0.01, "{few}, {many}");
}
