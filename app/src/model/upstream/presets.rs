//! The numbers behind the presets (F3), for the policy that uses them and the form that shows them.

use super::choices::Preset;

/// A preset's numbers.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PresetNumbers {
    /// The whole call, in seconds.
    pub request_s: f64,
    /// The first wait, in seconds.
    pub base_s: f64,
    /// The first wait after `rate_limited`, as a multiple of the base.
    pub limited: u32,
    /// The longest wait, in seconds.
    pub cap_s: f64,
    /// Retries after the first call.
    pub max_retries: u32,
    /// Seconds from the first attempt after which none starts.
    pub budget_s: f64,
}

impl Preset {
    /// The connection, TLS included, in seconds; the same for all presets.
    pub const CONNECT_S: f64 = 5.0;
    /// Longest deferral of batch work, in seconds; the same for all presets.
    pub const DEFER_MAX_S: f64 = 24.0 * 60.0 * 60.0;

    /// Its numbers.
    pub const fn numbers(self) -> PresetNumbers {
        match self {
            Self::Webhook => {
                PresetNumbers { request_s: 8.0, base_s: 1.0, limited: 2, cap_s: 30.0, max_retries: 3, budget_s: 90.0 }
            }
            Self::Tiles => {
                PresetNumbers { request_s: 30.0, base_s: 0.5, limited: 1, cap_s: 60.0, max_retries: 6, budget_s: 300.0 }
            }
        }
    }
}
