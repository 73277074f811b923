//! The retry budget beside one that is kept in exact fractions, and beside gRPC's retry throttle.

use proptest::prelude::*;
use redrive::budget::{BudgetRules, RetryBudget};
use redrive::rng::SplitMix64;
use redrive::time::Millis;

const START: u64 = 1_700_000_000_000;
/// A token, in the unit of [`BudgetRules`].
const TOKEN: u64 = 1_000_000_000;

#[derive(Clone, Debug)]
enum Step {
    Pass(u64),
    /// To just before or exactly when it says that it pays.
    ToPay {
        early: bool,
    },
    Take,
    GiveBack,
    Success,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        2 => (0_u64..5000).prop_map(Step::Pass),
        1 => (0_u64..100_000_000).prop_map(Step::Pass),
        3 => any::<bool>().prop_map(|early| Step::ToPay { early }),
        8 => Just(Step::Take),
        1 => Just(Step::GiveBack),
        3 => Just(Step::Success),
    ]
}

fn rules() -> impl Strategy<Value = BudgetRules> {
    let capacity = prop_oneof![Just(10 * TOKEN), Just(TOKEN), TOKEN..20 * TOKEN, Just(1_000_000 * TOKEN)];
    let per_success = prop_oneof![Just(TOKEN / 5), Just(0), 0..2 * TOKEN];
    let per_second =
        prop_oneof![Just(TOKEN / 10), Just(TOKEN / 300), Just(0), 0..3 * TOKEN, Just(1_000_000 * TOKEN)];
    (capacity, per_success, per_second).prop_map(|(capacity, per_success, per_second)| BudgetRules {
        capacity,
        per_success,
        per_second,
    })
}

/// What is left, in thousandths of a billionth: a second's share of a millisecond is a whole number of them.
struct Naive {
    left: u128,
    full: u128,
    at: u64,
}

impl Naive {
    fn pass(&mut self, rules: &BudgetRules, now: u64) {
        let more = u128::from(now - self.at) * u128::from(rules.per_second);
        (self.left, self.at) = ((self.left + more).min(self.full), now);
    }

    fn add(&mut self, billionths: u64) {
        self.left = (self.left + u128::from(billionths) * 1000).min(self.full);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: crate::common::cases(), ..ProptestConfig::default() })]

    #[test]
    fn l6_it_pays_what_exact_fractions_would_pay(rules in rules(), steps in prop::collection::vec(step(), 1..80)) {
        let mut budget = RetryBudget::default();
        let full = u128::from(rules.capacity) * 1000;
        let mut naive = Naive { left: full, full, at: START };
        let mut now = START;
        let (mut taken, mut successes) = (0_u64, 0_u64);
        for (count, step) in steps.into_iter().enumerate() {
            let pays_at = budget.pays_at(&rules, Millis::new(now)).get();
            match step {
                Step::Pass(ms) => now += ms,
                Step::ToPay { early } if pays_at < 1 << 53 => {
                    let wait = pays_at - now;
                    if early && wait > 0 {
                        now = pays_at - 1;
                        prop_assert!(!budget.take(&rules, Millis::new(now)), "refused just before");
                    }
                    now = pays_at;
                    prop_assert!(budget.whole(&rules, Millis::new(now)) >= 1, "allowed on the dot");
                }
                Step::ToPay { .. } => prop_assert_eq!(rules.per_second, 0),
                Step::Take => {
                    naive.pass(&rules, now);
                    let whole = budget.whole(&rules, Millis::new(now));
                    let pays = budget.take(&rules, Millis::new(now));
                    prop_assert_eq!(pays, whole > 0);
                    if pays {
                        taken += 1;
                        naive.left = naive.left.saturating_sub(u128::from(TOKEN) * 1000);
                    }
                }
                Step::GiveBack if taken > 0 => {
                    taken -= 1;
                    budget.give_back();
                    naive.pass(&rules, now);
                    naive.add(TOKEN);
                }
                Step::GiveBack => {}
                Step::Success => {
                    successes += 1;
                    budget.replenish(&rules);
                    naive.pass(&rules, now);
                    naive.add(rules.per_success);
                }
            }
            naive.pass(&rules, now);
            // Each time it is asked it may round down by less than a billionth, and never up.
            let left = budget.tokens(&rules, Millis::new(now));
            let exact = naive.left as f64 / 1000.0 / TOKEN as f64;
            let slack = (count + 2) as f64 / TOKEN as f64 + exact * 1e-12;
            prop_assert!(left <= exact + exact * 1e-12 && left >= exact - slack, "{} of {}", left, exact);
            prop_assert_eq!(budget.is_full(&rules, Millis::new(now)), left >= rules.capacity as f64 / TOKEN as f64);
            // L6: no more than it held at first, and what came in.
            let most = u128::from(rules.capacity)
                + u128::from(rules.per_success) * u128::from(successes)
                + u128::from(rules.per_second) * u128::from(now - START) / 1000;
            prop_assert!(u128::from(taken) * u128::from(TOKEN) <= most, "{} retries", taken);
        }
    }
}

