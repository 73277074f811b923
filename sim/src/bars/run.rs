//! One world from beginning to end. The same world and seed give the same run.

use std::collections::BTreeMap;

use redrive::gates::Gates;
use redrive::policy::PolicyOptions;
use redrive::rng::SplitMix64;

use crate::bars::host::{Host, Step};

/// Who calls, and when.
#[derive(Clone, Copy, Debug)]
pub enum Load {
    /// So many callers, each of which makes its next call so many ms after the last one has ended, until so many were made.
    Loop { callers: u32, calls: u32, pause: u64 },
    /// A call every so many ms, until then.
    Every { ms: u64, until: u64 },
    /// So many calls are enqueued within the first second.
    Backlog { tasks: u32 },
    /// One call is enqueued at a random instant, up to so many ms from the beginning.
    Order { within: u64 },
    /// So many calls are enqueued at the beginning, and so many others so many ms later.
    Beside { first: u32, others: u32, later: u64 },
}

impl Load {
    const fn is_handed_over(self) -> bool {
        matches!(self, Load::Backlog { .. } | Load::Order { .. } | Load::Beside { .. })
    }
}

/// What a server does with an attempt of a call that comes at an instant: answers, or refuses, after so many ms.
pub type Server = fn(&mut SplitMix64, u64, u32) -> (bool, u64);

/// A world, but for its seed and its gates.
#[derive(Clone, Debug)]
pub struct World {
    pub load: Load,
    pub server: Server,
    pub policy: PolicyOptions,
    /// What has not ended by then is left.
    pub end: u64,
}

/// A call and what became of it.
#[derive(Clone, Copy, Debug)]
pub struct Call {
    pub made: u64,
    /// When it ended, and whether with an answer.
    pub ended: Option<(u64, bool)>,
    /// The caller that makes another one after it.
    caller: u32,
}

#[derive(Clone, Copy, Debug)]
enum Event {
    Make { caller: u32 },
    First { call: u32, answered: bool, began: u64 },
    Retry { call: u32, slot: u32, answered: bool, began: u64 },
    Timer,
}

struct Run<'a> {
    world: &'a World,
    host: Host,
    dice: SplitMix64,
    agenda: BTreeMap<u64, Vec<Event>>,
    calls: Vec<Call>,
    steps: Vec<Step>,
    attempts: u32,
}

/// All calls of a world behind these gates, and how many attempts the server saw.
pub fn run(world: &World, gates: Gates, seed: u64) -> (Vec<Call>, u32) {
    let mut dice = SplitMix64::new(seed);
    let host = Host::new(gates, &world.policy, dice.next_u64());
    let (agenda, calls, steps) = (BTreeMap::new(), Vec::new(), Vec::new());
    let mut run = Run { world, host, dice, agenda, calls, steps, attempts: 0 };
    match world.load {
        Load::Loop { callers, .. } => (0..callers).for_each(|caller| run.put(1, Event::Make { caller })),
        Load::Every { .. } => run.put(1, Event::Make { caller: 0 }),
        Load::Backlog { tasks } => {
            (0..tasks).for_each(|task| run.put(1 + u64::from(task) % 1000, Event::Make { caller: 0 }));
        }
        Load::Beside { first, others, later } => {
            (0..first).for_each(|_| run.put(1, Event::Make { caller: 0 }));
            (0..others).for_each(|_| run.put(1 + later, Event::Make { caller: 0 }));
        }
        Load::Order { within } => {
            let at = 1 + ((u64::from(run.dice.next_u32()) * within) >> 32);
            run.put(at, Event::Make { caller: 0 });
        }
    }
    while let Some((now, events)) = run.agenda.pop_first() {
        if now > world.end {
            break;
        }
        for event in events {
            run.happen(event, now);
        }
        run.act(now);
    }
    (run.calls, run.attempts)
}

impl Run<'_> {
    fn put(&mut self, at: u64, event: Event) {
        self.agenda.entry(at).or_default().push(event);
    }

    fn happen(&mut self, event: Event, now: u64) {
        match event {
            Event::Make { caller } => self.make(caller, now),
            Event::First { call, answered, began } => {
                if answered || !self.host.first(call, false, began, now) {
                    if answered {
                        self.host.first(call, true, began, now);
                    }
                    self.end(call, now, answered);
                }
            }
            Event::Retry { call, slot, answered, began } => {
                if !self.host.retried(slot, answered, began, now) {
                    self.end(call, now, answered);
                }
            }
            Event::Timer => {}
        }
    }

    fn make(&mut self, caller: u32, now: u64) {
        match self.world.load {
            Load::Loop { calls, .. } if self.calls.len() as u32 >= calls => return,
            Load::Every { ms, until } if now + ms <= until => self.put(now + ms, Event::Make { caller }),
            _ => {}
        }
        let call = self.calls.len() as u32;
        self.calls.push(Call { made: now, ended: None, caller });
        if self.world.load.is_handed_over() {
            self.host.take(call, now);
        } else if self.host.sends(now) {
            let (answered, took) = self.ask(now, call);
            self.put(now + took, Event::First { call, answered, began: now });
        } else {
            self.end(call, now, false);
        }
    }

    fn ask(&mut self, now: u64, call: u32) -> (bool, u64) {
        self.attempts += 1;
        (self.world.server)(&mut self.dice, now, call)
    }

    fn end(&mut self, call: u32, now: u64, answered: bool) {
        let found = &mut self.calls[call as usize];
        found.ended = Some((now, answered));
        let caller = found.caller;
        if let Load::Loop { pause, .. } = self.world.load {
            self.put(now + pause.max(1), Event::Make { caller });
        }
    }

    fn act(&mut self, now: u64) {
        let mut steps = std::mem::take(&mut self.steps);
        let wake = self.host.act(now, &mut steps);
        if let Some(wake) = wake {
            self.put(wake.max(now + 1), Event::Timer);
        }
        for step in steps.drain(..) {
            match step {
                Step::Send(slot, call) => {
                    let (answered, took) = self.ask(now, call);
                    self.put(now + took, Event::Retry { call, slot, answered, began: now });
                }
                Step::End(call) => self.end(call, now, false),
            }
        }
        self.steps = steps;
    }
}
