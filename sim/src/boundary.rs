//! The lab's boundary to JavaScript: crowds, storms and the comparison of strategies, each as an object that goes on for a
//! while and is asked then. What it decides is decided elsewhere in this crate, where native tests see it.
//!
//! Numbers in, numbers out, as at the core's own boundary: a policy is a row of f64, lists of figures have an order that
//! stands at each function. The TypeScript side checks every number before it crosses, the policy's apart.

use redrive::error::PolicyError;
use redrive::policy::Policy;
use wasm_bindgen::prelude::*;
use web_sys::Performance;

use crate::crowd::chart::Crowd;
use crate::crowd::draws::Waits;
use crate::crowd::raster::Raster;
use crate::crowd::{Strategy, strategies};
use crate::spread::{Figures, Survey};
use crate::storm::measure::Second;
use crate::storm::model::{Backlog, Outage, Setup, WAIT_MS, variants};
use crate::storm::run::Storm;

#[global_allocator]
static ALLOCATOR: talc::wasm::WasmDynamicTalc = talc::wasm::new_wasm_dynamic_allocator();

/// A policy's error by the name of its option; the text is for the host to make.
fn wrong(error: PolicyError) -> JsError {
    JsError::new(error.option())
}

/// Arrivals to a piece, and simulated milliseconds to one: it takes a millisecond or two, so that a slice can stop in time; only
/// the middle of a million numbers takes ten.
const ARRIVALS: u32 = 5_000;
const STORM_MS: u64 = 5;

/// Goes on piece by piece until all is done or so many ms of `clock` have passed. Whether it is done.
fn slice(clock: &Performance, ms: f64, mut piece: impl FnMut() -> bool) -> bool {
    let end = clock.now() + ms;
    loop {
        let is_done = piece();
        if is_done || clock.now() >= end {
            return is_done;
        }
    }
}

fn policy(fields: &[f64]) -> Result<Policy, JsError> {
    Policy::from_fields(fields).map_err(wrong)
}

/// One crowd.
#[wasm_bindgen]
pub struct LabCrowd(Crowd);

#[wasm_bindgen]
impl LabCrowd {
    /// A crowd of a policy of two attempts or more, with a picture unless its width is 0.
    #[wasm_bindgen(constructor)]
    pub fn new(
        fields: &[f64],
        jobs: u32,
        retries: u32,
        seed: f64,
        width: u32,
        height: u32,
    ) -> Result<LabCrowd, JsError> {
        let waits = Waits::Core(policy(fields)?);
        if waits.retries() == 0 {
            return Err(JsError::new("maxAttempts"));
        }
        let picture = (width > 0).then(|| Raster::new(width, height));
        Ok(LabCrowd(Crowd::new(waits, jobs, retries, seed as u64, picture)))
    }

    /// Goes on for so many ms of `clock`, or one or two more. Whether it is done.
    pub fn advance(&mut self, clock: &Performance, ms: f64) -> bool {
        slice(clock, ms, || self.0.advance(ARRIVALS))
    }

    /// How far it is, in `[0, 1]`.
    pub fn share(&self) -> f64 {
        self.0.share()
    }

    /// End in ms, variation of the waits, idle share, peak over mean, peak, mean, length of a bin in ms, variation of the load
    /// (NaN: none).
    pub fn figures(&self) -> Vec<f64> {
        let figures = self.0.figures();
        vec![
            figures.end_ms,
            figures.wait_cv,
            figures.idle,
            figures.peak,
            figures.peak_count,
            figures.mean_count,
            figures.bin_ms,
            figures.load_cv.unwrap_or(f64::NAN),
        ]
    }

    /// Five numbers for each retry: its first, mean and last arrival, and mean and variation of the waits before it.
    pub fn retries(&self) -> Vec<f64> {
        let retries = self.0.retries();
        retries.flat_map(|r| [r.first_ms, r.mean_ms, r.last_ms, r.mean_wait_ms, r.wait_cv]).collect()
    }

    /// The counts of the bins.
    pub fn bins(&self) -> Vec<f64> {
        self.0.bins().to_vec()
    }

    /// The times, job-major.
    pub fn times(&self) -> Vec<f64> {
        self.0.times().to_vec()
    }

    /// The picture; empty where none was asked for.
    pub fn raster(&self) -> Vec<u8> {
        self.0.picture().map_or(Vec::new(), |picture| picture.pixels().to_vec())
    }
}

/// All strategies, and a policy beside them.
#[wasm_bindgen]
pub struct LabFrontier {
    strategies: Vec<Strategy>,
    crowds: u32,
    seed: u64,
    rows: Vec<Figures>,
    now: Option<Survey>,
}

#[wasm_bindgen]
impl LabFrontier {
    /// The strategies by so many crowds each. Behind them comes the policy of the row, if it is not empty and makes a retry.
    #[wasm_bindgen(constructor)]
    pub fn new(fields: &[f64], crowds: u32, seed: f64) -> Result<LabFrontier, JsError> {
        let mut strategies = strategies();
        if !fields.is_empty() {
            let own = Strategy { name: "", waits: Waits::Core(policy(fields)?) };
            strategies.extend((own.waits.retries() > 0).then_some(own));
        }
        Ok(LabFrontier { strategies, crowds, seed: seed as u64, rows: Vec::new(), now: None })
    }

