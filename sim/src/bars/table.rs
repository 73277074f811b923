//! The rows, each with its bound, and whether it was kept.

use redrive::gates::{Comeback, Gates};
use redrive::policy::presets;
use redrive::rng::SplitMix64;

use crate::bars::lone::{self, Bound, Lone, bound_of};
use crate::bars::luck::{self, calls, fails, took};
use crate::bars::run::{Call, Load, Server, World, run};
use crate::storm::model::{DEFAULT_BUDGET, ramped};

const MINUTE: u64 = 60_000;
const DOWN: u64 = 5 * MINUTE;
/// When the server of the row that is down goes down: after some calls that went well.
const WARM: u64 = 10_000;
const AWAY: u64 = MINUTE;

/// The gates as the package has them on a server.
pub fn shipped() -> Gates {
    ramped(Some(DEFAULT_BUDGET))
}

const TEN: Load = Load::Loop { callers: 10, calls: 200, pause: 0 };
const LONE: Load = Load::Loop { callers: 1, calls: 200, pause: 0 };
const FIFTY: Load = Load::Loop { callers: 50, calls: 1000, pause: 0 };
const SECOND: Load = Load::Every { ms: 1000, until: 200_000 };

/// Worlds that no bar was set for.
fn beyond() -> Vec<(&'static str, World)> {
    vec![
        ("fails 80 %, 10 callers", calls(TEN, fails::<80>)),
        ("fails 80 %, one caller", calls(LONE, fails::<80>)),
        ("fails 30 %, 50 callers", calls(FIFTY, fails::<30>)),
        ("fails 60 %, 50 callers", calls(FIFTY, fails::<60>)),
        ("fails 80 %, 50 callers", calls(FIFTY, fails::<80>)),
        ("fails 30 %, a call a second", calls(SECOND, fails::<30>)),
        ("fails 60 %, a call a second", calls(SECOND, fails::<60>)),
        ("fails 80 %, a call a second", calls(SECOND, fails::<80>)),
        (
            "away for 1 s of every 10 s, 10 callers",
            calls(Load::Loop { callers: 10, calls: 5000, pause: 0 }, |dice, now, _| {
                (now % 10_000 >= 1000, took(dice))
            }),
        ),
        (
            "slow: 2 to 8 s, fails 30 %, 10 callers",
            calls(TEN, |dice, _, _| (dice.next_u32() % 100 >= 30, 2000 + u64::from(dice.next_u32()) % 6000)),
        ),
        (
            "one path of five always fails, 10 callers",
            calls(TEN, |dice, _, call| (call % 5 != 0, took(dice))),
        ),
        ("a call a minute, fails 30 %", calls(Load::Every { ms: MINUTE, until: 200 * MINUTE }, fails::<30>)),
    ]
}

/// The share of the calls that failed, and how long 99 of 100 of all took at most.
fn figures(calls: &[Call]) -> (f64, f64) {
    let ended: Vec<(u64, bool)> =
        calls.iter().filter_map(|call| call.ended.map(|(at, ok)| (at - call.made, ok))).collect();
    let failed = ended.iter().filter(|(_, ok)| !ok).count() as f64 / calls.len().max(1) as f64;
    let mut took: Vec<u64> = ended.iter().map(|(took, _)| *took).collect();
    took.sort_unstable();
    let last = took.get((took.len() * 99).div_ceil(100).saturating_sub(1));
    (failed * 100.0, last.copied().unwrap_or(0) as f64)
}

fn list(rows: &[(f64, f64)], of: impl Fn(&(f64, f64)) -> f64, digits: usize) -> String {
    rows.iter().map(|row| format!("{:.digits$}", of(row))).collect::<Vec<_>>().join(", ")
}

struct Rows {
    text: String,
    missed: u32,
}

impl Rows {
    fn row(&mut self, name: &str, found: &str, bound: &str, kept: bool) {
        self.missed += u32::from(!kept);
        let verdict = if kept { "PASS" } else { "missed" };
        self.text.push_str(&format!("| {name} | {found} | {bound} | {verdict} |\n"));
    }

