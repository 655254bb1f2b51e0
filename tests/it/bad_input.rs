//! Bad input of every kind: a clear error with a hint, nothing lost, no panic (the harness looks at the log for that).

mod disk;
mod requests;
mod sizes;
mod starting;
