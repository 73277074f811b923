//! The grid: every crowd, queue and outage with every set of gates, several seeds each, as tables.

use std::time::Instant;

use redrive::budget::BudgetRules;
use redrive::gates::Gates;
use redrive::policy::PolicyOptions;

use crate::storm::measure::Figures;
use crate::storm::model::{
    Arrivals, BACK_MS, Backlog, IDEAL_S, IN_VIEW, MOST_SERVERS, Outage, Setup, WARM_UP_MS, patient, sound,
    variants,
};
use crate::storm::run::{Outcome, run, run_until};

/// The crowds: some servers, and the tabs of many people.
pub const CROWDS: [u32; 2] = [200, 20_000];
/// What a server's queue holds.
pub const BACKLOGS: [Backlog; 2] = [Backlog::Deep, Backlog::Short];
/// How a server is away.
pub const OUTAGES: [Outage; 2] = [Outage::Hanging, Outage::Refusing];

/// A word for a queue.
pub const fn named(backlog: Backlog) -> &'static str {
    match backlog {
        Backlog::Deep => "deep",
        Backlog::Short => "short",
    }
}

/// Several seeds of one setup.
#[derive(Clone, Debug)]
pub struct Several(pub Vec<Figures>);

impl Several {
    /// Runs the seeds `1..=seeds`.
    pub fn of(setup: &Setup, seeds: u64) -> Several {
        Several((1..=seeds).map(|seed| run(setup, seed).figures).collect())
    }

    /// How many stayed down.
    pub fn collapsed(&self) -> usize {
        self.0.iter().filter(|figures| figures.collapsed).count()
    }

    /// The middle one of a figure; of an even number the upper.
    pub fn middle(&self, of: impl Fn(&Figures) -> f64) -> f64 {
        let mut values: Vec<f64> = self.0.iter().map(of).collect();
        values.sort_by(f64::total_cmp);
        values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
    }

    /// Seconds until the backlog was gone, in words.
    pub fn drained(&self) -> String {
        match self.middle(|figures| figures.drained.unwrap_or(f64::INFINITY)) {
            _ if self.collapsed() > 0 => format!("**stays down** ({} of {})", self.collapsed(), self.0.len()),
            drained if drained.is_finite() => format!("{drained:.0} s"),
            _ => "not in 20 min".to_owned(),
        }
    }

    /// Seconds until the last call of the outage had its end.
    pub fn last(&self) -> String {
        match self.middle(|figures| figures.last.unwrap_or(f64::INFINITY)) {
            last if last.is_finite() => format!("{last:.0} s"),
            _ => "-".to_owned(),
        }
    }

    /// The share of all calls that were given up.
    pub fn lost(&self) -> String {
        match self.middle(|figures| figures.lost as f64 / figures.calls.max(1) as f64) {
            0.0 => "0".to_owned(),
            lost => format!("{:.1} %", lost * 100.0),
        }
    }
}

/// What a run of the grid changes of every setup.
#[derive(Clone, Copy, Debug, Default)]
pub struct Changes {
    /// The longest wait of the policy, in seconds.
    pub cap_s: Option<f64>,
    /// Calls come by the minute.
    pub minutely: bool,
    /// A budget of so many tokens, and one more in so many seconds, where there is a budget.
    pub tokens: Option<(f64, f64)>,
}

impl Changes {
    fn of(&self, setup: Setup) -> Setup {
        let arrivals = if self.minutely { Arrivals::Minutely } else { Arrivals::Even };
        let policy = self.cap_s.map_or_else(|| setup.policy.clone(), |cap| sound(&patient(cap * 1000.0)));
        let per_success = 0.2;
        let tokens = self.tokens.filter(|_| setup.gates.budget.is_some());
        let budget = tokens.map(|(tokens, seconds)| BudgetRules::new(tokens, per_success, 1.0 / seconds));
        let gates = Gates { budget: budget.or(setup.gates.budget), ..setup.gates };
        Setup { arrivals, policy, gates, ..setup }
    }
}

/// Tells how far a long work is, on standard error, at most every other second.
pub struct Progress {
    began: Instant,
    done: u32,
    all: u32,
}

impl Progress {
    /// Of so many steps.
    pub fn of(all: usize) -> Progress {
        Progress { began: Instant::now(), done: 0, all: all as u32 }
    }

    /// One more is done.
    pub fn step(&mut self, what: &str) {
        self.done += 1;
        eprintln!("{} of {}, {:.0} s: {what}", self.done, self.all, self.began.elapsed().as_secs_f64());
    }
}

/// One field of the grid.
#[derive(Clone, Debug)]
pub struct Field {
    /// How many clients.
    pub clients: u32,
    /// What the server's queue holds.
    pub backlog: Backlog,
    /// The name of the gates.
    pub gates: &'static str,
    /// Of a hanging and of a refusing outage.
    pub outages: [Several; 2],
}

/// Runs the grid; `only` leaves out all rows that do not have its words in their heading and name, as in `200`, `deep` or
/// `deep shipped`.
pub fn grid(seeds: u64, only: &str, changes: &Changes) -> Vec<Field> {
    let fields: Vec<(u32, Backlog, &str, Gates)> = CROWDS
        .into_iter()
        .flat_map(|clients| BACKLOGS.map(|backlog| (clients, backlog)))
        .flat_map(|(clients, backlog)| variants().into_iter().map(move |(n, g)| (clients, backlog, n, g)))
        .filter(|(clients, _, name, _)| *name != IN_VIEW || *clients > MOST_SERVERS)
        .filter(|(clients, backlog, name, _)| {
            let row = format!("{} {name}", heading(*clients, *backlog));
            only.split(' ').all(|word| row.contains(word))
        })
        .collect();
    let mut progress = Progress::of(fields.len());
    let field = |(clients, backlog, name, gates)| {
        let setup = |outage| changes.of(Setup::new(clients, backlog, outage).with(gates));
        let of = |outage| Several::of(&setup(outage), seeds);
        let outages = OUTAGES.map(of);
        progress.step(&format!("{}, {name}", heading(clients, backlog)));
        Field { clients, backlog, gates: name, outages }
    };
    fields.into_iter().map(field).collect()
}

