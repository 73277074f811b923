//! What the end of an attempt must mean: the verdict, its wait, and what the lane learns.

use redrive::queue::{Carry, Next, NextKind, Verdict};
use redrive::task::Reason;
use redrive::time::Millis;

use crate::book::{Book, MOST_SPREAD, Place, Promise, Task};
use crate::ensure;
use crate::event::{Answer, Spec};
use crate::line::{NEVER, sum};
use crate::range::{Range, range};
use crate::violation::Violation;

/// Most attempts given back.
const MOST_REFUNDS: u32 = 20;
/// Most of them for a 401.
const MOST_REFUNDS_401: u32 = 2;
/// Noted in their place after a 401 to a caller's own first attempt.
const REFRESHED: u32 = 3;
/// The last attempt after which `Retry-After: 0` means now.
const LAST_AT_ONCE: u32 = 3;

/// What an answer is worth, by the rules of HTTP and the policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Worth {
    Success,
    Retry,
    Fail(Reason),
}

/// What must become of a task.
#[derive(Clone, Copy, Debug)]
enum Expected {
    /// Exactly this.
    Exactly(Verdict),
    /// Another attempt, after a wait of the curve within the range; or the end, if it would come too late.
    /// `counts`: as a failure.
    Again { curve: Range, authorize: bool, counts: bool },
}

/// Hears the verdict on the attempt of the task at `at`, and fails if it is not what it must be.
pub fn settled(book: &mut Book, at: usize, answer: &Answer, next: &Next) -> Result<(), Violation> {
    let Next { verdict, carry, .. } = *next;
    let before = book.tasks[at].clone();
    let judged = judged(book, at, answer, verdict)?;
    let Some(at) = judged else {
        let nothing = Carry { hold: Millis::ZERO, ..carry } == Carry::default();
        ensure!(nothing, "S14", "slot {}: {verdict:?} takes {carry:?} along", before.slot);
        return Ok(());
    };
    carried(book, at, &before, answer, (verdict, carry))?;
    goes_on(&book.tasks[at], &before, answer, next)?;
    if before.leased {
        book.remove(at);
    }
    Ok(())
}

/// A task that goes on is said to stand where it stands: given back or not, after so many attempts, due when it is due.
fn goes_on(task: &Task, before: &Task, answer: &Answer, next: &Next) -> Result<(), Violation> {
    let slot = task.slot;
    let never_left = before.place == Place::Started && matches!(answer.outcome, 4..=6);
    let kind = match next.verdict {
        Verdict::Parked => NextKind::Parked,
        _ if task.attempts < before.attempts && !never_left => NextKind::Released,
        _ => NextKind::Retry,
    };
    ensure!(next.kind == kind, "S8", "slot {slot}: {answer:?} came to {:?}, not {kind:?}", next.kind);
    ensure!(next.attempts == task.attempts, "S8", "slot {slot}: {next:?} after {} attempts", task.attempts);
    Ok(())
}

/// What a task takes along is what a store must know (S8, S9), and nothing of it is made up.
fn carried(
    book: &mut Book,
    at: usize,
    before: &Task,
    answer: &Answer,
    (verdict, carry): (Verdict, Carry),
) -> Result<(), Violation> {
    let spec = &book.promises[before.policy].spec;
    let task = &mut book.tasks[at];
    let slot = task.slot;
    let refunded = task.attempts < before.attempts;
    ensure!(carry.refunded == refunded, "S8", "slot {slot}: {carry:?} after {} attempts", task.attempts);
    let marks = u32::from(task.was_401)
        + 2 * task.refunds_401
        + 8 * u32::from(task.unanswered)
        + 16 * u32::from(task.replayed);
    ensure!(carry.marks == marks, "S8", "slot {slot}: marks {:b}, not {marks:b}", carry.marks);
    let server = asked(answer).filter(|_| match verdict {
        Verdict::Retry { wait, .. } => wait.server.is_some(),
        _ => true,
    });
    let least = server.unwrap_or(0);
    let most = server.map_or(0, |server| server + most_spread(server));
    let said = carry.server_wait.get();
    ensure!(least <= said && said <= most, "S9", "slot {slot}: {said} ms are the server's, not {server:?}");
    let kept = task.phase.is_none_or(|phase| carry.phase == Some(phase));
    ensure!(kept, "S10", "slot {slot} had phase {:?} and takes along {:?}", task.phase, carry.phase);
    task.phase = carry.phase;
    let failed = (!refunded || in_progress(before, answer))
        && matches!(verdict, Verdict::Retry { authorize: false, .. });
    if failed && (asked(answer) == Some(0) || answer.said.delay.is_some()) {
        // The verdict does not tell the wait that "now", or a hook, has put aside.
        let (curve, said) = (wait(spec, before, task.refunds, answer), carry.previous_delay.get());
        ensure!(curve.holds(said), "S10", "slot {slot}: {said}, put aside, lies outside {curve:?}");
        task.previous = Some(said);
    }
    let previous = task.previous.is_none_or(|ms| carry.previous_delay.get() == ms);
    ensure!(previous, "S10", "slot {slot} waited {:?}, not {:?}", task.previous, carry.previous_delay);
    Ok(())
}

