//! Random worlds: what a seed makes happen.
//!
//! A world has weather. For some tens of events a lane's server is well, failing, limiting, silent, refusing
//! credentials or lying at random, and the host polls eagerly, lazily or not at all. Uniform noise would hardly ever
//! bring about a storm, and a storm is what a retry queue is for.

use crate::dice::Dice;
use crate::event::{Adoption, Answer, Arrival, Bounds, Event, Said, Scenario};
use crate::gate_spec::GateSpec;
use crate::policies::policy;

/// How a lane's server behaves for a while.
#[derive(Clone, Copy)]
enum Mood {
    Well,
    Failing,
    Limiting,
    Silent,
    Refusing,
    Lying,
}

/// What the host and the callers do, as weights of the kinds of events in [`event`]'s order.
type Weather = [u64; 17];

const ORDINARY: Weather = [20, 50, 3, 8, 10, 0, 22, 4, 1, 3, 1, 1, 1, 1, 1, 8, 1];
/// Nobody polls; answers arrive late.
const STALLED: Weather = [20, 10, 3, 0, 30, 2, 0, 4, 2, 2, 2, 2, 1, 1, 1, 2, 1];
/// Everything is polled at once, and answers come out of order.
const EAGER: Weather = [15, 50, 6, 40, 4, 0, 10, 3, 0, 2, 0, 1, 0, 0, 0, 10, 0];
/// People and networks interfere.
const RESTLESS: Weather = [15, 35, 4, 10, 8, 4, 15, 12, 6, 14, 8, 6, 4, 4, 3, 10, 4];
/// Little comes in, time goes by.
const QUIET: Weather = [2, 20, 1, 2, 20, 1, 50, 1, 0, 2, 0, 0, 0, 1, 1, 1, 1];

/// The world of a seed, `events` long.
pub fn world(seed: u64, events: usize) -> Scenario {
    // Gates have dice of their own: worlds without them stay as they are.
    let gates = seed.is_multiple_of(2).then(|| Dice::new(seed ^ 0x6A7E_5000_0000_0006));
    let mut world = drawn(Dice::new(seed ^ 0x0005_EED0_F0D4_1115), gates, events);
    // Drawn apart, too: what happens stays as it is, and what is said of it comes on top.
    let mut words = Dice::new(seed ^ 0x5A1D_0000_0000_0018);
    world.events.iter_mut().filter_map(answer_of).for_each(|answer| answer.said = said(&mut words, answer));
    world
}

/// The answer that an event brings, if it brings one.
fn answer_of(event: &mut Event) -> Option<&mut Answer> {
    match event {
        Event::Answer { answer, .. } | Event::Stale { answer, .. } => Some(answer),
        Event::Admit(arrival) => arrival.made.as_mut(),
        Event::Adopt(adoption) => adoption.task.made.as_mut(),
        _ => None,
    }
}

/// Most attempts have no hook that says something. The users of those that met a 401 mostly leave it to the credentials.
fn said(dice: &mut Dice, answer: &Answer) -> Said {
    let share = if answer.status == 401 { 5 } else { 15 };
    Said {
        retry: dice.chance(share).then(|| dice.chance(50)),
        delay: dice.chance(15).then(|| delay(dice)),
        partition: answer.limit.is_some() && dice.chance(50),
        replayed: dice.chance(10),
    }
}

/// The world that a fuzzer's bytes spell, at most `events` long. What its gates hear is spelled from the other end.
pub fn spelled(bytes: &[u8], events: usize) -> Scenario {
    let gates = bytes.last().is_some_and(|byte| byte % 2 == 1);
    let gates = gates.then(|| Dice::spelled(bytes.iter().rev().skip(1).copied()));
    drawn(Dice::spelled(bytes.iter().copied()), gates, events)
}

