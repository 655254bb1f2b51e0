//! The API's description (OpenAPI 3.1) at `/api/v1/openapi.json`, made from the types that the API itself reads and writes, and
//! the same as a page for people at `/docs`.

use std::fmt::Write as _;

use app::model::{
    Attempt, AuditPage, AuditQuery, Breaker, BulkOutcome, BulkRequest, EngineReport, EngineShare, EngineView, Ingested,
    Judgement, KeyView, MadeKey, MetricSample, NewKey, Overview, PendingChange, PendingDetail, PendingPage,
    PendingQuery, PermitAsked, PermitGranted, PermitSettled, Problem, RecordView, Replay, ReplayRequest, RetryStat,
    Series, SeriesQuery, SourcePut, Sources, TestAnswer, TriedAnswer, TripRequest, UpstreamPut, UpstreamVersion,
    UpstreamView,
};
use axum::{
    Json,
    response::{Html, IntoResponse},
};
use http::header::CONTENT_SECURITY_POLICY;
use schemars::{JsonSchema, SchemaGenerator, generate::SchemaSettings};
use serde_json::{Map, Value, json};

use super::{ingest, permits, records};

/// The page has a style sheet of ours and nothing else.
const POLICY: &str =
    "default-src 'none'; style-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// Makes a type's schema, or a reference to it.
type Shape = fn(&mut SchemaGenerator) -> Value;

fn shape<T: JsonSchema>(generator: &mut SchemaGenerator) -> Value {
    generator.subschema_for::<T>().into()
}

/// Who may ask.
#[derive(Clone, Copy, PartialEq, Eq)]
enum For {
    Workers,
    Operators,
    Everybody,
}

/// One operation of the API.
struct Operation {
    method: &'static str,
    path: &'static str,
    who: For,
    summary: &'static str,
    query: Option<Shape>,
    body: Option<Shape>,
    answer: (u16, Option<Shape>),
}

const fn ask(method: &'static str, path: &'static str, who: For, summary: &'static str) -> Operation {
    Operation { method, path, who, summary, query: None, body: None, answer: (200, None) }
}

impl Operation {
    fn asked<T: JsonSchema>(mut self) -> Self {
        self.query = Some(shape::<T>);
        self
    }

    fn takes<T: JsonSchema>(mut self) -> Self {
        self.body = Some(shape::<T>);
        self
    }

    fn gives<T: JsonSchema>(mut self, status: u16) -> Self {
        self.answer = (status, Some(shape::<T>));
        self
    }

    const fn empty(mut self) -> Self {
        self.answer = (204, None);
        self
    }
}

