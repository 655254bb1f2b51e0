//! Typed errors become problem+json here (RFC 9457): what happened, what was kept, what to do.

use app::model::{Problem, RecordId};
use axum::{
    body::Body,
    response::{IntoResponse, Response},
};
use http::{HeaderValue, StatusCode, header};

use crate::{state::App, store::StoreError};

/// A problem as an answer.
pub struct Refusal(pub Problem);

impl From<Problem> for Refusal {
    fn from(problem: Problem) -> Self {
        Self(problem)
    }
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        respond(&self.0)
    }
}

/// The answer that tells a problem.
pub fn respond(problem: &Problem) -> Response {
    let body = serde_json::to_vec(problem).unwrap_or_default();
    let mut response = Response::new(Body::from(body));
    *response.status_mut() = StatusCode::from_u16(problem.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/problem+json"));
    response
}

/// The store refused. Internals go to the log, not to the caller.
pub fn store(error: &StoreError) -> Problem {
    match error {
        StoreError::Full => Problem::new(507, "disk-full", "The disk is full", "nothing was accepted")
            .kept("everything accepted before is on disk")
            .hint("free space on the database's disk; Penstock goes on by itself"),
        StoreError::ReadOnly(_) => {
            Problem::new(503, "store-read-only", "The database can't be written", "nothing was accepted")
                .kept("everything accepted before is on disk")
                .hint("give Penstock write access to the database's file and folder again; it goes on by itself")
        }
        StoreError::Database(source) => {
            tracing::error!(error = %source, "the database refused a statement");
            Problem::new(500, "store-failed", "The database refused", "nothing was changed")
                .hint("the server's log has the cause")
        }
        StoreError::Closed => {
            Problem::new(503, "stopping", "Penstock is stopping", "nothing was accepted").hint("try again in a moment")
        }
    }
}

/// No upstream of that name; says which there are.
pub fn unknown_upstream(app: &App, name: &str) -> Problem {
    let known: Vec<String> = app.upstreams.all().iter().map(|u| u.name.clone()).collect();
    let hint = if known.is_empty() {
        "there is none yet: add one under /quotas, or with PUT /api/v1/upstreams/{name}".to_owned()
    } else {
        format!("known are: {}", known.join(", "))
    };
    Problem::new(
        404,
        "unknown-upstream",
        "No such upstream",
        format!("there is no upstream {name:?}; nothing was sent"),
    )
    .hint(hint)
}

/// No record of that id.
pub fn unknown_record(id: RecordId) -> Problem {
    Problem::new(404, "unknown-record", "No such record", format!("there is no record {id}"))
        .hint("succeeded records are kept for 24 h, unless configured otherwise")
}

/// The key stands for another request (F5).
pub fn key_reused(key: &str, id: RecordId) -> Problem {
    Problem::new(
        422,
        "key-reused",
        "The idempotency key belongs to another request",
        format!("the key {key:?} came before with another method, path or body, as record {id}"),
    )
    .kept("the first one is untouched; this one was neither kept nor sent")
    .hint("use a key per piece of work: run label, item id, hash of the body")
}

/// The body of a request is not what it must be.
pub fn bad_body(detail: impl Into<String>) -> Problem {
    Problem::new(400, "bad-body", "The body can't be read", detail)
}