fn drawn(mut dice: Dice, mut gates: Option<Dice>, events: usize) -> Scenario {
    let capacity = dice.pick(&[1, 3, 10, 20, 40, 40, 40, 80, 600]);
    let mut limits = Bounds {
        concurrency: dice.pick(&[1, 2, 3, 5, 8, 50, 1000]),
        per_lane: dice.pick(&[1, 2, 3, 6, 1000]),
        capacity,
        capacity_bytes: dice.pick(&[500, 20_000, 1 << 40]),
        max_lane_hold_ms: 60_000,
    };
    let lanes = dice.within(1, 8) as u8;
    // By what is drawn already: worlds stay as they are.
    limits.max_lane_hold_ms = [86_400_000, 60_000, 86_400_000, 2_000, 86_400_000][usize::from(lanes % 5)];
    let policies = (0..dice.within(1, 6)).map(|_| policy(&mut dice)).collect();
    // Mostly our time, sometimes a clock that was never set.
    let clock = dice.pick(&[1_700_000_000_000, 1_700_000_000_000, 1_900_000_000_123, 0, 5]);
    let mut world = Scenario {
        seed: dice.bits(),
        limits,
        lanes,
        orders: 3,
        policies,
        clock,
        gates: gates.as_mut().map(GateSpec::draw),
        events: Vec::new(),
    };
    let mut moods = [Mood::Well; 8];
    let mut weather = ORDINARY;
    for turn in 0..events {
        if dice.is_spent() {
            break;
        }
        if turn % 50 == 0 {
            weather = dice.pick(&[ORDINARY, ORDINARY, STALLED, EAGER, RESTLESS, QUIET]);
        }
        if dice.chance(4) {
            let all = [Mood::Well, Mood::Failing, Mood::Limiting, Mood::Silent, Mood::Refusing, Mood::Lying];
            moods[dice.below(8) as usize] = dice.pick(&all);
        }
        world.events.push(event(&mut dice, &weather, &moods, lanes, capacity));
        if let Some(gates) = &mut gates
            && gates.chance(15)
        {
            world.events.push(gate_event(gates, &moods, lanes));
        }
    }
    world
}

/// What callers do whose calls make no task.
fn gate_event(dice: &mut Dice, moods: &[Mood; 8], lanes: u8) -> Event {
    let lane = dice.below(u64::from(lanes)) as u8;
    if dice.chance(20) {
        return Event::Ask { lane };
    }
    if dice.chance(10) {
        return Event::Visit { lane };
    }
    let kind = match moods[usize::from(lane)] {
        Mood::Well => dice.pick(&[0, 0, 0, 1]),
        // Mostly outages: one answer among four failures is no evidence of one.
        Mood::Failing | Mood::Silent => dice.pick(&[2, 2, 2, 2, 2, 2, 2, 2, 3, 0]),
        Mood::Limiting => dice.pick(&[2, 4, 4, 4, 4, 2, 4, 0]),
        Mood::Refusing | Mood::Lying => dice.pick(&[0, 1, 2]),
    };
    Event::Hear { lane, ago: if dice.chance(30) { dice.duration(20_000) } else { 0 }, kind }
}

fn event(dice: &mut Dice, weather: &Weather, moods: &[Mood; 8], lanes: u8, capacity: u32) -> Event {
    let mut left = dice.below(weather.iter().sum());
    let kind = weather.iter().position(|weight| match left.checked_sub(*weight) {
        Some(rest) => {
            left = rest;
            false
        }
        None => true,
    });
    let lane = dice.below(u64::from(lanes)) as u8;
    let scope = dice.chance(60).then_some(lane);
    let pick = dice.below(1 << 16) as u32;
    match kind.unwrap_or(3) {
        0 => Event::Admit(arrival(dice, lane, moods[usize::from(lane)], capacity)),
        1 => Event::Answer { lane: Some(lane), pick, answer: answer(dice, moods[usize::from(lane)]) },
        2 => Event::Stale { pick, answer: answer(dice, Mood::Lying) },
        3 => Event::Poll,
        4 => Event::Pass(if dice.chance(99) { dice.duration(5000) } else { dice.duration(86_400_000) }),
        5 => Event::SetClock(step(dice)),
        6 => {
            let off = match dice.below(10) {
                0 => -(dice.duration(500) as i64),
                1 | 2 => dice.duration(5000) as i64,
                _ => 0,
            };
            // Seldom to the end of a long wait in one step: everybody else would be out of time.
            let within = match dice.below(20) {
                0 => 1 << 53,
                1..5 => 3_600_000,
                _ => 60_000,
            };
            Event::Wake { off, within }
        }
        7 => Event::Cancel { pick },
        8 => Event::Pause(scope),
        9 => Event::Resume(scope),
        10 => Event::Online(dice.chance(60)),
        11 => Event::Flush(scope),
        12 => Event::ReopenOrder(pick as u8),
        13 => Event::ReopenLane(lane),
        14 => Event::Renew(pick as u8),
        15 => Event::Adopt(adoption(dice, lane, moods[usize::from(lane)], capacity)),
        _ => Event::Hold { lane, ms: delay(dice) },
    }
}

