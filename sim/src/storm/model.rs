//! What a storm is made of: the crowd, the server, the outage, the rules. All fixed before it begins.

use redrive::breaker::BreakerRules;
use redrive::budget::BudgetRules;
use redrive::gates::{Comeback, Gates};
use redrive::policy::{Policy, PolicyOptions};

/// Requests that the server does in a second.
pub const CAPACITY: f64 = 1000.0;
/// New calls, all clients together, as a share of that.
pub const LOAD: f64 = 0.7;
/// New calls a second.
pub const CALLS_PER_SECOND: f64 = CAPACITY * LOAD;
/// A client gives an attempt up after so long.
pub const TIMEOUT_MS: u64 = 1000;
/// More clients than these are tabs.
pub const MOST_SERVERS: u32 = 2000;
/// Before the outage.
pub const WARM_UP_MS: u64 = 20_000;
/// The server is away for so long.
pub const OUTAGE_MS: u64 = 60_000;
/// Who awaits a call leaves after so long.
pub const WAIT_MS: u64 = 30_000;
/// When it is back.
pub const BACK_MS: u64 = WARM_UP_MS + OUTAGE_MS;
/// After so long without recovery nobody waits for it any more.
const PATIENCE_MS: u64 = 1_200_000;
/// The least a recovery can take, in seconds: see [`Setup::ideal_s`].
pub const IDEAL_S: f64 = CALLS_PER_SECOND * OUTAGE_MS as f64 / 1000.0 / (CAPACITY - CALLS_PER_SECOND);

/// How much work the server takes on before it refuses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Backlog {
    /// 1.5 s of it, longer than its clients wait: it works on for those who have left.
    Deep,
    /// 0.3 s of it.
    Short,
}

impl Backlog {
    /// In ms of work.
    pub const fn work_ms(self) -> u64 {
        match self {
            Backlog::Deep => 1500,
            Backlog::Short => 300,
        }
    }
}

/// What an attempt meets while the server is away.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outage {
    /// Silence.
    Hanging,
    /// A 503 at once.
    Refusing,
}

/// How new calls come in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arrivals {
    /// As chance has it, the same rate throughout.
    Even,
    /// As much on average, but at 950 instead of 700 a second for the first ten seconds of each minute and 650 after.
    Minutely,
}

/// Everything that one run depends on, but its seed.
#[derive(Clone, Debug)]
pub struct Setup {
    /// How many clients, each with a queue of its own.
    pub clients: u32,
    /// Requests that the server does in a second; at most a million.
    pub capacity: f64,
    /// New calls as a share of that, below 1.
    pub load: f64,
    /// Before the outage, in whole seconds.
    pub warm_up_ms: u64,
    /// The server is away for so long, in whole seconds.
    pub outage_ms: u64,
    /// A client gives an attempt up after so long.
    pub timeout_ms: u64,
    /// What the server takes on.
    pub backlog: Backlog,
    /// What an outage is like.
    pub outage: Outage,
    /// How calls come in.
    pub arrivals: Arrivals,
    /// What stands before each retry.
    pub gates: Gates,
    /// Retries of one client at a time.
    pub concurrency: u32,
    /// A caller waits for its call for so long, at the door while a circuit is open. `None`: each call is sent at once, and kept until it
    /// has its answer.
    pub wait_ms: Option<u64>,
    /// When to try again. Its timeout of an attempt is that of the clients, whatever it says.
    pub policy: Policy,
}

impl Setup {
    /// A crowd that meets an outage, with no gates and a policy that outlasts it.
    pub fn new(clients: u32, backlog: Backlog, outage: Outage) -> Setup {
        Setup {
            clients,
            capacity: CAPACITY,
            load: LOAD,
            warm_up_ms: WARM_UP_MS,
            outage_ms: OUTAGE_MS,
            timeout_ms: TIMEOUT_MS,
            backlog,
            outage,
            arrivals: Arrivals::Even,
            gates: Gates::default(),
            concurrency: 3,
            wait_ms: None,
            policy: sound(&patient(47_000.0)),
        }
    }

    /// The same setup whose calls are awaited: for 30 s, under the default policy.
    #[must_use]
    pub fn awaited(self) -> Setup {
        Setup { wait_ms: Some(WAIT_MS), policy: sound(&PolicyOptions::default()), ..self }
    }

    /// The same setup behind these gates. A ramp is that of servers or of tabs, as the clients are, but for one of pages in view.
    #[must_use]
    pub fn with(self, gates: Gates) -> Setup {
        let ramp = match gates.ramp {
            ramp @ (Comeback::AtOnce | Comeback::InView) => ramp,
            _ if self.clients > MOST_SERVERS => Comeback::OfMany,
            _ => Comeback::OfFew,
        };
        Setup { gates: Gates { ramp, ..gates }, ..self }
    }