/// Everything that the API can be asked for.
fn operations() -> Vec<Operation> {
    use For::{Everybody, Operators, Workers};
    vec![
        ask("post", "/records", Workers, "Submit a record, or many as NDJSON; 202 says that it is on disk")
            .takes::<records::Submitted>()
            .gives::<records::Accepted>(202),
        ask("get", "/records/{id}", Workers, "One record; held until it has ended, if asked to wait")
            .asked::<records::Wait>()
            .gives::<RecordView>(200),
        ask(
            "get",
            "/records/{id}/attempts",
            Workers,
            "Every call made for a record, with its answer and what followed",
        )
        .gives::<Vec<Attempt>>(200),
        ask("post", "/permits", Workers, "Leave to send one call, as a lease")
            .takes::<PermitAsked>()
            .gives::<PermitGranted>(201),
        ask("delete", "/permits/{id}", Workers, "Give a permit back: nothing was sent")
            .gives::<permits::PermitEnded>(200),
        ask("post", "/permits/{id}/settle", Workers, "Say how a permit's call ended")
            .takes::<PermitSettled>()
            .gives::<permits::PermitEnded>(200),
        ask("post", "/engines/{id}/report", Workers, "What an engine has waiting; its share comes back")
            .takes::<EngineReport>()
            .gives::<EngineShare>(200),
        ask("post", "/ingest/metrics", Workers, "Samples of systems that limit by themselves; one, a list, or NDJSON")
            .takes::<MetricSample>()
            .gives::<Ingested>(202),
        ask("post", "/ingest/pending", Workers, "Records that failed at such systems; one, a list, NDJSON, or CSV")
            .takes::<ingest::pending::FailedElsewhere>()
            .gives::<Ingested>(202),
        ask("get", "/sources", Operators, "Who reports, what, and how late").gives::<Sources>(200),
        ask(
            "put",
            "/sources/{name}",
            Operators,
            "Set how a source's records are sent, and where their outcomes are told",
        )
        .takes::<SourcePut>()
        .empty(),
        ask("get", "/overview", Operators, "The first screen").gives::<Overview>(200),
        ask("get", "/events", Operators, "The first screen as server-sent events, about once a second"),
        ask("get", "/series", Operators, "A chart's data").asked::<SeriesQuery>().gives::<Series>(200),
        ask("get", "/engines", Operators, "Who called or reported within the hour").gives::<Vec<EngineView>>(200),
        ask("get", "/audit", Operators, "Who changed what, newest first").asked::<AuditQuery>().gives::<AuditPage>(200),
        ask("get", "/keys", Operators, "Keys for workers on other hosts").gives::<Vec<KeyView>>(200),
        ask("post", "/keys", Operators, "Make a key; the only answer that holds it")
            .takes::<NewKey>()
            .gives::<MadeKey>(201),
        ask("delete", "/keys/{id}", Operators, "Revoke a key").empty(),
        ask("get", "/pending", Operators, "Records that a person decides about, fifty a page")
            .asked::<PendingQuery>()
            .gives::<PendingPage>(200),
        ask("post", "/pending/bulk", Operators, "Decide about all that match")
            .takes::<BulkRequest>()
            .gives::<BulkOutcome>(200),
        ask("get", "/pending/{id}", Operators, "One pending record, whole").gives::<PendingDetail>(200),
        ask("patch", "/pending/{id}", Operators, "Decide about one record")
            .takes::<PendingChange>()
            .gives::<PendingDetail>(200),
        ask("get", "/replays", Operators, "The last hundred replays").gives::<Vec<Replay>>(200),
        ask("post", "/replays", Operators, "Start a replay; with dry_run, say what it would do")
            .takes::<ReplayRequest>()
            .gives::<Replay>(201),
        ask("post", "/replays/{id}/{action}", Operators, "Steer a replay: pause, resume, cancel").gives::<Replay>(200),
        ask("get", "/breakers", Operators, "All breakers").gives::<Vec<Breaker>>(200),
        ask("post", "/breakers/{id}/trip", Operators, "Hold an upstream's calls back until a time")
            .takes::<TripRequest>()
            .gives::<Breaker>(200),
        ask("post", "/breakers/{id}/{action}", Operators, "Steer a breaker: reset, disable, metrics_only")
            .gives::<Breaker>(200),
        ask("get", "/upstreams", Operators, "All upstreams").gives::<Vec<UpstreamView>>(200),
        ask("get", "/upstreams/{name}", Operators, "One upstream").gives::<UpstreamView>(200),
        ask("put", "/upstreams/{name}", Operators, "Add an upstream, or change it")
            .takes::<UpstreamPut>()
            .gives::<UpstreamView>(200),
        ask("delete", "/upstreams/{name}", Operators, "Remove an upstream").empty(),
        ask("get", "/upstreams/{name}/versions", Operators, "An upstream's versions, newest first")
            .gives::<Vec<UpstreamVersion>>(200),
        ask("get", "/upstreams/{name}/retries", Operators, "What its retries brought in seven days")
            .gives::<Vec<RetryStat>>(200),
        ask("post", "/upstreams/{name}/test", Operators, "One real call to it, through the limiter")
            .gives::<TestAnswer>(200),
        ask("post", "/upstreams/{name}/classify", Operators, "How an answer would be classified, and why")
            .takes::<TriedAnswer>()
            .gives::<Judgement>(200),
        ask("get", "/openapi.json", Everybody, "This description"),
    ]
}

