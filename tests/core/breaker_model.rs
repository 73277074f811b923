//! The breaker beside one that remembers everything: the whole list of what has happened, looked through anew for
//! each question.

use Circuit::{Closed, HalfOpen, Open};
use proptest::prelude::*;
use redrive::breaker::{Breaker, BreakerRules, Change, Circuit, Heard};
use redrive::rng::SplitMix64;
use redrive::time::Millis;

const START: u64 = 1_700_000_000_000;
const MEMORY: u64 = 60_000;
const HALF_LIFE: u64 = 30_000;
const CERTAIN: u64 = 1 << 30;

#[derive(Clone, Debug)]
enum Step {
    /// Time passes.
    Pass(u64),
    /// Time passes to just before, at, or just after the end of an opening.
    ToTheEnd(i64),
    /// A caller's attempt ends that began so long ago.
    Ends { ago: u64, healthy: Option<bool> },
    /// The queue starts an attempt, if it may.
    Start,
    /// The latest attempt of the queue ends.
    Answer(Option<bool>),
    /// A caller asks whether its own may start.
    Ask,
    /// A storm was seen.
    Storm,
}

fn step() -> impl Strategy<Value = Step> {
    let healthy = prop_oneof![5 => Just(Some(false)), 4 => Just(Some(true)), 1 => Just(None)];
    prop_oneof![
        3 => (0_u64..3000).prop_map(Step::Pass),
        1 => (0_u64..70_000).prop_map(Step::Pass),
        3 => (-1_i64..=1).prop_map(Step::ToTheEnd),
        8 => (prop_oneof![3 => Just(0_u64), 1 => 0_u64..20_000], healthy.clone())
            .prop_map(|(ago, healthy)| Step::Ends { ago, healthy }),
        4 => Just(Step::Start),
        5 => healthy.prop_map(Step::Answer),
        2 => Just(Step::Ask),
        1 => Just(Step::Storm),
    ]
}

fn rules() -> impl Strategy<Value = BreakerRules> {
    let fair = prop_oneof![Just(200_000_u32), Just(900_000), Just(1_000_000), 1_u32..1_000_000];
    let after = prop_oneof![Just(2500_u64), Just(0), 0_u64..20_000];
    (fair, after, 0_u64..8000, 0_u64..60_000).prop_map(|(fair_per_million, after, open, max_open)| {
        let ms = Millis::new;
        BreakerRules { fair_per_million, after: ms(after), open: ms(open), max_open: ms(max_open) }
    })
}

/// What has happened. The present state follows from what came after the last change, and from how many openings lie
/// behind it.
#[derive(Clone, Debug)]
enum Event {
    /// `came_soon`: as did each failure that opened it since it was closed.
    Changed {
        at: u64,
        to: Circuit,
        until: u64,
        came_soon: bool,
    },
    Heard {
        at: u64,
        began: u64,
        healthy: bool,
    },
    Probe {
        by_queue: bool,
        lapses: u64,
    },
    ProbeOver,
}

struct Naive {
    rules: BreakerRules,
    events: Vec<Event>,
}

impl Naive {
    /// Since the last change: when it was, to what, until when, and what followed.
    fn present(&self) -> (u64, Circuit, u64, &[Event]) {
        let changed = self.events.iter().enumerate().rev().find_map(|(index, event)| match event {
            Event::Changed { at, to, until, .. } => Some((*at, *to, *until, &self.events[index + 1..])),
            _ => None,
        });
        changed.unwrap_or((0, Closed, 0, &self.events))
    }

    fn circuit(&self, now: u64) -> Circuit {
        match self.present() {
            (_, Open, until, _) if now >= until => HalfOpen,
            (_, circuit, ..) => circuit,
        }
    }

    /// The probe that has its place, and until when it has it.
    fn probe(&self, now: u64) -> Option<(bool, u64)> {
        let last = self
            .present()
            .3
            .iter()
            .rev()
            .find(|event| matches!(event, Event::Probe { .. } | Event::ProbeOver));
        match last {
            Some(Event::Probe { by_queue, lapses }) if *lapses > now => Some((*by_queue, *lapses)),
            _ => None,
        }
    }

    fn room(&self, now: u64) -> u32 {
        match self.circuit(now) {
            Closed => u32::MAX,
            Open => 0,
            HalfOpen => u32::from(self.probe(now).is_none()),
        }
    }

    fn shut_until(&self, now: u64) -> u64 {
        match (self.circuit(now), self.probe(now)) {
            (Open, _) => self.present().2,
            (HalfOpen, Some((false, lapses))) => lapses,
            _ => 0,
        }
    }

    fn look(&mut self, now: u64) -> Option<Change> {
        let (_, circuit, until, _) = self.present();
        (circuit == Open && now >= until).then(|| {
            let came_soon = self.came_soon();
            self.events.push(Event::Changed { at: until, to: HalfOpen, until, came_soon });
            (Open, HalfOpen)
        })
    }