    /// New calls a second, all clients together.
    pub const fn calls_per_second(&self) -> f64 {
        self.capacity * self.load
    }

    /// New calls a millisecond at an instant.
    pub const fn calls_per_ms(&self, at: u64) -> f64 {
        let even = self.calls_per_second();
        match self.arrivals {
            Arrivals::Even => even / 1000.0,
            Arrivals::Minutely if at % 60_000 < 10_000 => even * 950.0 / 700.0 / 1000.0,
            Arrivals::Minutely => even * 650.0 / 700.0 / 1000.0,
        }
    }

    /// When the server is back.
    pub const fn back_ms(&self) -> u64 {
        self.warm_up_ms + self.outage_ms
    }

    /// When nobody waits for a recovery any more.
    pub const fn horizon_ms(&self) -> u64 {
        self.back_ms() + PATIENCE_MS
    }

    /// Whether the server is away.
    pub const fn is_away(&self, at: u64) -> bool {
        at >= self.warm_up_ms && at < self.back_ms()
    }

    /// Calls of the outage, on average.
    pub const fn calls_of_outage(&self) -> f64 {
        self.calls_per_second() * self.outage_ms as f64 / 1000.0
    }

    /// The least a recovery can take, in seconds: the calls of the outage, by what the server can do beyond the new ones.
    pub const fn ideal_s(&self) -> f64 {
        self.calls_of_outage() / (self.capacity - self.calls_per_second())
    }
}

/// A policy whose numbers stand in this crate.
pub fn sound(options: &PolicyOptions) -> Policy {
    // no `expect`: it would bring the printing of floats into the module of the lab
    match Policy::new(options) {
        Ok(policy) => policy,
        Err(_) => panic!("the policies of this crate are sound"),
    }
}

/// `spread` from 500 ms to `cap`, and a hundred attempts in a day: nothing is lost for want of patience.
pub fn patient(cap: f64) -> PolicyOptions {
    PolicyOptions {
        strategy: Some(7.0),
        initial_delay_ms: Some(500.0),
        max_delay_ms: Some(cap),
        max_attempts: Some(100.0),
        ..PolicyOptions::default()
    }
}

/// The breaker as it comes.
pub const fn breaker() -> BreakerRules {
    BreakerRules::DEFAULT
}

/// Gates of these two; NaN in the budget: as it comes.
pub fn gates(breaker: Option<BreakerRules>, budget: Option<(f64, f64, f64)>) -> Gates {
    let budget =
        budget.map(|(capacity, success, second)| BudgetRules::default().with(capacity, success, second));
    Gates { breaker, budget, ..Gates::default() }
}

/// A ramp without a breaker.
pub fn paged(budget: Option<(f64, f64, f64)>) -> Gates {
    Gates { ramp: Comeback::OfFew, ..gates(None, budget) }
}

/// The same with a ramp after an opening, as the package has it with every breaker.
pub fn ramped(budget: Option<(f64, f64, f64)>) -> Gates {
    Gates { ramp: Comeback::OfFew, ..gates(Some(breaker()), budget) }
}

/// The budget as it comes: capacity, per success, per second.
pub const DEFAULT_BUDGET: (f64, f64, f64) = (f64::NAN, f64::NAN, f64::NAN);
/// What a page would have to do with, if there were no ramp.
pub const FEW_TOKENS: (f64, f64, f64) = (5.0, 0.2, 1.0 / 150.0);

/// The words for the first of [`variants`], which the lab shows.
pub const GATES: [&str; 5] = ["none", "budget", "breaker", "breaker-budget", "shipped"];

/// The name of the gates of a page in view, which servers have not.
pub const IN_VIEW: &str = "**in view**: breaker, ramp, budget";

/// Gates under the name that the tables show.
pub fn variants() -> Vec<(&'static str, Gates)> {
    vec![
        ("none", gates(None, None)),
        ("budget", gates(None, Some(DEFAULT_BUDGET))),
        ("breaker", gates(Some(breaker()), None)),
        ("breaker, budget", gates(Some(breaker()), Some(DEFAULT_BUDGET))),
        ("**shipped**: breaker, ramp, budget", ramped(Some(DEFAULT_BUDGET))),
        ("few tokens, no ramp", gates(None, Some(FEW_TOKENS))),
        ("few tokens, breaker", gates(Some(breaker()), Some(FEW_TOKENS))),
        (IN_VIEW, Gates { ramp: Comeback::InView, ..ramped(Some(DEFAULT_BUDGET)) }),
    ]
}
