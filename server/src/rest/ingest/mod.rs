//! Systems that limit by themselves report here: samples of what they do, and the records that failed (C5).

mod csv;
pub mod metrics;
pub mod pending;

use std::{collections::BTreeMap, sync::Arc};

use app::model::{Ingested, IngestedRecord, LineProblem, Problem};
use axum::response::{IntoResponse, Response};
use http::{HeaderMap, StatusCode, header};

use super::{Answer, Refusal, json, lines};
use crate::{state::App, store::sources::Refused};

/// Lines stored together: bounded memory, one fsync for many.
const LINES: usize = 500;
/// Reasons that one answer tells.
const TOLD: usize = 100;
/// Reasons are kept shortened.
const WHY: usize = 200;

/// How a body is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Written {
    /// One object, or a list of them.
    Json,
    /// One object a line.
    Lines,
    /// A table with the fields' names in its first line.
    Csv,
}

fn written(headers: &HeaderMap) -> Written {
    let kind = headers.get(header::CONTENT_TYPE).and_then(|v| v.to_str().ok()).unwrap_or_default();
    match kind.split(';').next().unwrap_or_default().trim() {
        "application/x-ndjson" | "application/jsonl" => Written::Lines,
        "text/csv" => Written::Csv,
        _ => Written::Json,
    }
}

/// One that goes to the store together with others, and the line that it came on.
trait Kind: Sized + Send {
    /// The word in the metrics.
    const NAME: &str;

    /// Reads and checks one.
    fn read(app: &App, text: &str) -> Result<Self, Problem>;

    /// Puts them on disk, and notes what was refused.
    fn store(
        app: &Arc<App>,
        ready: Vec<(usize, Self)>,
        refused: BTreeMap<String, Refused>,
        told: &mut Told,
    ) -> impl Future<Output = ()> + Send;
}

/// What is told of a whole body.
#[derive(Debug, Default)]
struct Told {
    answer: Ingested,
    /// The first problem's status where nothing else was kept.
    status: Option<u16>,
}

impl Told {
    fn refuse(&mut self, line: usize, problem: Problem) {
        self.answer.rejected += 1;
        self.status = self.status.max(Some(problem.status));
        if self.answer.problems.len() < TOLD {
            self.answer.problems.push(LineProblem { line: number(line), problem });
        }
    }

    fn record(&mut self, line: usize, id: app::model::RecordId, new: bool) {
        self.answer.records.push(IngestedRecord { line: number(line), id, new });
    }
}

fn number(line: usize) -> u64 {
    u64::try_from(line).unwrap_or(u64::MAX)
}

/// Takes lines, stores them together, and remembers refusals with their source.
struct Intake<'a, K> {
    app: &'a Arc<App>,
    ready: Vec<(usize, K)>,
    refused: BTreeMap<String, Refused>,
    told: Told,
}

impl<K: Kind> lines::Door for Intake<'_, K> {
    async fn take(&mut self, number: usize, line: &[u8]) -> Result<(), Refusal> {
        match std::str::from_utf8(line) {
            Ok(text) => self.one(number, text).await,
            Err(_) => lines::Door::refuse(self, number, unreadable("not UTF-8")),
        }
        Ok(())
    }

    fn refuse(&mut self, number: usize, problem: Problem) {
        self.told.refuse(number, problem);
    }

    fn too_large(&self, most: usize) -> Problem {
        too_large(most)
    }
}

impl<'a, K: Kind> Intake<'a, K> {
    fn new(app: &'a Arc<App>) -> Self {
        Self { app, ready: Vec::new(), refused: BTreeMap::new(), told: Told::default() }
    }

    async fn one(&mut self, number: usize, text: &str) {
        let text = text.trim_start_matches('\u{feff}');
        // serde would take a list for the fields in their order.
        let read = if text.trim_start().starts_with('[') {
            Err(unreadable("a list, not an object"))
        } else {
            K::read(self.app, text)
        };
        match read {
            Ok(one) => {
                self.ready.push((number, one));
                if self.ready.len() >= LINES {
                    self.store().await;
                }
            }
            Err(problem) => self.refuse_of(number, source_of(text), problem),
        }
    }

