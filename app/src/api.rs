//! What a page, a command or anybody else may ask for and do. Every operator's action exists once, here.
//!
//! In the server the implementation itself answers; in the browser a client of the public `/api/v1` does. Both are
//! found in Leptos' context as [`SharedApi`].

use std::sync::Arc;

use async_trait::async_trait;

use crate::model::{
    AuditPage, AuditQuery, Breaker, BulkOutcome, BulkRequest, EngineView, Judgement, KeyId, KeyView, MadeKey, NewKey,
    Overview, PendingChange, PendingDetail, PendingPage, PendingQuery, Problem, RecordId, Replay, ReplayId,
    ReplayPreview, ReplayRequest, RetryStat, Series, SeriesQuery, SourcePut, Sources, TestAnswer, TriedAnswer,
    TripRequest, UpstreamPut, UpstreamVersion, UpstreamView,
};

/// The operator's API.
#[async_trait]
pub trait Api: Send + Sync + 'static {
    /// The first screen.
    async fn overview(&self) -> Result<Overview, Problem>;
    /// Who changed what, newest first.
    async fn audit(&self, query: AuditQuery) -> Result<AuditPage, Problem>;
    /// Who called or reported within the hour.
    async fn engines(&self) -> Result<Vec<EngineView>, Problem>;

    /// Who reports, what, and how late.
    async fn sources(&self) -> Result<Sources, Problem>;
    /// Sets how a source's records are sent, and where their outcomes are told.
    async fn put_source(&self, name: String, put: SourcePut) -> Result<(), Problem>;

    /// Keys for workers on other hosts, those in force first.
    async fn keys(&self) -> Result<Vec<KeyView>, Problem>;
    /// Makes one; the only answer that holds it.
    async fn make_key(&self, new: NewKey) -> Result<MadeKey, Problem>;
    /// Takes one out of force, at once.
    async fn revoke_key(&self, id: KeyId) -> Result<(), Problem>;

    /// A chart's data.
    async fn series(&self, query: SeriesQuery) -> Result<Series, Problem>;

    /// A page of pending records with counts.
    async fn pending(&self, query: PendingQuery) -> Result<PendingPage, Problem>;
    /// One pending record, whole.
    async fn pending_detail(&self, id: RecordId) -> Result<PendingDetail, Problem>;
    /// Decides about one record.
    async fn change_pending(&self, id: RecordId, change: PendingChange) -> Result<PendingDetail, Problem>;
    /// Decides about all that match.
    async fn bulk_pending(&self, request: BulkRequest) -> Result<BulkOutcome, Problem>;

    /// Replays, newest first; at most a hundred.
    async fn replays(&self) -> Result<Vec<Replay>, Problem>;
    /// What a replay would do.
    async fn preview_replay(&self, request: ReplayRequest) -> Result<ReplayPreview, Problem>;
    /// Starts it.
    async fn start_replay(&self, request: ReplayRequest) -> Result<Replay, Problem>;
    /// Holds it.
    async fn pause_replay(&self, id: ReplayId) -> Result<Replay, Problem>;
    /// Lets it go on.
    async fn resume_replay(&self, id: ReplayId) -> Result<Replay, Problem>;
    /// Stops it; what was not sent is open again.
    async fn cancel_replay(&self, id: ReplayId) -> Result<Replay, Problem>;

    /// All breakers.
    async fn breakers(&self) -> Result<Vec<Breaker>, Problem>;
    /// Holds an upstream's calls back until a time.
    async fn trip_breaker(&self, id: String, request: TripRequest) -> Result<Breaker, Problem>;
    /// Closes it, and takes back whatever was set by hand.
    async fn reset_breaker(&self, id: String) -> Result<Breaker, Problem>;
    /// Switches it off.
    async fn disable_breaker(&self, id: String) -> Result<Breaker, Problem>;
    /// Lets it count, but not hold back.
    async fn breaker_metrics_only(&self, id: String) -> Result<Breaker, Problem>;

    /// All upstreams.
    async fn upstreams(&self) -> Result<Vec<UpstreamView>, Problem>;
    /// One upstream.
    async fn upstream(&self, name: String) -> Result<UpstreamView, Problem>;
    /// Makes or changes one.
    async fn put_upstream(&self, name: String, put: UpstreamPut) -> Result<UpstreamView, Problem>;
    /// Removes one; refused while records wait for it.
    async fn delete_upstream(&self, name: String) -> Result<(), Problem>;
    /// Its versions, newest first.
    async fn upstream_versions(&self, name: String) -> Result<Vec<UpstreamVersion>, Problem>;
    /// What its retries brought in the last seven days (F10).
    async fn retries(&self, name: String) -> Result<Vec<RetryStat>, Problem>;
    /// One real call to it.
    async fn test_upstream(&self, name: String) -> Result<TestAnswer, Problem>;
    /// How an answer would be classified, and why. Nothing is sent, nothing counts.
    async fn classify_answer(&self, name: String, tried: TriedAnswer) -> Result<Judgement, Problem>;
}

/// The API as it stands in Leptos' context.
pub type SharedApi = Arc<dyn Api>;