fn parameters(operation: &Operation, generator: &mut SchemaGenerator) -> Vec<Value> {
    let in_path = operation.path.split('/').filter_map(|part| part.strip_prefix('{')?.strip_suffix('}'));
    let mut found: Vec<Value> = in_path
        .map(|name| json!({ "name": name, "in": "path", "required": true, "schema": { "type": "string" } }))
        .collect();
    let Some(query) = operation.query else { return found };
    // A query is told by its fields, so its schema is wanted itself, not a reference to it.
    let mut schema = query(generator);
    let name = schema.get("$ref").and_then(Value::as_str).and_then(|r| r.rsplit('/').next()).map(str::to_owned);
    if let Some(whole) = name.and_then(|name| generator.definitions().get(&name).cloned()) {
        schema = whole;
    }
    let required: Vec<&str> =
        schema.get("required").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str).collect();
    for (name, property) in schema.get("properties").and_then(Value::as_object).into_iter().flatten() {
        let described = property.get("description").and_then(Value::as_str).unwrap_or_default();
        found.push(json!({
            "name": name, "in": "query", "required": required.contains(&name.as_str()),
            "description": described, "schema": property,
        }));
    }
    found
}

/// The whole description.
#[expect(clippy::indexing_slicing, reason = "objects made here; an index into JSON makes the key or answers null")]
pub fn description() -> Value {
    let mut generator =
        SchemaSettings::draft2020_12().with(|s| s.definitions_path = "/components/schemas".into()).into_generator();
    let problem = shape::<Problem>(&mut generator);
    let mut paths: Map<String, Value> = Map::new();
    for operation in operations() {
        let (status, answer) = operation.answer;
        let mut told = json!({ "description": operation.summary });
        if let Some(answer) = answer {
            told["content"] = json!({ "application/json": { "schema": answer(&mut generator) } });
        }
        let mut entry = json!({
            "summary": operation.summary,
            "tags": [match operation.who {
                For::Workers => "workers",
                For::Operators => "operators",
                For::Everybody => "everybody",
            }],
            "parameters": parameters(&operation, &mut generator),
            "responses": {
                (status.to_string()): told,
                "default": { "description": "What happened, what was kept, what to do", "content": { "application/problem+json": { "schema": problem } } },
            },
            "security": match operation.who {
                For::Workers => json!([{}, { "worker": [] }]),
                For::Operators => json!([{}, { "operator": [] }]),
                For::Everybody => json!([{}]),
            },
        });
        if let Some(body) = operation.body {
            let mut content = json!({ "application/json": { "schema": body(&mut generator) } });
            if operation.path == "/records" || operation.path.starts_with("/ingest/") {
                content["application/x-ndjson"] =
                    json!({ "schema": { "type": "string", "description": "One a line" } });
            }
            if operation.path == "/ingest/pending" {
                content["text/csv"] = json!({ "schema": { "type": "string", "description": "The names of the fields, then one a line" } });
            }
            entry["requestBody"] = json!({ "required": true, "content": content });
        }
        let of_path = paths.entry(operation.path.to_owned()).or_insert_with(|| json!({}));
        of_path[operation.method] = entry;
    }
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Penstock",
            "version": env!("CARGO_PKG_VERSION"),
            "description": "Quota governor and operations console for AI API calls. The gateway itself, ANY /gw/{upstream}/{path}, speaks the upstream's own protocol.",
            "license": { "name": "Apache-2.0 OR MIT" },
        },
        "servers": [{ "url": app::paths::API }],
        "paths": paths,
        "components": {
            "schemas": generator.take_definitions(true),
            "securitySchemes": {
                "worker": { "type": "apiKey", "in": "header", "name": "Penstock-Key", "description": "For workers on other hosts" },
                "operator": { "type": "http", "scheme": "basic", "description": "Where a password is set; any user name" },
            },
        },
    })
}

