//! Tasks that a store leases, and what is asked before it is asked for them: in calls, and on the books.

use redrive::breaker::Circuit;
use redrive::gates::Gates;
use redrive::queue::{Carry, Past};
use redrive::slots::NONE;
use redrive::time::Millis;

use crate::book::{Place, Task};
use crate::driver::Driver;
use crate::ensure;
use crate::event::Adoption;
use crate::line::NEVER;
use crate::port::Core;
use crate::tape;
use crate::violation::Violation;

impl<C: Core> Driver<C> {
    pub(crate) fn adopt(&mut self, adoption: &Adoption) -> Result<(), Violation> {
        let now = self.now();
        self.look()?;
        let arrival = &adoption.task;
        let admission = self.admission(arrival);
        let &Adoption { attempts, refunds, phase, marks, .. } = adoption;
        let sent = adoption.sent.map_or(NEVER, |ms| self.wall.saturating_sub(ms));
        let first_attempt_at = Millis::new(sent);
        let carry =
            Carry { phase, previous_delay: Millis::new(adoption.previous), marks, ..Carry::default() };
        let past = Past { first_attempt_at, deadline: None, attempts, refunds, carry };
        let slot = self.core.adopt(now, &admission, &past);
        let numbers = [
            tape::instant(now),
            f64::from(admission.lane),
            f64::from(admission.policy),
            f64::from(admission.priority),
            admission.bytes as f64,
            f64::from(arrival.flags),
            tape::instant(admission.created_at),
            tape::instant(admission.expires_at),
            tape::instant(admission.wait_until),
            tape::instant(first_attempt_at),
            f64::from(attempts),
            f64::from(refunds),
            phase.map_or(-1.0, f64::from),
            adoption.previous as f64,
            f64::from(marks),
            if admission.started { tape::instant(admission.created_at) } else { f64::NAN },
            // Its store names no deadline.
            f64::INFINITY,
            f64::from(NONE),
        ];
        self.tape.call("adopt", &numbers, &[f64::from(slot.unwrap_or(NONE))]);
        let Some(slot) = slot else {
            return Err(Violation { id: "S1", what: "what a store has leased was refused".to_owned() });
        };
        let book = &self.book;
        ensure!(!book.knows(slot), "S5", "slot {slot} was given to a second task");
        self.totals.leases += 1;
        let line = book.line;
        let created = line.inward(admission.created_at.get());
        let task = Task {
            id: book.accepted,
            slot,
            lane: usize::from(arrival.lane) % book.lanes.len(),
            policy: usize::from(arrival.policy) % book.promises.len(),
            order: None,
            priority: arrival.priority,
            bytes: admission.bytes,
            flags: arrival.flags & 7,
            created,
            expires: line.inward(admission.expires_at.get()),
            wait_until: line.inward(admission.wait_until.get()),
            first_sent: adoption.sent.map(|_| line.inward(sent)),
            started: if admission.started { created } else { line.now },
            attempts,
            refunds,
            refunds_401: (marks >> 1) & 3,
            unanswered: marks >> 3 & 1 == 1,
            replayed: marks >> 4 & 1 == 1,
            was_401: marks & 1 == 1,
            previous: (adoption.previous > 0).then_some(adoption.previous),
            due: line.now,
            server_until: 0,
            vague: false,
            cancelled: false,
            leased: true,
            phase,
            paid: false,
            place: Place::Started,
        };
        self.book.add(task);
        if let Some(answer) = &arrival.made {
            return self.settle(slot, answer);
        }
        if let Some(at) = self.book.find(slot) {
            let (lane, now) = (self.book.tasks[at].lane, self.book.line.now);
            let gates = &mut self.book.lanes[lane].gates;
            (gates.mixed, gates.lapses) = (true, 0);
            self.book.tasks[at].paid = attempts > 1 && gates.pay(now);
            self.book.run(at);
        }
        Ok(())
    }

    pub(crate) fn hold(&mut self, lane: u8, ms: u64) {
        let now = self.now();
        let at = usize::from(lane) % self.book.lanes.len();
        let handle = self.book.lanes[at].handle;
        self.core.hold(now, handle, Millis::new(ms));
        self.tape.call("hold", &[tape::instant(now), f64::from(handle), ms as f64], &[]);
        let (now, most) = (self.book.line.now, self.book.bounds.max_lane_hold_ms);
        self.book.lanes[at].hold(now, ms, most);
    }

    /// A store is asked for no more than the gates let through, and for no less.
    pub(crate) fn check_room(&mut self) -> Result<(), Violation> {
        let now = self.book.line.inward(self.wall).max(self.book.line.now);
        for at in 0..self.book.lanes.len() {
            let said = self.core.room(Millis::new(self.wall), self.book.lanes[at].handle);
            let room = self.book.room(at, now);
            let gates = &self.book.lanes[at].gates;
            if gates.rules == Gates::default() {
                compare("a lane", said, room)?;
                continue;
            }
            // Whose time may be up asks for one, and that is free.
            let free = gates.circuit == Circuit::Open && now >= gates.ends.0;
            let tokens = if free { u32::MAX } else { gates.tokens(now) };
            let most = room.min(gates.room(now));
            ensure!(said <= most, "S8", "a lane has room for {said}, its gates for {most}");
            ensure!(said <= tokens, "L6", "a lane has room for {said}, and {tokens} tokens");
        }
        compare("the queue", self.core.vacancies(), self.book.vacancies())
    }
}

/// Too much room passes a limit, or what shuts the gate; too little keeps back what others have no part in.
fn compare(what: &str, said: u32, room: u32) -> Result<(), Violation> {
    ensure!(said <= room || room == 0, "S7", "{what} has room for {said}, not for {room}");
    ensure!(said <= room, "S8", "{what} has room for {said}, and its gates are shut");
    ensure!(said == room, "L4", "{what} has room for {said} only, not for {room}");
    Ok(())
}
