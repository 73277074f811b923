//! Calls in, answers out. Everything here converts and delegates to the core.

use redrive::asked;
use redrive::backoff::{Draw, delay};
use redrive::calls::{Args, Calls, Op};
use redrive::codes;
use redrive::policy::{Policy, PolicyOptions, presets};
use redrive::queue::{Limits, Queue};
use redrive::slots::NONE;
use redrive::time::Millis;

use crate::FAULT;
use crate::text::Text;

/// A word, in bytes.
const WORD: usize = 8;

/// A buffer that was grown beyond this for one large text is given back after it.
const KEPT: usize = 1 << 16;

/// Longer rows and texts than any host has: more would be its mistake, and end the module's memory.
const MOST: usize = 1 << 26;

/// A queue, the words and the text that a host writes, and the answers it reads.
pub struct Machine {
    calls: Calls,
    words: Vec<u8>,
    text: Text,
}

impl Default for Machine {
    fn default() -> Machine {
        let limits = Limits {
            concurrency: 1,
            per_lane: 1,
            capacity: 1,
            capacity_bytes: 0,
            max_lane_hold: Millis::ZERO,
        };
        Machine { calls: Calls::new(limits, 0), words: Vec::new(), text: Text::default() }
    }
}

/// The words that these bytes are.
fn read_words(bytes: &[u8]) -> Vec<f64> {
    let (words, _) = bytes.as_chunks::<WORD>();
    words.iter().map(|word| f64::from_le_bytes(*word)).collect()
}

impl Machine {
    pub(crate) fn words_at(&mut self, count: usize) -> usize {
        make_room(&mut self.words, count.saturating_mul(WORD))
    }

    pub(crate) fn text_at(&mut self, size: usize) -> usize {
        make_room(&mut self.text.bytes, size)
    }

    pub(crate) fn answers_at(&self) -> usize {
        self.calls.answer.as_ptr() as usize
    }

    pub(crate) fn run(&mut self, count: usize) -> usize {
        let size = count.saturating_mul(WORD).min(self.words.len());
        let words = read_words(self.words.get(..size).unwrap_or_default());
        self.run_words(&words).len()
    }

    /// Writes the text that the next call reads.
    pub fn write_text(&mut self, text: &[u8]) {
        self.text.bytes.clear();
        self.text.bytes.extend_from_slice(text);
    }

    /// The text that the last answer speaks of.
    pub fn text(&self) -> &[u8] {
        &self.text.bytes
    }

    /// Runs the calls and gives their answers.
    pub fn run_words(&mut self, mut words: &[f64]) -> &[f64] {
        self.calls.answer.clear();
        while let Some((call, rest)) = next_call(words) {
            words = rest;
            let place = self.calls.answer.len();
            self.calls.answer.push(0.0);
            let read = call.is_some_and(|(op, args)| self.call(op, Args(args)).is_some());
            let numbers = self.calls.answer.len().saturating_sub(place).saturating_sub(1);
            if let Some(count) = self.calls.answer.get_mut(place) {
                *count = if read { numbers as f64 } else { FAULT };
            }
            if !read {
                self.calls.answer.truncate(place.saturating_add(1));
                break;
            }
        }
        &self.calls.answer
    }

    fn put(&mut self, number: impl Into<f64>) -> Option<()> {
        self.calls.answer.push(number.into());
        Some(())
    }

