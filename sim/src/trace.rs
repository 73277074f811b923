//! Worlds as the calls they make and the answers they get: what the built wasm must answer byte for byte (S21).

use redrive::queue::Queue;
use redrive::slots::NONE;
use redrive::time::Millis;

use crate::driver::Driver;
use crate::port::Core;
use crate::run::record;
use crate::tape;
use crate::world::world;

/// The calls and answers of the worlds of `seeds` seeds from `first` on.
pub fn text(first: u64, seeds: u64, events: usize) -> String {
    let mut text = String::new();
    for seed in first..first + seeds {
        text.push_str(&format!("# world {seed}, {events} events\n"));
        for line in record::<Queue>(&world(seed, events)) {
            text.push_str(&line);
            text.push('\n');
        }
    }
    text
}

impl<C: Core> Driver<C> {
    /// Puts on the tape when the queue wants to be woken, what it holds and has room for, and the gate of one of its tasks.
    pub(crate) fn note_state(&mut self) {
        let lane = self.book.lanes[self.turn % self.book.lanes.len()].handle;
        let now = Millis::new(self.wall);
        let mut answers = vec![
            tape::instant(self.core.wake_at()),
            f64::from(self.core.depth()),
            f64::from(self.core.in_flight()),
            f64::from(self.core.room(now, lane)),
            self.core.shut_until(now, lane).map_or(0.0, tape::instant),
            f64::from(self.core.vacancies()),
        ];
        let mut asked = vec![tape::instant(now), f64::from(lane)];
        let count = self.book.tasks.len();
        if count > 0 {
            let slot = self.book.tasks[self.turn % count].slot;
            asked.push(f64::from(slot));
            let status = self.core.gate_status(slot).map(|status| {
                let gate = f64::from(status.gate.code());
                [gate, tape::instant(status.until), f64::from(status.ahead)]
            });
            answers.extend(status.unwrap_or([f64::from(NONE); 3]));
        }
        self.tape.call("state", &asked, &answers);
    }
}