    /// A line of a source that could be read was refused.
    fn refuse_of(&mut self, number: usize, source: Option<String>, problem: Problem) {
        if let Some(source) = source {
            let lines = self.refused.entry(source).or_default();
            lines.n += 1;
            lines.why = problem.detail.chars().take(WHY).collect();
        }
        self.told.refuse(number, problem);
    }

    async fn store(&mut self) {
        let (ready, refused) = (std::mem::take(&mut self.ready), std::mem::take(&mut self.refused));
        K::store(self.app, ready, refused, &mut self.told).await;
    }

    async fn end(mut self, alone: bool) -> Answer {
        if !(self.ready.is_empty() && self.refused.is_empty()) {
            self.store().await;
        }
        let Told { mut answer, status } = self.told;
        self.app.metrics.ingested(K::NAME, &answer);
        answer.problems.sort_by_key(|p| p.line);
        answer.records.sort_by_key(|r| r.line);
        let kept = answer.accepted + answer.known;
        if kept + answer.rejected == 0 {
            return Err(Refusal(unreadable("nothing came")));
        }
        if alone
            && kept == 0
            && let Some(first) = answer.problems.pop()
        {
            return Err(Refusal(first.problem));
        }
        let status = match status {
            Some(status) if kept == 0 => StatusCode::from_u16(status).unwrap_or(StatusCode::UNPROCESSABLE_ENTITY),
            _ => StatusCode::ACCEPTED,
        };
        Ok((status, json(&answer)).into_response())
    }
}

/// JSON of one or of a list, or NDJSON.
async fn take<K: Kind>(app: &Arc<App>, request: axum::extract::Request) -> Result<Response, Refusal> {
    let written = written(request.headers());
    let body = request.into_body();
    let most = app.limits.record_body_bytes;
    let mut intake: Intake<'_, K> = Intake::new(app);
    if written == Written::Lines {
        lines::each(body, most, &mut intake).await?;
        return intake.end(false).await;
    }
    let raw = axum::body::to_bytes(body, most).await.map_err(|_| too_large(most))?;
    let text = std::str::from_utf8(&raw).map_err(|_| unreadable("not UTF-8"))?;
    let text = text.trim_start_matches('\u{feff}');
    if !text.trim_start().starts_with('[') {
        intake.one(1, text).await;
        return intake.end(true).await;
    }
    let list: Vec<&serde_json::value::RawValue> =
        serde_json::from_str(text).map_err(|e| unreadable(&format!("not a list as JSON: {e}")))?;
    for (one, number) in list.into_iter().zip(1..) {
        intake.one(number, one.get()).await;
    }
    intake.end(false).await
}

/// The source of what could not be taken as a whole.
fn source_of(text: &str) -> Option<String> {
    #[derive(serde::Deserialize)]
    struct Named {
        source: String,
    }
    serde_json::from_str::<Named>(text).ok().map(|named| named.source).filter(|name| is_name(name))
}

/// Whether a source, engine or upstream may be called so.
fn is_name(name: &str) -> bool {
    !name.is_empty() && name.len() <= 128 && !name.chars().any(char::is_control)
}

fn named(field: &str, name: &str) -> Result<(), Problem> {
    if is_name(name) {
        Ok(())
    } else {
        Err(unfit(field, "must have 1 to 128 characters, none of them control characters"))
    }
}

fn unfit(field: &str, why: &str) -> Problem {
    Problem::new(422, "bad-report", "The report can't be taken", format!("{field} {why}; nothing of it was kept"))
        .hint("correct the field named; /docs has them all")
}

fn unreadable(why: &str) -> Problem {
    super::problem::bad_body(why)
        .hint(
            "send one object or a list as JSON, or one object a line with Content-Type: application/x-ndjson; times are RFC 3339 \
             with their zone, e.g. 2026-01-02T03:04:05Z",
        )
}

fn too_large(most: usize) -> Problem {
    Problem::new(
        413,
        "body-too-large",
        "Body too large",
        format!("a line, or a body that is not cut into lines, may have {most} bytes"),
    )
    .hint("send NDJSON, or raise record_body_bytes in penstock.toml")
}

fn too_many() -> Problem {
    Problem::new(503, "too-many-sources", "Too many sources", "a thousand sources, and ten thousand pairs of upstream and engine among them, are told apart; nothing was kept")
        .hint("use one name for one system or engine, not one for each job")
}
