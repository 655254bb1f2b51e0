//! Keys for workers on other hosts.

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use super::ids::KeyId;

/// A key as it is listed: never the key itself, of which only a hash is kept.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "ssr", derive(schemars::JsonSchema))]
pub struct KeyView {
    /// Its id.
    pub id: KeyId,
    /// Whose it is, in an operator's words.
    pub name: String,
    /// Its last four characters, to tell keys apart.
    pub hint: String,
    /// When it was made.
    pub created_at: DateTime<Utc>,
    /// By whom.
    pub created_by: String,
    /// When it last let somebody in, to the minute.
    pub last_used_at: Option<DateTime<Utc>>,
    /// When it was revoked, and by whom.
    pub revoked: Option<(DateTime<Utc>, String)>,
}

/// `POST /keys`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "ssr", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct NewKey {
    /// Whose it is to be: 1 to 64 characters.
    pub name: String,
}

/// A key that was just made. Shown once.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "ssr", derive(schemars::JsonSchema))]
pub struct MadeKey {
    /// As it is listed from now on.
    pub key: KeyView,
    /// What workers send in `Penstock-Key`.
    pub secret: String,
}