/// A clock is set by seconds, by hours or by years, and backwards as often as forward.
fn step(dice: &mut Dice) -> i64 {
    let far = dice.pick(&[1000, 1000, 60_000, 60_001, 60_002, 7_200_000, 86_400_000, 3 * 31_536_000_000_u64]);
    let by = dice.within(far / 2, far) as i64;
    if dice.chance(50) { by } else { -by }
}

fn arrival(dice: &mut Dice, lane: u8, mood: Mood, capacity: u32) -> Arrival {
    let order = dice.chance(25).then(|| dice.below(3) as u8);
    let made = dice.chance(30) && (order.is_none() || dice.chance(5));
    Arrival {
        // Now and then as many as there is room for, all at once.
        copies: if dice.chance(3) { capacity.min(300) } else { dice.pick(&[1, 1, 1, 1, 2, 5]) },
        lane,
        policy: dice.below(8) as u8,
        order,
        priority: dice.pick(&[0, 0, 0, 0, 1, -1, i32::MAX, i32::MIN]),
        bytes: dice.pick(&[0, 1, 100, 400]),
        // Mostly requests that may be repeated, or nothing would ever wait.
        flags: dice.pick(&[0, 1, 1, 1, 3, 3, 5, 7, 7]),
        age: if dice.chance(20) { dice.duration(100_000) } else { 0 },
        expires: dice.chance(10).then(|| dice.duration(600_000)),
        waits: dice.chance(10).then(|| dice.duration(600_000)),
        made: made.then(|| answer(dice, mood)),
    }
}

fn adoption(dice: &mut Dice, lane: u8, mood: Mood, capacity: u32) -> Adoption {
    Adoption {
        task: Arrival { copies: 1, order: None, ..arrival(dice, lane, mood, capacity) },
        sent: dice.chance(70).then(|| dice.duration(600_000)),
        attempts: dice.pick(&[1, 1, 2, 2, 3, 5, 20, 100]),
        refunds: dice.pick(&[0, 0, 0, 1, 2, 19, 20, 25]),
        phase: dice.chance(60).then(|| dice.bits() as u32),
        previous: if dice.chance(70) { dice.duration(30_000) } else { 0 },
        marks: dice.pick(&[0, 0, 0, 1, 2, 3, 4, 5, 7, u32::MAX]),
    }
}

fn answer(dice: &mut Dice, mood: Mood) -> Answer {
    let took = dice.chance(80).then(|| dice.duration(3000));
    let plain = |outcome, status| Answer {
        outcome,
        status,
        server: None,
        limit: None,
        unusable: false,
        took,
        said: Said::default(),
    };
    match mood {
        Mood::Well => plain(0, dice.pick(&[200, 200, 201, 204, 304])),
        Mood::Failing => match dice.below(4) {
            0 => plain(1, 0),
            _ => plain(0, dice.pick(&[500, 502, 502, 503, 503, 504])),
        },
        Mood::Limiting => {
            let answer = plain(0, dice.pick(&[429, 429, 503, 200]));
            let unusable = dice.chance(10);
            let server = (dice.chance(60) && !unusable).then(|| delay(dice));
            Answer { server, limit: dice.chance(40).then(|| delay(dice)), unusable, ..answer }
        }
        Mood::Silent => plain(dice.pick(&[1, 2, 2, 2, 3, 9]), 0),
        Mood::Refusing => match dice.below(3) {
            0 => plain(4, 0),
            _ => Answer { server: dice.chance(10).then(|| delay(dice)), ..plain(0, 401) },
        },
        Mood::Lying => {
            let outcome = dice.pick(&[0, 0, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
            let all =
                [103, 200, 204, 301, 400, 401, 403, 404, 408, 409, 409, 422, 429, 500, 502, 503, 503, 504];
            Answer {
                server: dice.chance(20).then(|| delay(dice)),
                limit: dice.chance(20).then(|| delay(dice)),
                unusable: dice.chance(5),
                ..plain(outcome, dice.pick(&all))
            }
        }
    }
}

/// What a server asks for: nothing, a moment, too long, or absurdly long.
fn delay(dice: &mut Dice) -> u64 {
    match dice.below(20) {
        0 => 0,
        1 => 86_400_001,
        2 => 1 << 53,
        _ => dice.duration(20_000),
    }
}
