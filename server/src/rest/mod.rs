//! The public API under `/api/v1`, and the doors that answer without it.

use std::sync::Arc;

use app::model::{
    AuditQuery, BulkRequest, Cursor, Disposition, ErrorClass, KeyId, NewKey, PendingChange, PendingFilter,
    PendingQuery, RecordId, ReplayId, ReplayRequest, SeriesQuery, SourcePut, TripRequest, UpstreamPut,
};
use axum::{
    Extension, Json, Router,
    extract::{
        Path, Query,
        rejection::{JsonRejection, PathRejection, QueryRejection},
    },
    response::{IntoResponse, Response},
    routing::{delete, get, post, put},
};
use http::StatusCode;
use serde::Serialize;
use serde_json::value::RawValue;

use crate::{operator::Operator, state::App};

pub mod events;
pub mod health;
pub mod ingest;
mod lines;
pub mod openapi;
pub mod permits;
pub mod problem;
pub mod records;
pub(crate) mod told;

use problem::{Refusal, bad_body};

type Answer = Result<Response, Refusal>;

fn json<T: Serialize>(value: &T) -> Response {
    Json(value).into_response()
}

/// A JSON body; what is wrong with it is told as a problem.
pub struct Body<T>(T);

impl<S: Send + Sync, T: serde::de::DeserializeOwned> axum::extract::FromRequest<S> for Body<T> {
    type Rejection = Refusal;

    async fn from_request(request: axum::extract::Request, state: &S) -> Result<Self, Refusal> {
        match Json::<Box<RawValue>>::from_request(request, state).await {
            // serde would take a list for the fields in their order.
            Ok(Json(raw)) if raw.get().starts_with('[') => {
                Err(bad_body("a list, where an object belongs").hint("send JSON as /docs shows it").into())
            }
            Ok(Json(raw)) => serde_json::from_str(raw.get())
                .map(Self)
                .map_err(|e| bad_body(e.to_string()).hint("send JSON as /docs shows it").into()),
            Err(JsonRejection::BytesRejection(e)) if e.status() == StatusCode::PAYLOAD_TOO_LARGE => {
                Err(app::model::Problem::new(413, "body-too-large", "Body too large", e.body_text())
                    .hint("send less: select by a filter instead of naming many ids")
                    .into())
            }
            Err(JsonRejection::BytesRejection(e)) => Err(bad_body(e.body_text()).hint("send the whole body").into()),
            Err(e) => Err(bad_body(e.body_text()).hint("send JSON with Content-Type: application/json").into()),
        }
    }
}

/// A query; what is wrong with it is told as a problem.
pub struct Asked<T>(T);

impl<S: Send + Sync, T: serde::de::DeserializeOwned> axum::extract::FromRequestParts<S> for Asked<T> {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut http::request::Parts, state: &S) -> Result<Self, Refusal> {
        let asked: Result<Query<T>, QueryRejection> = Query::from_request_parts(parts, state).await;
        asked.map(|Query(q)| Self(q)).map_err(|e| {
            Refusal(
                app::model::Problem::new(400, "bad-query", "The query can't be read", e.body_text())
                    .hint("the names and values that it takes stand in the operator's guide"),
            )
        })
    }
}

/// What a path's variable parts say; what can't be read (bytes that are no UTF-8) is told as a problem.
pub struct At<T>(T);

impl<S: Send + Sync, T: serde::de::DeserializeOwned + Send> axum::extract::FromRequestParts<S> for At<T> {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut http::request::Parts, state: &S) -> Result<Self, Refusal> {
        let at: Result<Path<T>, PathRejection> = Path::from_request_parts(parts, state).await;
        at.map(|Path(at)| Self(at)).map_err(|e| {
            Refusal(
                app::model::Problem::new(400, "bad-path", "The path can't be read", e.body_text())
                    .hint("percent-encode names as UTF-8"),
            )
        })
    }
}

fn id<T: std::str::FromStr>(text: &str) -> Result<T, Refusal> {
    text.parse().map_err(|_| {
        Refusal(
            app::model::Problem::new(404, "bad-id", "Not an id", format!("{text:?} is not an id of this kind"))
                .hint("take the id as it was told: one letter for its kind, and 13 letters and digits"),
        )
    })
}

type Op = Extension<Operator>;

async fn overview(op: Op) -> Answer {
    use app::api::Api;
    Ok(json(&op.overview().await?))
}

async fn series(op: Op, Asked(query): Asked<SeriesQuery>) -> Answer {
    use app::api::Api;
    Ok(json(&op.series(query).await?))
}

