//! How evenly the strategies spread crowds, in figures; what each means stands at its field.

use crate::crowd::chart::{Crowd, mean};
use crate::crowd::draws::Waits;
use crate::crowd::lags::Lags;
use crate::crowd::{Strategy, strategies};

/// Jobs that fail at the same moment.
pub const JOBS: u32 = 100;
/// Retries of the article's chart.
pub const RETRIES: u32 = 10;

/// The figures of one strategy, means over several crowds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Figures {
    /// Coefficient of variation of one wait: standard deviation over mean among the jobs at one retry, averaged
    /// over retries 2 to 10.
    pub wait_cv: f64,
    /// Share of time bins in which nobody comes, until half the jobs have made their tenth retry.
    pub idle: f64,
    /// The same of the tenth and of the ninetieth of a hundred crowds: so far chance alone moves one chart.
    pub idle_range: (f64, f64),
    /// The fullest of those bins over their mean.
    pub peak: f64,
    /// Coefficient of variation of the load in log time, where the curve doubles.
    pub load_cv: Option<f64>,
    /// After an outage of an hour: how long until a job comes back, as a share of the outage; mean and worst.
    pub lag: (f64, f64),
}

/// The crowds of one strategy, measured one after another as far as they are let.
#[derive(Debug)]
pub struct Survey {
    waits: Waits,
    crowds: u64,
    /// The next one's.
    seed: u64,
    /// The one that is measured, and how many of its jobs were followed.
    now: Option<(Crowd, Lags, u32)>,
    idles: Vec<f64>,
    /// Sums over the crowds so far.
    wait_cv: f64,
    peak: f64,
    load_cv: Option<f64>,
    lag: (f64, f64),
}

impl Survey {
    /// Of so many crowds, with the seeds from `first` on. The strategy makes one retry at least.
    pub fn new(waits: Waits, crowds: u64, first: u64) -> Survey {
        Survey {
            waits,
            crowds,
            seed: first,
            now: None,
            idles: Vec::new(),
            wait_cv: 0.0,
            peak: 0.0,
            load_cv: Some(0.0),
            lag: (0.0, 0.0),
        }
    }

    /// Goes on for so many arrivals, or some more. Whether it is done.
    pub fn advance(&mut self, arrivals: u32) -> bool {
        let mut left = arrivals;
        while left > 0 && (self.idles.len() as u64) < self.crowds {
            let drawn = self.step();
            left = left.saturating_sub(drawn);
        }
        self.idles.len() as u64 == self.crowds
    }

    /// How many crowds are measured.
    pub const fn done(&self) -> usize {
        self.idles.len()
    }

    fn step(&mut self) -> u32 {
        let Some((crowd, lags, followed)) = &mut self.now else {
            let mut crowd = Crowd::new(self.waits.clone(), JOBS, RETRIES, self.seed, None);
            while !crowd.advance(u32::MAX) {}
            self.now = Some((crowd, Lags::new(self.waits.clone(), self.seed), 0));
            return JOBS * RETRIES;
        };
        if *followed < JOBS {
            *followed += 1;
            return lags.follow();
        }
        let figures = crowd.figures();
        self.wait_cv += figures.wait_cv;
        self.idles.push(figures.idle);
        self.peak += figures.peak;
        self.load_cv = self.load_cv.zip(figures.load_cv).map(|(sum, cv)| sum + cv);
        self.lag = (self.lag.0 + lags.mean(), self.lag.1.max(lags.worst()));
        self.seed += 1;
        self.now = None;
        0
    }

    /// What it comes to, over the crowds that are measured.
    pub fn figures(&self) -> Figures {
        let mut idles = self.idles.clone();
        idles.sort_by(f64::total_cmp);
        let ranked = |share: f64| idles.get((idles.len() as f64 * share) as usize).copied().unwrap_or(0.0);
        let crowds = idles.len().max(1) as f64;
        Figures {
            wait_cv: self.wait_cv / crowds,
            idle: mean(idles.iter().copied()),
            idle_range: (ranked(0.1), ranked(0.9)),
            peak: self.peak / crowds,
            load_cv: self.load_cv.map(|sum| sum / crowds),
            lag: (self.lag.0 / crowds, self.lag.1),
        }
    }
}

/// The figures of a strategy over `crowds` crowds, with the seeds from `first` on.
pub fn figures(strategy: &Strategy, crowds: u64, first: u64) -> Figures {
    let mut survey = Survey::new(strategy.waits.clone(), crowds, first);
    while !survey.advance(u32::MAX) {}
    survey.figures()
}

/// The table of all strategies, in Markdown.
pub fn table(crowds: u64, first: u64) -> String {
    let mut text = format!(
        "| {JOBS} jobs, {crowds} crowds | wait CV | idle bins | peak/mean | load CV | lag, mean | worst |\n\
         |---|---:|---:|---:|---:|---:|---:|\n"
    );
    for strategy in strategies() {
        let Figures { wait_cv, idle, idle_range, peak, load_cv, lag } = figures(&strategy, crowds, first);
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
