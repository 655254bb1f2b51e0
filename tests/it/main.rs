//! Black-box tests: the real binary, real sockets, a real database.

mod access;
mod audit;
mod bad_input;
mod cli;
mod clients;
mod fme;
mod gateway;
mod kill;
mod permits;
mod quota;
mod records;
mod replays;
mod sources;
mod store;
mod watching;
