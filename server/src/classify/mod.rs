//! What an upstream's answer means: success, or a failure of one of five classes (F1).
//!
//! Pure: no I/O, no clock of its own. The same status means different things at different providers, so every judgement is
//! made under a [`Profile`]; one file in `profile/` each, its table of cases beside it. Only parsed fields decide, never
//! substrings of a body: a prompt that quotes "rate limit exceeded" is not a rate limit.
//!
//! ```text
//! no answer        -> broken(Broken)                          -> Failure
//! a whole answer   -> classify(profile, &Answer)              -> Verdict
//! passing through  -> Inspector: feed(chunk)*, finish(whole)  -> Verdict
//! ```
//!
//! An answer with a `Content-Encoding` can't be read here and is judged by its status alone: the gateway asks upstreams for
//! identity.

mod answer;
mod broken;
mod estimate;
mod failure;
mod fields;
mod inspector;
mod limits;
mod profile;
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
pub use estimate::estimate;
pub use failure::{Failure, Retryable, Verdict};
pub use inspector::Inspector;
pub use limits::{Counted, Limit, Limits, limits};
pub use reset::go_duration;
pub use retry_after::parse as retry_after;
pub use usage::Usage;
