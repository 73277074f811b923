//! The calls of a queue by their numbers: words in, words out. Everything here converts and delegates.
//!
//! Hosts come in by one table: the npm package through `src/wasm/`, Go and Java through `hosts/core`, which adds the calls that need
//! text. What a call means is said at [`Op`].
#![forbid(unsafe_code)]

mod args;
mod op;

pub use args::Args;
pub use op::Op;

use crate::codes;
use crate::gates::{Comeback, WhenOpen};
use crate::http::classify::Beside;
use crate::outcome::{Flags, Outcome};
use crate::policy::Policy;
use crate::queue::rate::Rate;
use crate::queue::{Action, BATCH, Limits, Queue};
use crate::slots::NONE;
use crate::time::Millis;

/// So many words the longest call of a queue has that is not a policy's: [`Op::Adopt`].
pub const WORDS: usize = 18;

/// The longest answer of such a call: the number of actions, and twice as many words.
const LONGEST: usize = 2 * BATCH + 1;

/// A queue, and the answer of the last call.
pub struct Calls {
    /// The queue itself.
    pub queue: Queue,
    actions: Vec<Action>,
    /// The numbers of the last answer. Where calls are made one by one, they never move.
    pub answer: Vec<f64>,
}

impl Calls {
    /// Those of an empty queue. Same seed, same calls: same answers.
    pub fn new(limits: Limits, seed: u64) -> Calls {
        Calls {
            queue: Queue::new(limits, seed),
            actions: Vec::with_capacity(BATCH),
            answer: Vec::with_capacity(LONGEST),
        }
    }

    /// Keeps a policy and gives its handle: see [`Op::Policy`].
    ///
    /// # Errors
    ///
    /// A field is out of its range.
    pub fn policy(&mut self, row: &[f64]) -> Result<u32, crate::error::PolicyError> {
        Policy::from_fields(row).map(|policy| self.queue.intern(policy))
    }

    /// Makes a call; its numbers come behind those that are in the answer. `None`: it is none of a queue's, or its words are none
    /// of its own.
    pub fn call(&mut self, op: Op, args: Args<'_>) -> Option<()> {
        let queue = &mut self.queue;
        match op {
            Op::Admit => {
                let slot = queue.admit(args.ms(0), &args.admission(9, 10, 11)).unwrap_or(NONE);
                let due_at = queue.due_at(slot).map_or(f64::NAN, Millis::to_f64);
                self.answer.extend([f64::from(slot), due_at]);
            }
            Op::Settle => {
                let next = queue.next(args.ms(0), args.u32(1), &args.ended());
                self.answer.push(f64::from(next.kind.code()));
                self.answer.extend(codes::next(&next));
            }
            Op::Poll => {
                queue.poll(args.ms(0), &mut self.actions);
                self.answer.push(self.actions.len() as f64);
                let words = self.actions.iter().flat_map(|action| codes::action(action).map(f64::from));
                self.answer.extend(words);
            }
            Op::Opening => {
                let opening = queue.opening(args.u32(0), args.ms(1));
                let (since, until) = opening.map_or((None, None), |(since, until)| (Some(since), until));
                self.answer.extend([since, until].map(|at| at.map_or(f64::NAN, Millis::to_f64)));
            }
            Op::GateOfTask => {
                if let Some(status) = queue.gate_status_at(args.u32(0), args.ms(1)) {
                    self.answer.extend(codes::gated(&status));
                }
            }
            Op::GateOfLane => {
                let status = queue.gate_of_lane(args.u32(0), args.ms(1), args.bit(2));
                self.answer.extend(codes::gated(&status));
            }
            _ => match ask(queue, op, args) {
                Some(number) => self.answer.push(number),
                None => act(queue, op, args)?,
            },
        }
        Some(())
    }
}

