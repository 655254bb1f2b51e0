//! Whose protocol a call speaks, and so in whose words it is told what went wrong.

use std::time::Duration;

use super::answer::Answer;
use super::faults::Fault;
use super::judge::{Dimension, JudgeSpec, Ruling};
use super::{anthropic, openai};

/// A protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Api {
    Openai,
    Anthropic,
}

impl Api {
    /// The protocol of a path; what is nobody's door hears OpenAI.
    pub(crate) fn of(path: &str) -> Self {
        if path == "/v1/messages" { Self::Anthropic } else { Self::Openai }
    }

    pub(crate) fn outage(self) -> Answer {
        match self {
            Self::Openai => openai::outage(),
            Self::Anthropic => anthropic::outage(),
        }
    }

    pub(crate) fn used_up(self) -> Answer {
        match self {
            Self::Openai => openai::used_up(),
            Self::Anthropic => anthropic::used_up(),
        }
    }

    pub(crate) fn invalid(self, problem: &str) -> Answer {
        match self {
            Self::Openai => openai::invalid(problem),
            Self::Anthropic => anthropic::invalid(problem),
        }
    }

    pub(crate) fn refusal(self, spec: &JudgeSpec, dimension: Dimension, fits_in: Option<Duration>) -> Answer {
        match self {
            Self::Openai => openai::refusal(spec, dimension, fits_in),
            Self::Anthropic => anthropic::refusal(spec, dimension, fits_in),
        }
    }

    pub(crate) fn rate_headers(self, ruling: &Ruling) -> Vec<(&'static str, String)> {
        match self {
            Self::Openai => openai::rate_headers(ruling),
            Self::Anthropic => anthropic::rate_headers(ruling),
        }
    }

    pub(crate) fn fault(self, fault: Fault) -> Option<Answer> {
        match self {
            Self::Openai => openai::fault(fault),
            Self::Anthropic => anthropic::fault(fault),
        }
    }
}
