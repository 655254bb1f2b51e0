//! See `penstock::classify::fuzzing::head`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| penstock::classify::fuzzing::head(data));
