//! Ids as newtypes: a replay can't be asked for by a record's id.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// The text was not an id of this kind.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("not an id of this kind")]
pub struct BadId;

/// Crockford's alphabet: no letters that are mistaken for digits.
const ALPHABET: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";

fn encode(mut n: u64, prefix: &str) -> String {
    let mut out = [b'0'; 13];
    for slot in out.iter_mut().rev() {
        *slot = usize::try_from(n & 31).ok().and_then(|i| ALPHABET.get(i)).copied().unwrap_or(b'0');
        n >>= 5;
    }
    let mut text = String::with_capacity(prefix.len() + 13);
    text.push_str(prefix);
    text.extend(out.iter().map(|b| char::from(*b)));
    text
}

fn decode(text: &str, prefix: &str) -> Result<i64, BadId> {
    let digits = text.strip_prefix(prefix).ok_or(BadId)?;
    if digits.len() != 13 {
        return Err(BadId);
    }
    let mut n: u64 = 0;
    for byte in digits.bytes() {
        let digit = ALPHABET.iter().position(|a| *a == byte).and_then(|d| u64::try_from(d).ok()).ok_or(BadId)?;
        n = n.checked_mul(32).and_then(|n| n.checked_add(digit)).ok_or(BadId)?;
    }
    i64::try_from(n).map_err(|_| BadId)
}

macro_rules! id {
    ($(#[$doc:meta])* $name:ident, $prefix:literal) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(i64);

        impl $name {
            /// The id for a number from the store.
            pub const fn from_i64(n: i64) -> Self {
                Self(n)
            }

            /// The number under which the store keeps it.
            pub const fn as_i64(self) -> i64 {
                self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&encode(self.0.unsigned_abs(), $prefix))
            }
        }

        impl FromStr for $name {
            type Err = BadId;

            fn from_str(text: &str) -> Result<Self, BadId> {
                decode(text, $prefix).map(Self)
            }
        }

        #[cfg(feature = "ssr")]
        impl schemars::JsonSchema for $name {
            fn schema_name() -> std::borrow::Cow<'static, str> {
                stringify!($name).into()
            }

            fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
                schemars::json_schema!({ "type": "string", "pattern": concat!("^", $prefix, "[0-9a-hjkmnp-tv-z]{13}$") })
            }
        }

        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
                to.collect_str(self)
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
                String::deserialize(from)?.parse().map_err(serde::de::Error::custom)
            }
        }
    };
}

id!(
    /// One piece of work that must not be lost. Ordered by arrival; written `r` and 13 letters and digits.
    RecordId,
    "r"
);
id!(
    /// One bulk replay. Written `p` and 13 letters and digits.
    ReplayId,
    "p"
);
id!(
    /// One key of a worker on another host. Written `k` and 13 letters and digits.
    KeyId,
    "k"
);
id!(
    /// One permit of a caller that sends by itself. Written `l`, since it is a lease, and 13 letters and digits.
    PermitId,
    "l"
);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_survives_being_written_and_read() {
        for n in [0, 1, 31, 32, 1_764_489_600_000 << 20, i64::MAX] {
            let id = RecordId::from_i64(n);
            assert_eq!(id.to_string().parse(), Ok(id));
        }
    }

    #[test]
    fn a_replay_is_not_asked_for_by_a_records_id() {
        assert_eq!(RecordId::from_i64(7).to_string().parse::<ReplayId>(), Err(BadId));
        assert_eq!("r123".parse::<RecordId>(), Err(BadId));
        assert_eq!("rzzzzzzzzzzzzz".parse::<RecordId>(), Err(BadId));
    }
}