/// The verdict itself; where the task stands if it goes on.
fn judged(book: &mut Book, at: usize, answer: &Answer, verdict: Verdict) -> Result<Option<usize>, Violation> {
    book.unusable += u32::from(answer.unusable);
    let task = &book.tasks[at];
    learn(book, task.lane, task.policy, answer);
    let by_queue = book.tasks[at].place == Place::InFlight;
    book.stop(at);
    let slot = book.tasks[at].slot;
    let expected = expect(book, at, answer, by_queue);
    let now = book.line.now;
    match (expected, verdict) {
        (Expected::Exactly(expected), verdict) => {
            // One that had to end goes on.
            let goes_on =
                matches!(expected, Verdict::Exhausted(_)) && matches!(verdict, Verdict::Retry { .. });
            ensure!(
                !goes_on,
                "S8",
                "slot {slot}: {answer:?} was judged {verdict:?}, and {expected:?} is its end"
            );
            ensure!(
                verdict == expected,
                "S1",
                "slot {slot}: {answer:?} was judged {verdict:?}, not {expected:?}"
            );
            if verdict == Verdict::Parked {
                book.tasks[at].place = Place::Parked;
                return Ok(Some(at));
            }
            book.remove(at);
        }
        (Expected::Again { curve, authorize: asks, counts }, Verdict::Retry { delay, wait, authorize }) => {
            let server = asked(answer);
            ensure!(wait.server.map(Millis::get) == server, "S9", "slot {slot}: {answer:?} made {wait:?}");
            ensure!(
                curve.holds(wait.curve.get()),
                "S10",
                "slot {slot}: {} lies outside {curve:?}",
                wait.curve.get()
            );
            let most = server.map_or(0, most_spread);
            let spread = wait.spread.get();
            ensure!(spread == 0 || spread < most, "S10", "slot {slot}: a spread of {spread} over {server:?}");
            let whole = wait.curve.get().max(server.unwrap_or(0)) + spread;
            ensure!(delay.get() == whole, "S10", "slot {slot}: {delay:?} is not made of {wait:?}");
            ensure!(authorize == asks, "S8", "slot {slot}: asks for credentials: {authorize}");
            let start = sum(now, delay.get()).max(book.lanes[book.tasks[at].lane].held_until);
            ensure!(
                start <= book.tasks[at].leaves(),
                "S8",
                "slot {slot} waits until its caller is about to leave"
            );
            for (code, last) in book.deadlines(&book.tasks[at], false) {
                ensure!(start <= last, "S8", "slot {slot} waits beyond its last instant (reason {code})");
            }
            let task = &mut book.tasks[at];
            task.due = sum(now, delay.get());
            if let Some(server) = server {
                task.server_until = sum(now, server + spread);
            }
            if counts {
                task.previous = Some(wait.curve.get());
            }
            let (lane, wait_until) = (task.lane, task.wait_until);
            if wait_until < NEVER {
                let lane = &mut book.lanes[lane];
                lane.awaited_until = lane.awaited_until.max(wait_until);
                lane.hurry();
            }
            return Ok(Some(at));
        }
        (Expected::Again { curve, .. }, Verdict::Exhausted(reason)) => {
            let server = asked(answer).unwrap_or(0);
            let longest = sum(now, (curve.high as u64).max(server) + 5002);
            let lane = &book.lanes[book.tasks[at].lane];
            // A caller's wait also counts for what the breaker keeps waiting.
            let shut_until = if reason == Reason::WaitExceeded { lane.gates.shut_until_at_most() } else { 0 };
            let longest = longest.max(lane.held_until).max(shut_until);
            let deadlines = book.deadlines(&book.tasks[at], true);
            let late = deadlines.iter().any(|(code, last)| *code == reason.code() && longest > *last);
            ensure!(late, "S1", "slot {slot}: {answer:?} ended it for {reason:?}, which cannot be");
            book.remove(at);
        }
        (Expected::Again { .. }, verdict) => {
            ensure!(false, "S1", "slot {slot}: {answer:?} was judged {verdict:?}, not worth another attempt");
        }
    }
    Ok(None)
}

