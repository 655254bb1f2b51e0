//! A client of the public `/api/v1`: what the console uses in a browser, and `penstock`'s commands in a terminal. They differ in
//! how a request travels alone.

#[cfg(feature = "hydrate")]
pub(crate) mod browser;

use std::{future::Future, pin::Pin};

use async_trait::async_trait;
use serde::{Serialize, de::DeserializeOwned};

use crate::{
    api::Api,
    bundle::{DESK, WATCH},
    model::{
        AuditPage, AuditQuery, Breaker, BulkOutcome, BulkRequest, EngineView, Judgement, KeyId, KeyView, MadeKey,
        NewKey, Overview, PendingChange, PendingDetail, PendingPage, PendingQuery, Problem, RecordId, Replay, ReplayId,
        ReplayPreview, ReplayRequest, RetryStat, Series, SeriesQuery, SourcePut, Sources, TestAnswer, TriedAnswer,
        TripRequest, UpstreamPut, UpstreamVersion, UpstreamView,
    },
    paths::{self, escape},
};

/// A body, or what the server said instead.
pub type Answered<'a> = Pin<Box<dyn Future<Output = Result<String, Problem>> + Send + 'a>>;

/// How a client reaches the server.
pub trait Transport: Send + Sync {
    /// One request: method, path below `/api/v1`, JSON body. The answer's body where the server did it.
    fn ask(&self, method: &'static str, path: String, body: Option<String>) -> Answered<'_>;

    /// What is said of an answer that can't be read.
    fn unreadable(&self, status: u16, why: &str) -> Problem;
}

/// The client.
pub struct Client {
    transport: Box<dyn Transport>,
}

impl Client {
    /// A client that reaches the server so.
    pub fn new(transport: impl Transport + 'static) -> Self {
        Self { transport: Box::new(transport) }
    }

    fn ask(&self, method: &'static str, path: String, body: Option<String>) -> Answered<'_> {
        self.transport.ask(method, path, body)
    }

    async fn get<T: DeserializeOwned>(&self, path: String) -> Result<T, Problem> {
        self.read(self.ask("GET", path, None).await?)
    }

    async fn post<T: DeserializeOwned>(&self, path: String) -> Result<T, Problem> {
        self.read(self.ask("POST", path, None).await?)
    }

    async fn send<T: DeserializeOwned>(&self, method: &'static str, path: String, body: String) -> Result<T, Problem> {
        self.read(self.ask(method, path, Some(body)).await?)
    }

    fn read<T: DeserializeOwned>(&self, text: String) -> Result<T, Problem> {
        serde_json::from_str(if text.is_empty() { "null" } else { &text })
            .map_err(|e| self.transport.unreadable(200, &e.to_string()))
    }

    /// Only pages of the other module ask for that; answering here would bring its code along.
    fn elsewhere(&self) -> Problem {
        self.transport.unreadable(0, "elsewhere")
    }
}

impl std::fmt::Debug for Client {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Client")
    }
}

/// Data of this crate as JSON. That can't fail; should it, the server says that the body is missing.
fn json(body: &impl Serialize) -> String {
    serde_json::to_string(body).unwrap_or_default()
}

#[async_trait]
impl Api for Client {
    async fn overview(&self) -> Result<Overview, Problem> {
        self.get("/overview".into()).await
    }

    async fn audit(&self, query: AuditQuery) -> Result<AuditPage, Problem> {
        if !DESK {
            return Err(self.elsewhere());
        }
        self.get(paths::audit(&query)).await
    }

    async fn engines(&self) -> Result<Vec<EngineView>, Problem> {
        self.get("/engines".to_owned()).await
    }

    async fn sources(&self) -> Result<Sources, Problem> {
        if !DESK {
            return Err(self.elsewhere());
        }
        self.get("/sources".to_owned()).await
    }

    async fn put_source(&self, name: String, put: SourcePut) -> Result<(), Problem> {
        if !DESK {
            return Err(self.elsewhere());
        }
        self.ask("PUT", format!("/sources/{}", escape(&name)), Some(json(&put))).await.map(|_| ())
    }

    async fn keys(&self) -> Result<Vec<KeyView>, Problem> {
        if !DESK {
            return Err(self.elsewhere());
        }
        self.get("/keys".to_owned()).await
    }

    async fn make_key(&self, new: NewKey) -> Result<MadeKey, Problem> {
        if !DESK {
            return Err(self.elsewhere());
        }
        self.send("POST", "/keys".to_owned(), json(&new)).await
    }

    async fn revoke_key(&self, id: KeyId) -> Result<(), Problem> {
        if !DESK {
            return Err(self.elsewhere());
        }
        self.ask("DELETE", format!("/keys/{id}"), None).await.map(|_| ())
    }

    async fn series(&self, query: SeriesQuery) -> Result<Series, Problem> {
        let minutes = query.minutes.to_string();
        let until = query.until.map(paths::time);
        let query = paths::query(&[
            ("upstream", Some(&query.upstream)),
            ("source", query.source.as_deref()),
            ("minutes", Some(&minutes)),
            ("until", until.as_deref()),
        ]);
        self.get(format!("/series{query}")).await
    }

