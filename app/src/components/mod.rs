//! The console's own components. Small, without state where that is possible, and readable without JavaScript.
#![expect(unreachable_pub, reason = "the component macro makes its props pub")]

pub(crate) mod actions;
pub(crate) mod band;
pub(crate) mod chart;
pub(crate) mod connect;
pub(crate) mod copy;
pub(crate) mod dialog;
pub(crate) mod failures;
pub(crate) mod frame;
pub(crate) mod header;
pub(crate) mod icons;
pub(crate) mod lane;
pub(crate) mod notice;
pub(crate) mod plot;
pub(crate) mod progress;
pub(crate) mod spark;
pub(crate) mod state;
pub(crate) mod teach;
pub(crate) mod time;
