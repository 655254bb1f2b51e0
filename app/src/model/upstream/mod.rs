//! An upstream's configuration: the same shape in TOML at start and as JSON in `PUT /upstreams/{name}`.
//!
//! All but `base_url` and one quota have defaults. Unknown keys are errors: a misspelt limit must not become no limit.
//! What later versions add (`algorithm`, `mode`, `workloads`, `shares`, `requests_per_day`, …) is unknown here and refused too.

mod actions;
mod check;
mod choices;
mod config;
mod presets;
mod rules;
mod views;

pub use actions::Actions;
pub use check::{FieldProblem, name_is_good};
pub use choices::{Action, BackoffKind, Cancel, Idempotency, JitterKind, Kind, Managed, OnUnknown, Preset, Profile};
pub use config::{Auth, Ban, BreakerConfig, Burst, MinSamples, Quota, Retry, Target, Timeouts, UpstreamConfig};
pub use presets::PresetNumbers;
pub use rules::{AnswerRule, MOST_RULES};
pub use views::{TestAnswer, UpstreamPut, UpstreamVersion, UpstreamView};
