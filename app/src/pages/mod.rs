//! One page, one module.
#![expect(unreachable_pub, reason = "the component macro makes its props pub")]

pub(crate) mod breakers;
pub(crate) mod login;
pub(crate) mod not_found;
pub(crate) mod overview;
pub(crate) mod pending;
pub(crate) mod quotas;
pub(crate) mod replays;
