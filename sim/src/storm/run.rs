//! One storm from beginning to end. The same setup and seed give the same storm, request for request, in one go or in slices.

use redrive::gates::Entry;
use std::collections::BTreeMap;

use redrive::rng::SplitMix64;
use redrive::time::Millis;

use crate::storm::arrivals::Arrivals;
use crate::storm::client::{Client, NEVER, Step};
use crate::storm::measure::{Counts, Figures, HOPELESS_MS, Second, WELL_MS};
use crate::storm::model::Setup;
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
    First { client: u32, made: u64, began: u64, fate: Fate },
    /// A retry has.
    Retry { client: u32, slot: u32, began: u64, fate: Fate },
    /// A client's timer goes off, which was set for this instant.
    Timer { client: u32, at: u64 },
}

/// A storm that goes on as far as it is let.
#[derive(Debug)]
pub struct Storm {
    setup: Setup,
    /// The next millisecond, and the one at which it ends at the latest.
    now: u64,
    end: u64,
    /// Whether it ends as soon as it is clear what becomes of it.
    judged: bool,
    is_over: bool,
    /// From its first failure on; until then a client has nothing to remember.
    clients: Vec<Option<Box<Client>>>,
    server: Server,
    /// What happens when. At equal times, first in is first out.
    agenda: BTreeMap<u64, Vec<Event>>,
    counts: Counts,
    arrivals: Arrivals,
    dice: SplitMix64,
    steps: Vec<Step>,
}

/// Lets a storm happen, until all has been well for a while or there is no hope.
pub fn run(setup: &Setup, seed: u64) -> Outcome {
    outcome(Storm::new(setup.clone(), seed))
}

/// Lets a storm happen until `end`, in ms from its beginning, whatever comes of it.
pub fn run_until(setup: &Setup, seed: u64, end: u64) -> Outcome {
    outcome(Storm { end, judged: false, ..Storm::new(setup.clone(), seed) })
}

fn outcome(mut storm: Storm) -> Outcome {
    while !storm.advance(u64::MAX) {}
    Outcome { figures: storm.figures(), seconds: storm.counts.seconds }
}

impl Storm {
    /// A storm that ends when all has been well for a while or there is no hope.
    pub fn new(setup: Setup, seed: u64) -> Storm {
        let policy = setup.policy.with_attempt_timeout(Millis::new(setup.timeout_ms));
        let setup = Setup { policy, ..setup };
        Storm {
            now: 0,
            end: setup.horizon_ms(),
            judged: true,
            is_over: false,
            clients: (0..setup.clients).map(|_| None).collect(),
            server: Server::new(&setup),
            agenda: BTreeMap::new(),
            counts: Counts::new(&setup),
            arrivals: Arrivals::of(setup.calls_per_ms(0)),
            dice: SplitMix64::new(seed),
            steps: Vec::new(),
            setup,
        }
    }

    /// Goes on for so many ms. Whether it is over.
    pub fn advance(&mut self, ms: u64) -> bool {
        let until = self.now.saturating_add(ms).min(self.end);
        while !self.is_over && self.now < until {
            let now = self.now;
            if now > 0 && now.is_multiple_of(1000) && self.counts.turn(now) && self.judged {
                self.is_over = true;
                break;
            }
            for _ in 0..self.arrivals(now) {
                self.call(now);
            }
            // What happens may bring about more for the same instant.
            while let Some(events) = self.agenda.remove(&now) {
                events.into_iter().for_each(|event| self.happen(event, now));
            }
            self.now += 1;
        }
        self.is_over |= self.now >= self.end;
        self.is_over
    }

    /// How far it is, in `[0, 1]`: a guess, since what becomes of it is not known before. It may fall.
    pub fn share(&self) -> f64 {
        if self.is_over {
            return 1.0;
        }
        let hopeless = self.setup.back_ms() + HOPELESS_MS;
        let end = match self.counts.drained_at() {
            Some(at) => at + WELL_MS,
            None if self.now < hopeless => hopeless,
            None => self.end,
        };
        (self.now as f64 / end as f64).min(1.0)
    }

    /// Second by second, from the beginning of the warm-up, the one that runs last.
    pub fn seconds(&self) -> &[Second] {
        &self.counts.seconds
    }

    /// What it comes to so far. Whether the server has collapsed is known when it is over.
    pub fn figures(&self) -> Figures {
        let figures = self.counts.figures();
        Figures { collapsed: self.is_over && figures.collapsed, ..figures }
    }

    fn arrivals(&mut self, now: u64) -> u32 {
        let mean = self.setup.calls_per_ms(now);
        if mean.to_bits() != self.arrivals.mean().to_bits() {
            self.arrivals = Arrivals::of(mean);
        }
        self.arrivals.draw(&mut self.dice)
    }

    fn call(&mut self, now: u64) {
        let client = ((u64::from(self.dice.next_u32()) * u64::from(self.setup.clients)) >> 32) as u32;
        self.counts.call(now);
        match self.clients[client as usize].as_mut().map(|known| known.call(now)) {
            None | Some(Entry::Sent) => self.first(client, now, now),
            Some(Entry::Waits) => self.act(client, now),
            Some(Entry::TurnedAway) => self.counts.end(now, now, false),
        }
    }

    fn first(&mut self, client: u32, made: u64, now: u64) {
        let (fate, at) = self.send(now);
        self.put(at, Event::First { client, made, began: now, fate });
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
            Event::First { client, made, began, fate: Fate::Answered } => {
                self.counts.end(made, now, true);
                if let Some(known) = &mut self.clients[client as usize] {
                    known.succeeded(began, now);
                    self.act(client, now);
                }
            }
            Event::First { client, made, began, fate } => {
                if !self.client(client).failed(fate, (made, began), now) {
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
        let (setup, dice) = (&self.setup, &mut self.dice);
        let made = || Box::new(Client::new(setup, dice.next_u64()));
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
                Step::LetIn(made) => self.first(client, made, now),
                Step::Lose(made) => self.counts.end(made, now, false),
            }
        }
        self.steps = steps;
    }
}