    /// Goes on for so many ms of `clock`, or one or two more. Whether it is done.
    pub fn advance(&mut self, clock: &Performance, ms: f64) -> bool {
        slice(clock, ms, || self.piece())
    }

    fn piece(&mut self) -> bool {
        if let Some(strategy) = self.strategies.get(self.rows.len()) {
            let make = || Survey::new(strategy.waits.clone(), u64::from(self.crowds), self.seed);
            let survey = self.now.get_or_insert_with(make);
            if survey.advance(ARRIVALS) {
                self.rows.push(survey.figures());
                self.now = None;
            }
        }
        self.rows.len() == self.strategies.len()
    }

    /// How far it is, in `[0, 1]`.
    pub fn share(&self) -> f64 {
        let part = self.now.as_ref().map_or(0.0, |survey| survey.done() as f64 / f64::from(self.crowds));
        (self.rows.len() as f64 + part) / self.strategies.len() as f64
    }

    /// How many rows are done, the policy's own included, which is the last.
    pub fn rows(&self) -> usize {
        self.rows.len()
    }

    /// The name of a row; empty: it is the policy's own.
    pub fn name(&self, row: usize) -> String {
        self.strategies.get(row).map_or(String::new(), |strategy| strategy.name.to_owned())
    }

    /// Variation of the waits, idle share, peak over mean, variation of the load (NaN: none), lag on average and at worst.
    pub fn figures(&self, row: usize) -> Vec<f64> {
        let Figures { wait_cv, idle, peak, load_cv, lag, .. } =
            self.rows.get(row).copied().unwrap_or_default();
        vec![wait_cv, idle, peak, load_cv.unwrap_or(f64::NAN), lag.0, lag.1]
    }
}

/// One storm.
#[wasm_bindgen]
pub struct LabOutage {
    setup: Setup,
    storm: Storm,
}

#[wasm_bindgen]
impl LabOutage {
    /// A storm of these clients. `short`: what the server takes on; `refusing`: how it is away; `awaited`: callers wait for
    /// their calls, and leave after 30 s; `gates`: the place in the list of their names.
    #[wasm_bindgen(constructor)]
    #[allow(clippy::too_many_arguments)] // named on the other side
    pub fn new(
        fields: &[f64],
        clients: u32,
        capacity: f64,
        load: f64,
        outage: f64,
        short: bool,
        refusing: bool,
        awaited: bool,
        gates: usize,
        seed: f64,
    ) -> Result<LabOutage, JsError> {
        let backlog = if short { Backlog::Short } else { Backlog::Deep };
        let kind = if refusing { Outage::Refusing } else { Outage::Hanging };
        let (_, gates) = variants().get(gates).copied().ok_or_else(|| JsError::new("gates"))?;
        let setup = Setup {
            capacity,
            load,
            outage_ms: outage as u64,
            policy: policy(fields)?,
            wait_ms: awaited.then_some(WAIT_MS),
            ..Setup::new(clients, backlog, kind).with(gates)
        };
        Ok(LabOutage { storm: Storm::new(setup.clone(), seed as u64), setup })
    }

    /// Goes on for so many ms of `clock`, or one or two more. Whether it is over.
    pub fn advance(&mut self, clock: &Performance, ms: f64) -> bool {
        slice(clock, ms, || self.storm.advance(STORM_MS))
    }

    /// How far it is, in `[0, 1]`; it may fall.
    pub fn share(&self) -> f64 {
        self.storm.share()
    }

    /// When the server goes and when it is back, from the start; when it had drained and when the last call ended, from its
    /// return (NaN: not so far); amplification, what was asked in vain, lost calls, all calls, 1 where it collapsed; the least
    /// to drain in. Times in seconds.
    pub fn figures(&self) -> Vec<f64> {
        let figures = self.storm.figures();
        vec![
            self.setup.warm_up_ms as f64 / 1000.0,
            self.setup.back_ms() as f64 / 1000.0,
            figures.drained.unwrap_or(f64::NAN),
            figures.last.unwrap_or(f64::NAN),
            figures.amplification,
            figures.asked_in_vain,
            figures.lost as f64,
            figures.calls as f64,
            f64::from(u8::from(figures.collapsed)),
            self.setup.ideal_s(),
        ]
    }

    /// Calls of each second.
    pub fn calls(&self) -> Vec<u32> {
        self.column(|second| second.calls)
    }

    /// Requests of each second.
    pub fn requests(&self) -> Vec<u32> {
        self.column(|second| second.requests)
    }

    /// Answered calls of each second.
    pub fn answered(&self) -> Vec<u32> {
        self.column(|second| second.answered)
    }

    /// Open calls at the end of each second.
    pub fn open(&self) -> Vec<u32> {
        self.column(|second| second.open)
    }

    fn column(&self, of: fn(&Second) -> u32) -> Vec<u32> {
        self.storm.seconds().iter().map(of).collect()
    }
}
