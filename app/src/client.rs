//! The API in the browser: fetches to the public `/api/v1`, the same that any other client uses.

use async_trait::async_trait;
use leptos::prelude::{location, window};
use send_wrapper::SendWrapper;
use serde::{Serialize, de::DeserializeOwned};
use wasm_bindgen::{JsCast, JsValue};
use wasm_bindgen_futures::JsFuture;

use crate::{
    api::Api,
    i18n::{Catalogue, CommonText},
    model::{
        Breaker, BulkOutcome, BulkRequest, Overview, PendingChange, PendingDetail, PendingPage, PendingQuery, Problem,
        RecordId, Replay, ReplayId, ReplayPreview, ReplayRequest, Series, SeriesQuery, TestAnswer, TripRequest,
        UpstreamPut, UpstreamVersion, UpstreamView,
    },
    paths::{self, escape},
};

/// The server's API, asked from the page.
pub(crate) struct Browser {
    text: &'static CommonText,
}

impl Browser {
    pub(crate) fn new(text: &'static Catalogue) -> Self {
        Self { text: &text.common }
    }

    async fn get<T: DeserializeOwned>(&self, path: String) -> Result<T, Problem> {
        self.ask("GET", path, None).await
    }

    async fn post<T: DeserializeOwned>(&self, path: String) -> Result<T, Problem> {
        self.ask("POST", path, None).await
    }

    async fn send<T: DeserializeOwned>(&self, method: &str, path: String, body: impl Serialize) -> Result<T, Problem> {
        let body = serde_json::to_string(&body).map_err(|e| self.unreadable(0, &e.to_string()))?;
        self.ask(method, path, Some(body)).await
    }

    async fn ask<T: DeserializeOwned>(&self, method: &str, path: String, body: Option<String>) -> Result<T, Problem> {
        let (status, text) = SendWrapper::new(exchange(method, &path, body)).await.map_err(|_| self.unreachable())?;
        match status {
            200..=299 => serde_json::from_str(if text.is_empty() { "null" } else { &text })
                .map_err(|e| self.unreadable(status, &e.to_string())),
            _ => {
                if status == 401 {
                    to_login();
                }
                Err(serde_json::from_str(&text).unwrap_or_else(|_| self.unreadable(status, &format!("HTTP {status}"))))
            }
        }
    }

    fn unreachable(&self) -> Problem {
        let text = self.text;
        Problem::new(0, "unreachable", text.unreachable_title, text.unreachable_detail).hint(text.unreachable_hint)
    }

    fn unreadable(&self, status: u16, why: &str) -> Problem {
        Problem::new(status, "unreadable", self.text.unreadable_title, why).hint(self.text.unreadable_hint)
    }
}

/// One request: its status and body, or whatever JavaScript threw.
async fn exchange(method: &str, path: &str, body: Option<String>) -> Result<(u16, String), JsValue> {
    let init = web_sys::RequestInit::new();
    init.set_method(method);
    let headers = web_sys::Headers::new()?;
    headers.set("Accept", "application/json")?;
    if let Some(body) = body {
        headers.set("Content-Type", "application/json")?;
        init.set_body(&JsValue::from_str(&body));
    }
    init.set_headers(&headers);
    let response = JsFuture::from(window().fetch_with_str_and_init(&format!("{}{path}", paths::API), &init)).await?;
    let response: web_sys::Response = response.dyn_into()?;
    let text = JsFuture::from(response.text()?).await?;
    Ok((response.status(), text.as_string().unwrap_or_default()))
}

fn to_login() {
    let here = location();
    let to = format!("{}{}", here.pathname().unwrap_or_default(), here.search().unwrap_or_default());
    let _ = here.assign(&format!("{}{}", paths::LOGIN, paths::query(&[("to", Some(&to))])));
}

#[async_trait]
impl Api for Browser {
    async fn overview(&self) -> Result<Overview, Problem> {
        self.get("/overview".into()).await
    }

