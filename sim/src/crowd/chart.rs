//! One crowd, drawn and measured in slices: its times, and what a chart of them shows, in figures.

use crate::crowd::draws::{Draws, Waits};
use crate::crowd::load::{self, Load};
use crate::crowd::median::median;
use crate::crowd::raster::Raster;

/// Bins of a chart's time.
pub const BINS: usize = 200;

/// What there is to know of one retry of all jobs. Times count from the moment at which they failed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Retry {
    /// The earliest arrival.
    pub first_ms: f64,
    /// The mean of the arrivals.
    pub mean_ms: f64,
    /// The latest.
    pub last_ms: f64,
    /// The mean of the waits before it.
    pub mean_wait_ms: f64,
    /// Their coefficient of variation: standard deviation over mean.
    pub wait_cv: f64,
}

/// What a chart of the crowd shows.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Figures {
    /// The latest arrival.
    pub end_ms: f64,
    /// The mean of the coefficients of variation of the waits before retries 2 and later. The first is left out: spread
    /// begins with a window of its own.
    pub wait_cv: f64,
    /// How long a bin is: 200 equal ones from the failure to the moment at which half the jobs have made their last retry.
    /// What comes later is not counted.
    pub bin_ms: f64,
    /// Share of the bins in which no job comes.
    pub idle: f64,
    /// The count of the fullest bin.
    pub peak_count: f64,
    /// The mean of the counts.
    pub mean_count: f64,
    /// The fullest over the mean.
    pub peak: f64,
    /// Coefficient of variation of the counts in 16 equal bins of log time an octave, over six octaves, by a crowd of as many
    /// jobs, 100,000 at most, with 24 retries, where the curve doubles. A crowd of 100 at random has .40, since a bin holds
    /// 6.25 of them.
    pub load_cv: Option<f64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Times,
    Deviations,
    Bins,
    Load,
    Picture,
    Done,
}

/// Sums of one retry over the jobs.
#[derive(Clone, Copy, Debug)]
struct Sums {
    first: f64,
    last: f64,
    at: f64,
    wait: f64,
    mean_wait: f64,
    squares: f64,
}

/// A crowd that is drawn and measured as far as it is let.
#[derive(Debug)]
pub struct Crowd {
    jobs: u32,
    retries: u32,
    draws: Draws,
    load: Option<Load>,
    picture: Option<Raster>,
    stage: Stage,
    /// The next job of the stage.
    job: u32,
    /// Job-major.
    times: Vec<f64>,
    /// When each job made its last retry.
    lasts: Vec<f64>,
    sums: Vec<Sums>,
    horizon: f64,
    bins: Vec<f64>,
}

/// The mean, 0 of nothing.
pub fn mean(values: impl Iterator<Item = f64> + Clone) -> f64 {
    values.clone().sum::<f64>() / values.count().max(1) as f64
}

/// Standard deviation over mean.
pub fn variation(values: &[f64]) -> f64 {
    let center = mean(values.iter().copied());
    let variance = mean(values.iter().map(|value| (value - center).powi(2)));
    if center > 0.0 { variance.sqrt() / center } else { 0.0 }
}

impl Crowd {
    /// `jobs` jobs, one at least, with so many retries, or as many as they have: one at least. `picture`: one of the dots.
    pub fn new(waits: Waits, jobs: u32, retries: u32, seed: u64, picture: Option<Raster>) -> Crowd {
        let retries = retries.min(waits.retries());
        let none = Sums { first: f64::INFINITY, last: 0.0, at: 0.0, wait: 0.0, mean_wait: 0.0, squares: 0.0 };
        Crowd {
            jobs,
            retries,
            load: load::doubles(&waits).then(|| Load::new(waits.clone(), seed)),
            draws: Draws::new(waits, seed),
            picture,
            stage: Stage::Times,
            job: 0,
            times: Vec::with_capacity(jobs as usize * retries as usize),
            lasts: Vec::with_capacity(jobs as usize),
            sums: vec![none; retries as usize],
            horizon: 0.0,
            bins: vec![0.0; BINS],
        }
    }

    /// Goes on for so many arrivals, or a few more. Whether it is done.
    pub fn advance(&mut self, arrivals: u32) -> bool {
        let mut left = arrivals;
        while left > 0 && self.stage != Stage::Done {
            if self.job == self.jobs_of_stage() {
                self.next_stage();
                continue;
            }
            left = left.saturating_sub(self.step());
            self.job += 1;
        }
        self.stage == Stage::Done
    }

