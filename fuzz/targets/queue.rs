//! Any bytes spell a world of the simulation, and its books must agree with the queue after every event.
#![no_main]

use redrive::queue::Queue;
use sim::run::run_spelled;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    if let Err(failure) = run_spelled::<Queue>(bytes) {
        panic!("{failure:?}");
    }
});
