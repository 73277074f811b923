//! What one step of an agenda costs with a thousand entries in it, and with a million.
//!
//! A step is what a failed attempt makes the core do: see when something is due, take out what
//! is, put it back at a later time. In the second half of the table one step in two also takes
//! out an entry that was not due and puts it back, as cancel, flush and settle do. Both
//! contestants get the same dice. In the first half they must take out at the same times, or the
//! run fails; in the second, equal times in another order lead to other entries.

mod heap;

use std::time::Instant;

use heap::Heap;
use redrive::agenda::Agenda;
use redrive::rng::SplitMix64;
use redrive::time::Millis;

const STEPS: u32 = 1_000_000;
const ROUNDS: usize = 5;
/// The longest wait that the default policy's curve gives.
const LONGEST_MS: u64 = 30_000;

trait Contestant: Default {
    fn push(&mut self, index: u32, due: u64);
    fn remove(&mut self, index: u32) -> bool;
    fn next_at(&mut self) -> u64;
    fn pop(&mut self, now: u64) -> Option<u32>;
}

impl Contestant for Agenda {
    fn push(&mut self, index: u32, due: u64) {
        Agenda::push(self, index, Millis::new(due));
    }
    fn remove(&mut self, index: u32) -> bool {
        Agenda::remove(self, index)
    }
    fn next_at(&mut self) -> u64 {
        Agenda::next_at(self).get()
    }
    fn pop(&mut self, now: u64) -> Option<u32> {
        Agenda::pop(self, Millis::new(now))
    }
}

impl Contestant for Heap {
    fn push(&mut self, index: u32, due: u64) {
        Heap::push(self, index, due);
    }
    fn remove(&mut self, index: u32) -> bool {
        Heap::remove(self, index)
    }
    fn next_at(&mut self) -> u64 {
        Heap::next_at(self)
    }
    fn pop(&mut self, now: u64) -> Option<u32> {
        Heap::pop(self, now)
    }
}

/// Nanoseconds a step, and the sum of all times at which something was taken out.
fn run<C: Contestant>(entries: u32, also_removes: bool) -> (f64, u64) {
    let mut dice = SplitMix64::new(1);
    let mut contestant = C::default();
    let mut now = 1_790_000_000_000;
    for index in 0..entries {
        contestant.push(index, now + dice.next_u64() % LONGEST_MS);
    }
    let mut sum = 0_u64;
    let started = Instant::now();
    for step in 0..STEPS {
        let index = loop {
            if let Some(index) = contestant.pop(now) {
                break index;
            }
            now = now.max(contestant.next_at());
        };
        sum = sum.wrapping_add(now);
        contestant.push(index, now + 1 + dice.next_u64() % LONGEST_MS);
        if also_removes && step % 2 == 0 {
            let other = dice.next_u64() % u64::from(entries);
            contestant.remove(other as u32);
            contestant.push(other as u32, now + 1 + dice.next_u64() % LONGEST_MS);
        }
    }
    (started.elapsed().as_nanos() as f64 / f64::from(STEPS), sum)
}

fn median(mut figures: Vec<f64>) -> f64 {
    figures.sort_by(f64::total_cmp);
    figures[figures.len() / 2]
}

fn main() {
    println!("ns per step, medians of {ROUNDS}, waits of up to {LONGEST_MS} ms\n");
    println!("{:>10}  {:>8}  {:>10}", "entries", "wheel", "4-ary heap");
    for also_removes in [false, true] {
        println!("{}", if also_removes { "and one removal in two steps" } else { "taken out when due" });
        for entries in [1_000, 10_000, 100_000, 1_000_000] {
            let (mut wheel, mut heap) = (Vec::new(), Vec::new());
            for _ in 0..ROUNDS {
                let (ours, our_sum) = run::<Agenda>(entries, also_removes);
                let (theirs, their_sum) = run::<Heap>(entries, also_removes);
                assert!(also_removes || our_sum == their_sum, "they took out different times");
                wheel.push(ours);
                heap.push(theirs);
            }
            println!("{entries:>10}  {:>8.0}  {:>10.0}", median(wheel), median(heap));
        }
    }
}
