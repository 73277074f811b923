//! What must hold of every start, every end, after every poll and after every event.

use redrive::breaker::Circuit;
use redrive::queue::Gate;
use redrive::task::Reason;
use redrive::time::Millis;

use crate::book::{Book, Place, Task};
use crate::ensure;
use crate::line::NEVER;
use crate::port::Core;
use crate::violation::Violation;

/// Most tasks looked at one by one after an event; a longer list is gone through by turns.
const LOOKED_AT: usize = 48;

type Checked = Result<(), Violation>;

/// The queue starts an attempt: may it?
pub fn start(book: &mut Book, slot: u32) -> Checked {
    let now = book.line.now;
    let Some(at) = book.find(slot) else {
        return Err(Violation { id: "S5", what: format!("slot {slot} started, but its task is gone") });
    };
    let task = &book.tasks[at];
    ensure!(
        !matches!(task.place, Place::InFlight | Place::Started),
        "S3",
        "slot {slot} started while an attempt of it runs"
    );
    ensure!(book.leads(task), "S19", "slot {slot} started before others of its order have ended");
    ensure!(now >= task.due, "S9", "slot {slot} started {} ms before its wait was over", task.due - now);
    ensure!(
        now >= task.server_until,
        "S9",
        "slot {slot} started {} ms before the server wanted it",
        task.server_until - now
    );
    let lane = &book.lanes[task.lane];
    ensure!(
        now >= lane.held_until,
        "S9",
        "slot {slot} started {} ms before the end of its lane's hold",
        lane.held_until.saturating_sub(now)
    );
    ensure!(task.place != Place::Parked, "S8", "slot {slot} is parked and started");
    ensure!(!book.paused && !lane.paused, "S8", "slot {slot} started in a pause");
    let early = lane.dark_until.saturating_sub(now);
    ensure!(early == 0, "S8", "slot {slot} started offline, {early} ms early");
    ensure!(!book.offline || lane.in_flight == 0, "S8", "slot {slot} started offline, beside another");
    ensure!(!task.cancelled, "S8", "slot {slot} started and had been cancelled");
    let most = book.promises[task.policy].max_attempts(task);
    ensure!(now <= task.leaves(), "S8", "slot {slot} started when its caller was about to leave");
    ensure!(task.attempts < most, "S8", "slot {slot} started attempt {} of {most}", task.attempts + 1);
    for (code, last) in book.deadlines(task, false) {
        ensure!(
            now <= last,
            "S8",
            "slot {slot} started {} ms after its last instant (reason {code})",
            now.saturating_sub(last)
        );
    }
    ensure!(
        (book.running.len() as u32) < book.bounds.concurrency,
        "S7",
        "slot {slot} started above the limit of {}",
        book.bounds.concurrency
    );
    ensure!(
        lane.in_flight < book.bounds.per_lane,
        "S7",
        "slot {slot} started above its lane's limit of {}",
        book.bounds.per_lane
    );
    ensure!(
        !lane.probing || lane.in_flight == 0,
        "S7",
        "slot {slot} started beside another probe of its lane"
    );
    may_pass(book, task)?;
    let above = |other: &&Task| {
        // Put off, perhaps, in this very poll: the queue is asked when that is over.
        let asked = other.attempts > 0 && book.lanes[other.lane].gates.rules.budget.is_some();
        !asked
            && other.priority > task.priority
            && book.could_start(other)
            && book.deadline(other, true) > now
    };
    let more_urgent = book.tasks.iter().find(above).map(|other| other.slot);
    ensure!(more_urgent.is_none(), "PRIO", "slot {slot} started, though {more_urgent:?} is more urgent");
    let gates = &mut book.lanes[book.tasks[at].lane].gates;
    book.tasks[at].paid = book.tasks[at].attempts > 0 && gates.pay(now);
    book.start(at);
    Ok(())
}