    async fn series(&self, query: SeriesQuery) -> Result<Series, Problem> {
        let minutes = query.minutes.to_string();
        let query = paths::query(&[("upstream", Some(&query.upstream)), ("minutes", Some(&minutes))]);
        self.get(format!("/series{query}")).await
    }

    async fn pending(&self, query: PendingQuery) -> Result<PendingPage, Problem> {
        let after = query.after.as_ref().map(|c| c.0.as_str());
        self.get(format!("/pending{}", paths::filter_query(&query.filter, after))).await
    }

    async fn pending_detail(&self, id: RecordId) -> Result<PendingDetail, Problem> {
        self.get(format!("/pending/{id}")).await
    }

    async fn change_pending(&self, id: RecordId, change: PendingChange) -> Result<PendingDetail, Problem> {
        self.send("PATCH", format!("/pending/{id}"), change).await
    }

    async fn bulk_pending(&self, request: BulkRequest) -> Result<BulkOutcome, Problem> {
        self.send("POST", "/pending/bulk".into(), request).await
    }

    async fn replays(&self) -> Result<Vec<Replay>, Problem> {
        self.get("/replays".into()).await
    }

    async fn preview_replay(&self, request: ReplayRequest) -> Result<ReplayPreview, Problem> {
        self.send("POST", "/replays".into(), ReplayRequest { dry_run: true, ..request }).await
    }

    async fn start_replay(&self, request: ReplayRequest) -> Result<Replay, Problem> {
        self.send("POST", "/replays".into(), ReplayRequest { dry_run: false, ..request }).await
    }

    async fn pause_replay(&self, id: ReplayId) -> Result<Replay, Problem> {
        self.post(format!("/replays/{id}/pause")).await
    }

    async fn resume_replay(&self, id: ReplayId) -> Result<Replay, Problem> {
        self.post(format!("/replays/{id}/resume")).await
    }

    async fn cancel_replay(&self, id: ReplayId) -> Result<Replay, Problem> {
        self.post(format!("/replays/{id}/cancel")).await
    }

    async fn breakers(&self) -> Result<Vec<Breaker>, Problem> {
        self.get("/breakers".into()).await
    }

    async fn trip_breaker(&self, id: String, request: TripRequest) -> Result<Breaker, Problem> {
        self.send("POST", format!("/breakers/{}/trip", escape(&id)), request).await
    }

    async fn reset_breaker(&self, id: String) -> Result<Breaker, Problem> {
        self.post(format!("/breakers/{}/reset", escape(&id))).await
    }

    async fn disable_breaker(&self, id: String) -> Result<Breaker, Problem> {
        self.post(format!("/breakers/{}/disable", escape(&id))).await
    }

    async fn breaker_metrics_only(&self, id: String) -> Result<Breaker, Problem> {
        self.post(format!("/breakers/{}/metrics_only", escape(&id))).await
    }

    async fn upstreams(&self) -> Result<Vec<UpstreamView>, Problem> {
        self.get("/upstreams".into()).await
    }

    async fn upstream(&self, name: String) -> Result<UpstreamView, Problem> {
        self.get(format!("/upstreams/{}", escape(&name))).await
    }

    async fn put_upstream(&self, name: String, put: UpstreamPut) -> Result<UpstreamView, Problem> {
        self.send("PUT", format!("/upstreams/{}", escape(&name)), put).await
    }

    async fn delete_upstream(&self, name: String) -> Result<(), Problem> {
        self.ask("DELETE", format!("/upstreams/{}", escape(&name)), None).await
    }

    async fn upstream_versions(&self, name: String) -> Result<Vec<UpstreamVersion>, Problem> {
        self.get(format!("/upstreams/{}/versions", escape(&name))).await
    }

    async fn test_upstream(&self, name: String) -> Result<TestAnswer, Problem> {
        self.post(format!("/upstreams/{}/test", escape(&name))).await
    }
}
