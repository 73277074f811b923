//! What happened in a run, second by second, and what it comes to.

use crate::storm::model::Setup;

/// One second of a run.
#[derive(Clone, Copy, Debug, Default)]
pub struct Second {
    /// Calls made.
    pub calls: u32,
    /// Requests sent, first attempts and retries.
    pub requests: u32,
    /// Calls that got their answer.
    pub answered: u32,
    /// Calls without an end, when the second is over.
    pub open: u32,
}

/// What a run comes to.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Figures {
    /// Seconds from the server's return until no more calls are open than one in a hundred of those the outage left.
    pub drained: Option<f64>,
    /// Seconds until the last call of the outage had its end.
    pub last: Option<f64>,
    /// Requests sent from the server's return until `drained`, over the calls made since the outage began: 1 where each
    /// of them was asked once.
    pub amplification: f64,
    /// Requests sent in the outage over the calls made in it.
    pub asked_in_vain: f64,
    /// Calls that ended without an answer, of all that were made.
    pub lost: u64,
    /// Calls made.
    pub calls: u64,
    /// The share that was answered, of the calls of the outage that had no end when the server was back, and of those made after that.
    pub answered: (f64, f64),
    /// It had not drained when nobody waited any more, and answered less than came in.
    pub collapsed: bool,
}

/// Counts while a run goes on.
#[derive(Debug)]
pub struct Counts {
    /// The seconds so far, the one that runs last.
    pub seconds: Vec<Second>,
    /// When the outage begins and ends.
    outage_ms: (u64, u64),
    calls_per_second: f64,
    /// Open calls that are none to speak of.
    few: u64,
    /// Calls without an end.
    open: u64,
    /// Calls of the outage without an end.
    open_of_outage: u64,
    lost: u64,
    /// Calls that ended after the return, and those of them with an answer: of the outage, and made after it.
    ended: [(u64, u64); 2],
    drained_at: Option<u64>,
    last_at: Option<u64>,
}

/// After so long a server that hardly answered anything for a minute has no way back: nothing changes any more but
/// that the backlog grows.
pub const HOPELESS_MS: u64 = 300_000;
/// So long it goes on when all is well.
pub const WELL_MS: u64 = 120_000;

impl Counts {
    /// Nothing has happened so far.
    pub fn new(setup: &Setup) -> Counts {
        Counts {
            seconds: vec![Second::default()],
            outage_ms: (setup.warm_up_ms, setup.back_ms()),
            calls_per_second: setup.calls_per_second(),
            few: (setup.calls_of_outage() / 100.0) as u64,
            open: 0,
            open_of_outage: 0,
            lost: 0,
            ended: [(0, 0); 2],
            drained_at: None,
            last_at: None,
        }
    }

    /// The second that runs.
    pub fn second(&mut self) -> &mut Second {
        self.seconds.last_mut().expect("there is one from the beginning")
    }

    /// When it had drained, if it has.
    pub const fn drained_at(&self) -> Option<u64> {
        self.drained_at
    }

    const fn is_of_outage(&self, made: u64) -> bool {
        made >= self.outage_ms.0 && made < self.outage_ms.1
    }

    /// A call is made.
    pub fn call(&mut self, now: u64) {
        self.second().calls += 1;
        self.open += 1;
        self.open_of_outage += u64::from(self.is_of_outage(now));
        self.second().open = self.open as u32;
    }

    /// A call that was made at `made` has its answer, or is lost.
    pub fn end(&mut self, made: u64, now: u64, answered: bool) {
        let back = self.outage_ms.1;
        self.open -= 1;
        self.second().open = self.open as u32;
        if answered {
            self.second().answered += 1;
        } else {
            self.lost += 1;
        }
        if now >= back {
            let (all, with) = &mut self.ended[usize::from(made >= back)];
            (*all, *with) = (*all + 1, *with + u64::from(answered));
        }
        if self.is_of_outage(made) {
            self.open_of_outage -= 1;
            if self.open_of_outage == 0 && now >= back {
                self.last_at = Some(now);
            }
        }
        if now >= back && self.open <= self.few && self.drained_at.is_none() {
            self.drained_at = Some(now);
        }
    }

    /// A second is over at `now`. Whether the run is too: some time after all is well, or when it has been hopeless for
    /// long.
    pub fn turn(&mut self, now: u64) -> bool {
        self.seconds.push(Second { open: self.open as u32, ..Second::default() });
        let well = self.drained_at.is_some_and(|at| now > at + WELL_MS) && self.last_at.is_some();
        let hopeless =
            now >= self.outage_ms.1 + HOPELESS_MS && self.open > 2 * self.few && self.goodput() < 0.02;
        well || hopeless
    }

    /// Answers of the last minute over the new calls that come in a minute.
    fn goodput(&self) -> f64 {
        let done = self.seconds.len().saturating_sub(1);
        let last = &self.seconds[done.saturating_sub(60)..done];
        let answered: u64 = last.iter().map(|second| u64::from(second.answered)).sum();
        answered as f64 / (self.calls_per_second * last.len().max(1) as f64)
    }

    /// What it comes to.
    pub fn figures(&self) -> Figures {
        let sum = |from: u64, to: u64, of: fn(&Second) -> u32| {
            let end = (to.div_ceil(1000) as usize).min(self.seconds.len());
            let from = (from / 1000) as usize;
            self.seconds[from.min(end)..end].iter().map(|second| u64::from(of(second))).sum::<u64>()
        };
        let (gone, back) = self.outage_ms;
        let end = self.seconds.len() as u64 * 1000;
        let drained = self.drained_at.unwrap_or(end);
        let since = |at: u64| (at - back) as f64 / 1000.0;
        let ratio = |part: u64, whole: u64| part as f64 / whole.max(1) as f64;
        Figures {
            drained: self.drained_at.map(since),
            last: self.last_at.map(since),
            amplification: ratio(
                sum(back, drained, |second| second.requests),
                sum(gone, drained, |second| second.calls),
            ),
            asked_in_vain: ratio(
                sum(gone, back, |second| second.requests),
                sum(gone, back, |second| second.calls),
            ),
            lost: self.lost,
            answered: (ratio(self.ended[0].1, self.ended[0].0), ratio(self.ended[1].1, self.ended[1].0)),
            calls: sum(0, end, |second| second.calls),
            collapsed: (self.drained_at.is_none() || self.open > self.few) && self.goodput() < 0.95,
        }
    }
}
