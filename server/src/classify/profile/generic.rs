//! Plain HTTP: status and Retry-After decide. What an answer says is shown, and its usage read, but never judged.

#[cfg(test)]
mod cases;

use super::{
    super::{fields, sse::Event, usage},
    Rules, Seen,
};

/// The rules of [`Profile::Generic`](super::Profile::Generic).
pub(super) struct Generic;

impl Rules for Generic {
    fn event(&self, event: &Event<'_>, seen: &mut Seen) {
        seen.anything = true;
        seen.delta = true;
        if let Some(json) = event.data.map(fields::read).as_ref().and_then(fields::Parsed::json) {
            seen.usage = usage::find(json).or(seen.usage);
        }
    }

    /// A quarter of the body's length.
    fn estimate(&self, body: &[u8]) -> u64 {
        (body.len() as u64).div_ceil(4).max(1)
    }
}
