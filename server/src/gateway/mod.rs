//! The transparent gateway: `ANY /gw/{upstream}/{path…}`. A caller swaps its base URL, nothing else.
//!
//! A call without a key is **live**: it is held until the limiter lets it go, retried while its caller waits, streamed back as
//! it comes, and cancelled upstream when its caller leaves. With an `Idempotency-Key` or `Prefer: respond-async` it is
//! **kept**: a record on disk that runs on without its caller.

use std::{sync::Arc, time::Duration};

use app::model::Problem;
use axum::{
    body::Body,
    extract::Request,
    response::{IntoResponse, Response},
};
use bytes::{Bytes, BytesMut};
use futures_util::{Stream, StreamExt};
use http::{HeaderMap, HeaderValue, header};
use limiter::Class;

use crate::{
    classify,
    dispatch::{
        body::{CallersBody, Sent},
        headers,
        send::Call,
        target,
    },
    rest::problem,
    state::App,
    store::records::Workload,
    upstream::{Settings, Upstream},
};

mod ahead;
mod answer;
mod asked;
mod kept;
mod live;
mod passing;

/// How long a call is held where its caller does not say: FME's Python client gives up at 60 s.
pub const WAIT: Duration = Duration::from_secs(50);
/// Longest hold that may be asked for.
const LONGEST_WAIT: Duration = Duration::from_hours(1);

/// What a caller asks for beyond the call itself.
#[derive(Debug, Clone)]
struct Wishes {
    wait: Duration,
    class: Class,
    engine: Option<String>,
    tokens: Option<u64>,
    key: Option<String>,
    respond_async: bool,
}

/// A call at the door.
struct Arrived {
    upstream: Arc<Upstream>,
    settings: Arc<Settings>,
    /// Path and query below the base URL.
    path: String,
    /// As it goes out.
    call: Call,
    wishes: Wishes,
}

/// The whole body, or its beginning and the rest to come.
enum Incoming {
    Whole(Bytes),
    Streaming(Sent, u64),
}

/// The door.
pub async fn door(app: &Arc<App>, request: Request) -> Response {
    match enter(app, request).await {
        Ok(response) => response,
        Err(problem) => problem::respond(&problem),
    }
}

async fn enter(app: &Arc<App>, request: Request) -> Result<Response, Problem> {
    let (parts, body) = request.into_parts();
    let arrived = arrive(app, parts)?;
    let incoming = take_in(app, &arrived.call.headers, body).await?;
    if arrived.wishes.key.is_some() || arrived.wishes.respond_async {
        let Incoming::Whole(bytes) = incoming else {
            return Err(Problem::new(
                413,
                "body-too-large",
                "Body too large to be kept",
                format!(
                    "a call with an idempotency key or Prefer: respond-async may bring {} bytes",
                    app.limits.retry_body_bytes
                ),
            )
            .hint("send it without a key, or raise retry_body_bytes in penstock.toml"));
        };
        return kept::call(app, arrived, bytes).await;
    }
    Ok(live::call(app, arrived, incoming).await.into_response())
}

fn arrive(app: &App, parts: http::request::Parts) -> Result<Arrived, Problem> {
    if parts.method == http::Method::CONNECT {
        return Err(Problem::new(
            405,
            "no-such-method",
            "Not with this method",
            "CONNECT asks a proxy for a tunnel; nothing was sent",
        )
        .hint("send the call itself to /gw/{upstream}/…"));
    }
    let whole = parts.uri.path_and_query().map_or("/", http::uri::PathAndQuery::as_str);
    let rest = whole.strip_prefix("/gw/").unwrap_or_default();
    let end = rest.find(['/', '?']).unwrap_or(rest.len());
    let (name, path) = rest.split_at_checked(end).unwrap_or((rest, ""));
    let upstream = app.upstreams.get(name).ok_or_else(|| problem::unknown_upstream(app, name))?;
    let settings = upstream.settings();
    if settings.credential_missing {
        return Err(Problem::new(
            503,
            "credential-missing",
            "No credential",
            format!("upstream {name:?} names an environment variable that is not set in the server's environment"),
        )
        .hint("set the variable and restart Penstock"));
    }
    let uri = target::uri(&settings.base, path).map_err(|e| {
        Problem::new(400, "bad-path", "The path can't be called", e.to_string())
            .hint("call a path below the upstream's base URL")
    })?;
    Ok(Arrived {
        wishes: wishes(&parts.headers)?,
        upstream,
        settings,
        path: path.to_owned(),
        call: Call { method: parts.method, uri, headers: parts.headers, idempotency_key: None },
    })
}