/// The grid as tables.
pub fn tables(grid: &[Field]) -> String {
    let mut text = format!("The ideal: {IDEAL_S:.0} s, an amplification of 1.\n");
    let mut last = String::new();
    for field in grid {
        let heading = heading(field.clients, field.backlog);
        if heading != last {
            text.push_str(&format!("\n### {heading}\n\n"));
            text.push_str(
                "| gates | hanging: drained | amplification | asked in vain | last call | refusing: drained \
                 | amplification | asked in vain | last call |\n|---|---|---|---|---|---|---|---|---|\n",
            );
            last = heading;
        }
        text.push_str(&format!("| {}", field.gates));
        for several in &field.outages {
            text.push_str(&format!(
                " | {} | {:.2} | {:.1} | {}",
                several.drained(),
                several.middle(|figures| figures.amplification),
                several.middle(|figures| figures.asked_in_vain),
                several.last()
            ));
        }
        text.push_str(" |\n");
    }
    text
}

fn heading(clients: u32, backlog: Backlog) -> String {
    let clients = if clients == 20_000 { "20,000".to_owned() } else { clients.to_string() };
    format!("{clients} clients, a {} queue", named(backlog))
}

/// What is lost where attempts run out: the default policy, whose callers do not wait.
pub fn lost_work(seeds: u64) -> String {
    let mut text = String::from(
        "| gates | lost, 200 clients | drained | lost, 20,000 clients | drained |\n|---|---|---|---|---|\n",
    );
    let variants = || variants().into_iter().filter(|(name, _)| *name != IN_VIEW);
    let mut progress = Progress::of(variants().count());
    for (name, gates) in variants() {
        text.push_str(&format!("| {name}"));
        for clients in CROWDS {
            let setup = Setup::new(clients, Backlog::Deep, Outage::Hanging).with(gates);
            let policy = sound(&PolicyOptions::default());
            let several = Several::of(&Setup { policy, ..setup }, seeds);
            text.push_str(&format!(" | {} | {}", several.lost(), several.drained()));
        }
        text.push_str(" |\n");
        progress.step(&format!("the default policy, {name}"));
    }
    text
}

/// The shipped gates before callers who wait for their answer, and leave after 30 s.
pub fn awaited(seeds: u64, only: &str) -> String {
    let mut text = String::from(
        "| clients, queue | outage | drained | amplification | asked in vain | last call | answered, of those who waited \
         | of those who came later |\n|---|---|---|---|---|---|---|---|\n",
    );
    let crowds = [(200, 4), (20_000, 4), (20_000, 7)];
    let rows = crowds.into_iter().flat_map(|crowd| BACKLOGS.map(|backlog| (crowd, backlog)));
    let rows = rows.flat_map(|row| OUTAGES.map(|outage| (row, outage)));
    for (((clients, variant), backlog), outage) in rows {
        let (name, gates) = variants()[variant];
        let view = if name == IN_VIEW { " in view" } else { "" };
        let kind = if outage == Outage::Hanging { "hanging" } else { "refusing" };
        let heading = format!("{}{view} | {kind}", heading(clients, backlog));
        if !only.split(' ').all(|word| heading.contains(word)) {
            continue;
        }
        let several = Several::of(&Setup::new(clients, backlog, outage).with(gates).awaited(), seeds);
        text.push_str(&format!(
            "| {heading} | {} | {:.2} | {:.1} | {} | {:.1} % | {:.1} % |\n",
            several.drained(),
            several.middle(|figures| figures.amplification),
            several.middle(|figures| figures.asked_in_vain),
            several.last(),
            100.0 * several.middle(|figures| figures.answered.0),
            100.0 * several.middle(|figures| figures.answered.1)
        ));
    }
    text
}

/// The storms that the picture shows: a deep queue, a hanging outage, seed 1.
const COURSES: [(&str, u32, usize); 3] = [
    ("No gates, 200 servers as clients", 200, 0),
    ("The gates of a server, 200 of them", 200, 4),
    ("The gates of a page, 20,000 tabs", 20_000, 4),
];
/// Seconds of them, from the beginning of the warm-up.
const SHOWN: u64 = 600;

/// Requests and answered calls of each, second by second, as JSON for `scripts/plot/storm.mjs`.
pub fn courses() -> String {
    let course = |(title, clients, variant): (&str, u32, usize)| {
        let setup = Setup::new(clients, Backlog::Deep, Outage::Hanging).with(variants()[variant].1);
        let Outcome { figures, seconds } = run_until(&setup, 1, SHOWN * 1000);
        serde_json::json!({
            "title": title,
            "collapsed": figures.collapsed,
            "drainedS": figures.drained,
            "amplification": figures.amplification,
            "requests": seconds.iter().map(|second| second.requests).collect::<Vec<u32>>(),
            "answered": seconds.iter().map(|second| second.answered).collect::<Vec<u32>>(),
        })
    };
    let times = [WARM_UP_MS, BACK_MS].map(|ms| ms / 1000);
    serde_json::json!({ "downAtS": times[0], "backAtS": times[1], "courses": COURSES.map(course) })
        .to_string()
}
