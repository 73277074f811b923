//! Worlds as the calls they make and the answers they get: what the built wasm must answer byte for byte (S21).

use redrive::queue::Queue;

use crate::run::record;
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
