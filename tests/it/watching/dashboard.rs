//! The Grafana dashboard in docs/grafana asks for what there is.

use std::collections::BTreeSet;
use std::path::Path;

use harness::{PATIENCE, eventually};
use serde_json::{Value, json};

use super::everything_happened;
use super::prometheus::Prometheus;

fn dashboard() -> Value {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/grafana/penstock.json");
    let text = std::fs::read_to_string(&file).unwrap_or_else(|e| panic!("{}: {e}", file.display()));
    serde_json::from_str(&text).unwrap_or_else(|e| panic!("{}: {e}", file.display()))
}

/// The panels with their queries, as Prometheus gets them when "All" is chosen.
fn queries(dashboard: &Value) -> Vec<(String, String)> {
    let asked = |expression: &str| expression.replace("$upstream", ".+").replace("$__rate_interval", "1m");
    let mut queries = Vec::new();
    for panel in dashboard["panels"].as_array().expect("panels") {
        for target in panel["targets"].as_array().into_iter().flatten() {
            let expression = asked(target["expr"].as_str().expect("an expression"));
            assert!(!expression.contains('$'), "a variable that nothing fills: {expression}");
            queries.push((panel["title"].as_str().expect("a title").to_owned(), expression));
        }
    }
    queries
}

/// Every name in a text that is one of ours.
fn names(text: &str) -> BTreeSet<&str> {
    let words = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    words.filter(|word| word.starts_with("penstock_")).collect()
}

#[tokio::test]
async fn every_panel_shows_something_after_everything_happened() {
    let app = everything_happened().await;
    let dashboard = dashboard();
    let scrape = app.api().get("/metrics").await.text();
    let (told, asked) = (names(&scrape), dashboard.to_string());
    let unknown: Vec<_> = names(&asked).into_iter().filter(|name| !told.contains(name)).collect();
    assert!(unknown.is_empty(), "no such metrics: {unknown:?}");

    let prometheus = Prometheus::of(&app).await;
    for (title, expression) in queries(&dashboard) {
        let what = format!("{title:?} shows something: {expression}");
        // A rate needs two scrapes.
        eventually(&what, PATIENCE, async || (!prometheus.query(&expression).await.is_empty()).then_some(())).await;
    }
}

#[test]
fn every_metric_has_its_place() {
    let guide = include_str!("../../../docs/operating.md");
    let documented = names(guide.split("## Metrics").nth(1).and_then(|s| s.split("\n## ").next()).expect("a section"));
    let shown = dashboard().to_string();
    let shown: BTreeSet<_> = names(&shown).into_iter().map(|name| name.trim_end_matches("_bucket")).collect();
    let left_out: Vec<_> = documented.difference(&shown).collect();
    assert!(left_out.is_empty(), "documented, and on no panel: {left_out:?}");
}

#[test]
fn the_band_is_shown_behind_the_utilisation() {
    let dashboard = dashboard();
    let panels = dashboard["panels"].as_array().unwrap();
    let panel = panels.iter().find(|p| p["title"] == "Utilisation").expect("a panel");
    let defaults = &panel["fieldConfig"]["defaults"];
    assert_eq!(defaults["custom"]["thresholdsStyle"]["mode"], "area");
    let steps: Vec<_> = defaults["thresholds"]["steps"].as_array().unwrap().iter().map(|step| &step["value"]).collect();
    assert_eq!(steps, [&Value::Null, &json!(0.7), &json!(0.9), &json!(1.0)]);
}

#[test]
fn data_source_and_upstream_can_be_chosen() {
    let dashboard = dashboard();
    let variables = dashboard["templating"]["list"].as_array().unwrap();
    assert_eq!(variables.iter().map(|v| &v["name"]).collect::<Vec<_>>(), [&json!("datasource"), &json!("upstream")]);
    assert_eq!(variables[0]["query"], "prometheus");
    for asking in dashboard["panels"].as_array().unwrap().iter().chain([&variables[1]]) {
        assert_eq!(asking["datasource"], json!({"type": "prometheus", "uid": "${datasource}"}), "{asking}");
    }
}