/// `GET /api/v1/openapi.json`.
pub async fn json_description() -> Json<Value> {
    Json(description())
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

/// `GET /docs`: the description as a page, without scripts.
#[expect(clippy::indexing_slicing, reason = "objects made here; an index into JSON makes the key or answers null")]
pub async fn page() -> impl IntoResponse {
    let style = crate::web::assets::site_hash()
        .map(|hash| format!("<link rel=\"stylesheet\" href=\"/assets/{hash}/app.css\">"))
        .unwrap_or_default();
    let mut out = format!(
        "<!DOCTYPE html><html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" content=\"width=device-width, \
         initial-scale=1\"><meta name=\"color-scheme\" content=\"light dark\"><title>API · Penstock</title>{style}</head><body>\
         <main class=\"docs\"><h1>API</h1><p>Paths are below <code>{api}</code>. The whole description, with every field: \
         <a href=\"{api}/openapi.json\">openapi.json</a>. The gateway itself, <code>ANY /gw/{{upstream}}/{{path}}</code>, speaks \
         the upstream's own protocol. Errors are <code>application/problem+json</code>. <a href=\"/\">Console</a></p>",
        api = app::paths::API
    );
    let described = description();
    for (who, title) in [(For::Workers, "Workers"), (For::Operators, "Operators"), (For::Everybody, "Everybody")] {
        // Writing to a String can't fail.
        let _ = write!(out, "<h2>{title}</h2>");
        for operation in operations().into_iter().filter(|o| o.who == who) {
            let entry = &described["paths"][operation.path][operation.method];
            let shown = serde_json::to_string_pretty(&json!({
                "parameters": entry["parameters"], "body": entry["requestBody"]["content"]["application/json"]["schema"],
                "answer": entry["responses"][operation.answer.0.to_string()]["content"]["application/json"]["schema"],
            }))
            .unwrap_or_default();
            let _ = write!(
                out,
                "<section class=\"panel pad\"><h3><code>{} {}</code></h3><p>{}</p><details><summary>Parameters, body, answer \
                 {}</summary><pre tabindex=\"0\">{}</pre></details></section>",
                operation.method.to_uppercase(),
                escaped(operation.path),
                escaped(operation.summary),
                operation.answer.0,
                escaped(&shown)
            );
        }
    }
    out.push_str("<h2>Types</h2>");
    for (name, schema) in described["components"]["schemas"].as_object().into_iter().flatten() {
        let text = schema.get("description").and_then(Value::as_str).unwrap_or_default();
        let shown = serde_json::to_string_pretty(schema).unwrap_or_default();
        let _ = write!(
            out,
            "<section class=\"panel pad\" id=\"{name}\"><h3><code>{name}</code></h3><p>{}</p><details><summary>Schema\
             </summary><pre tabindex=\"0\">{}</pre></details></section>",
            escaped(text),
            escaped(&shown)
        );
    }
    out.push_str("</main></body></html>");
    ([(CONTENT_SECURITY_POLICY, POLICY)], Html(out))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    /// Paths as the routers name them: `.route("…", …)` in this folder.
    fn routed() -> BTreeSet<String> {
        let source = include_str!("mod.rs");
        source
            .split(".route(")
            .skip(1)
            .filter_map(|rest| rest.split('"').nth(1))
            .map(|path| path.strip_prefix("/api/v1").unwrap_or(path).to_owned())
            .filter(|path| !path.starts_with("/gw/") && path != "/healthz" && path != "/readyz" && path != "/docs")
            .collect()
    }

    #[test]
    fn every_route_is_described_and_nothing_else() {
        let told: BTreeSet<String> = operations().iter().map(|o| o.path.to_owned()).collect();
        assert_eq!(told, routed());
    }

    #[test]
    fn every_reference_leads_to_a_schema() {
        let described = description();
        let text = described.to_string();
        let schemas = described["components"]["schemas"].as_object().unwrap();
        let references: BTreeSet<&str> =
            text.split("\"#/components/schemas/").skip(1).filter_map(|rest| rest.split('"').next()).collect();
        assert!(references.len() > 30, "{references:?}");
        for name in references {
            assert!(schemas.contains_key(name), "{name}");
        }
        assert!(!text.contains("\"description\":null"), "a description is a text");
        let query = &described["paths"]["/pending"]["get"]["parameters"];
        let names: Vec<_> = query.as_array().unwrap().iter().map(|p| p["name"].as_str().unwrap()).collect();
        assert!(names.contains(&"error_class") && names.contains(&"after"), "{names:?}");
    }
}
