//! `sim core`, `sim spread`, `sim crowd` and `sim storm`; see the crate.

#![forbid(unsafe_code)]

mod lab_commands;

use std::process::ExitCode;
use std::time::{Duration, Instant};

use redrive::queue::Queue;
use redrive::task::Reason;
use sim::driver::Totals;
use sim::event::Scenario;
use sim::run::{Failure, record, run};
use sim::shrink::shrink;
use sim::storm::grid::{self, Changes};
use sim::world::world;

const HELP: &str = "\
sim core [--seeds N] [--events M] [--first S]   random worlds from seed S on; 2,000 of 1,000 events
         [--trace FILE]                         writes their calls and answers instead; 4 of 250 events
         [--replay FILE]                        one world, as a failure printed it
sim spread [--crowds N] [--seed S]              how evenly the strategies spread a crowd; 200 crowds, seeds from 1 on
           [--json]                             instead: all figures in full, as JSON
sim crowd [--policy NAME] [--jobs N]            one crowd of a preset or of a strategy of that table, as JSON;
          [--retries R] [--seed S]              100 jobs, 10 retries, seed 1
          [--fields LIST]                       of a policy as a row of numbers
sim gates [--seeds N]                           the bars of the gates, each PASS or missed; 20 seeds each
sim storm [--seeds N] [--only WORDS]            a server that is down for a minute, and its clients; 5 seeds each
          [--cap S] [--tokens N --refill S]     with this longest wait, with this budget where there is one,
          [--arrivals minutely]                 with calls that come by the minute
          [--part lost]                         instead: work that impatience loses
          [--part awaited]                      instead: calls whose callers wait for their answer, for 30 s
          [--part course]                       instead: three of them second by second, as JSON
          [--json]                              instead: one of these, second by second, as JSON:
          [--clients N] [--capacity N] [--load SHARE] [--down S] [--seed S]
          [--backlog deep|short] [--outage hanging|refusing] [--calls enqueued|awaited]
          [--policy NAME|--fields LIST] [--gates none|budget|breaker|breaker-budget|shipped]
sim lab --vectors FILE                          writes what the module of the lab must answer
";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let flag = |name: &str| {
        let at = arguments.iter().position(|argument| argument == name)?;
        arguments.get(at + 1).cloned()
    };
    let number = |name: &str, default: u64| match flag(name) {
        Some(text) => text.parse().map_err(|_| format!("{name}: expected a number, got '{text}'")),
        None => Ok(default),
    };
    let is_json = arguments.iter().any(|argument| argument == "--json");
    let result = match arguments.first().map(String::as_str) {
        Some("core") => core(number, flag),
        Some("spread") => spread(number, is_json),
        Some("crowd") => lab_commands::crowd(flag).map(|()| true),
        Some("storm") if is_json => lab_commands::outage(flag).map(|()| true),
        Some("storm") => storms(number, flag),
        Some("lab") => vectors(flag),
        Some("gates") => bars(number),
        _ => {
            print!("{HELP}");
            return ExitCode::from(2);
        }
    };
    match result {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(message) => {
            eprintln!("{message}");
            ExitCode::from(2)
        }
    }
}

fn spread(number: impl Fn(&str, u64) -> Result<u64, String>, is_json: bool) -> Outcome {
    let (crowds, seed) = (number("--crowds", 200)?, number("--seed", 1)?);
    if is_json {
        println!("{}", sim::lab::frontier(crowds, seed));
    } else {
        print!("{}", sim::spread::table(crowds, seed));
    }
    Ok(true)
}

fn vectors(flag: impl Fn(&str) -> Option<String>) -> Outcome {
    let file = flag("--vectors").ok_or("--vectors: expected a file")?;
    std::fs::write(&file, sim::lab::vectors()).map_err(|error| format!("{file}: {error}"))?;
    Ok(true)
}

fn bars(number: impl Fn(&str, u64) -> Result<u64, String>) -> Outcome {
    let (text, missed) = sim::bars::table::table(number("--seeds", 20)?);
    print!("{text}");
    Ok(missed == 0)
}

fn storms(
    number: impl Fn(&str, u64) -> Result<u64, String>,
    flag: impl Fn(&str) -> Option<String>,
) -> Outcome {
    let seeds = number("--seeds", 5)?;
    let given = |name: &str| flag(name).map(|_| number(name, 0)).transpose().map(|n| n.map(|n| n as f64));
    let tokens = match (given("--tokens")?, given("--refill")?) {
        (Some(_), None) | (None, Some(_)) => return Err("--tokens and --refill go together".to_owned()),
        (tokens, refill) => tokens.zip(refill),
    };
    let minutely = match flag("--arrivals").as_deref() {
        None => false,
        Some("minutely") => true,
        Some(word) => return Err(format!("--arrivals: expected minutely, got '{word}'")),
    };
    let changes = Changes { cap_s: given("--cap")?, minutely, tokens };
    match flag("--part").as_deref() {
        None => print!("{}", grid::tables(&grid::grid(seeds, &flag("--only").unwrap_or_default(), &changes))),
        Some("awaited") => print!("{}", grid::awaited(seeds, &flag("--only").unwrap_or_default())),
        Some("lost") => print!("{}", grid::lost_work(seeds)),
        Some("course") => println!("{}", grid::courses()),
        Some(part) => return Err(format!("--part: expected awaited, lost or course, got '{part}'")),
    }
    Ok(true)
}

