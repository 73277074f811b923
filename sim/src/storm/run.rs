//! One storm from beginning to end. The same setup and seed give the same run, request for request.

use std::collections::BTreeMap;

use redrive::policy::Policy;
use redrive::rng::SplitMix64;

use crate::storm::client::{Client, NEVER, Step};
use crate::storm::measure::{Counts, Figures, Second};
use crate::storm::model::{HORIZON_MS, Setup};
use crate::storm::server::{Fate, Server};

/// What a run leaves behind.
#[derive(Debug)]
pub struct Outcome {
    /// What it comes to.
    pub figures: Figures,
    /// Second by second, from the beginning of the warm-up.
    pub seconds: Vec<Second>,
}

#[derive(Clone, Copy, Debug)]
enum Event {
    /// A call's first attempt has ended.
    First { client: u32, made: u64, fate: Fate },
    /// A retry has.
    Retry { client: u32, slot: u32, began: u64, fate: Fate },
    /// A client's timer goes off, which was set for this instant.
    Timer { client: u32, at: u64 },
}

struct Run<'a> {
    setup: &'a Setup,
    policy: Policy,
    /// From its first failure on; until then a client has nothing to remember.
    clients: Vec<Option<Box<Client>>>,
    server: Server,
    /// What happens when. At equal times, first in is first out.
    agenda: BTreeMap<u64, Vec<Event>>,
    counts: Counts,
    dice: SplitMix64,
    steps: Vec<Step>,
}

/// Lets a storm happen, until all has been well for a while or there is no hope.
pub fn run(setup: &Setup, seed: u64) -> Outcome {
    go_on(setup, seed, HORIZON_MS, true)
}

/// Lets a storm happen until `end`, in ms from its beginning, whatever comes of it.
pub fn run_until(setup: &Setup, seed: u64, end: u64) -> Outcome {
    go_on(setup, seed, end, false)
}

fn go_on(setup: &Setup, seed: u64, end: u64, judged: bool) -> Outcome {
    let mut run = Run {
        setup,
        policy: Policy::new(&setup.policy).expect("storms have sound policies"),
        clients: (0..setup.clients).map(|_| None).collect(),
        server: Server::new(setup),
        agenda: BTreeMap::new(),
        counts: Counts::default(),
        dice: SplitMix64::new(seed),
        steps: Vec::new(),
    };
    for now in 0..end {
        if now > 0 && now % 1000 == 0 && run.counts.turn(now) && judged {
            break;
        }
        for _ in 0..run.arrivals(now) {
            run.call(now);
        }
        // What happens may bring about more for the same instant.
        while let Some(events) = run.agenda.remove(&now) {
            events.into_iter().for_each(|event| run.happen(event, now));
        }
    }
    Outcome { figures: run.counts.figures(), seconds: run.counts.seconds }
}

impl Run<'_> {
    /// How many calls are made in this millisecond: Poisson's distribution, by inversion.
    fn arrivals(&mut self, now: u64) -> u32 {
        let mean = self.setup.arrivals.per_ms(now);
        let mut u = f64::from(self.dice.next_u32()) / 2_f64.powi(32);
        let mut share = (-mean).exp();
        let mut count = 0;
        while u >= share && count < 20 {
            u -= share;
            count += 1;
            share *= mean / f64::from(count);
        }
        count
    }

    fn call(&mut self, now: u64) {
        let client = ((u64::from(self.dice.next_u32()) * u64::from(self.setup.clients)) >> 32) as u32;
        self.counts.call(now);
        let (fate, at) = self.send(now);
        self.put(at, Event::First { client, made: now, fate });
    }

    fn put(&mut self, at: u64, event: Event) {
        self.agenda.entry(at).or_default().push(event);
    }

    fn send(&mut self, now: u64) -> (Fate, u64) {
        self.counts.second().requests += 1;
        self.server.take(now)
    }

    fn happen(&mut self, event: Event, now: u64) {
        match event {
            Event::First { client, made, fate: Fate::Answered } => {
                self.counts.end(made, now, true);
                if let Some(known) = &mut self.clients[client as usize] {
                    known.succeeded(made, now);
                    self.act(client, now);
                }
            }
            Event::First { client, made, fate } => {
                if !self.client(client).failed(fate, made, now) {
                    self.counts.end(made, now, false);
                }
                self.act(client, now);
            }
            Event::Retry { client, slot, began, fate } => {
                let known = self.client(client);
                let made = known.made(slot);
                let goes_on = known.retried(slot, fate, began, now);
                if fate == Fate::Answered || !goes_on {
                    self.counts.end(made, now, fate == Fate::Answered);
                }
                self.act(client, now);
            }
            Event::Timer { client, at } => {
                let known = self.client(client);
                if known.armed == at {
                    known.armed = NEVER;
                    self.act(client, now);
                }
            }
        }
    }

    fn client(&mut self, client: u32) -> &mut Client {
        let (setup, policy) = (self.setup, &self.policy);
        let dice = &mut self.dice;
        let made = || Box::new(Client::new(setup, policy.clone(), dice.next_u64()));
        self.clients[client as usize].get_or_insert_with(made)
    }

    fn act(&mut self, client: u32, now: u64) {
        let mut steps = std::mem::take(&mut self.steps);
        let known = self.client(client);
        let wake = known.act(now, &mut steps);
        if wake < known.armed {
            known.armed = wake;
            self.put(wake, Event::Timer { client, at: wake });
        }
        for step in steps.drain(..) {
            match step {
                Step::Send(slot) => {
                    let (fate, at) = self.send(now);
                    self.put(at, Event::Retry { client, slot, began: now, fate });
                }
                Step::Lose(made) => self.counts.end(made, now, false),
            }
        }
        self.steps = steps;
    }
}