#[test]
fn l6_it_names_the_same_moment_whenever_it_is_asked() {
    let rules = BudgetRules { capacity: 6_151_323_519, per_success: 0, per_second: 3_333_333 };
    let mut budget = RetryBudget::default();
    while budget.take(&rules, Millis::new(START)) {}
    let emptied_at = budget.pays_at(&rules, Millis::new(START));
    assert!(budget.take(&rules, emptied_at));
    let pays_at = budget.pays_at(&rules, emptied_at);
    for passed in (1..1000).chain([99_999, 299_000]) {
        let asked_at = emptied_at.plus(Millis::new(passed));
        assert_eq!(budget.pays_at(&rules, asked_at), pays_at, "asked after {passed} ms");
        assert_eq!(budget.whole(&rules, asked_at), 0, "it pays before {pays_at:?}");
    }
    assert_eq!(budget.whole(&rules, pays_at), 1);
}

#[test]
fn a_part_that_is_no_number_keeps_the_default() {
    let none = f64::NAN;
    let default = BudgetRules::default();
    assert_eq!(default, BudgetRules::new(100.0, 2.0, 1.0));
    assert_eq!(default.with(none, none, none), default);
    assert_eq!(default.with(1000.0, none, none), BudgetRules::new(1000.0, 2.0, 1.0));
    assert_eq!(default.with(0.0, 0.2, none), BudgetRules::new(1.0, 0.2, 1.0));
}

#[test]
fn numbers_of_tokens_from_outside_are_bounded() {
    let rules = |capacity, per_success, per_second| {
        let rules = BudgetRules::new(capacity, per_success, per_second);
        (rules.capacity, rules.per_success, rules.per_second)
    };
    assert_eq!(rules(10.0, 0.2, 0.1), (10 * TOKEN, TOKEN / 5, TOKEN / 10));
    assert_eq!(rules(3.0, 0.0, 1.0 / 300.0), (3 * TOKEN, 0, 3_333_333));
    assert_eq!(rules(0.5, -1.0, f64::NAN), (TOKEN, 0, 0), "with less than one no retry could ever start");
    assert_eq!(rules(f64::INFINITY, 1e300, 2e6), (1_000_000 * TOKEN, 1_000_000 * TOKEN, 1_000_000 * TOKEN));
}

#[test]
fn a_time_that_runs_backwards_brings_nothing_back() {
    let rules = BudgetRules::new(1.0, 0.0, 1.0);
    let mut budget = RetryBudget::default();
    assert!(budget.take(&rules, Millis::new(START + 5000)));
    assert!(!budget.take(&rules, Millis::new(START)));
    assert!(
        !budget.take(&rules, Millis::new(START + 5999)),
        "a second after the first, not after the second"
    );
    assert!(budget.take(&rules, Millis::new(START + 6000)));
}

/// Retry throttling of gRPC A6: a failure costs a token, a success gives `token_ratio` back, and nothing is retried
/// while half of the tokens or fewer are left. Kept in thousandths, as its implementations do.
/// Source: <https://github.com/grpc/proposal/blob/master/A6-client-retries.md>, "Throttling Retry Attempts and Hedged
/// RPCs".
struct Throttle {
    tokens: u64,
    max_tokens: u64,
    token_ratio: u64,
}

impl Throttle {
    fn new(max_tokens: u64, token_ratio_thousandths: u64) -> Throttle {
        let max_tokens = max_tokens * 1000;
        Throttle { tokens: max_tokens, max_tokens, token_ratio: token_ratio_thousandths }
    }

    fn ends(&mut self, succeeded: bool) {
        self.tokens = if succeeded {
            (self.tokens + self.token_ratio).min(self.max_tokens)
        } else {
            self.tokens.saturating_sub(1000)
        };
    }

