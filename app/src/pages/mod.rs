//! One page, one module.
#![expect(unreachable_pub, reason = "the component macro makes its props pub")]

#[cfg(any(feature = "ssr", feature = "desk"))]
pub(crate) mod audit;
#[cfg(any(feature = "ssr", feature = "watch"))]
pub(crate) mod breakers;
#[cfg(any(feature = "ssr", feature = "desk"))]
pub(crate) mod engines;
#[cfg(any(feature = "ssr", feature = "watch"))]
pub(crate) mod login;
pub(crate) mod not_found;
#[cfg(any(feature = "ssr", feature = "watch"))]
pub(crate) mod overview;
#[cfg(any(feature = "ssr", feature = "desk"))]
pub(crate) mod pending;
#[cfg(any(feature = "ssr", feature = "desk"))]
pub(crate) mod quotas;
#[cfg(any(feature = "ssr", feature = "desk"))]
pub(crate) mod replays;
#[cfg(any(feature = "ssr", feature = "desk"))]
pub(crate) mod sources;