/// The headers that are ours, found in one look at all of them: most calls bring none.
#[derive(Default)]
struct Ours<'h> {
    wait: Option<&'h HeaderValue>,
    workload: Option<&'h HeaderValue>,
    engine: Option<&'h HeaderValue>,
    tokens: Option<&'h HeaderValue>,
    key: Option<&'h HeaderValue>,
    respond_async: bool,
}

impl<'h> Ours<'h> {
    fn of(headers: &'h HeaderMap) -> Result<Self, Problem> {
        let mut ours = Self::default();
        for (name, value) in headers {
            let place = match name.as_str() {
                "penstock-wait" => &mut ours.wait,
                "penstock-workload" => &mut ours.workload,
                "penstock-engine" => &mut ours.engine,
                "penstock-tokens" => &mut ours.tokens,
                "idempotency-key" => &mut ours.key,
                "prefer" => {
                    ours.respond_async |= asks_for_a_ticket(value);
                    continue;
                }
                _ => continue,
            };
            if place.replace(value).is_some() {
                return Err(bad_header(name.as_str(), "stands there twice"));
            }
        }
        Ok(ours)
    }
}

fn asks_for_a_ticket(prefer: &HeaderValue) -> bool {
    let preferences = prefer.to_str().unwrap_or_default().split(',');
    preferences.filter_map(|p| p.split(';').next()).any(|p| p.trim().eq_ignore_ascii_case("respond-async"))
}

fn text<'h>(name: &str, value: Option<&'h HeaderValue>) -> Result<Option<&'h str>, Problem> {
    value.map(|v| v.to_str().map(str::trim).map_err(|_| bad_header(name, "must be plain ASCII text"))).transpose()
}

fn bad_header(name: &str, why: &str) -> Problem {
    Problem::new(400, "bad-header", "A request header is wrong", format!("{name} {why}"))
        .hint("leave it out, or send what the operator's guide says")
}

fn wishes(headers: &HeaderMap) -> Result<Wishes, Problem> {
    let ours = Ours::of(headers)?;
    let wait = match text("penstock-wait", ours.wait)? {
        None => WAIT,
        Some(seconds) => seconds
            .parse::<f64>()
            .ok()
            .and_then(|s| Duration::try_from_secs_f64(s).ok())
            .filter(|d| *d <= LONGEST_WAIT)
            .ok_or_else(|| bad_header("Penstock-Wait", "must be a number of seconds from 0 to 3600"))?,
    };
    let class = match text("penstock-workload", ours.workload)? {
        None | Some("interactive") => Class::Interactive,
        Some("batch") => Class::Batch,
        Some(_) => return Err(bad_header("Penstock-Workload", "must be interactive or batch")),
    };
    let engine = text("penstock-engine", ours.engine)?.filter(|e| !e.is_empty());
    if engine.is_some_and(|e| e.len() > 128) {
        return Err(bad_header("Penstock-Engine", "must have at most 128 characters"));
    }
    let tokens = text("penstock-tokens", ours.tokens)?
        .map(|t| t.parse::<u64>().map_err(|_| bad_header("Penstock-Tokens", "must be a whole number")))
        .transpose()?;
    let key = text("idempotency-key", ours.key)?.filter(|k| !k.is_empty());
    if key.is_some_and(|k| k.len() > 255) {
        return Err(bad_header("Idempotency-Key", "must have at most 255 characters"));
    }
    Ok(Wishes {
        wait,
        class,
        engine: engine.map(str::to_owned),
        tokens,
        key: key.map(str::to_owned),
        respond_async: ours.respond_async,
    })
}

