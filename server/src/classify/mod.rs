//! What an upstream's answer means: success, or a failure of one of five classes (F1).
//!
//! Pure: no I/O, no clock of its own. The same status means different things at different providers, so every judgement is
//! made under a [`Profile`]; one file in `profile/` each, its table of cases beside it. Only parsed fields decide, never
//! substrings of a body: a prompt that quotes "rate limit exceeded" is not a rate limit.
//!
//! ```text
//! no answer        -> broken(Broken)                          -> Failure
//! a whole answer   -> classify(reading, &Answer)              -> Verdict
//! passing through  -> Inspector: feed(chunk)*, finish(whole)  -> Verdict
//! ```
//!
//! Before the profile come the operator's own rules for the upstream, if there are any; both together are its [`Reading`]. The
//! gateway asks upstreams for identity; a body that comes packed all the same (gzip, deflate, br) is unpacked for the look. In
//! another coding it is judged by its status alone.

mod answer;
mod broken;
mod encoded;
mod estimate;
mod failure;
mod fields;
#[cfg(any(test, feature = "fuzzing"))]
pub mod fuzzing;
mod inspector;
mod limits;
mod profile;
mod reading;
mod reset;
mod retry_after;
mod sse;
mod status;
#[cfg(test)]
mod testing;
mod text;
mod usage;

pub use answer::{Answer, classify};
pub use app::model::upstream::Profile;
pub use broken::{Broken, broken};
pub use encoded::{is_unpacked, readable};
pub use estimate::estimate;
pub use failure::{Failure, Retryable, Verdict};
pub use inspector::{Evidence, Inspector};
pub use limits::{Counted, Limit, Limits, limits, window_ends};
pub use reading::Reading;
pub use reset::go_duration;
pub use retry_after::parse as retry_after;
pub use usage::Usage;
