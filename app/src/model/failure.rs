//! The words for failures: five classes (F1), suggestions and dispositions (F7).

use serde::{Deserialize, Serialize};

macro_rules! words {
    ($(#[$doc:meta])* $name:ident { $($(#[$vdoc:meta])* $variant:ident = $word:literal),+ $(,)? }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[cfg_attr(feature = "ssr", derive(schemars::JsonSchema))]
        #[serde(rename_all = "snake_case")]
        pub enum $name { $($(#[$vdoc])* $variant),+ }

        impl $name {
            /// All of them, in the order in which people read them.
            pub const ALL: &'static [Self] = &[$(Self::$variant),+];

            /// The word in the API, the store and the metrics.
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $word),+ }
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.as_str())
            }
        }

        impl std::str::FromStr for $name {
            type Err = crate::model::failure::UnknownWord;

            fn from_str(word: &str) -> Result<Self, Self::Err> {
                Self::ALL.iter().copied().find(|v| v.as_str() == word).ok_or(crate::model::failure::UnknownWord)
            }
        }
    };
}
pub(crate) use words;

/// The text is none of the words of this kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("none of the known words")]
pub struct UnknownWord;

words!(
    /// Why a call failed (F1). Decides between retrying and asking a person.
    ErrorClass {
        /// The upstream said "not now": the quota is used up.
        RateLimited = "rate_limited",
        /// No answer in time; whether the work was done is unknown if the request was sent.
        Timeout = "timeout",
        /// The upstream or the way to it is broken: 5xx, DNS, connect, TLS.
        ServerError = "server_error",
        /// The upstream's policy refused the content. The same content is refused again.
        ContentViolation = "content_violation",
        /// The request or its credentials are wrong. The same request fails again.
        ClientError = "client_error",
    }
);

words!(
    /// What a person will most likely want to do with a pending record (F7).
    Suggestion {
        /// The cause passes by itself.
        Wait = "wait",
        /// The cause is over, or was of the moment: send it again.
        Replay = "replay",
        /// The payload must change first.
        Edit = "edit",
        /// Key or account are refused.
        FixCredentials = "fix_credentials",
        /// Nothing will make it succeed.
        Discard = "discard",
    }
);

words!(
    /// Where a pending record stands with the people who decide (F7).
    Disposition {
        /// Nobody has decided yet.
        Open = "open",
        /// Put off until a time.
        Snoozed = "snoozed",
        /// A replay has it.
        Replaying = "replaying",
        /// A replay succeeded; its result is written back.
        Resolved = "resolved",
        /// A person gave it up. It can be reopened.
        Discarded = "discarded",
    }
);
