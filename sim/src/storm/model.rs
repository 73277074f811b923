//! What a storm is made of: the crowd, the server, the outage, the rules. All fixed before it begins.

use redrive::breaker::BreakerRules;
use redrive::budget::BudgetRules;
use redrive::gates::{Comeback, Gates};
use redrive::policy::PolicyOptions;

/// One request takes the server so long, in µs: it does 1,000 a second.
pub const SERVICE_US: u64 = 1000;
/// New calls a second, all clients together: a load of 0.7.
pub const CALLS_PER_SECOND: f64 = 700.0;
/// A client gives an attempt up after so long.
pub const TIMEOUT_MS: u64 = 1000;
/// More clients than these are tabs.
pub const MOST_SERVERS: u32 = 2000;
/// Before the outage.
pub const WARM_UP_MS: u64 = 20_000;
/// The server is away for so long.
pub const OUTAGE_MS: u64 = 60_000;
/// When it is back.
pub const BACK_MS: u64 = WARM_UP_MS + OUTAGE_MS;
/// After so long without recovery nobody waits for it any more.
pub const HORIZON_MS: u64 = BACK_MS + 1_200_000;
/// Calls of the outage, on average.
pub const CALLS_OF_OUTAGE: f64 = CALLS_PER_SECOND * OUTAGE_MS as f64 / 1000.0;
/// The least a recovery can take, in seconds: the calls of the outage, by what the server can do beyond the new ones.
pub const IDEAL_S: f64 = CALLS_OF_OUTAGE / (1e6 / SERVICE_US as f64 - CALLS_PER_SECOND);

/// How much work the server takes on before it refuses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Backlog {
    /// 1.5 s of it, longer than its clients wait: it works on for those who have left.
    Deep,
    /// 0.3 s of it.
    Short,
}

impl Backlog {
    /// In µs of work.
    pub const fn work_us(self) -> u64 {
        match self {
            Backlog::Deep => 1_500_000,
            Backlog::Short => 300_000,
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
    /// As much on average, but at 950 a second for the first ten seconds of each minute and 650 after.
    Minutely,
}

impl Arrivals {
    /// New calls a millisecond at an instant.
    pub fn per_ms(self, at: u64) -> f64 {
        match self {
            Arrivals::Even => CALLS_PER_SECOND / 1000.0,
            Arrivals::Minutely if at % 60_000 < 10_000 => 0.95,
            Arrivals::Minutely => 0.65,
        }
    }
}

/// Everything that one run depends on, but its seed.
#[derive(Clone, Debug)]
pub struct Setup {
    /// How many clients, each with a queue of its own.
    pub clients: u32,
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
    /// When to try again.
    pub policy: PolicyOptions,
}

impl Setup {
    /// A crowd that meets an outage, with no gates and a policy that outlasts it.
    pub fn new(clients: u32, backlog: Backlog, outage: Outage) -> Setup {
        Setup {
            clients,
            backlog,
            outage,
            arrivals: Arrivals::Even,
            gates: Gates::default(),
            concurrency: 3,
            policy: patient(47_000.0),
        }
    }

    /// The same setup behind these gates. A ramp is that of servers or of tabs, as the clients are.
    #[must_use]
    pub fn with(self, gates: Gates) -> Setup {
        let ramp = match gates.ramp {
            Comeback::AtOnce => Comeback::AtOnce,
            _ if self.clients > MOST_SERVERS => Comeback::OfMany,
            _ => Comeback::OfFew,
        };
        Setup { gates: Gates { ramp, ..gates }, ..self }
    }
}

/// `spread` from 500 ms to `cap`, and a hundred attempts in a day: nothing is lost for want of patience.
pub fn patient(cap: f64) -> PolicyOptions {
    PolicyOptions {
        strategy: Some(7.0),
        initial_delay_ms: Some(500.0),
        max_delay_ms: Some(cap),
        max_attempts: Some(100.0),
        attempt_timeout_ms: Some(TIMEOUT_MS as f64),
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
