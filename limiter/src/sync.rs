//! The atomics and the lock of what is shared between threads: the standard library's, or loom's, which tries every order in
//! which threads can meet (`RUSTFLAGS="--cfg loom"`).

#[cfg(loom)]
pub(crate) use loom::sync::{
    Mutex,
    atomic::{AtomicU32, AtomicU64, Ordering},
};
#[cfg(not(loom))]
pub(crate) use std::sync::{
    Mutex,
    atomic::{AtomicU32, AtomicU64, Ordering},
};