    /// Whether chance alone hardly ever makes the failures at the end of all that was heard: what came before is gone through
    /// anew, by halves.
    fn shows_outage(&self, now: u64) -> bool {
        let (mut answered, mut failed, mut half_life) = (0_u64, 0_u64, 0);
        let (mut row, mut since, mut chance) = (0, 0, CERTAIN);
        for event in &self.events {
            let Event::Heard { at, began, healthy } = event else { continue };
            let halves = (at / HALF_LIFE - half_life).min(40);
            (half_life, answered, failed) = (at / HALF_LIFE, answered >> halves, failed >> halves);
            if *healthy {
                (answered, failed) = (answered + 1, failed + row.min(64));
                while answered + failed > 64 {
                    (answered, failed) = (answered / 2, failed / 2);
                }
                (row, chance) = (0, CERTAIN);
            } else {
                since = if row == 0 { *began } else { since };
                row += 1;
                let odds = 2 * failed + 1;
                let share = (odds * 1_000_000 / (odds + answered + 3)).max(250_000);
                let most = 1_000_000 - u64::from(self.rules.fair_per_million);
                chance = chance * share.min(most) / 1_000_000;
            }
        }
        row > 0 && now >= since + self.rules.after.get() && chance < CERTAIN / 1000
    }

    /// Whether each failure that opened it since it was closed came soon.
    fn came_soon(&self) -> bool {
        let changed = self.events.iter().rev().find_map(|event| match event {
            Event::Changed { came_soon, .. } => Some(*came_soon),
            _ => None,
        });
        changed.unwrap_or(true)
    }

    /// Whether that is so, and a server that answers its fair share may have made the row of failures at the end.
    fn in_doubt(&self) -> bool {
        let heard = self.events.iter().rev().filter_map(|event| match event {
            Event::Heard { healthy, .. } => Some(*healthy),
            _ => None,
        });
        let most = 1_000_000 - u64::from(self.rules.fair_per_million);
        let row = heard.take_while(|healthy| !healthy);
        self.came_soon() && row.fold(CERTAIN, |chance, _| chance * most / 1_000_000) >= CERTAIN / 1000
    }

    /// A caller's own attempt is about to ask: it ends an opening in doubt.
    fn give_way(&mut self, now: u64) {
        let in_doubt = self.in_doubt();
        let changed = self.events.iter_mut().rev().find(|event| matches!(event, Event::Changed { .. }));
        if let Some(Event::Changed { to: Open, until, .. }) = changed.filter(|_| in_doubt) {
            *until = now.min(*until);
        }
    }

    /// Whether a caller's own attempt may start: as the probe or, in doubt, beside it.
    fn admits(&self, now: u64) -> bool {
        self.room(now) > 0 || self.circuit(now) == HalfOpen && self.in_doubt()
    }

    fn open(&mut self, now: u64, came_soon: bool, r32: u32) -> Option<Change> {
        let from = self.present().1;
        if from == Open {
            return None;
        }
        // Openings since it was last closed for good.
        let changes = self.events.iter().rev().filter_map(|event| match event {
            Event::Changed { to, .. } => Some(*to),
            _ => None,
        });
        let openings = changes.take_while(|to| *to != Closed).filter(|to| *to == Open).count() as u32;
        let doubled = u128::from(self.rules.open.get()) << openings.min(40);
        let length = doubled.min(u128::from(self.rules.max_open.get()));
        let chance = (length * u128::from(r32)) >> 33;
        let until = now + (length / 2 + chance) as u64;
        self.events.push(Event::Changed { at: now, to: Open, until, came_soon });
        Some((from, Open))
    }

    fn record(&mut self, now: u64, heard: Heard, r32: u32) -> Option<Change> {
        let (since, circuit, ..) = self.present();
        if heard.began.get() < since {
            return None;
        }
        // A caller's ends a caller's probe, lapsed or not; one of the queue's ends the queue's.
        if !heard.by_queue && self.probe(now).is_none_or(|(by_queue, _)| !by_queue)
            || heard.by_queue && self.probe(now).is_some_and(|(by_queue, _)| by_queue)
        {
            self.events.push(Event::ProbeOver);
        }
        let healthy = heard.healthy?;
        let is_soon = now < heard.began.get() + self.rules.after.get();
        self.events.push(Event::Heard { at: now, began: heard.began.get(), healthy });
        match circuit {
            HalfOpen if healthy => {
                self.events.push(Event::Changed { at: now, to: Closed, until: now, came_soon: true });
                Some((HalfOpen, Closed))
            }
            HalfOpen => self.open(now, self.came_soon() && is_soon, r32),
            Closed if self.shows_outage(now) => self.open(now, is_soon, r32),
            Open | Closed => None,
        }
    }

