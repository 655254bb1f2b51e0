//! All text of the console, in catalogues. Each page's text is a struct with one constant a language, so that the
//! compiler proves that both languages are whole.
#![expect(missing_docs, reason = "a field of a catalogue is its own English text")]

#[cfg(any(feature = "ssr", feature = "desk"))]
mod audit;
mod breakers;
mod common;
mod connect;
mod engines;
mod format;
mod overview;
#[cfg(any(feature = "ssr", feature = "desk"))]
mod pending;
mod problems;
#[cfg(any(feature = "ssr", feature = "desk"))]
mod quotas;
#[cfg(any(feature = "ssr", feature = "desk"))]
mod replays;
#[cfg(any(feature = "ssr", feature = "desk"))]
mod sources;
mod words;

#[cfg(any(feature = "ssr", feature = "desk"))]
pub use audit::AuditText;
pub use breakers::BreakersText;
pub use common::CommonText;
pub use connect::ConnectText;
pub use engines::EnginesText;
pub use format::{Moment, age_s, whole};
pub use overview::OverviewText;
#[cfg(any(feature = "ssr", feature = "desk"))]
pub use pending::{AttemptsText, DecideText, DetailText, PendingText};
pub use problems::ProblemsText;
#[cfg(any(feature = "ssr", feature = "desk"))]
pub use quotas::{DriftText, FieldsText, QuotasText, RetriesText, RulesText, TryText};
#[cfg(any(feature = "ssr", feature = "desk"))]
pub use replays::ReplaysText;
#[cfg(any(feature = "ssr", feature = "desk"))]
pub use sources::SourcesText;
pub use words::Words;

use crate::prefs::Lang;

/// A language: whole in the server, without the desk's pages in a module that has none of them.
#[derive(Debug)]
pub struct Catalogue {
    /// Which.
    pub lang: Lang,
    /// What all pages share.
    pub common: CommonText,
    /// The words for states, classes and causes.
    pub words: Words,
    /// The server's problems.
    pub problems: ProblemsText,
    /// How a worker is connected.
    pub connect: ConnectText,
    /// The first screen.
    pub overview: OverviewText,
    /// Pending.
    #[cfg(any(feature = "ssr", feature = "desk"))]
    pub pending: PendingText,
    /// Replays.
    #[cfg(any(feature = "ssr", feature = "desk"))]
    pub replays: ReplaysText,
    /// Breakers.
    pub breakers: BreakersText,
    /// Quotas.
    #[cfg(any(feature = "ssr", feature = "desk"))]
    pub quotas: QuotasText,
    /// Sources.
    #[cfg(any(feature = "ssr", feature = "desk"))]
    pub sources: SourcesText,
    /// Engines.
    pub engines: EnginesText,
    /// Audit.
    #[cfg(any(feature = "ssr", feature = "desk"))]
    pub audit: AuditText,
}

static EN: Catalogue = Catalogue {
    lang: Lang::En,
    common: common::EN,
    words: words::EN,
    problems: problems::EN,
    connect: connect::EN,
    overview: overview::EN,
    #[cfg(any(feature = "ssr", feature = "desk"))]
    pending: pending::EN,
    #[cfg(any(feature = "ssr", feature = "desk"))]
    replays: replays::EN,
    breakers: breakers::EN,
    #[cfg(any(feature = "ssr", feature = "desk"))]
    quotas: quotas::EN,
    #[cfg(any(feature = "ssr", feature = "desk"))]
    sources: sources::EN,
    engines: engines::EN,
    #[cfg(any(feature = "ssr", feature = "desk"))]
    audit: audit::EN,
};

static ZH: Catalogue = Catalogue {
    lang: Lang::Zh,
    common: common::ZH,
    words: words::ZH,
    problems: problems::ZH,
    connect: connect::ZH,
    overview: overview::ZH,
    #[cfg(any(feature = "ssr", feature = "desk"))]
    pending: pending::ZH,
    #[cfg(any(feature = "ssr", feature = "desk"))]
    replays: replays::ZH,
    breakers: breakers::ZH,
    #[cfg(any(feature = "ssr", feature = "desk"))]
    quotas: quotas::ZH,
    #[cfg(any(feature = "ssr", feature = "desk"))]
    sources: sources::ZH,
    engines: engines::ZH,
    #[cfg(any(feature = "ssr", feature = "desk"))]
    audit: audit::ZH,
};

/// The catalogue of a language. A page's language never changes while it lives: choosing another loads it anew.
pub const fn catalogue(lang: Lang) -> &'static Catalogue {
    match lang {
        Lang::En => &EN,
        Lang::Zh => &ZH,
    }
}

/// The catalogue of this page.
#[cfg(any(feature = "ssr", feature = "hydrate"))]
pub fn use_text() -> &'static Catalogue {
    catalogue(leptos::prelude::use_context::<crate::prefs::Prefs>().unwrap_or_default().lang)
}