/// What the server asked the task to wait.
fn asked(answer: &Answer) -> Option<u64> {
    answer.server.or(answer.limit).filter(|_| answer.outcome == 0)
}

/// The longest that clients told the same are spread over; those told "now" are not.
fn most_spread(server: u64) -> u64 {
    if server == 0 { 0 } else { (server / 10).clamp(1000, MOST_SPREAD) }
}

/// What a lane notes of an attempt's end; whether it was well is its gates' to hear.
pub(crate) fn learn(book: &mut Book, lane: usize, policy: usize, answer: &Answer) {
    let asked = asked_by(&book.promises[policy], answer);
    let (now, offline) = (book.line.now, book.offline);
    let longest = book.bounds.max_lane_hold_ms;
    let lane = &mut book.lanes[lane];
    if answer.answered() {
        (lane.probing, lane.failed_offline) = (false, false);
        lane.longest_call = lane.longest_call.max(answer.took.unwrap_or(0));
    }
    if offline && matches!(answer.outcome, 1..=3) {
        lane.failed_offline = true;
        lane.go_dark(now);
    }
    if let Some(ms) = asked {
        lane.hold(now, ms, longest);
    }
}

/// The wait that an answer asks of its lane.
pub(crate) fn asked_by(promise: &Promise, answer: &Answer) -> Option<u64> {
    let most = promise.max_server;
    let speaks_for_all = answer.outcome == 0 && matches!(answer.status, 403 | 429 | 503);
    let server = answer.server.filter(|ms| speaks_for_all && *ms <= most);
    let for_all = matches!(answer.outcome, 0 | 7) && !answer.said.partition;
    let limit = answer.limit.filter(|ms| for_all && *ms <= most);
    server.or(limit)
}

/// Whether an answer says that the request is still processed.
fn in_progress(task: &Task, answer: &Answer) -> bool {
    answer.outcome == 0 && answer.status == 409 && task.flags & 2 != 0 && (task.unanswered || answer.asks())
}

/// Between which waits the policy, or the patience that the answer calls for, may choose. `task` before it, and how many attempts
/// were given back by then.
fn wait(spec: &Spec, task: &Task, refunds: u32, answer: &Answer) -> Range {
    let curve = range(spec, task.attempts, task.previous);
    let patient = if in_progress(task, answer) {
        curve.at_least(refunds.max(1), 10_000.0, spec)
    } else if answer.outcome == 0 && answer.status == 429 && asked(answer).is_none() {
        curve.at_least(task.attempts, 30_000.0, spec)
    } else if answer.outcome == 4 {
        return curve.unmade();
    } else {
        return curve;
    };
    if task.wait_until < NEVER { patient.or_sooner(curve.low) } else { patient }
}

/// A status that is no answer.
pub(crate) const fn is_interim(status: u16) -> bool {
    status >= 100 && status < 200 && status != 101
}

fn worth(promise: &Promise, task: &Task, outcome: u8, answer: &Answer) -> Worth {
    let (replayable, keyed, status) = (task.flags & 1 != 0, task.flags & 2 != 0, answer.status);
    let listed = promise.lists(status);
    let processing = in_progress(task, answer) || (status == 403 && answer.asks());
    match outcome {
        0 if is_interim(status) && replayable && promise.retry_network => Worth::Retry,
        0 if is_interim(status) => Worth::Fail(Reason::NotRetryable),
        0 if status < 400 && !listed => Worth::Success,
        0 if status == 422 && keyed && !listed => Worth::Fail(Reason::KeyConflict),
        0 if !replayable || !(listed || processing) => Worth::Fail(Reason::NotRetryable),
        0 | 4 | 6 => Worth::Retry,
        1 | 3 if replayable && promise.retry_network => Worth::Retry,
        2 if replayable && promise.retry_timeouts => Worth::Retry,
        // Where a caller waits, its own fetch has decided for it.
        9 if replayable && promise.retry_timeouts && task.wait_until == NEVER => Worth::Retry,
        5 => Worth::Fail(Reason::Vetoed),
        _ => Worth::Fail(Reason::NotRetryable),
    }
}

/// The same with what the user's hook says: it ends what would be tried again, and has tried again what would end, if that may be repeated.
fn by_word(worth: Worth, task: &Task, retry: Option<bool>) -> Worth {
    let is_final = matches!(worth, Worth::Fail(Reason::NotRetryable | Reason::KeyConflict));
    match retry {
        Some(false) if worth == Worth::Retry => Worth::Fail(Reason::Vetoed),
        Some(true) if is_final && task.flags & 1 != 0 => Worth::Retry,
        _ => worth,
    }
}

