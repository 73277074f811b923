//! The record of what follows an attempt: one reading of a verdict for tasks in memory, for leased ones and for callers' own.

use crate::rig::{Rig, credentialed, ended, second, setup};
use redrive::queue::NextKind::{Cancelled, Exhausted, Lost, Parked, Released, Retry, Succeeded};
use redrive::queue::ReleaseCause::{
    Closing, CredentialsFailed, CredentialsMissing, InProgress, Lease, Offline, PageHidden, Paused,
    Principal, SignFailed, Unauthorized,
};
use redrive::queue::{Admission, Carry, Ended, Facts, Next, NextKind, Past, ReleaseCause};
use redrive::task::{Flags, Outcome, Reason};
use serde_json::json;

/// The attempt that has ended.
#[derive(Clone, Copy, Debug)]
enum Of {
    Memory,
    Lease,
    /// A caller's own that becomes a task, in memory and under a lease.
    Own,
    OwnLease,
}

const QUEUES: [Of; 2] = [Of::Memory, Of::Lease];
const CALLERS: [Of; 2] = [Of::Own, Of::OwnLease];

fn facts(all: &[Facts]) -> Facts {
    Facts::from_bits(all.iter().map(|fact| fact.bits()).sum())
}

fn own(admission: &mut Admission) {
    credentialed(admission);
    admission.started = true;
}

/// A task whose attempt runs, its second where the queue makes it.
fn running(rig: &mut Rig, of: Of) -> u32 {
    match of {
        Of::Memory => {
            let slot = rig.admit(credentialed);
            assert_eq!(rig.starts(), [slot]);
            rig.fail(slot);
            rig.wait(1_000);
            assert_eq!(rig.starts(), [slot]);
            slot
        }
        Of::Lease => rig.adopt_with(&second(), credentialed),
        Of::Own => rig.admit(own),
        Of::OwnLease => rig.adopt_with(&Past { attempts: 1, ..second() }, own),
    }
}

fn next(of: Of, ended: &Ended) -> Next {
    let mut rig = setup(json!({}));
    let slot = running(&mut rig, of);
    rig.queue.next(rig.time(), slot, ended)
}

fn lost(outcome: Outcome, all: &[Facts]) -> Ended {
    Ended { facts: facts(all), ..ended(outcome, 0) }
}

#[test]
fn an_attempt_that_is_given_back_names_its_cause() {
    use Outcome::{CredentialsFailed as Failed, Released as Back};
    let rows: [(Ended, NextKind, ReleaseCause); 11] = [
        (lost(Outcome::Offline, &[Facts::PAUSED]), Released, Offline),
        (lost(Failed, &[]), Released, CredentialsFailed),
        (lost(Failed, &[Facts::UNSIGNED]), Released, SignFailed),
        (lost(Failed, &[Facts::MISSING]), Parked, CredentialsMissing),
        (lost(Failed, &[Facts::UNSIGNED, Facts::MISSING]), Parked, SignFailed),
        (lost(Back, &[Facts::STOPPED, Facts::HIDDEN, Facts::FOREIGN, Facts::PAUSED]), Released, Closing),
        (lost(Back, &[Facts::HIDDEN, Facts::FOREIGN, Facts::PAUSED]), Released, PageHidden),
        (lost(Back, &[Facts::FOREIGN, Facts::PAUSED]), Released, Principal),
        (lost(Back, &[Facts::PAUSED]), Released, Paused),
        (lost(Back, &[]), Released, Lease),
        (Ended { facts: facts(&[Facts::PAUSED]), ..ended(Outcome::Response, 401) }, Released, Unauthorized),
    ];
    for (ended, kind, cause) in rows {
        for of in QUEUES {
            let next = next(of, &ended);
            assert_eq!((next.kind, next.cause), (kind, Some(cause)), "{of:?}: {ended:?}");
            assert_eq!((next.number, next.attempts), (2, 1), "{of:?}: {ended:?}");
            assert_eq!(next.due_at.is_some(), kind == Released, "{of:?}: {ended:?}");
        }
    }
}

#[test]
fn what_counts_names_no_cause() {
    let stored = Ended { replayed: true, ..ended(Outcome::Response, 503) };
    let rows = [
        (ended(Outcome::Response, 200), Succeeded, None, 2),
        (ended(Outcome::Response, 503), Retry, None, 2),
        (stored, Retry, None, 2),
        (ended(Outcome::TimedOut, 0), Retry, None, 2),
        (ended(Outcome::Response, 404), Exhausted, Some(Reason::NotRetryable), 2),
        (lost(Outcome::Vetoed, &[]), Exhausted, Some(Reason::Vetoed), 2),
    ];
    for (ended, kind, reason, attempts) in rows {
        for of in QUEUES {
            let next = next(of, &ended);
            assert_eq!((next.kind, next.verdict.reason(), next.cause), (kind, reason, None), "{ended:?}");
            assert_eq!((next.number, next.attempts), (2, attempts), "{of:?}: {ended:?}");
            assert_eq!(next.due_at.is_some(), kind == Retry, "{of:?}: {ended:?}");
        }
    }
}