    /// All of these worlds must keep the bar.
    fn against_none(&mut self, name: &str, worlds: &[World], seeds: u64, is_bar: bool) {
        let of = |gates: Gates| -> Vec<(f64, f64)> {
            let calls =
                |world| -> Vec<Call> { (1..=seeds).flat_map(|seed| run(world, gates, seed).0).collect() };
            worlds.iter().map(|world| figures(&calls(world))).collect()
        };
        let (with, without) = (of(shipped()), of(Gates::default()));
        let kept = |((failed, last), (failed_without, last_without)): (&(f64, f64), &(f64, f64))| {
            *failed <= failed_without + 1.0 && *last <= 1.5 * last_without
        };
        let kept = with.iter().zip(&without).all(kept);
        let found =
            format!("{} % failed, p99 {} ms", list(&with, |row| row.0, 1), list(&with, |row| row.1, 0));
        let (failed, last) = (list(&without, |row| row.0, 1), list(&without, |row| row.1, 0));
        let bound = format!("{failed} % + 1, 1.5 x {last} ms");
        if is_bar {
            self.row(name, &found, &bound, kept);
        } else {
            let verdict = if kept { "as without" } else { "worse" };
            self.text.push_str(&format!("| {name} | {found} | {bound} | {verdict} |\n"));
        }
    }

    fn down(&mut self, name: &str, load: Load, seeds: u64) {
        let server = |dice: &mut SplitMix64, now: u64, _: u32| {
            (!(WARM..WARM + DOWN).contains(&now), 5 + u64::from(dice.next_u32()) % 15)
        };
        let world = World { end: WARM + DOWN + MINUTE, ..calls(load, server) };
        let (mut slowest, mut back) = (0, 0);
        for seed in 1..=seeds {
            let (calls, _) = run(&world, shipped(), seed);
            let down = calls.iter().filter(|call| (WARM + 3000..WARM + DOWN - 100).contains(&call.made));
            let longest = down.map(|call| call.ended.map_or(u64::MAX, |(at, _)| at - call.made)).max();
            slowest = slowest.max(longest.unwrap_or(0));
            let first = calls.iter().filter(|call| call.made >= WARM + DOWN).filter_map(|call| call.ended);
            let first = first.filter(|(_, ok)| *ok).map(|(at, _)| at - WARM - DOWN).min();
            back = back.max(first.unwrap_or(u64::MAX));
        }
        let found = format!("at most {slowest} ms a call, first answer {back} ms after");
        self.row(name, &found, "50 ms, 5,000 ms", slowest <= 50 && back <= 5000);
    }

    fn lone(&mut self, lone: &Lone, comeback: Comeback, seeds: u64) {
        let with = lone.delivered(Gates { ramp: comeback, ..shipped() }, seeds);
        let without = lone.delivered(Gates::default(), seeds).last;
        let s = |ms: u64| ms as f64 / 1000.0;
        let found = format!(
            "all after {:.1} s, at worst {:.1} s, the first after {:.1} s; without {:.1} s, {:.1} s",
            s(with.last.middle),
            s(with.last.worst),
            s(with.first.middle),
            s(without.middle),
            s(without.worst)
        );
        let bound = format!("{:.0} s, {:.0} s", s(lone.bound.middle), s(lone.bound.worst));
        let kept = with.last.middle <= lone.bound.middle && with.last.worst <= lone.bound.worst;
        if comeback == Comeback::OfFew {
            self.row(&lone.name, &found, &bound, kept);
        } else {
            let verdict = if kept { "as a server" } else { "later" };
            self.text.push_str(&format!("| in a page: {} | {found} | {bound} | {verdict} |\n", lone.name));
        }
    }

    fn in_view(&mut self, lone: &Lone, seeds: u64) {
        let of = |ramp| lone.delivered(Gates { ramp, ..shipped() }, seeds).last;
        let (in_view, hidden) = (of(Comeback::InView), of(Comeback::OfMany));
        let s = |ms: u64| ms as f64 / 1000.0;
        let found = |of: Bound| {
            format!("p50 {:.1} s, p99 {:.1} s, at worst {:.1} s", s(of.middle), s(of.late), s(of.worst))
        };
        let bound = lone.bound;
        let wanted = match bound.middle {
            u64::MAX => "none".to_owned(),
            middle => format!("{:.0} s, {:.0} s", s(middle), s(bound.late)),
        };
        let kept = in_view.middle <= bound.middle && in_view.late <= bound.late;
        let name = format!("in view: {}", lone.name);
        self.row(&name, &format!("{}; hidden {}", found(in_view), found(hidden)), &wanted, kept);
    }