type Outcome = Result<bool, String>;

fn core(number: impl Fn(&str, u64) -> Result<u64, String>, flag: impl Fn(&str) -> Option<String>) -> Outcome {
    let first = number("--first", 1)?;
    if let Some(file) = flag("--replay") {
        let text = std::fs::read_to_string(&file).map_err(|error| format!("{file}: {error}"))?;
        let world: Scenario = serde_json::from_str(&text).map_err(|error| format!("{file}: {error}"))?;
        return Ok(match run::<Queue>(&world) {
            Ok(totals) => {
                println!("{}", summary(&totals));
                true
            }
            Err(failure) => {
                show(&world, &failure);
                false
            }
        });
    }
    if let Some(file) = flag("--trace") {
        let (seeds, events) = (number("--seeds", 4)?, number("--events", 250)?);
        let text = sim::trace::text(first, seeds, events as usize);
        std::fs::write(&file, &text).map_err(|error| format!("{file}: {error}"))?;
        println!("{file}: {} lines, {} bytes", text.lines().count(), text.len());
        return Ok(true);
    }
    let (seeds, events) = (number("--seeds", 2000)?, number("--events", 1000)?);
    Ok(many(first, seeds, events as usize))
}

fn many(first: u64, seeds: u64, events: usize) -> bool {
    let began = Instant::now();
    let mut told = began;
    let mut totals = Totals::default();
    let mut failed = Vec::new();
    for seed in first..first + seeds {
        let world = world(seed, events);
        match run::<Queue>(&world) {
            Ok(more) => totals.add(&more),
            Err(failure) => {
                println!(
                    "seed {seed}: {} after {} events: {}",
                    failure.violation.id, failure.events, failure.violation.what
                );
                let (short, failure) = shrink::<Queue>(&world, &failure);
                show(&short, &failure);
                failed.push(seed);
            }
        }
        if told.elapsed() > Duration::from_secs(2) {
            told = Instant::now();
            println!("{} of {seeds} seeds, {} failed", seed - first + 1, failed.len());
        }
    }
    println!("{}", summary(&totals));
    let seconds = began.elapsed().as_secs_f64();
    println!("{seeds} seeds in {seconds:.1} s, {:.0} seeds/s", seeds as f64 / seconds);
    if !failed.is_empty() {
        println!("failed: {failed:?}");
    }
    failed.is_empty()
}

fn summary(totals: &Totals) -> String {
    let reason = |code: u32| match code {
        0 => "succeeded".to_owned(),
        2 => "cancelled".to_owned(),
        code => REASONS
            .iter()
            .find(|reason| reason.code() + 16 == code)
            .map_or(code.to_string(), |reason| format!("{reason:?}")),
    };
    let ends = totals.ends.iter().enumerate().filter(|(_, count)| **count > 0);
    let ends: Vec<String> = ends.map(|(code, count)| format!("{} {count}", reason(code as u32))).collect();
    format!(
        "{} events, {} tasks ({} more refused), {} leases, {} starts, {} breakers opened, {} retries put off; ends: {}",
        totals.events,
        totals.tasks,
        totals.refused,
        totals.leases,
        totals.starts,
        totals.openings,
        totals.put_off,
        ends.join(", ")
    )
}

const REASONS: [Reason; 9] = [
    Reason::MaxAttempts,
    Reason::TotalBudget,
    Reason::WaitExceeded,
    Reason::NotRetryable,
    Reason::KeyExpired,
    Reason::KeyConflict,
    Reason::Expired,
    Reason::RetryAfterTooLong,
    Reason::Vetoed,
];

/// A failing world, as a script with what it asked and heard, and as JSON to keep and replay.
fn show(world: &Scenario, failure: &Failure) {
    println!("// {}: {}", failure.violation.id, failure.violation.what);
    println!("let mut world = Driver::new({:?}, seed {}, ..);", world.limits, world.seed);
    for event in &world.events {
        println!("world.take({event:?})?;");
    }
    println!("world.finish()?;\n// calls and answers:");
    record::<Queue>(world).iter().for_each(|line| println!("//   {line}"));
    println!("// as JSON, for `npm run sim:core -- --replay FILE`:");
    println!("{}", serde_json::to_string(world).unwrap_or_default());
}
