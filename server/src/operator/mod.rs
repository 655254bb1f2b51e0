//! What operators may ask for and do: the implementation of [`app::api::Api`], once, for pages, API and commands alike.

use std::sync::Arc;

use app::{
    api::Api,
    model::{
        Action, AuditPage, AuditQuery, Breaker, BulkOutcome, BulkRequest, EngineView, Judgement, KeyId, KeyView,
        MadeKey, NewKey, Overview, PendingChange, PendingDetail, PendingPage, PendingQuery, Problem, RecordId, Replay,
        ReplayId, ReplayPreview, ReplayRequest, RetryStat, Series, SeriesQuery, SourcePut, Sources, TestAnswer,
        TriedAnswer, TripRequest, UpstreamPut, UpstreamVersion, UpstreamView, Via,
    },
};
use async_trait::async_trait;

use crate::{state::App, store::audit::Deed};

mod answers;
mod audit;
pub mod breakers;
pub mod engines;
mod keys;
pub mod overview;
mod pending;
pub mod records;
mod replays;
mod retries;
mod series;
mod sources;
pub mod upstreams;

/// Somebody who may steer the program.
#[derive(Clone)]
pub struct Operator {
    app: Arc<App>,
    actor: Actor,
}

/// Who acts, and through which door; written beside what they change.
#[derive(Debug, Clone)]
pub struct Actor {
    /// By name.
    pub who: String,
    /// The door.
    pub via: Via,
}

impl Actor {
    /// What they are about to do, for the audit.
    fn does(&self, action: Action, subject: impl Into<String>) -> Deed {
        Deed::new(self.who.clone(), self.via, action, subject)
    }
}

impl Operator {
    /// Somebody who acts through a door.
    pub fn new(app: Arc<App>, who: impl Into<String>, via: Via) -> Self {
        Self { app, actor: Actor { who: who.into(), via } }
    }
}

#[async_trait]
impl Api for Operator {
    async fn overview(&self) -> Result<Overview, Problem> {
        overview::read(&self.app).await
    }

    async fn audit(&self, query: AuditQuery) -> Result<AuditPage, Problem> {
        audit::page(&self.app, query).await
    }

    async fn engines(&self) -> Result<Vec<EngineView>, Problem> {
        Ok(engines::list(&self.app))
    }

    async fn sources(&self) -> Result<Sources, Problem> {
        sources::list(&self.app).await
    }

    async fn put_source(&self, name: String, put: SourcePut) -> Result<(), Problem> {
        sources::put(&self.app, name, put, &self.actor).await
    }

    async fn keys(&self) -> Result<Vec<KeyView>, Problem> {
        keys::list(&self.app).await
    }

    async fn make_key(&self, new: NewKey) -> Result<MadeKey, Problem> {
        keys::make(&self.app, new, &self.actor).await
    }

    async fn revoke_key(&self, id: KeyId) -> Result<(), Problem> {
        keys::revoke(&self.app, id, &self.actor).await
    }

    async fn series(&self, query: SeriesQuery) -> Result<Series, Problem> {
        series::read(&self.app, query).await
    }

    async fn pending(&self, query: PendingQuery) -> Result<PendingPage, Problem> {
        pending::page(&self.app, query).await
    }

    async fn pending_detail(&self, id: RecordId) -> Result<PendingDetail, Problem> {
        pending::detail(&self.app, id).await
    }

    async fn change_pending(&self, id: RecordId, change: PendingChange) -> Result<PendingDetail, Problem> {
        pending::change(&self.app, id, change, &self.actor).await
    }

    async fn bulk_pending(&self, request: BulkRequest) -> Result<BulkOutcome, Problem> {
        pending::bulk(&self.app, request, &self.actor).await
    }

    async fn replays(&self) -> Result<Vec<Replay>, Problem> {
        replays::list(&self.app).await
    }

    async fn preview_replay(&self, request: ReplayRequest) -> Result<ReplayPreview, Problem> {
        replays::preview(&self.app, request).await
    }

    async fn start_replay(&self, request: ReplayRequest) -> Result<Replay, Problem> {
        replays::start(&self.app, request, &self.actor).await
    }

    async fn pause_replay(&self, id: ReplayId) -> Result<Replay, Problem> {
        replays::pause(&self.app, id, &self.actor).await
    }

    async fn resume_replay(&self, id: ReplayId) -> Result<Replay, Problem> {
        replays::resume(&self.app, id, &self.actor).await
    }

    async fn cancel_replay(&self, id: ReplayId) -> Result<Replay, Problem> {
        replays::cancel(&self.app, id, &self.actor).await
    }

    async fn breakers(&self) -> Result<Vec<Breaker>, Problem> {
        breakers::list(&self.app).await
    }

    async fn trip_breaker(&self, id: String, request: TripRequest) -> Result<Breaker, Problem> {
        breakers::trip(&self.app, &id, request, &self.actor).await
    }

    async fn reset_breaker(&self, id: String) -> Result<Breaker, Problem> {
        breakers::reset(&self.app, &id, &self.actor).await
    }

    async fn disable_breaker(&self, id: String) -> Result<Breaker, Problem> {
        breakers::disable(&self.app, &id, &self.actor).await
    }

    async fn breaker_metrics_only(&self, id: String) -> Result<Breaker, Problem> {
        breakers::metrics_only(&self.app, &id, &self.actor).await
    }

    async fn upstreams(&self) -> Result<Vec<UpstreamView>, Problem> {
        Ok(upstreams::list(&self.app))
    }

    async fn upstream(&self, name: String) -> Result<UpstreamView, Problem> {
        upstreams::one(&self.app, &name)
    }

    async fn put_upstream(&self, name: String, put: UpstreamPut) -> Result<UpstreamView, Problem> {
        upstreams::put(&self.app, &name, put, &self.actor).await
    }

    async fn delete_upstream(&self, name: String) -> Result<(), Problem> {
        upstreams::delete(&self.app, &name, &self.actor).await
    }

    async fn upstream_versions(&self, name: String) -> Result<Vec<UpstreamVersion>, Problem> {
        upstreams::versions(&self.app, &name).await
    }

    async fn retries(&self, name: String) -> Result<Vec<RetryStat>, Problem> {
        retries::read(&self.app, &name).await
    }

    async fn test_upstream(&self, name: String) -> Result<TestAnswer, Problem> {
        upstreams::test(&self.app, &name).await
    }

    async fn classify_answer(&self, name: String, tried: TriedAnswer) -> Result<Judgement, Problem> {
        answers::classify(&self.app, &name, tried)
    }
}
