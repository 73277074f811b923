//! From a long list of events that fails to a short one that fails alike: delta debugging.
//!
//! Zeller and Hildebrandt, "Simplifying and isolating failure-inducing input", 2002: chunks are left out, halved
//! when leaving none of them out fails any more. Whatever still violates the same invariant is kept.

use crate::event::{Event, Scenario};
use crate::port::Core;
use crate::run::{Failure, run};

/// A shorter world that violates the same invariant, and how.
pub fn shrink<C: Core>(world: &Scenario, failure: &Failure) -> (Scenario, Failure) {
    let mut best = world.clone();
    let mut last = failure.clone();
    // Nothing after the failing event matters, unless it fails at the end of the world.
    best.events.truncate(failure.events);
    let fails =
        |world: &Scenario| run::<C>(world).err().filter(|found| found.violation.id == failure.violation.id);
    match fails(&best) {
        Some(found) => last = found,
        None => best.events.clone_from(&world.events),
    }
    let mut chunk = best.events.len().div_ceil(2).max(1);
    loop {
        let mut at = 0;
        let mut shorter = false;
        while at < best.events.len() {
            let mut candidate = best.clone();
            candidate.events.drain(at..(at + chunk).min(best.events.len()));
            match fails(&candidate) {
                Some(found) => (best, last, shorter) = (candidate, found, true),
                None => at += chunk,
            }
        }
        if chunk == 1 && !shorter {
            break;
        }
        chunk = (chunk / 2).max(1);
    }
    simplify(&mut best, &mut last, fails);
    (best, last)
}

/// Bursts of one, and policies that nothing uses left to their defaults.
fn simplify(best: &mut Scenario, last: &mut Failure, fails: impl Fn(&Scenario) -> Option<Failure>) {
    let mut attempt = |change: &dyn Fn(&mut Scenario)| {
        let mut candidate = best.clone();
        change(&mut candidate);
        if let Some(found) = fails(&candidate) {
            (*best, *last) = (candidate, found);
        }
    };
    attempt(&|world| {
        for event in &mut world.events {
            if let Event::Admit(arrival) = event {
                arrival.copies = 1;
            }
        }
    });
    for policy in 0..8 {
        attempt(&|world| {
            if let Some(spec) = world.policies.get_mut(policy) {
                *spec = crate::event::Spec::default();
            }
        });
    }
    attempt(&|world| world.lanes = 1);
}
