#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| redrive_fuzz::queue::check(bytes));