async fn audit(op: Op, Asked(query): Asked<AuditQuery>) -> Answer {
    use app::api::Api;
    cursor(query.after.as_ref(), 1)?;
    Ok(json(&op.audit(query).await?))
}

async fn engines(op: Op) -> Answer {
    use app::api::Api;
    Ok(json(&op.engines().await?))
}

async fn sources(op: Op) -> Answer {
    use app::api::Api;
    Ok(json(&op.sources().await?))
}

async fn put_source(op: Op, At(name): At<String>, Body(put): Body<SourcePut>) -> Answer {
    use app::api::Api;
    op.put_source(name, put).await?;
    Ok(StatusCode::NO_CONTENT.into_response())
}

async fn keys(op: Op) -> Answer {
    use app::api::Api;
    Ok(json(&op.keys().await?))
}

async fn make_key(op: Op, Body(new): Body<NewKey>) -> Answer {
    use app::api::Api;
    Ok((StatusCode::CREATED, Json(op.make_key(new).await?)).into_response())
}

async fn revoke_key(op: Op, At(text): At<String>) -> Answer {
    use app::api::Api;
    op.revoke_key(id::<KeyId>(&text)?).await?;
    Ok(StatusCode::NO_CONTENT.into_response())
}

/// `GET /pending`: a misspelt filter must not be no filter.
#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct PendingAsked {
    error_class: Option<ErrorClass>,
    upstream: Option<String>,
    source: Option<String>,
    disposition: Option<Disposition>,
    text: Option<String>,
    after: Option<Cursor>,
}

/// A cursor that says nothing would begin the list anew, and a program that follows it would never end.
fn cursor(after: Option<&Cursor>, parts: usize) -> Result<(), Refusal> {
    let good = after.is_none_or(|c| {
        c.0.split('.').count() == parts && c.0.split('.').all(|n| n.parse::<i64>().is_ok_and(|n| n >= 0))
    });
    if good {
        return Ok(());
    }
    Err(Refusal(
        app::model::Problem::new(400, "bad-query", "The query can't be read", "after is not where a page ended")
            .hint("take next as the page before told it"),
    ))
}

async fn pending(op: Op, Asked(asked): Asked<PendingAsked>) -> Answer {
    use app::api::Api;
    cursor(asked.after.as_ref(), 2)?;
    let PendingAsked { error_class, upstream, source, disposition, text, after } = asked;
    let query = PendingQuery { filter: PendingFilter { error_class, upstream, source, disposition, text }, after };
    Ok(json(&op.pending(query).await?))
}

async fn pending_detail(op: Op, At(text): At<String>) -> Answer {
    use app::api::Api;
    Ok(json(&op.pending_detail(id::<RecordId>(&text)?).await?))
}

async fn change_pending(op: Op, At(text): At<String>, Body(change): Body<PendingChange>) -> Answer {
    use app::api::Api;
    Ok(json(&op.change_pending(id::<RecordId>(&text)?, change).await?))
}

async fn bulk_pending(op: Op, Body(request): Body<BulkRequest>) -> Answer {
    use app::api::Api;
    Ok(json(&op.bulk_pending(request).await?))
}

async fn replays(op: Op) -> Answer {
    use app::api::Api;
    Ok(json(&op.replays().await?))
}

async fn start_replay(op: Op, Body(request): Body<ReplayRequest>) -> Answer {
    use app::api::Api;
    if request.dry_run {
        return Ok(json(&op.preview_replay(request).await?));
    }
    Ok((StatusCode::CREATED, Json(op.start_replay(request).await?)).into_response())
}

async fn steer_replay(op: Op, At((text, action)): At<(String, String)>) -> Answer {
    use app::api::Api;
    let id = id::<ReplayId>(&text)?;
    let replay = match action.as_str() {
        "pause" => op.pause_replay(id).await?,
        "resume" => op.resume_replay(id).await?,
        "cancel" => op.cancel_replay(id).await?,
        _ => return Err(nothing_here().into()),
    };
    Ok(json(&replay))
}

async fn breakers(op: Op) -> Answer {
    use app::api::Api;
    Ok(json(&op.breakers().await?))
}

async fn trip(op: Op, At(name): At<String>, Body(request): Body<TripRequest>) -> Answer {
    use app::api::Api;
    Ok(json(&op.trip_breaker(name, request).await?))
}

