//! The data that crosses the wire: what the API answers and takes, the same in the server, the console and any client.

pub mod audit;
pub mod breaker;
pub mod engines;
pub mod failure;
pub mod ids;
pub mod judgement;
pub mod keys;
pub mod overview;
pub mod pending;
pub mod permit;
pub mod problem;
pub mod record;
pub mod replay;
pub mod retries;
pub mod series;
pub mod sources;
pub mod upstream;

pub use audit::{Action, AuditChange, AuditEntry, AuditPage, AuditQuery, Via};
pub use breaker::{Breaker, BreakerCause, BreakerState, Forced, TripRequest};
pub use engines::{EngineReport, EngineShare, EngineView};
pub use failure::{Disposition, ErrorClass, Suggestion};
pub use ids::{KeyId, PermitId, RecordId, ReplayId};
pub use judgement::{Again, CountedUnit, JudgedFailure, Judgement, ToldLimit, TriedAnswer};
pub use keys::{KeyView, MadeKey, NewKey};
pub use overview::{AlertKind, AlertView, Overview, Revisions, UpstreamNow, Verdict};
pub use pending::{
    BulkAction, BulkOutcome, BulkRequest, Count, Cursor, Facet, PendingChange, PendingDetail, PendingFilter,
    PendingItem, PendingPage, PendingQuery,
};
pub use permit::{PermitAsked, PermitGranted, PermitSettled, PermitState};
pub use problem::Problem;
pub use record::{Attempt, AttemptAnswer, BrokenHow, RecordState, RecordView, Then, ThenWhat, ThenWhy};
pub use replay::{Replay, ReplayPreview, ReplayRequest, ReplayState};
pub use retries::RetryStat;
pub use series::{Mark, Point, Range, Series, SeriesQuery};
pub use sources::{
    Ingested, IngestedRecord, LineProblem, MetricSample, RequestTemplate, SourceOpen, SourcePut, SourceView, Sources,
    StreamView,
};
pub use upstream::{FieldProblem, TestAnswer, UpstreamConfig, UpstreamPut, UpstreamVersion, UpstreamView};
