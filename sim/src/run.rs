//! One world from beginning to end, and whether it went as it must.

use crate::driver::{Driver, Totals};
use crate::ensure;
use crate::event::Scenario;
use crate::port::Core;
use crate::tape::Tape;
use crate::violation::Violation;
use crate::world::spelled;

/// Where and how a world went wrong.
#[derive(Clone, Debug)]
pub struct Failure {
    /// How many events had been taken, the failing one included.
    pub events: usize,
    /// What was violated.
    pub violation: Violation,
}

/// Runs a world with all checks, and a second time without: both must say the same (S21).
pub fn run<C: Core>(world: &Scenario) -> Result<Totals, Failure> {
    let mut first = Driver::<C>::new(world, Tape::default(), true);
    play(&mut first, world)?;
    let mut second = Driver::<C>::new(world, Tape::default(), false);
    play(&mut second, world)?;
    let same = || {
        ensure!(first.tape.hash == second.tape.hash, "S21", "the same events gave other answers");
        Ok(())
    };
    same().map_err(|violation| Failure { events: world.events.len(), violation })?;
    Ok(first.totals)
}

/// Runs the world that any bytes spell, cut at 400 events: what the fuzzer asks (`fuzz/targets/queue.rs`), and
/// `tests/core.rs` of what it has kept.
pub fn run_spelled<C: Core>(bytes: &[u8]) -> Result<Totals, Failure> {
    run::<C>(&spelled(bytes, 400))
}

/// Runs a world and checks only what the core does, not what it says of itself.
pub fn watch<C: Core>(world: &Scenario) -> Result<(), Failure> {
    play(&mut Driver::<C>::new(world, Tape::default(), false), world)
}

/// The lines of a world's tape, without checks.
pub fn record<C: Core>(world: &Scenario) -> Vec<String> {
    let mut driver = Driver::<C>::new(world, Tape::kept(), false);
    // What went wrong is for the checks to say; a tape ends there.
    let _ = play(&mut driver, world);
    driver.tape.lines.unwrap_or_default()
}

fn play<C: Core>(driver: &mut Driver<C>, world: &Scenario) -> Result<(), Failure> {
    for (at, event) in world.events.iter().enumerate() {
        driver.take(event).map_err(|violation| Failure { events: at + 1, violation })?;
    }
    driver.finish().map_err(|violation| Failure { events: world.events.len(), violation })
}