    /// `None`: its words are none of a call's.
    fn call(&mut self, op: Op, args: Args<'_>) -> Option<()> {
        match op {
            Op::New => {
                let seed = (u64::from(args.u32(5)) << 32) | u64::from(args.u32(6));
                self.calls.queue = Queue::new(args.limits(), seed);
                Some(())
            }
            Op::Policy => match self.calls.policy(args.0) {
                Ok(handle) => self.put(handle),
                Err(error) => {
                    let length = self.text.answer(error.to_string().as_bytes());
                    self.put(NONE)?;
                    self.put(length)
                }
            },
            Op::Stats => self.stats(args.ms(0)),
            Op::State => self.state(args),
            Op::Preset => {
                if let Some(preset) = PRESETS.get(args.u32(0) as usize) {
                    self.calls.answer.extend(preset().row());
                }
                Some(())
            }
            Op::Delay => {
                let draw = Draw { r32: args.u32(1), phase: args.u32(2), previous: args.given(3) };
                let policy = Policy::from_fields(args.0.get(4..)?).ok()?;
                self.put(delay(&policy, args.u32(0), draw).get() as f64)
            }
            Op::Said => {
                let lines = self.text.take(args.u32(0))?;
                let said = asked::said(&lines, args.u32(1), args.bit(2), args.ms(3));
                self.calls.answer.extend(codes::said(&said));
                Some(())
            }
            _ => match self.calls.call(op, args) {
                Some(()) => Some(()),
                None => self.text.call(op, args, &mut self.calls.answer),
            },
        }
    }

    fn state(&mut self, args: Args<'_>) -> Option<()> {
        let (now, lane) = (args.ms(0), args.u32(1));
        let wake = self.calls.queue.wake_at().to_f64();
        let shut = self.calls.queue.shut_until(now, lane).map_or(0.0, Millis::to_f64);
        let counts =
            [self.calls.queue.depth(), self.calls.queue.in_flight(), self.calls.queue.room(now, lane)];
        self.put(wake)?;
        self.calls.answer.extend(counts.map(f64::from));
        self.put(shut)?;
        self.put(self.calls.queue.vacancies())?;
        if args.0.len() > 2 {
            match self.calls.queue.gate_status_at(args.u32(2), Millis::ZERO) {
                Some(status) => self.calls.answer.extend(codes::gated(&status)),
                None => return Some(()),
            }
        }
        Some(())
    }

    fn stats(&mut self, now: Millis) -> Option<()> {
        let stats = self.calls.queue.stats(now);
        let at = |time: Option<Millis>| time.map_or(f64::NAN, Millis::to_f64);
        self.calls.answer.extend([
            f64::from(stats.depth),
            f64::from(stats.in_flight),
            at(stats.next_attempt_at),
            f64::from(stats.unusable_retry_after),
            stats.lanes.len() as f64,
        ]);
        for lane in &stats.lanes {
            self.calls.answer.extend([
                f64::from(lane.lane),
                f64::from(lane.depth),
                f64::from(lane.in_flight),
                at(lane.held_until_at),
                at(lane.shut_until_at),
                f64::from(lane.circuit.code()),
                lane.tokens,
            ]);
        }
        Some(())
    }
}

/// The first call of the words and what is behind it; no call: its words end before it does, or its number is none.
type Next<'a> = (Option<(Op, &'a [f64])>, &'a [f64]);

fn next_call(words: &[f64]) -> Option<Next<'_>> {
    let (code, rest) = words.split_first()?;
    let Some((count, rest)) = rest.split_first() else { return Some((None, &[])) };
    let op = Op::ALL.get(*code as usize).copied().filter(|op| *op as u32 as f64 == *code);
    Some(match (op, rest.split_at_checked(*count as usize)) {
        (Some(op), Some((args, rest))) if *count >= 0.0 => (Some((op, args)), rest),
        _ => (None, &[]),
    })
}

fn make_room(buffer: &mut Vec<u8>, size: usize) -> usize {
    let size = size.min(MOST);
    if buffer.len() > KEPT && size <= KEPT {
        *buffer = Vec::new();
    }
    if buffer.len() < size {
        buffer.resize(size, 0);
    }
    buffer.as_ptr() as usize
}

const PRESETS: [fn() -> PolicyOptions; PRESET_NAMES.len()] = [
    presets::interactive,
    presets::background,
    presets::zizq,
    presets::sidekiq,
    presets::aws,
    presets::grpc,
    presets::svix,
];

/// The presets of [`Op::Preset`], each at its number.
pub const PRESET_NAMES: &[&str] = &["interactive", "background", "zizq", "sidekiq", "aws", "grpc", "svix"];