    fn retries(&self) -> bool {
        self.tokens > self.max_tokens / 2
    }
}

/// Most attempts of a call in the trace below.
const MOST_ATTEMPTS: u32 = 4;

/// What one of the two made of the trace.
#[derive(Debug, Default, PartialEq, Eq)]
struct Tally {
    /// Retries in each third: the server is well, down, well again.
    retries: [u32; 3],
    /// Calls that ended in a failure.
    lost: u32,
    /// Calls that twenty minutes later are still put off.
    waiting: usize,
}

/// The trace: 1,000 calls, five a second, to a server that is well for 400 of them but for one in a hundred, down for the next
/// 200, and well again. How attempt `attempt` of call `call` ends does not depend on who asks.
fn succeeds(call: u64, attempt: u32) -> bool {
    let down = (400..600).contains(&call);
    let draw = SplitMix64::new(call << 8 | u64::from(attempt)).next_u64() % 100;
    !down && draw >= 1
}

const fn third(call: u64) -> usize {
    match call {
        0..400 => 0,
        400..600 => 1,
        _ => 2,
    }
}

/// The throttle drops the retry that it does not allow: the call has failed.
fn under_the_throttle() -> Tally {
    let mut throttle = Throttle::new(10, 200);
    let mut tally = Tally::default();
    for call in 0..1000 {
        for attempt in 1.. {
            let succeeded = succeeds(call, attempt);
            throttle.ends(succeeded);
            if succeeded {
                break;
            }
            if attempt == MOST_ATTEMPTS || !throttle.retries() {
                tally.lost += 1;
                break;
            }
            tally.retries[third(call)] += 1;
        }
    }
    tally
}

/// The budget puts the retry off: it is asked for again before the next call.
fn under_the_budget(rules: &BudgetRules) -> Tally {
    let mut budget = RetryBudget::default();
    let mut tally = Tally::default();
    let mut waiting: std::collections::VecDeque<(u64, u32)> = std::collections::VecDeque::new();
    for turn in 0_u64..7000 {
        let now = Millis::new(START + turn * 200);
        // The calls are over at 1,000; what was put off is made up for.
        let mut due: Vec<(u64, u32)> = Vec::new();
        if turn < 1000 {
            due.push((turn, 1));
        }
        while let Some(retry) = waiting.pop_front() {
            if !budget.take(rules, now) {
                waiting.push_front(retry);
                break;
            }
            tally.retries[third(turn)] += 1;
            due.push(retry);
        }
        for (call, attempt) in due {
            // A retry meets the server as it is by then.
            if succeeds(if attempt == 1 { call } else { turn }, attempt) {
                budget.replenish(rules);
            } else if attempt == MOST_ATTEMPTS {
                tally.lost += 1;
            } else {
                waiting.push_back((call, attempt + 1));
            }
        }
    }
    Tally { waiting: waiting.len(), ..tally }
}

/// Prints both on one trace.
#[test]
fn beside_the_throttle_of_grpc_it_adds_as_little_load_and_loses_fewer_calls() {
    // Alike: ten tokens, a fifth back for a success. The throttle knows no time.
    let throttle = under_the_throttle();
    let without_time = under_the_budget(&BudgetRules::new(10.0, 0.2, 0.0));
    let with_time = under_the_budget(&BudgetRules::new(10.0, 0.2, 0.1));
    let as_shipped = under_the_budget(&BudgetRules::default());
    println!("1,000 calls, 200 of them to a server that is down; retries while well, down, well again; lost");
    println!("gRPC A6, 10 tokens, 0.2         {throttle:?}");
    println!("budget, 10, 0.2, 0 a second     {without_time:?}");
    println!("budget, 10, 0.2, 0.1 a second   {with_time:?}");
    println!("budget, 100, 2, 1 a second      {as_shipped:?}");
    // The very rows of the documentation: trace and both are exact.
    assert_eq!(throttle, Tally { retries: [4, 3, 3], lost: 200, waiting: 0 });
    assert_eq!(without_time, Tally { retries: [4, 10, 98], lost: 2, waiting: 106 });
    assert_eq!(with_time, Tally { retries: [4, 13, 201], lost: 3, waiting: 0 });
    assert_eq!(as_shipped, Tally { retries: [4, 139, 166], lost: 37, waiting: 0 });
}