    /// Nothing is left that could matter.
    fn is_quiet(&self, now: u64) -> bool {
        let (_, circuit, until, _) = self.present();
        let last = self.events.iter().rev().find_map(|event| match event {
            Event::Heard { at, .. } => Some(at + MEMORY),
            _ => None,
        });
        match circuit {
            Closed => now >= last.unwrap_or(0),
            _ => now >= until + MEMORY,
        }
    }
}

/// The draw that the breaker will make, if it makes one.
fn peek(rng: &SplitMix64) -> u32 {
    rng.clone().next_u32()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: crate::common::cases(), ..ProptestConfig::default() })]

    #[test]
    fn s8_the_breaker_does_what_one_does_that_remembers_everything(
        rules in rules(),
        steps in prop::collection::vec(step(), 1..80),
        seed in any::<u64>(),
    ) {
        let mut breaker = Breaker::default();
        let mut naive = Naive { rules, events: Vec::new() };
        let mut rng = SplitMix64::new(seed);
        let mut now = START;
        // When the attempts of the queue began that still run.
        let mut running: Vec<u64> = Vec::new();
        for step in steps {
            if let Step::Pass(ms) = step {
                now += ms;
            }
            if let (Step::ToTheEnd(off), (_, Open, until, _)) = (&step, naive.present()) {
                now = now.max(until.saturating_add_signed(*off));
            }
            let at = Millis::new(now);
            prop_assert_eq!(breaker.circuit(at), naive.circuit(now), "before a look");
            prop_assert_eq!(breaker.room(at), naive.room(now));
            prop_assert_eq!(breaker.is_quiet(at), naive.is_quiet(now));
            prop_assert_eq!(breaker.look(at), naive.look(now));
            let heard = match step {
                Step::Pass(_) | Step::ToTheEnd(_) => None,
                Step::Ends { ago, healthy } => {
                    Some(Heard { began: Millis::new(now - ago), healthy, by_queue: false })
                }
                Step::Start => {
                    if naive.room(now) > 0 {
                        running.push(now);
                        breaker.start();
                        if naive.circuit(now) == HalfOpen {
                            naive.events.push(Event::Probe { by_queue: true, lapses: u64::MAX });
                        }
                    }
                    None
                }
                Step::Answer(healthy) => running
                    .pop()
                    .map(|began| Heard { began: Millis::new(began), healthy, by_queue: true }),
                Step::Ask => {
                    breaker.give_way(at);
                    naive.give_way(now);
                    prop_assert_eq!(breaker.look(at), naive.look(now));
                    let is_probe = naive.room(now) > 0 && naive.circuit(now) == HalfOpen;
                    prop_assert_eq!(breaker.admit(&rules, at), naive.admits(now));
                    if is_probe {
                        let lapses = now + rules.max_open.get();
                        naive.events.push(Event::Probe { by_queue: false, lapses });
                    }
                    None
                }
                Step::Storm => {
                    let expected = naive.open(now, false, peek(&rng));
                    prop_assert_eq!(breaker.open(&rules, at, &mut rng), expected);
                    None
                }
            };
            if let Some(heard) = heard {
                let expected = naive.record(now, heard, peek(&rng));
                let change = breaker.record(&rules, at, heard, &mut rng);
                prop_assert_eq!(change, expected, "{:?}", heard);
                // From closed it goes to open, from there to half-open, and from there to either.
                let known = [(Closed, Open), (HalfOpen, Open), (HalfOpen, Closed)];
                prop_assert!(change.is_none_or(|change| known.contains(&change)), "{:?}", change);
            }
            prop_assert_eq!(breaker.circuit(at), naive.circuit(now));
            prop_assert_eq!(breaker.room(at), naive.room(now));
            let (said, shut) = (breaker.shut_until(at).get(), naive.shut_until(now));
            prop_assert!(said == shut || said.max(shut) <= now, "shut until {} or {}", said, shut);
        }
    }
}

#[test]
fn an_opening_takes_half_to_all_of_its_length_whatever_the_draw() {
    let rules =
        BreakerRules { open: Millis::new(5000), max_open: Millis::new(60_000), ..BreakerRules::DEFAULT };
    let mut rng = SplitMix64::new(11);
    let mut seen = [false; 3];
    for _ in 0..1000 {
        let mut breaker = Breaker::default();
        breaker.open(&rules, Millis::new(START), &mut rng);
        let length = breaker.shut_until(Millis::new(START)).get() - START;
        assert!((2500..=5000).contains(&length), "{length}");
        seen[(length as usize - 2500) / 834] = true;
    }
    assert_eq!(seen, [true; 3], "all over it");
    // Centuries do not overflow.
    let long = BreakerRules { open: Millis::MAX, max_open: Millis::MAX, ..rules };
    let mut breaker = Breaker::default();
    breaker.open(&long, Millis::new(START), &mut rng);
    assert!(breaker.shut_until(Millis::new(START)) > Millis::new(1 << 52));
}
