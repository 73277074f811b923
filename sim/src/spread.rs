//! How evenly a strategy spreads a crowd, in figures; what each means stands at its field.

use crate::crowd::{Strategy, strategies};

/// Jobs that fail at the same moment.
pub const JOBS: u32 = 100;
/// Retries of the article's chart.
pub const RETRIES: u32 = 10;
/// Bins of its time.
const BINS: usize = 200;
/// Bins of an octave of time, for the load.
const PER_OCTAVE: f64 = 16.0;
/// The octaves looked at, as powers of two of a minute: late enough that the beginning is forgotten.
const OCTAVES: (i32, i32) = (5, 11);
/// How long the outage lasts, in ms: one hour.
const OUTAGE: f64 = 3_600_000.0;

/// The figures of one strategy, means over several crowds.
#[derive(Clone, Copy, Debug, Default)]
pub struct Figures {
    /// Coefficient of variation of one wait: standard deviation over mean among the jobs at one retry, averaged
    /// over retries 2 to 10. The first is left out: spread begins with a window of its own.
    pub wait_cv: f64,
    /// Share of time bins in which nobody comes: 200 equal bins from the failure to the moment at which half the
    /// jobs have made their tenth retry. What comes later is not counted.
    pub idle: f64,
    /// The same of the tenth and of the ninetieth of a hundred crowds: so far chance alone moves one chart.
    pub idle_range: (f64, f64),
    /// The fullest of those bins over their mean.
    pub peak: f64,
    /// Coefficient of variation of the counts in 16 equal bins of log time an octave, over six octaves, where the
    /// curve doubles. A crowd of 100 at random has .40, since a bin holds 6.25 of them.
    pub load_cv: Option<f64>,
    /// After an outage of an hour: how long until a job comes back, as a share of the outage; mean and worst.
    pub lag: (f64, f64),
}

fn mean(values: impl Iterator<Item = f64> + Clone) -> f64 {
    values.clone().sum::<f64>() / values.count().max(1) as f64
}

fn variation(values: &[f64]) -> f64 {
    let center = mean(values.iter().copied());
    let variance = mean(values.iter().map(|value| (value - center).powi(2)));
    if center > 0.0 { variance.sqrt() / center } else { 0.0 }
}

/// The moment at which half the jobs have made their last retry.
pub fn horizon(times: &[Vec<f64>]) -> f64 {
    let mut last: Vec<f64> = times.iter().filter_map(|row| row.last().copied()).collect();
    last.sort_by(f64::total_cmp);
    let middle = last.len() / 2;
    (last[middle] + last[middle.saturating_sub(1)]) / 2.0
}

fn bins(times: &[Vec<f64>]) -> Vec<f64> {
    let end = horizon(times);
    let mut bins = vec![0.0; BINS];
    for at in times.iter().flatten().filter(|at| **at <= end) {
        bins[((at / end * BINS as f64) as usize).min(BINS - 1)] += 1.0;
    }
    bins
}

fn wait_cv(times: &[Vec<f64>]) -> f64 {
    let waits = |n: usize| times.iter().map(|row| row[n] - row[n - 1]).collect::<Vec<f64>>();
    mean((1..RETRIES as usize).map(|n| variation(&waits(n))))
}

fn load_cv(times: &[Vec<f64>]) -> f64 {
    let first = f64::from(OCTAVES.0) * PER_OCTAVE;
    let count = (f64::from(OCTAVES.1 - OCTAVES.0) * PER_OCTAVE) as usize;
    let mut bins = vec![0.0; count];
    for at in times.iter().flatten() {
        let bin = (at / 60_000.0).log2() * PER_OCTAVE - first;
        if bin >= 0.0 && (bin as usize) < count {
            bins[bin as usize] += 1.0;
        }
    }
    variation(&bins)
}

fn lags(times: &[Vec<f64>]) -> Vec<f64> {
    let next = |row: &Vec<f64>| row.iter().find(|at| **at >= OUTAGE).copied().unwrap_or(f64::INFINITY);
    times.iter().map(|row| (next(row) - OUTAGE) / OUTAGE).collect()
}

/// The figures of a strategy over `crowds` crowds.
pub fn figures(strategy: &Strategy, crowds: u64) -> Figures {
    let over = |measure: &dyn Fn(u64) -> f64| mean((1..=crowds).map(measure));
    let chart = |seed| strategy.times(JOBS, RETRIES, seed);
    let long = |seed| strategy.times(JOBS, 99, seed);
    let idle = |seed| bins(&chart(seed)).iter().filter(|count| **count == 0.0).count() as f64 / BINS as f64;
    let mut idles: Vec<f64> = (1..=crowds).map(idle).collect();
    idles.sort_by(f64::total_cmp);
    let ranked = |share: f64| idles[(idles.len() as f64 * share) as usize];
    Figures {
        wait_cv: over(&|seed| wait_cv(&chart(seed))),
        idle: mean(idles.iter().copied()),
        idle_range: (ranked(0.1), ranked(0.9)),
        peak: over(&|seed| {
            let bins = bins(&chart(seed));
            bins.iter().copied().fold(0.0, f64::max) / mean(bins.iter().copied())
        }),
        load_cv: strategy.doubles.then(|| over(&|seed| load_cv(&strategy.times(JOBS, 24, seed)))),
        lag: (
            over(&|seed| mean(lags(&long(seed)).iter().copied())),
            (1..=crowds).flat_map(|seed| lags(&long(seed))).fold(0.0, f64::max),
        ),
    }
}

/// The table of all strategies, in Markdown.
pub fn table(crowds: u64) -> String {
    let mut text = format!(
        "| {JOBS} jobs, {crowds} crowds | wait CV | idle bins | peak/mean | load CV | lag, mean | worst |\n\
         |---|---:|---:|---:|---:|---:|---:|\n"
    );
    for strategy in strategies() {
        let Figures { wait_cv, idle, idle_range, peak, load_cv, lag } = figures(&strategy, crowds);
        let load = load_cv.map_or(String::new(), |cv| format!("{cv:.2}"));
        text.push_str(&format!(
            "| {} | {wait_cv:.2} | {:.0} % ({:.0} to {:.0}) | {peak:.1} | {load} | {:.2} T | {:.2} T |\n",
            strategy.name,
            idle * 100.0,
            idle_range.0 * 100.0,
            idle_range.1 * 100.0,
            lag.0,
            lag.1
        ));
    }
    text
}
