//! What the gates must do for a server that comes back: the fast part of `npm run sim:storm`, one seed each.

#![allow(clippy::unwrap_used)]

use redrive::gates::Gates;
use redrive::policy::PolicyOptions;
use sim::storm::client::{Client, Step};
use sim::storm::measure::Second;
use sim::storm::model::{
    BACK_MS, Backlog, CALLS_PER_SECOND, IDEAL_S, Outage, Setup, gates, paged, sound, variants,
};
use sim::storm::run::{run, run_until};
use sim::storm::server::{Fate, Server};

fn setup(clients: u32, backlog: Backlog, outage: Outage, gates: &str) -> Setup {
    let all = variants();
    let (_, gates) = all.iter().find(|(name, _)| name.contains(gates)).unwrap();
    Setup::new(clients, backlog, outage).with(*gates)
}

/// Calls answered between 20 s and 40 s after the server's return, over those that came in.
fn answered(setup: &Setup) -> f64 {
    let outcome = run_until(setup, 1, BACK_MS + 40_000);
    let seconds: Vec<&Second> = outcome.seconds.iter().skip(BACK_MS as usize / 1000 + 20).take(20).collect();
    assert_eq!(seconds.len(), 20);
    let answered: u32 = seconds.iter().map(|second| second.answered).sum();
    f64::from(answered) / (20.0 * CALLS_PER_SECOND)
}

#[test]
fn a_client_that_gives_up_leaves_its_work_behind() {
    let mut server = Server::new(&Setup::new(1, Backlog::Deep, Outage::Hanging));
    let fates: Vec<Fate> = (0..1600).map(|_| server.take(BACK_MS).0).collect();
    let count = |fate: Fate| fates.iter().filter(|other| **other == fate).count();
    assert_eq!((count(Fate::Answered), count(Fate::TimedOut), count(Fate::Refused)), (1000, 500, 100));
    assert_eq!(server.in_vain, 500);
    assert_eq!(server.take(BACK_MS + 499).0, Fate::TimedOut, "it is still busy for those who have left");
    assert_eq!(server.take(BACK_MS + 502).0, Fate::Answered);
}

#[test]
fn an_outage_is_silence_or_refusals() {
    for (outage, fate, at) in [(Outage::Hanging, Fate::TimedOut, 1000), (Outage::Refusing, Fate::Refused, 1)]
    {
        let mut server = Server::new(&Setup::new(1, Backlog::Short, outage));
        assert_eq!(server.take(BACK_MS - 1), (fate, BACK_MS - 1 + at));
        assert_eq!(server.take(BACK_MS).0, Fate::Answered);
    }
}

#[test]
fn the_same_seed_gives_the_same_storm() {
    let setup = setup(200, Backlog::Short, Outage::Hanging, "breaker");
    let (one, same, other) = (run(&setup, 7), run(&setup, 7), run(&setup, 8));
    assert_eq!(one.figures, same.figures);
    assert_ne!(one.figures, other.figures);
}

#[test]
fn l6_without_gates_a_server_stays_down_under_its_own_clients_retries() {
    let answered = answered(&setup(200, Backlog::Deep, Outage::Hanging, "none"));
    assert!(answered < 0.05, "{answered}");
}

#[test]
fn l6_the_gates_of_a_server_let_it_recover_and_ask_hardly_more_than_needed() {
    let figures = run(&setup(200, Backlog::Deep, Outage::Hanging, "shipped"), 1).figures;
    assert!(!figures.collapsed && figures.lost == 0, "{figures:?}");
    assert!(figures.amplification <= 1.3, "{figures:?}");
    assert!(figures.drained.unwrap() <= 1.3 * IDEAL_S, "{figures:?}");
}

#[test]
fn without_the_ramp_they_would_keep_a_crowd_from_recovering_and_with_it_they_do_not() {
    let calm = |gates| run(&setup(20_000, Backlog::Deep, Outage::Hanging, gates), 1).figures;
    let (without, with) = (calm("breaker, budget"), calm("shipped"));
    assert!(without.collapsed, "{without:?}");
    assert!(!with.collapsed && with.drained.is_some() && with.lost == 0, "{with:?}");
}