fn expect(book: &mut Book, at: usize, answer: &Answer, by_queue: bool) -> Expected {
    let promise = &book.promises[book.tasks[at].policy];
    let task = &mut book.tasks[at];
    if !matches!(answer.outcome, 4 | 6) {
        // The earlier of the two: a store's clock may say that the first attempt came after the call's own.
        task.first_sent = Some(task.first_sent.map_or(task.started, |first| first.min(task.started)));
    }
    let offline = answer.outcome == 3;
    let refundable = offline || task.refunds < MOST_REFUNDS;
    let given_back = offline || matches!(answer.outcome, 4 | 6);
    let outcome = if given_back && !refundable { 1 } else { answer.outcome };
    let worth = by_word(worth(promise, task, outcome, answer), task, answer.said.retry);
    let processed = in_progress(task, answer);
    let was = task.clone();
    let by_gateway = matches!(answer.status, 502..=504 | 520..=524) || is_interim(answer.status);
    task.unanswered |= matches!(outcome, 1..=3 | 9) || (outcome == 0 && by_gateway);
    if worth == Worth::Success {
        return Expected::Exactly(Verdict::Succeeded);
    }
    if task.cancelled {
        return Expected::Exactly(Verdict::Cancelled);
    }
    if outcome == 4 && task.refunds_401 == REFRESHED && task.was_401 {
        return Expected::Exactly(Verdict::Exhausted(Reason::NotRetryable));
    }
    if given_back && refundable && worth == Worth::Retry {
        task.attempts -= 1;
        task.refunds += u32::from(!offline);
        let curve =
            if outcome == 4 { range(&promise.spec, task.refunds, None).unmade() } else { Range::NONE };
        return Expected::Again { curve, authorize: false, counts: false };
    }
    let too_long = asked(answer).is_some_and(|ms| ms > promise.max_server);
    let too_long = too_long.then_some(Expected::Exactly(Verdict::Exhausted(Reason::RetryAfterTooLong)));
    let refused =
        outcome == 0 && answer.status == 401 && task.flags & 4 != 0 && answer.said.retry != Some(false);
    if refused && !by_queue && worth != Worth::Retry {
        if task.attempts >= promise.max_attempts(task) {
            return Expected::Exactly(Verdict::Exhausted(Reason::MaxAttempts));
        }
        task.refunds_401 = REFRESHED;
        task.was_401 = true;
        let once = Expected::Again { curve: Range::NONE, authorize: true, counts: false };
        return too_long.unwrap_or(once);
    }
    if refused && by_queue && refundable && task.refunds_401 < MOST_REFUNDS_401 {
        task.attempts -= 1;
        task.refunds += 1;
        task.refunds_401 += 1;
        let parks = std::mem::replace(&mut task.was_401, true);
        return match (too_long, parks) {
            (Some(end), _) => end,
            (None, false) => Expected::Again { curve: Range::NONE, authorize: true, counts: false },
            (None, true) => {
                // The spread over it is not told.
                task.server_until = sum(book.line.now, asked(answer).unwrap_or(0));
                task.vague = asked(answer).is_some();
                Expected::Exactly(Verdict::Parked)
            }
        };
    }
    task.was_401 = false;
    let stored = outcome == 0 && answer.said.replayed && answer.said.retry != Some(true);
    let twice = stored && worth == Worth::Retry && std::mem::replace(&mut task.replayed, true);
    let before = task.attempts;
    let given_back =
        processed && worth == Worth::Retry && !twice && before > 1 && task.refunds < MOST_REFUNDS;
    if given_back {
        task.attempts -= 1;
        task.refunds += 1;
    }
    match worth {
        Worth::Fail(reason) => Expected::Exactly(Verdict::Exhausted(reason)),
        _ if twice => Expected::Exactly(Verdict::Exhausted(Reason::NotRetryable)),
        _ if !given_back && before >= promise.max_attempts(&was) => {
            Expected::Exactly(Verdict::Exhausted(Reason::MaxAttempts))
        }
        _ => too_long.unwrap_or(Expected::Again {
            curve: if let Some(ms) = answer.said.delay {
                Range::exactly(ms)
            } else if asked(answer) == Some(0) && before <= LAST_AT_ONCE && !processed {
                Range::NONE
            } else {
                wait(&promise.spec, &was, task.refunds, answer)
            },
            authorize: false,
            counts: true,
        }),
    }
}