/// The calls that are answered with one number.
fn ask(queue: &mut Queue, op: Op, args: Args<'_>) -> Option<f64> {
    Some(match op {
        Op::Lane => f64::from(queue.open_lane()),
        Op::DropLane => truth(queue.drop_lane(args.u32(0))),
        Op::OpenOrder => f64::from(queue.open_order()),
        Op::DropOrder => truth(queue.drop_order(args.u32(0))),
        Op::Classify => {
            let beside = Beside { asked: args.bit(4), ..Beside::default() };
            let (outcome, flags) = (Outcome::from_code(args.u32(1)), Flags::from_bits(args.u32(3)));
            f64::from(codes::class(queue.classify(args.u32(0), outcome, args.u32(2), flags, beside)))
        }
        Op::Adopt => {
            let admission = args.admission(usize::MAX, 15, usize::MAX);
            f64::from(queue.adopt(args.ms(0), &admission, &args.past()).unwrap_or(NONE))
        }
        Op::Stand => f64::from(queue.stand(args.ms(0), &args.standing()).unwrap_or(NONE)),
        Op::WakeAt => queue.wake_at().to_f64(),
        Op::Cancel => f64::from(queue.cancel(args.u32(0)).code()),
        Op::Flush => f64::from(queue.flush(args.ms(0), args.lane(1))),
        Op::Depth => f64::from(queue.depth()),
        Op::InFlight => f64::from(queue.in_flight()),
        Op::Call => f64::from(queue.call(args.ms(0), args.u32(1), args.ms(2), args.bit(3)).code()),
        Op::Admits => truth(queue.admits(args.ms(0), args.u32(1))),
        Op::Pays => truth(queue.pays(args.ms(0), args.u32(1))),
        Op::EnterOwn => truth(queue.enter_own(args.ms(0), args.u32(1))),
        Op::Circuit => f64::from(queue.circuit(args.u32(0), args.ms(1)).code()),
        Op::EndsWait => truth(queue.ends_wait(args.u32(0), args.ms(1))),
        Op::Lasts => queue.lasts(args.ms(0), args.u32(1), args.u32(2), &args.long()).to_f64(),
        Op::Extends => queue.extends(args.ms(0), args.u32(1), args.ms(2), args.ms(3)).to_f64(),
        Op::HeldUntil => queue.held_until(args.u32(0), args.ms(1)).map_or(0.0, Millis::to_f64),
        Op::ShutUntil => queue.shut_until(args.ms(1), args.u32(0)).map_or(0.0, Millis::to_f64),
        Op::Room => f64::from(queue.room(args.ms(0), args.u32(1))),
        Op::RoomForFirst => f64::from(queue.room_for_first(args.ms(0), args.u32(1))),
        Op::Vacancies => f64::from(queue.vacancies()),
        Op::TriesOut => truth(queue.tries_out(args.ms(0), args.u32(1))),
        _ => return None,
    })
}

/// The calls that have no answer. `None`: it is none of these, or its words are none of its own.
fn act(queue: &mut Queue, op: Op, args: Args<'_>) -> Option<()> {
    match op {
        Op::ReleasePolicy => queue.release(args.u32(0)),
        Op::Pause => queue.pause(args.lane(0)),
        Op::Resume => queue.resume(args.ms(0), args.lane(1)),
        Op::SetOnline => queue.set_online(args.ms(0), args.bit(1)),
        Op::Gates => queue.set_gates(codes::gates(args.0)?),
        Op::SetWhenOpen => queue.set_when_open(WhenOpen::ALL.get(args.u32(0) as usize).copied()?),
        Op::SetComeback => queue.set_comeback(Comeback::ALL.get(args.u32(0) as usize).copied()?),
        Op::SetLimits => queue.set_limits(args.ms(0), args.u32(1), args.u32(2)),
        Op::Rate => queue.set_rate(Some(Rate::new(args.at(0), args.u32(1)))),
        Op::KeepDead => queue.keep_dead(args.u32(0), args.at(1) as u64),
        Op::LeaveOwn => queue.leave_own(args.ms(0), args.u32(1), args.ms(2), args.bit(3)),
        Op::HandOver => queue.hand_over(args.u32(0), args.u32(1)),
        Op::Heard => {
            let (now, lane, policy) = (args.ms(0), args.u32(1), args.u32(2));
            let ended = args.heard();
            if args.bit(11) {
                queue.asked(now, lane, policy, &ended);
            } else {
                queue.heard(now, lane, policy, args.ms(3), &ended);
            }
        }
        Op::Visit => queue.visit(args.ms(0), args.u32(1)),
        Op::Hold => queue.hold(args.ms(0), args.u32(1), args.ms(2)),
        Op::ShareHold => queue.share_hold(args.ms(0), args.u32(1), args.ms(2)),
        _ => return None,
    }
    Some(())
}

fn truth(is: bool) -> f64 {
    f64::from(u8::from(is))
}
