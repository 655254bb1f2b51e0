//! Errors as people and programs read them: problem+json after RFC 9457.

use serde::{Deserialize, Serialize};

/// An error of the API (RFC 9457), with what happened (`detail`), what was kept (`kept`) and what to do (`hint`).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[cfg_attr(feature = "ssr", derive(schemars::JsonSchema))]
#[error("{title}: {detail}")]
pub struct Problem {
    /// A stable word for programs, e.g. `unknown-upstream`; the RFC's `type`, as a relative reference.
    #[serde(rename = "type")]
    pub kind: String,
    /// What went wrong, in a few words; the same for each problem of the kind.
    pub title: String,
    /// The HTTP status.
    pub status: u16,
    /// What happened here.
    pub detail: String,
    /// What was kept, where anything was at stake.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kept: Option<String>,
    /// What to do about it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
    /// The faulty fields, where the request had some.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub fields: Vec<super::upstream::FieldProblem>,
}

impl Problem {
    /// A problem without hint; add one with [`Problem::hint`].
    pub fn new(status: u16, kind: &str, title: &str, detail: impl Into<String>) -> Self {
        Self {
            kind: kind.to_owned(),
            title: title.to_owned(),
            status,
            detail: detail.into(),
            kept: None,
            hint: None,
            fields: Vec::new(),
        }
    }

    /// Says what to do.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Says what was kept.
    #[must_use]
    pub fn kept(mut self, kept: impl Into<String>) -> Self {
        self.kept = Some(kept.into());
        self
    }
}