/// Breaker and budget: may an attempt of this task start?
fn may_pass(book: &Book, task: &Task) -> Checked {
    let (now, slot, lane) = (book.line.now, task.slot, &book.lanes[task.lane]);
    let gates = &lane.gates;
    let open = gates.circuit == Circuit::Open || gates.told == Circuit::Open;
    ensure!(!open, "S8", "slot {slot} started with the breaker open");
    if gates.circuit == Circuit::HalfOpen {
        ensure!(gates.lapses <= now, "S8", "slot {slot} started beside a caller's probe");
        let probe = |other: &&Task| {
            other.lane == task.lane && other.place == Place::InFlight && other.started >= gates.surely_since()
        };
        let probes = book.tasks.iter().filter(probe).count();
        ensure!(probes == 0 || gates.mixed, "S8", "slot {slot} started beside {probes} probes");
    }
    ensure!(task.attempts == 0 || !gates.is_broke(now), "L6", "slot {slot} started without a token");
    Ok(())
}

/// The queue ends a task by itself: had its time come?
pub fn end(book: &mut Book, slot: u32, reason: Reason) -> Checked {
    let now = book.line.now;
    let Some(at) = book.find(slot) else {
        return Err(Violation { id: "S5", what: format!("slot {slot} ended, but its task is gone") });
    };
    let task = &book.tasks[at];
    let runs = matches!(task.place, Place::InFlight | Place::Started);
    ensure!(!runs, "S1", "slot {slot} ended while an attempt of it runs");
    let deadline = book.deadlines(task, true).into_iter().find(|(code, _)| *code == reason.code());
    let Some((_, last)) = deadline else {
        return Err(Violation { id: "S1", what: format!("slot {slot} ended by itself for {reason:?}") });
    };
    ensure!(last <= now, "S1", "slot {slot} ended for {reason:?}, {} ms early", last - now);
    book.remove(at);
    Ok(())
}

/// After a whole poll: what could start has started, what is too late has ended.
pub fn after_poll(book: &Book) -> Checked {
    for lane in &book.lanes {
        ensure!(
            lane.gates.is_told(),
            "S8",
            "the breaker is {:?}, told was {:?}",
            lane.gates.circuit,
            lane.gates.told
        );
    }
    for task in &book.tasks {
        let slot = task.slot;
        if matches!(task.place, Place::InFlight | Place::Started) {
            continue;
        }
        ensure!(
            !book.could_start(task),
            "L4",
            "slot {slot} is due since {} ms, its lane is free, and it did not start",
            book.line.now - book.ready_at(task)
        );
        let later = task.vague || task.due > book.line.now;
        let waits_for_its_time = task.place == Place::Waiting && book.leads(task) && later;
        ensure!(
            waits_for_its_time || book.deadline(task, false) > book.line.now,
            "S8",
            "slot {slot} outlives its last instant, {}",
            book.deadline(task, false)
        );
    }
    Ok(())
}

/// After every event: the books agree. `turn` counts the events.
pub fn after_event<C: Core>(book: &Book, core: &mut C, turn: usize) -> Checked {
    let (here, held) = (book.tasks.len() as u64, book.held);
    ensure!(book.accepted == here + book.ended, "S2", "{} accepted, {here} here", book.accepted);
    let depth = core.depth();
    ensure!(u64::from(depth) == held, "S2", "the queue holds {depth}, accepted and not ended are {held}");
    ensure!(core.bytes() == book.bytes, "S2", "the queue holds {} bytes, not {}", core.bytes(), book.bytes);
    ensure!(depth <= book.bounds.capacity, "S17", "{depth} tasks in a queue for {}", book.bounds.capacity);
    let running = book.running.len() as u32;
    ensure!(core.in_flight() == running, "S7", "the queue runs {}, started are {running}", core.in_flight());
    rows(book, core)?;
    handles(book, core, turn)?;
    wake(book, core)
}