#[test]
fn a_call_that_was_never_sent_has_no_attempt_to_take_back_and_one_lost_offline_has() {
    for of in CALLERS {
        let unsent = next(of, &lost(Outcome::Released, &[Facts::PAUSED]));
        assert_eq!((unsent.kind, unsent.number, unsent.attempts), (Retry, 0, 0), "{of:?}");
        assert!(unsent.carry.refunded, "{of:?}");
        let offline = next(of, &ended(Outcome::Offline, 0));
        assert_eq!((offline.kind, offline.cause), (Released, Some(Offline)), "{of:?}");
        assert_eq!((offline.number, offline.attempts), (1, 0), "{of:?}: the next one is the first");
        let failed = next(of, &ended(Outcome::NetworkError, 0));
        assert_eq!((failed.kind, failed.number, failed.attempts), (Retry, 1, 1), "{of:?}");
    }
}

#[test]
fn an_end_takes_the_hosts_reason_and_nothing_else_does() {
    let own = Some(Reason::OutcomeUnknown);
    for (outcome, status, kind) in [
        (Outcome::Vetoed, 0, Exhausted),
        (Outcome::Response, 404, Exhausted),
        (Outcome::Response, 503, Retry),
        (Outcome::Released, 0, Released),
        (Outcome::Response, 200, Succeeded),
    ] {
        let next = next(Of::Lease, &Ended { reason: own, ..ended(outcome, status) });
        let reason = own.filter(|_| kind == Exhausted);
        assert_eq!((next.kind, next.verdict.reason()), (kind, reason), "{outcome:?} {status}");
    }
}

#[test]
fn s4_under_a_lost_lease_only_a_success_counts() {
    for (outcome, status, kind) in [
        (Outcome::Response, 200, Succeeded),
        (Outcome::Response, 503, Lost),
        (Outcome::Response, 404, Lost),
        (Outcome::Released, 0, Lost),
    ] {
        let ended = Ended { facts: Facts::LOST, ..ended(outcome, status) };
        assert_eq!(next(Of::Lease, &ended).kind, kind, "{outcome:?} {status}");
    }
}

#[test]
fn an_end_that_was_asked_for_and_a_slot_without_an_attempt_decide_nothing_else() {
    for of in QUEUES {
        let mut rig = setup(json!({}));
        let slot = running(&mut rig, of);
        rig.queue.cancel(slot);
        let next = rig.queue.next(rig.time(), slot, &lost(Outcome::Released, &[Facts::MISSING]));
        assert_eq!((next.kind, next.number, next.cause), (Cancelled, 2, None), "{of:?}");
        let stale = rig.queue.next(rig.time(), slot, &ended(Outcome::Response, 200));
        assert_eq!((stale.kind, stale.number, stale.due_at), (Lost, 0, None), "{of:?}");
    }
}

#[test]
fn s8_a_second_401_parks_and_a_409_in_progress_is_given_back() {
    for of in QUEUES {
        let mut rig = setup(json!({}));
        let slot = running(&mut rig, of);
        let first = rig.queue.next(rig.time(), slot, &ended(Outcome::Response, 401));
        let slot = match of {
            Of::Memory => {
                assert_eq!(rig.starts(), [slot]);
                slot
            }
            _ => rig.adopt_with(&Past { carry: first.carry, ..second() }, credentialed),
        };
        let second = rig.queue.next(rig.time(), slot, &ended(Outcome::Response, 401));
        assert_eq!((second.kind, second.cause), (Parked, Some(Unauthorized)), "{of:?}");
        assert_eq!((second.number, second.attempts, second.due_at), (2, 1, None), "{of:?}");
    }
    let mut rig = setup(json!({}));
    let open = Past { carry: Carry { marks: Carry::UNANSWERED, ..Carry::default() }, ..second() };
    let slot = rig.adopt_with(&open, |admission| admission.flags = admission.flags.with(Flags::KEYED));
    let next = rig.queue.next(rig.time(), slot, &ended(Outcome::Response, 409));
    assert_eq!((next.kind, next.cause, next.attempts), (Released, Some(InProgress), 1));
}

#[test]
fn a_leased_task_is_due_by_its_own_delay_and_one_that_stays_when_its_lane_lets_it() {
    for (of, waits) in [(Of::Lease, false), (Of::Memory, true)] {
        let mut rig = setup(json!({}));
        let slot = running(&mut rig, of);
        let next = rig.queue.next(rig.time(), slot, &ended(Outcome::Offline, 0));
        assert_eq!(next.due_at.map(|due| due > rig.time()), Some(waits), "{of:?}");
        if waits {
            assert_eq!(next.due_at, rig.queue.due_at(slot));
        }
    }
}