async fn steer_breaker(op: Op, At((name, action)): At<(String, String)>) -> Answer {
    use app::api::Api;
    let breaker = match action.as_str() {
        "reset" => op.reset_breaker(name).await?,
        "disable" => op.disable_breaker(name).await?,
        "metrics_only" => op.breaker_metrics_only(name).await?,
        _ => return Err(nothing_here().into()),
    };
    Ok(json(&breaker))
}

async fn upstreams(op: Op) -> Answer {
    use app::api::Api;
    Ok(json(&op.upstreams().await?))
}

async fn upstream(op: Op, At(name): At<String>) -> Answer {
    use app::api::Api;
    Ok(json(&op.upstream(name).await?))
}

async fn put_upstream(op: Op, At(name): At<String>, Body(put): Body<UpstreamPut>) -> Answer {
    use app::api::Api;
    Ok(json(&op.put_upstream(name, put).await?))
}

async fn delete_upstream(op: Op, At(name): At<String>) -> Answer {
    use app::api::Api;
    op.delete_upstream(name).await?;
    Ok(StatusCode::NO_CONTENT.into_response())
}

async fn upstream_versions(op: Op, At(name): At<String>) -> Answer {
    use app::api::Api;
    Ok(json(&op.upstream_versions(name).await?))
}

async fn retries(op: Op, At(name): At<String>) -> Answer {
    use app::api::Api;
    Ok(json(&op.retries(name).await?))
}

async fn test_upstream(op: Op, At(name): At<String>) -> Answer {
    use app::api::Api;
    Ok(json(&op.test_upstream(name).await?))
}

async fn classify_answer(op: Op, At(name): At<String>, Body(tried): Body<app::model::TriedAnswer>) -> Answer {
    use app::api::Api;
    Ok(json(&op.classify_answer(name, tried).await?))
}

fn nothing_here() -> app::model::Problem {
    app::model::Problem::new(404, "no-such-path", "Nothing here", "the API has no such path")
        .hint("its paths begin with /api/v1")
}

async fn no_such_method() -> Response {
    problem::respond(
        &app::model::Problem::new(405, "no-such-method", "Not with this method", "the path takes another method")
            .hint("/docs tells which"),
    )
}

async fn not_found() -> Response {
    problem::respond(&nothing_here())
}

/// The operator's part of the API.
pub fn operator_routes() -> Router<Arc<App>> {
    Router::new()
        .route("/overview", get(overview))
        .route("/audit", get(audit))
        .route("/engines", get(engines))
        .route("/sources", get(sources))
        .route("/sources/{name}", put(put_source))
        .route("/keys", get(keys).post(make_key))
        .route("/keys/{id}", delete(revoke_key))
        .route("/series", get(series))
        .route("/pending", get(pending))
        .route("/pending/bulk", post(bulk_pending))
        .route("/pending/{id}", get(pending_detail).patch(change_pending))
        .route("/replays", get(replays).post(start_replay))
        .route("/replays/{id}/{action}", post(steer_replay))
        .route("/breakers", get(breakers))
        .route("/breakers/{id}/trip", post(trip))
        .route("/breakers/{id}/{action}", post(steer_breaker))
        .route("/upstreams", get(upstreams))
        .route("/upstreams/{name}", get(upstream).put(put_upstream).delete(delete_upstream))
        .route("/upstreams/{name}/versions", get(upstream_versions))
        .route("/upstreams/{name}/retries", get(retries))
        .route("/upstreams/{name}/test", post(test_upstream))
        .route("/upstreams/{name}/classify", post(classify_answer))
        .route("/events", get(events::stream))
        .method_not_allowed_fallback(no_such_method)
        .fallback(not_found)
}

/// The workers' part, but for the gateway.
pub fn worker_routes() -> Router<Arc<App>> {
    Router::new()
        .route("/api/v1/records", post(records::submit))
        .route("/api/v1/records/{id}", get(records::read))
        .route("/api/v1/records/{id}/attempts", get(records::attempts))
        .route("/api/v1/permits", post(permits::acquire))
        .route("/api/v1/permits/{id}", delete(permits::release))
        .route("/api/v1/permits/{id}/settle", post(permits::settle))
        .route("/api/v1/engines/{id}/report", post(permits::report))
        .route("/api/v1/ingest/metrics", post(ingest::metrics::door))
        .route("/api/v1/ingest/pending", post(ingest::pending::door))
        .method_not_allowed_fallback(no_such_method)
}

/// What machines watch, and what the API is.
pub fn health_routes() -> Router<Arc<App>> {
    Router::new()
        .route("/healthz", get(health::alive))
        .route("/readyz", get(health::ready))
        .route("/api/v1/openapi.json", get(openapi::json_description))
        .route("/docs", get(openapi::page))
}
