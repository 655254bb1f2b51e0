//! Anthropic's Messages API, as far as its clients look.

mod errors;
mod messages;

pub(crate) use errors::{fault, invalid, outage, rate_headers, refusal, used_up};
pub(crate) use messages::{message, read};