#[test]
fn l6_the_ramp_of_a_page_lets_a_crowd_of_tabs_recover() {
    let figures = run(&setup(20_000, Backlog::Deep, Outage::Hanging, "shipped"), 1).figures;
    assert!(!figures.collapsed && figures.drained.is_some() && figures.lost == 0, "{figures:?}");
}

#[test]
fn l6_pages_in_view_let_their_server_recover_within_twice_the_least_time() {
    for outage in [Outage::Hanging, Outage::Refusing] {
        let figures = run(&setup(20_000, Backlog::Deep, outage, "in view"), 1).figures;
        assert!(!figures.collapsed && figures.lost == 0, "{outage:?} {figures:?}");
        assert!(figures.drained.unwrap() <= 2.0 * IDEAL_S, "{outage:?} {figures:?}");
    }
}

/// Of callers who wait for 30 s: the server recovers, and answers nearly all who come after its return.
#[test]
fn l6_callers_at_the_door_do_not_keep_their_server_down() {
    for (clients, gates, outage, least) in [
        (200, "shipped", Outage::Hanging, 0.98),
        (200, "shipped", Outage::Refusing, 0.95),
        (20_000, "shipped", Outage::Hanging, 0.99),
        (20_000, "in view", Outage::Refusing, 0.8),
    ] {
        let figures = run(&setup(clients, Backlog::Deep, outage, gates).awaited(), 1).figures;
        assert!(!figures.collapsed && figures.drained.unwrap() <= 60.0, "{clients} {outage:?} {figures:?}");
        assert!(figures.answered.1 >= least, "{clients} {outage:?} {figures:?}");
    }
}

#[test]
fn l6_few_tokens_alone_would_let_them_recover_too() {
    let answered = answered(&setup(20_000, Backlog::Deep, Outage::Hanging, "few tokens, no ramp"));
    assert!(answered > 0.95, "{answered}");
}

#[test]
fn breakers_in_pages_would_keep_the_server_down() {
    let answered = answered(&setup(20_000, Backlog::Deep, Outage::Hanging, "few tokens, breaker"));
    assert!(answered < 0.1, "{answered}");
}

/// The fewest retries that one of `calls` calls of a page makes within the 30 s that a caller waits; they fail together and
/// each time, and nothing else succeeds. The least of twenty seeds.
fn retries_in_time(gates: Gates, calls: u64, policy: &PolicyOptions) -> u32 {
    let retries = |seed| {
        let setup =
            Setup { policy: sound(policy), ..Setup::new(1, Backlog::Deep, Outage::Refusing).with(gates) };
        let mut client = Client::new(&setup, seed);
        let mut steps = Vec::new();
        let mut retries = vec![0; calls as usize];
        // The call of a task is told from the others by when it was made.
        (0..calls).for_each(|call| assert!(client.failed(Fate::Refused, (call, call), calls)));
        let mut now = calls;
        while now < 30_000 {
            let wake = client.act(now, &mut steps);
            if steps.is_empty() {
                now = wake;
            }
            for step in steps.drain(..) {
                if let Step::Send(slot) = step {
                    retries[client.made(slot) as usize] += 1;
                    client.retried(slot, Fate::Refused, now, now);
                }
            }
        }
        retries.into_iter().min().unwrap()
    };
    (1..=20).map(retries).min().unwrap()
}

#[test]
fn a_full_bucket_pays_for_all_retries_of_a_lone_call() {
    let default = PolicyOptions::default();
    // of one call, and of three that fail together
    for (tokens, seconds, expected) in
        [(2.0, 300.0, [2, 0]), (5.0, 300.0, [5, 1]), (6.0, 300.0, [6, 1]), (100.0, 10.0, [7, 7])]
    {
        let gates = gates(None, Some((tokens, 0.2, 1.0 / seconds)));
        let found = [1, 3].map(|calls| retries_in_time(gates, calls, &default));
        assert_eq!(found, expected, "{tokens} tokens, one in {seconds} s");
    }
    // and the ramp leaves it in time for them
    assert_eq!(retries_in_time(paged(Some((100.0, 0.2, 0.1))), 1, &default), 7);
}
