//! The API in the browser: fetches to the public `/api/v1`, the same that any other client uses.

use std::{future::Future, pin::Pin};

use async_trait::async_trait;
use leptos::prelude::{location, window};
use send_wrapper::SendWrapper;
use serde::{Serialize, de::DeserializeOwned};
use wasm_bindgen::{JsCast, JsValue};
use wasm_bindgen_futures::JsFuture;

use crate::{
    api::Api,
    bundle::{DESK, WATCH},
    i18n::{Catalogue, CommonText},
    model::{
        AuditPage, AuditQuery, Breaker, BulkOutcome, BulkRequest, EngineView, KeyId, KeyView, MadeKey, NewKey,
        Overview, PendingChange, PendingDetail, PendingPage, PendingQuery, Problem, RecordId, Replay, ReplayId,
        ReplayPreview, ReplayRequest, Series, SeriesQuery, TestAnswer, TripRequest, UpstreamPut, UpstreamVersion,
        UpstreamView,
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
            .map_err(|e| self.unreadable(200, &e.to_string()))
    }

    /// The answer's body. Boxed and not generic: its code is there once, not once for each kind of answer.
    fn ask(
        &self,
        method: &'static str,
        path: String,
        body: Option<String>,
    ) -> Pin<Box<dyn Future<Output = Result<String, Problem>> + Send + '_>> {
        Box::pin(SendWrapper::new(async move {
            let (status, text) = exchange(method, &path, body).await.map_err(|_| self.unreachable())?;
            if (200..300).contains(&status) {
                return Ok(text);
            }
            if status == 401 {
                to_login();
            }
            Err(serde_json::from_str(&text).unwrap_or_else(|_| self.unreadable(status, &format!("HTTP {status}"))))
        }))
    }

    fn unreachable(&self) -> Problem {
        let text = self.text;
        Problem::new(0, "unreachable", text.unreachable_title, text.unreachable_detail).hint(text.unreachable_hint)
    }

    /// Only pages of the other module ask for that; answering here would bring its code along.
    fn elsewhere(&self) -> Problem {
        self.unreadable(0, "elsewhere")
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

/// Data of this crate as JSON. That can't fail; should it, the server says that the body is missing.
fn json(body: &impl Serialize) -> String {
    serde_json::to_string(body).unwrap_or_default()
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

    async fn audit(&self, query: AuditQuery) -> Result<AuditPage, Problem> {
        if !DESK {
            return Err(self.elsewhere());
        }
        let action = query.action.map(|action| action.to_string());
        let query = paths::query(&[
            ("subject", query.subject.as_deref()),
            ("action", action.as_deref()),
            ("after", query.after.as_ref().map(|c| c.0.as_str())),
        ]);
        self.get(format!("/audit{query}")).await
    }

    async fn engines(&self) -> Result<Vec<EngineView>, Problem> {
        if !DESK {
            return Err(self.elsewhere());
        }
        self.get("/engines".to_owned()).await
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
        if !WATCH {
            return Err(self.elsewhere());
        }
        let minutes = query.minutes.to_string();
        let query = paths::query(&[("upstream", Some(&query.upstream)), ("minutes", Some(&minutes))]);
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

    async fn test_upstream(&self, name: String) -> Result<TestAnswer, Problem> {
        if !DESK {
            return Err(self.elsewhere());
        }
        self.post(format!("/upstreams/{}/test", escape(&name))).await
    }
}
