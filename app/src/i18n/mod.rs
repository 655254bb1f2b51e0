//! All text of the console, in catalogues. Each page's text is a struct with one constant a language, so that the
//! compiler proves that both languages are whole.
#![expect(missing_docs, reason = "a field of a catalogue is its own English text")]

mod audit;
mod breakers;
mod common;
mod connect;
mod engines;
mod format;
mod overview;
mod pending;
mod problems;
mod quotas;
mod replays;
mod sources;
mod words;

pub use audit::AuditText;
pub use breakers::BreakersText;
pub use common::CommonText;
pub use connect::ConnectText;
pub use engines::EnginesText;
pub use format::{Moment, age_s, whole};
pub use overview::OverviewText;
pub use pending::{DecideText, DetailText, PendingText};
pub use problems::ProblemsText;
pub use quotas::{FieldsText, QuotasText, RetriesText};
pub use replays::ReplaysText;
pub use sources::SourcesText;
pub use words::Words;

use crate::prefs::Lang;

/// A language, whole.
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
    pub pending: PendingText,
    /// Replays.
    pub replays: ReplaysText,
    /// Breakers.
    pub breakers: BreakersText,
    /// Quotas.
    pub quotas: QuotasText,
    /// Engines.
    pub sources: SourcesText,
    pub engines: EnginesText,
    /// Audit.
    pub audit: AuditText,
}

static EN: Catalogue = Catalogue {
    lang: Lang::En,
    common: common::EN,
    words: words::EN,
    problems: problems::EN,
    connect: connect::EN,
    overview: overview::EN,
    pending: pending::EN,
    replays: replays::EN,
    breakers: breakers::EN,
    quotas: quotas::EN,
    sources: sources::EN,
    engines: engines::EN,
    audit: audit::EN,
};

static ZH: Catalogue = Catalogue {
    lang: Lang::Zh,
    common: common::ZH,
    words: words::ZH,
    problems: problems::ZH,
    connect: connect::ZH,
    overview: overview::ZH,
    pending: pending::ZH,
    replays: replays::ZH,
    breakers: breakers::ZH,
    quotas: quotas::ZH,
    sources: sources::ZH,
    engines: engines::ZH,
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