    /// Three tasks of a path that always fails must not delay four others of its origin: by a tenth and a quarter of a second at most.
    fn beside(&mut self, name: &str, back: u64, later: u64, (with, without): (Server, Server), seeds: u64) {
        let last = |first: u32, server: Server| {
            let load = Load::Beside { first, others: 4, later };
            let world = World { load, server, policy: presets::background(), end: 10 * MINUTE };
            let runs = (1..=seeds).map(|seed| {
                let calls = run(&world, shipped(), seed).0;
                let ends =
                    calls.iter().skip(first as usize).map(|call| call.ended.map_or(u64::MAX, |(at, _)| at));
                ends.max().unwrap_or(u64::MAX).saturating_sub(back.max(later))
            });
            bound_of(runs.collect())
        };
        let (beside, alone) = (last(3, with), last(0, without));
        let found = format!("the last after {} ms, p99 {} ms", beside.middle, beside.late);
        let bound = format!("1.1 x {} ms + 250, 1.1 x {} ms + 250", alone.middle, alone.late);
        let most = |ms: u64| ms + ms / 10 + 250;
        self.row(
            name,
            &found,
            &bound,
            beside.middle <= most(alone.middle) && beside.late <= most(alone.late),
        );
    }

    fn backlog(&mut self, name: &str, server: Server, back: u64, seeds: u64) {
        let world = World {
            load: Load::Backlog { tasks: 5000 },
            server,
            policy: presets::background(),
            end: back + 30 * MINUTE,
        };
        let rate = |gates: Gates| -> f64 {
            let rates = (1..=seeds).map(|seed| {
                let (calls, _) = run(&world, gates, seed);
                let from = back + 5000;
                let mut done: Vec<u64> = calls
                    .iter()
                    .filter_map(|call| call.ended)
                    .map(|(at, _)| at)
                    .filter(|at| *at >= from)
                    .collect();
                done.sort_unstable();
                // until nine of ten of those that were left are done: then the waits of the last decide
                let nine = done.len() * 9 / 10;
                let last = done.get(nine.saturating_sub(1)).copied().unwrap_or(u64::MAX);
                let all = if calls.iter().all(|call| call.ended.is_some()) { 1.0 } else { 0.0 };
                all * nine as f64 * 1000.0 / (last - from).max(1) as f64
            });
            rates.sum::<f64>() / seeds as f64
        };
        let (with, without) = (rate(shipped()), rate(Gates::default()));
        let (found, bound) = (format!("{with:.0} a second"), format!("0.9 x {without:.0} a second"));
        self.row(name, &found, &bound, with >= 0.9 * without);
    }
}

/// All rows, and how many bars were missed.
pub fn table(seeds: u64) -> (String, u32) {
    let head = "| world | with gates | bound | |\n|---|---|---|---|\n";
    let mut rows = Rows { text: head.to_owned(), missed: 0 };
    for (name, worlds) in luck::rows() {
        rows.against_none(&name, &worlds, seeds, true);
    }
    for (name, load) in [
        ("down for 5 min, a call every 100 ms", Load::Every { ms: 100, until: WARM + DOWN + MINUTE }),
        ("down for 5 min, a call every 50 ms", Load::Every { ms: 50, until: WARM + DOWN + MINUTE }),
        ("down for 5 min, a call a second", Load::Every { ms: 1000, until: WARM + DOWN + MINUTE }),
    ] {
        rows.down(name, load, seeds);
    }
    rows.backlog(
        "backlog of 5,000, away for 60 s",
        |dice, now, _| (now >= AWAY, took(dice)),
        AWAY,
        seeds.min(5),
    );
    rows.backlog(
        "backlog of 5,000, away for 3 s",
        |dice, now, _| (now >= 3000, took(dice)),
        3000,
        seeds.min(5),
    );
    rows.backlog(
        "backlog of 5,000, 30 % failed for 60 s",
        |dice, now, _| {
            if now >= AWAY { (true, took(dice)) } else { fails::<30>(dice, now, 0) }
        },
        3000,
        seeds.min(5),
    );
    for lone in lone::all() {
        rows.lone(&lone, Comeback::OfFew, seeds.max(20));
    }
    let away: [Server; 2] =
        [|dice, now, call| (now >= 2500 && call >= 3, took(dice)), |dice, now, _| (now >= 2500, took(dice))];
    let well: [Server; 2] = [|dice, _, call| (call >= 3, took(dice)), |dice, _, _| (true, took(dice))];
    let name = "4 tasks beside 3 that always fail, away for 2.5 s";
    rows.beside(name, 2500, 0, away.into(), seeds.max(200));
    rows.beside("4 tasks 3 s after 3 that always fail", 0, 3000, well.into(), seeds.max(200));
    for lone in lone::in_view() {
        rows.in_view(&lone, seeds.max(200));
    }
    rows.text.push_str("\nBeyond the bars:\n\n");
    rows.text.push_str(head);
    for (name, world) in beyond() {
        rows.against_none(name, &[world], seeds, false);
    }
    for lone in lone::all() {
        rows.lone(&lone, Comeback::OfMany, seeds.max(20));
    }
    (rows.text, rows.missed)
}
