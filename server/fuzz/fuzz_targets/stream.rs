//! See `penstock::classify::fuzzing::stream`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| penstock::classify::fuzzing::stream(data));