impl Wishes {
    const fn workload(&self) -> Workload {
        match self.class {
            Class::Interactive => Workload::Interactive,
            Class::Batch | Class::Retry => Workload::Batch,
        }
    }

    /// Tokens: the caller's figure, else the profile's estimate.
    fn token_estimate(&self, settings: &Settings, body: &[u8]) -> u64 {
        self.tokens.unwrap_or_else(|| classify::estimate(settings.config.profile, body))
    }
}

fn too_large(limit: u64) -> Problem {
    Problem::new(
        413,
        "body-too-large",
        "Body too large",
        format!("the body has more than {limit} bytes; it did not reach the upstream as a whole"),
    )
    .hint("send less, or raise max_body_bytes in penstock.toml")
}

/// Buffers the body as far as it may be sent again; a larger one goes on as a stream.
async fn take_in(app: &App, headers: &HeaderMap, body: Body) -> Result<Incoming, Problem> {
    let declared =
        headers.get(header::CONTENT_LENGTH).and_then(|v| v.to_str().ok()).and_then(|v| v.parse::<u64>().ok());
    if declared.is_some_and(|n| n > app.limits.max_body_bytes) {
        return Err(too_large(app.limits.max_body_bytes));
    }
    let mut stream = body.into_data_stream();
    let mut read = BytesMut::new();
    while let Some(chunk) = stream.next().await {
        let chunk = chunk.map_err(|e| {
            Problem::new(400, "body-cut", "The body broke off", e.to_string()).hint("send the whole body")
        })?;
        read.extend_from_slice(&chunk);
        if u64::try_from(read.len()).is_ok_and(|n| n > app.limits.max_body_bytes) {
            return Err(too_large(app.limits.max_body_bytes));
        }
        if read.len() > app.limits.retry_body_bytes {
            let most = app.limits.max_body_bytes;
            let so_far = u64::try_from(read.len()).unwrap_or(u64::MAX);
            let rest = bounded(read.freeze(), stream, most);
            return Ok(Incoming::Streaming(Sent::streaming(rest), declared.unwrap_or(so_far)));
        }
    }
    Ok(Incoming::Whole(read.freeze()))
}

/// What was read, then the rest, cut off with an error beyond `most` bytes.
fn bounded(
    first: Bytes,
    rest: impl Stream<Item = Result<Bytes, axum::Error>> + Send + 'static,
    most: u64,
) -> impl Stream<Item = Result<Bytes, CallersBody>> + Send + 'static {
    let mut total = 0_u64;
    futures_util::stream::once(async { Ok(first) }).chain(rest).map(move |chunk| {
        let chunk = chunk.map_err(|e| CallersBody::Cut(e.to_string()))?;
        total = total.saturating_add(u64::try_from(chunk.len()).unwrap_or(u64::MAX));
        if total > most { Err(CallersBody::TooLarge) } else { Ok(chunk) }
    })
}

/// The SHA-256 that tells whether a key came with the same request.
pub fn request_hash(method: &str, path: &str, body: &[u8]) -> Vec<u8> {
    use sha2::{Digest, Sha256};
    let mut hash = Sha256::new();
    hash.update(method.as_bytes());
    hash.update([0]);
    hash.update(path.as_bytes());
    hash.update([0]);
    hash.update(body);
    hash.finalize().to_vec()
}

/// The caller brings its own credential, and nothing of ours replaces it: a later replay would lack it.
fn needs_credential(arrived: &Arrived) -> bool {
    let in_query = target::without_secrets(&arrived.path).1;
    arrived.settings.auth.is_none() && (headers::has_credential(&arrived.call.headers) || in_query)
}

/// A refusal of the limiter's, as every door tells it, and its word.
pub fn refused(denied: crate::governor::Denied, clock: &crate::clock::Clock) -> (Response, &'static str) {
    answer::refused(denied, clock, answer::Trace::default())
}
