//! See `penstock::classify::fuzzing::request`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| penstock::classify::fuzzing::request(data));
