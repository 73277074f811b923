//! A server forgets keys: no attempt is made that it would take for a new request.

use crate::rig::{Rig, retry_in, setup};
use redrive::queue::{Admission, Verdict};
use redrive::task::{Flags, Outcome, Reason};
use serde_json::json;

/// A budget that begins so late that the key ends first, as that of a dead letter which was put back: no policy has one that is longer than
/// its key, and where both end at one moment the budget counts.
fn late(admission: &mut Admission) {
    admission.created_at = Rig::at(86_400_000);
}

#[test]
fn s8_no_attempt_after_the_server_forgot_the_key() {
    let mut rig = setup(json!({ "maxAttempts": 2, "keyTtlMs": 1000 }));
    let keyed = rig.admit(late);
    let keyless = rig.admit(|admission| {
        late(admission);
        admission.flags = Flags::REPLAYABLE;
    });
    rig.starts();
    rig.wait(1);
    assert_eq!(rig.answer(keyed, 503), Verdict::Exhausted(Reason::KeyExpired));
    assert_eq!(rig.answer(keyless, 503), retry_in(1000));
}

#[test]
fn s8_the_keys_age_counts_over_all_attempts() {
    let mut rig = setup(json!({ "maxAttempts": 3, "keyTtlMs": 2000 }));
    let slot = rig.admit(late);
    rig.starts();
    assert_eq!(rig.answer(slot, 503), retry_in(1000));
    rig.wait(1000);
    rig.starts();
    rig.wait(1);
    assert_eq!(rig.answer(slot, 503), Verdict::Exhausted(Reason::KeyExpired));
}

#[test]
fn the_keys_age_counts_from_the_first_attempt_and_not_from_creation() {
    let mut rig = setup(json!({ "maxAttempts": 2, "keyTtlMs": 1000 }));
    rig.queue.pause(None);
    let slot = rig.admit(late);
    rig.wait(50_000);
    rig.queue.resume(rig.time(), None);
    assert_eq!(rig.starts(), [slot]);
    assert_eq!(rig.answer(slot, 503), retry_in(1000));
}

#[test]
fn s8_the_keys_age_outlives_missing_credentials() {
    let mut rig = setup(json!({ "maxAttempts": 3, "keyTtlMs": 2000 }));
    let slot = rig.admit(late);
    rig.starts();
    rig.queue.set_online(rig.time(), false);
    assert_eq!(rig.settle(slot, Outcome::Offline, 0, None), retry_in(0), "it may have arrived");
    rig.queue.set_online(rig.time(), true);
    rig.wait(100);
    rig.starts();
    assert_eq!(rig.settle(slot, Outcome::CredentialsFailed, 0, None), retry_in(1000));
    rig.wait(1000);
    rig.starts();
    rig.wait(1);
    assert_eq!(rig.answer(slot, 503), Verdict::Exhausted(Reason::KeyExpired));
}

#[test]
fn what_was_not_sent_does_not_age_the_key() {
    for unsent in [Outcome::Released, Outcome::CredentialsFailed] {
        let mut rig = setup(json!({ "maxAttempts": 3, "keyTtlMs": 2000 }));
        let slot = rig.admit(late);
        rig.starts();
        rig.settle(slot, unsent, 0, None);
        rig.wait(1500);
        rig.starts();
        assert_eq!(rig.answer(slot, 503), retry_in(1000), "{unsent:?}");
    }
}