/// The rows of `stats`, lane by lane.
fn rows<C: Core>(book: &Book, core: &mut C) -> Checked {
    let stats = core.stats(Millis::ZERO);
    ensure!(
        stats.unusable_retry_after == book.unusable,
        "S2",
        "{} unusable, not {}",
        stats.unusable_retry_after,
        book.unusable
    );
    ensure!(
        stats.lanes.len() == book.lanes.len(),
        "S2",
        "{} lanes of {}",
        stats.lanes.len(),
        book.lanes.len()
    );
    for lane in &book.lanes {
        let Some(row) = stats.lanes.iter().find(|row| row.lane == lane.handle) else {
            return Err(Violation { id: "S5", what: format!("lane {} is gone", lane.handle) });
        };
        ensure!(
            (row.depth, row.in_flight) == (lane.depth, lane.in_flight),
            "S2",
            "lane {} has {} and runs {}, not {} and {}",
            row.lane,
            row.depth,
            row.in_flight,
            lane.depth,
            lane.in_flight
        );
        let held = (lane.held_until > book.line.now).then(|| book.line.outward(lane.held_until));
        let said = row.held_until_at.map(Millis::get);
        ensure!(said == held, "S9", "lane {} is held until {said:?}, not {held:?}", row.lane);
    }
    Ok(())
}

/// A handle means its task from admission to end, and nothing after.
fn handles<C: Core>(book: &Book, core: &mut C, turn: usize) -> Checked {
    let count = book.tasks.len();
    for look in 0..count.min(LOOKED_AT) {
        let task = &book.tasks[(turn.wrapping_mul(LOOKED_AT) + look) % count];
        let slot = task.slot;
        ensure!(
            core.lane_of(slot) == Some(book.lanes[task.lane].handle),
            "S5",
            "slot {slot} has changed its lane"
        );
        ensure!(
            core.attempts(slot) == task.attempts,
            "S8",
            "slot {slot} had {} attempts, the queue counts {}",
            task.attempts,
            core.attempts(slot)
        );
        let waits = task.place == Place::Waiting && book.leads(task);
        let due = waits.then(|| book.line.outward(book.ready_at(task)));
        let said = core.due_at(slot).map(Millis::get);
        // Where its breaker is not closed, that may say more.
        let vague = task.vague || book.lanes[task.lane].gates.circuit != Circuit::Closed;
        let agrees = if vague { waits == said.is_some() && said >= due } else { said == due };
        ensure!(agrees, "S9", "slot {slot} is due at {said:?}, not at {due:?}");
        let Some(status) = core.gate_status(slot) else {
            return Err(Violation { id: "S5", what: format!("slot {slot} stands nowhere") });
        };
        let runs = matches!(task.place, Place::InFlight | Place::Started);
        let said = matches!(status.gate, Gate::InFlight | Gate::Started);
        ensure!(said == runs, "S3", "slot {slot} runs: {runs}, and stands at {status:?}");
        let behind = status.gate == Gate::Behind;
        ensure!(behind != book.leads(task), "S19", "slot {slot} stands at {status:?}, behind: {behind}");
    }
    for slot in book.gone.iter().rev().take(8) {
        let stale = core.gate_status(*slot).is_none() && core.lane_of(*slot).is_none();
        ensure!(stale, "S5", "slot {slot} is gone and still means something");
    }
    Ok(())
}

/// The queue asks to be woken in time for whatever can happen next.
fn wake<C: Core>(book: &Book, core: &mut C) -> Checked {
    let now = book.line.now;
    let mut next = NEVER;
    for task in &book.tasks {
        if matches!(task.place, Place::InFlight | Place::Started) {
            continue;
        }
        if task.vague && task.place == Place::Waiting {
            // When exactly it is due was not told.
        } else if task.place == Place::Waiting && book.leads(task) && task.due > now {
            next = next.min(task.due.max(task.server_until));
        } else {
            next = next.min(book.deadline(task, false).max(now));
            let lane = &book.lanes[task.lane];
            let held = lane.held_until.max(lane.dark_until) > now;
            let shuts_alone = lane.gates.circuit == Circuit::Closed;
            let waits = task.place == Place::Waiting && book.leads(task);
            if waits && (book.could_start(task) || (held && shuts_alone && book.lets_start(task.lane))) {
                next = next.min(book.ready_at(task).max(now));
            }
            if let Some(opens) = lane.gates.opens(now).filter(|_| waits && book.lets_start(task.lane)) {
                next = next.min(book.ready_at(task).max(opens).max(now));
            }
        }
    }
    let wake = core.wake_at().get();
    ensure!(
        next == NEVER || wake <= book.line.outward(next),
        "L1",
        "the queue wakes at {wake}, too late for {}",
        book.line.outward(next)
    );
    Ok(())
}
