//! Calls in, answers out. Everything here converts and delegates to the core.

use redrive::asked;
use redrive::backoff::{Draw, delay};
use redrive::classify::Beside;
use redrive::codes;
use redrive::gates::WhenOpen;
use redrive::policy::{Policy, PolicyOptions, presets};
use redrive::queue::{Action, BATCH, Limits, Queue};
use redrive::slots::NONE;
use redrive::task::{Flags, Outcome};
use redrive::time::Millis;

use crate::args::Args;
use crate::text::Text;
use crate::{FAULT, Op};

/// A word, in bytes.
const WORD: usize = 8;

/// A buffer that was grown beyond this for one large text is given back after it.
const KEPT: usize = 1 << 16;

/// Longer rows and texts than any host has: more would be its mistake, and end the module's memory.
const MOST: usize = 1 << 26;

/// A queue, the words and the text that a host writes, and the answers it reads.
pub struct Machine {
    queue: Queue,
    actions: Vec<Action>,
    words: Vec<u8>,
    answers: Vec<f64>,
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
        Machine {
            queue: Queue::new(limits, 0),
            actions: Vec::with_capacity(BATCH),
            words: Vec::new(),
            answers: Vec::new(),
            text: Text::default(),
        }
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
        self.answers.as_ptr() as usize
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
        self.answers.clear();
        while let Some((call, rest)) = next_call(words) {
            words = rest;
            let place = self.answers.len();
            self.answers.push(0.0);
            let read = call.is_some_and(|(op, args)| self.call(op, Args(args)).is_some());
            let numbers = self.answers.len().saturating_sub(place).saturating_sub(1);
            if let Some(count) = self.answers.get_mut(place) {
                *count = if read { numbers as f64 } else { FAULT };
            }
            if !read {
                self.answers.truncate(place.saturating_add(1));
                break;
            }
        }
        &self.answers
    }

    fn put(&mut self, number: impl Into<f64>) -> Option<()> {
        self.answers.push(number.into());
        Some(())
    }

    /// `None`: its words are none of a call's.
    fn call(&mut self, op: Op, args: Args<'_>) -> Option<()> {
        match op {
            Op::New => {
                self.queue =
                    Queue::new(args.limits(), (u64::from(args.u32(5)) << 32) | u64::from(args.u32(6)));
                Some(())
            }
            Op::Policy => match Policy::from_fields(args.0) {
                Ok(policy) => {
                    let handle = self.queue.intern(policy);
                    self.put(handle)
                }
                Err(error) => {
                    let length = self.text.answer(error.to_string().as_bytes());
                    self.put(NONE)?;
                    self.put(length)
                }
            },
            Op::ReleasePolicy => {
                self.queue.release(args.u32(0));
                Some(())
            }
            Op::Lane => {
                let lane = self.queue.open_lane();
                self.put(lane)
            }
            Op::DropLane => {
                let dropped = self.queue.drop_lane(args.u32(0));
                self.put(dropped)
            }
            Op::OpenOrder => {
                let order = self.queue.open_order();
                self.put(order)
            }
            Op::DropOrder => {
                let dropped = self.queue.drop_order(args.u32(0));
                self.put(dropped)
            }
            Op::Classify => {
                let beside = Beside { asked: args.bit(4), ..Beside::default() };
                let (outcome, flags) = (Outcome::from_code(args.u32(1)), Flags::from_bits(args.u32(3)));
                let class = self.queue.classify(args.u32(0), outcome, args.u32(2), flags, beside);
                self.put(codes::class(class))
            }
            Op::Admit => {
                let slot = self.queue.admit(args.ms(0), &args.admission(9, 10));
                self.put(slot.unwrap_or(NONE))
            }
            Op::Adopt => {
                let slot = self.queue.adopt(args.ms(0), &args.admission(usize::MAX, 15), &args.past());
                self.put(slot.unwrap_or(NONE))
            }
            Op::Settle => {
                let next = self.queue.next(args.ms(0), args.u32(1), &args.ended());
                self.put(next.kind.code())?;
                self.answers.extend(codes::next(&next));
                Some(())
            }
            Op::Poll => {
                self.queue.poll(args.ms(0), &mut self.actions);
                self.put(self.actions.len() as f64)?;
                self.answers
                    .extend(self.actions.iter().flat_map(|action| codes::action(action).map(f64::from)));
                Some(())
            }
            Op::WakeAt => {
                let at = self.queue.wake_at().to_f64();
                self.put(at)
            }
            Op::Cancel => {
                let cancelled = self.queue.cancel(args.u32(0)).code();
                self.put(cancelled)
            }
            Op::Pause => {
                self.queue.pause(args.lane(0));
                Some(())
            }
            Op::Resume => {
                self.queue.resume(args.ms(0), args.lane(1));
                Some(())
            }
            Op::SetOnline => {
                self.queue.set_online(args.ms(0), args.bit(1));
                Some(())
            }
            Op::Flush => {
                let due = self.queue.flush(args.ms(0), args.lane(1));
                self.put(due)
            }
            Op::Depth => self.put(self.queue.depth()),
            Op::Stats => self.stats(args.ms(0)),
            Op::Gates => {
                self.queue.set_gates(codes::gates(args.0)?);
                Some(())
            }
            Op::SetWhenOpen => {
                self.queue.set_when_open(WhenOpen::ALL.get(args.u32(0) as usize).copied()?);
                Some(())
            }
            Op::Call => {
                let entry = self.queue.call(args.ms(0), args.u32(1), args.ms(2), args.bit(3));
                self.put(entry.code())
            }
            Op::Stand => {
                let slot = self.queue.stand(args.ms(0), &args.standing());
                self.put(slot.unwrap_or(NONE))
            }
            Op::Admits => {
                let admitted = self.queue.admits(args.ms(0), args.u32(1));
                self.put(admitted)
            }
            Op::Circuit => {
                let circuit = self.queue.circuit(args.u32(0), args.ms(1)).code();
                self.put(circuit)
            }
            Op::Heard => {
                let (now, lane, policy) = (args.ms(0), args.u32(1), args.u32(2));
                let ended = args.heard();
                if args.bit(11) {
                    self.queue.asked(now, lane, policy, &ended);
                } else {
                    self.queue.heard(now, lane, policy, args.ms(3), &ended);
                }
                Some(())
            }
            Op::Visit => {
                self.queue.visit(args.ms(0), args.u32(1));
                Some(())
            }
            Op::Hold => {
                self.queue.hold(args.ms(0), args.u32(1), args.ms(2));
                Some(())
            }
            Op::State => self.state(args),
            Op::Preset => {
                if let Some(preset) = PRESETS.get(args.u32(0) as usize) {
                    self.answers.extend(preset().row());
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
                self.answers.extend(codes::said(&said));
                Some(())
            }
            _ => self.text.call(op, args, &mut self.answers),
        }
    }

    fn state(&mut self, args: Args<'_>) -> Option<()> {
        let (now, lane) = (args.ms(0), args.u32(1));
        let wake = self.queue.wake_at().to_f64();
        let shut = self.queue.shut_until(now, lane).map_or(0.0, Millis::to_f64);
        let counts = [self.queue.depth(), self.queue.in_flight(), self.queue.room(now, lane)];
        self.put(wake)?;
        self.answers.extend(counts.map(f64::from));
        self.put(shut)?;
        self.put(self.queue.vacancies())?;
        if args.0.len() > 2 {
            match self.queue.gate_status_at(args.u32(2), Millis::ZERO) {
                Some(status) => self.answers.extend(codes::gated(&status)),
                None => return Some(()),
            }
        }
        Some(())
    }

    fn stats(&mut self, now: Millis) -> Option<()> {
        let stats = self.queue.stats(now);
        let at = |time: Option<Millis>| time.map_or(f64::NAN, Millis::to_f64);
        self.answers.extend([
            f64::from(stats.depth),
            f64::from(stats.in_flight),
            at(stats.next_attempt_at),
            f64::from(stats.unusable_retry_after),
            stats.lanes.len() as f64,
        ]);
        for lane in &stats.lanes {
            self.answers.extend([
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