    /// How far it is, in `[0, 1]`.
    pub fn share(&self) -> f64 {
        let part = f64::from(self.job) / f64::from(self.jobs_of_stage());
        // as the stages take time, more or less, with and without a load
        let (begin, size) = match (self.stage, self.load.is_some()) {
            (Stage::Times, true) => (0.0, 0.3),
            (Stage::Deviations, true) => (0.3, 0.05),
            (Stage::Bins, true) => (0.35, 0.05),
            (Stage::Load, true) => (0.4, 0.55),
            (Stage::Times, false) => (0.0, 0.7),
            (Stage::Deviations, false) => (0.7, 0.1),
            (Stage::Bins, false) => (0.8, 0.1),
            (Stage::Load, false) => (0.9, 0.0),
            (Stage::Picture, has_load) => {
                if has_load {
                    (0.95, 0.05)
                } else {
                    (0.9, 0.1)
                }
            }
            (Stage::Done, _) => (1.0, 0.0),
        };
        begin + part * size
    }

    fn jobs_of_stage(&self) -> u32 {
        if self.stage == Stage::Load { self.jobs.min(load::MOST_JOBS) } else { self.jobs }
    }

    fn next_stage(&mut self) {
        self.job = 0;
        self.stage = match self.stage {
            Stage::Times => {
                self.horizon = median(&mut self.lasts);
                self.lasts = Vec::new();
                for sums in &mut self.sums {
                    sums.mean_wait = sums.wait / f64::from(self.jobs);
                }
                Stage::Deviations
            }
            Stage::Deviations => Stage::Bins,
            Stage::Bins if self.load.is_some() => Stage::Load,
            Stage::Bins | Stage::Load if self.picture.is_some() => Stage::Picture,
            _ => Stage::Done,
        };
    }

    /// Does a stage's work on the next job; gives how many arrivals that was.
    fn step(&mut self) -> u32 {
        match self.stage {
            Stage::Times => self.draw(),
            Stage::Deviations => self.deviate(),
            Stage::Bins => self.count(),
            Stage::Load => {
                if let Some(load) = &mut self.load {
                    load.count();
                }
                return load::RETRIES;
            }
            Stage::Picture | Stage::Done => self.paint(),
        }
        self.retries
    }

    fn row(&self) -> &[f64] {
        let first = self.job as usize * self.retries as usize;
        &self.times[first..first + self.retries as usize]
    }

    fn draw(&mut self) {
        let mut job = self.draws.job();
        let mut before = 0.0;
        for sums in &mut self.sums {
            let at = self.draws.arrival(&mut job);
            self.times.push(at);
            sums.first = sums.first.min(at);
            sums.last = sums.last.max(at);
            sums.at += at;
            sums.wait += at - before;
            before = at;
        }
        self.lasts.push(before);
    }

    fn deviate(&mut self) {
        let mut before = 0.0;
        let first = self.job as usize * self.retries as usize;
        for (sums, at) in self.sums.iter_mut().zip(&self.times[first..]) {
            sums.squares += (at - before - sums.mean_wait).powi(2);
            before = *at;
        }
    }

    fn count(&mut self) {
        let first = self.job as usize * self.retries as usize;
        let row = &self.times[first..first + self.retries as usize];
        for at in row.iter().filter(|at| **at <= self.horizon) {
            let bin = (at / self.horizon * BINS as f64) as usize;
            self.bins[bin.min(BINS - 1)] += 1.0;
        }
    }

    fn paint(&mut self) {
        let end = self.end_ms();
        if let Some(mut picture) = self.picture.take() {
            picture.draw(self.job, self.jobs, self.row(), end);
            self.picture = Some(picture);
        }
    }

    fn end_ms(&self) -> f64 {
        self.sums.iter().fold(0.0, |end, sums| sums.last.max(end))
    }

    /// The times, job-major.
    pub fn times(&self) -> &[f64] {
        &self.times
    }

    /// The picture that was asked for.
    pub const fn picture(&self) -> Option<&Raster> {
        self.picture.as_ref()
    }

    /// The counts of the bins.
    pub fn bins(&self) -> &[f64] {
        &self.bins
    }

    /// Each retry that was made.
    pub fn retries(&self) -> impl Iterator<Item = Retry> + Clone {
        let jobs = f64::from(self.jobs);
        self.sums.iter().map(move |sums| Retry {
            first_ms: sums.first,
            mean_ms: sums.at / jobs,
            last_ms: sums.last,
            mean_wait_ms: sums.mean_wait,
            wait_cv: if sums.mean_wait > 0.0 { (sums.squares / jobs).sqrt() / sums.mean_wait } else { 0.0 },
        })
    }

    /// What it comes to, once it is done.
    pub fn figures(&self) -> Figures {
        let idle = self.bins.iter().filter(|count| **count == 0.0).count();
        let peak_count = self.bins.iter().copied().fold(0.0, f64::max);
        let mean_count = mean(self.bins.iter().copied());
        Figures {
            end_ms: self.end_ms(),
            wait_cv: mean(self.retries().skip(1).map(|retry| retry.wait_cv)),
            bin_ms: self.horizon / BINS as f64,
            idle: idle as f64 / BINS as f64,
            peak_count,
            mean_count,
            peak: peak_count / mean_count,
            load_cv: self.load.as_ref().map(Load::cv),
        }
    }
}
