//! What goes wrong for a while: switched on and off at run time, by handle or over HTTP.

use std::sync::{Arc, Mutex};

use serde::{Deserialize, Serialize};

use crate::lock::locked;

/// A handle on an upstream's episodes. Clones share one state; each switch takes effect with the next arrival.
#[derive(Debug, Clone, Default)]
pub struct Episodes {
    state: Arc<Mutex<EpisodeState>>,
}

/// Which episodes are on.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EpisodeState {
    /// 503 to everything, before the judge; 529 at Anthropic's door.
    pub outage: bool,
    /// 429 with type and code `insufficient_quota` to everything, before the judge; at Anthropic's door 400.
    pub insufficient_quota: bool,
    /// Every latency is multiplied with this; 1 is normal.
    pub slow: f64,
}

/// A change: what is absent stays as it is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct EpisodeChange {
    /// See [`EpisodeState::outage`].
    pub outage: Option<bool>,
    /// See [`EpisodeState::insufficient_quota`].
    pub insufficient_quota: Option<bool>,
    /// See [`EpisodeState::slow`]; negative or not a number counts as 1.
    pub slow: Option<f64>,
}

impl Default for EpisodeState {
    fn default() -> Self {
        Self { outage: false, insufficient_quota: false, slow: 1.0 }
    }
}

impl Episodes {
    /// What is on now.
    pub fn state(&self) -> EpisodeState {
        *locked(&self.state)
    }

    /// Applies a change and returns what is on after it.
    pub fn change(&self, change: EpisodeChange) -> EpisodeState {
        let mut state = locked(&self.state);
        state.outage = change.outage.unwrap_or(state.outage);
        state.insufficient_quota = change.insufficient_quota.unwrap_or(state.insufficient_quota);
        if let Some(slow) = change.slow {
            state.slow = if slow.is_finite() && slow >= 0.0 { slow } else { 1.0 };
        }
        *state
    }

    /// Begins or ends an outage.
    pub fn set_outage(&self, on: bool) {
        self.change(EpisodeChange { outage: Some(on), ..EpisodeChange::default() });
    }

    /// Begins or ends an episode of `insufficient_quota`.
    pub fn set_insufficient_quota(&self, on: bool) {
        self.change(EpisodeChange { insufficient_quota: Some(on), ..EpisodeChange::default() });
    }

    /// Multiplies every latency; 1 ends the episode.
    pub fn set_slow(&self, factor: f64) {
        self.change(EpisodeChange { slow: Some(factor), ..EpisodeChange::default() });
    }
}
