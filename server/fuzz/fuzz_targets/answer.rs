//! See `penstock::classify::fuzzing::answer`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| penstock::classify::fuzzing::answer(data));