    async fn pending(&self, query: PendingQuery) -> Result<PendingPage, Problem> {
        if !DESK {
            return Err(self.elsewhere());
        }
        let after = query.after.as_ref().map(|c| c.0.as_str());
        self.get(format!("/pending{}", paths::filter_query(&query.filter, after))).await
    }

    async fn pending_detail(&self, id: RecordId) -> Result<PendingDetail, Problem> {
        if !DESK {
            return Err(self.elsewhere());
        }
        self.get(format!("/pending/{id}")).await
    }

    async fn change_pending(&self, id: RecordId, change: PendingChange) -> Result<PendingDetail, Problem> {
        if !DESK {
            return Err(self.elsewhere());
        }
        self.send("PATCH", format!("/pending/{id}"), json(&change)).await
    }

    async fn bulk_pending(&self, request: BulkRequest) -> Result<BulkOutcome, Problem> {
        if !DESK {
            return Err(self.elsewhere());
        }
        self.send("POST", "/pending/bulk".into(), json(&request)).await
    }

    async fn replays(&self) -> Result<Vec<Replay>, Problem> {
        if !DESK {
            return Err(self.elsewhere());
        }
        self.get("/replays".into()).await
    }

    async fn preview_replay(&self, request: ReplayRequest) -> Result<ReplayPreview, Problem> {
        if !DESK {
            return Err(self.elsewhere());
        }
        self.send("POST", "/replays".into(), json(&ReplayRequest { dry_run: true, ..request })).await
    }

    async fn start_replay(&self, request: ReplayRequest) -> Result<Replay, Problem> {
        if !DESK {
            return Err(self.elsewhere());
        }
        self.send("POST", "/replays".into(), json(&ReplayRequest { dry_run: false, ..request })).await
    }

    async fn pause_replay(&self, id: ReplayId) -> Result<Replay, Problem> {
        if !DESK {
            return Err(self.elsewhere());
        }
        self.post(format!("/replays/{id}/pause")).await
    }

    async fn resume_replay(&self, id: ReplayId) -> Result<Replay, Problem> {
        if !DESK {
            return Err(self.elsewhere());
        }
        self.post(format!("/replays/{id}/resume")).await
    }

    async fn cancel_replay(&self, id: ReplayId) -> Result<Replay, Problem> {
        if !DESK {
            return Err(self.elsewhere());
        }
        self.post(format!("/replays/{id}/cancel")).await
    }

    async fn breakers(&self) -> Result<Vec<Breaker>, Problem> {
        if !WATCH {
            return Err(self.elsewhere());
        }
        self.get("/breakers".into()).await
    }

    async fn trip_breaker(&self, id: String, request: TripRequest) -> Result<Breaker, Problem> {
        if !WATCH {
            return Err(self.elsewhere());
        }
        self.send("POST", format!("/breakers/{}/trip", escape(&id)), json(&request)).await
    }

    async fn reset_breaker(&self, id: String) -> Result<Breaker, Problem> {
        if !WATCH {
            return Err(self.elsewhere());
        }
        self.post(format!("/breakers/{}/reset", escape(&id))).await
    }

    async fn disable_breaker(&self, id: String) -> Result<Breaker, Problem> {
        if !WATCH {
            return Err(self.elsewhere());
        }
        self.post(format!("/breakers/{}/disable", escape(&id))).await
    }

    async fn breaker_metrics_only(&self, id: String) -> Result<Breaker, Problem> {
        if !WATCH {
            return Err(self.elsewhere());
        }
        self.post(format!("/breakers/{}/metrics_only", escape(&id))).await
    }

    async fn upstreams(&self) -> Result<Vec<UpstreamView>, Problem> {
        if !DESK {
            return Err(self.elsewhere());
        }
        self.get("/upstreams".into()).await
    }

    async fn upstream(&self, name: String) -> Result<UpstreamView, Problem> {
        if !DESK {
            return Err(self.elsewhere());
        }
        self.get(format!("/upstreams/{}", escape(&name))).await
    }

    async fn put_upstream(&self, name: String, put: UpstreamPut) -> Result<UpstreamView, Problem> {
        if !DESK {
            return Err(self.elsewhere());
        }
        self.send("PUT", format!("/upstreams/{}", escape(&name)), json(&put)).await
    }

    async fn delete_upstream(&self, name: String) -> Result<(), Problem> {
        if !DESK {
            return Err(self.elsewhere());
        }
        self.ask("DELETE", format!("/upstreams/{}", escape(&name)), None).await.map(|_| ())
    }

    async fn upstream_versions(&self, name: String) -> Result<Vec<UpstreamVersion>, Problem> {
        if !DESK {
            return Err(self.elsewhere());
        }
        self.get(format!("/upstreams/{}/versions", escape(&name))).await
    }

    async fn retries(&self, name: String) -> Result<Vec<RetryStat>, Problem> {
        self.get(format!("/upstreams/{}/retries", escape(&name))).await
    }

    async fn test_upstream(&self, name: String) -> Result<TestAnswer, Problem> {
        if !DESK {
            return Err(self.elsewhere());
        }
        self.post(format!("/upstreams/{}/test", escape(&name))).await
    }

    async fn classify_answer(&self, name: String, tried: TriedAnswer) -> Result<Judgement, Problem> {
        if !DESK {
            return Err(self.elsewhere());
        }
        self.send("POST", format!("/upstreams/{}/classify", escape(&name)), json(&tried)).await
    }
}
