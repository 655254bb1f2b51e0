//! `/metrics` is OpenMetrics, and counts what happened.

use std::collections::{BTreeMap, BTreeSet};

use harness::{NO_BREAKER, Penstock, ROOMY, sim_upstream, upstream_toml};
use reqwest::Method;
use serde_json::json;
use sim::Answer;

/// Samples by name and labels, as they stand in the text.
type Samples = BTreeMap<String, f64>;

/// Reads a scrape by the rules of OpenMetrics 1.0: families declared once and together, each sample belonging to the family
/// before it with a suffix of its type, histograms cumulative, `# EOF` at the end.
fn read(text: &str) -> Samples {
    let body = text.strip_suffix("# EOF\n").expect("`# EOF` ends it");
    let (mut samples, mut families) = (Samples::new(), BTreeSet::new());
    let (mut family, mut kind) = (String::new(), String::new());
    for line in body.lines() {
        if let Some(rest) = line.strip_prefix("# ") {
            let mut words = rest.splitn(3, ' ');
            let (what, name, value) = (words.next().unwrap(), words.next().unwrap(), words.next().unwrap_or_default());
            if name != family {
                assert!(families.insert(name.to_owned()), "{name} is declared twice, or not in one piece");
                (family, kind) = (name.to_owned(), "unknown".to_owned());
            }
            match what {
                "TYPE" => {
                    assert!(["counter", "gauge", "histogram"].contains(&value), "{line}");
                    value.clone_into(&mut kind);
                }
                "HELP" => assert!(!value.is_empty(), "{line}"),
                "UNIT" => assert!(name.ends_with(value), "{line}"),
                _ => panic!("no such comment in OpenMetrics: {line}"),
            }
            continue;
        }
        let (series, value) = line.rsplit_once(' ').unwrap_or_else(|| panic!("no sample: {line}"));
        let value: f64 = value.parse().unwrap_or_else(|_| panic!("no number: {line}"));
        let name = series.split('{').next().unwrap_or_default();
        let suffix = name.strip_prefix(family.as_str()).unwrap_or_else(|| panic!("{line} stands under {family}"));
        let fits = match kind.as_str() {
            "counter" => suffix == "_total" && value >= 0.0,
            "gauge" => suffix.is_empty(),
            _ => ["_bucket", "_sum", "_count"].contains(&suffix),
        };
        assert!(fits, "a {kind} has no such sample: {line}");
        if let Some(labels) = series.strip_prefix(name).filter(|labels| !labels.is_empty()) {
            let inner = labels.strip_prefix('{').and_then(|l| l.strip_suffix('}')).unwrap_or_else(|| panic!("{line}"));
            for pair in inner.split(',') {
                let (label, value) = pair.split_once('=').unwrap_or_else(|| panic!("{line}"));
                assert!(label.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_'), "{line}");
                assert!(value.len() >= 2 && value.starts_with('"') && value.ends_with('"'), "{line}");
            }
        }
        assert!(samples.insert(series.to_owned(), value).is_none(), "told twice: {line}");
    }
    histograms_add_up(&samples);
    samples
}

fn histograms_add_up(samples: &Samples) {
    for (series, count) in samples.iter().filter(|(series, _)| series.contains("_count{")) {
        let (name, labels) = series.split_once("_count{").expect("it has labels");
        let (name, labels) = (format!("{name}_bucket{{"), labels.trim_end_matches('}'));
        let mut buckets: Vec<(f64, f64)> = samples
            .iter()
            .filter(|(bucket, _)| bucket.starts_with(&name) && bucket.contains(labels))
            .map(|(bucket, n)| {
                let le =
                    bucket.split("le=\"").nth(1).and_then(|le| le.split('"').next()).expect("a bucket has a bound");
                (if le == "+Inf" { f64::INFINITY } else { le.parse().expect("a bound is a number") }, *n)
            })
            .collect();
        buckets.sort_by(|a, b| a.0.total_cmp(&b.0));
        assert!(buckets.windows(2).all(|two| two[0].1 <= two[1].1), "{series}: {buckets:?}");
        assert_eq!(buckets.last(), Some(&(f64::INFINITY, *count)), "{series}");
    }
}

async fn scrape(app: &Penstock) -> Samples {
    let told = app.api().get("/metrics").await;
    assert_eq!(told.header("content-type"), "application/openmetrics-text; version=1.0.0; charset=utf-8");
    read(&told.text())
}

#[tokio::test]
async fn an_empty_program_tells_openmetrics_too() {
    let app = Penstock::start("").await;
    scrape(&app).await;
}

#[tokio::test]
async fn attempts_refusals_and_states_are_counted() {
    let sim = sim_upstream().await;
    let rest = format!(
        "{ROOMY}\n{NO_BREAKER}\nretry = {{ base_s = 0.01, max_retries = 2, jitter = \"none\" }}\non_unknown = \"retry\""
    );
    let config = [
        upstream_toml("up", &sim.base_url(), &rest),
        upstream_toml("small", &sim.base_url(), "quota = { requests_per_minute = 600, safety = 1.0, burst = 60 }"),
    ];
    let app = Penstock::start(&config.join("\n")).await;
    for n in 0..3 {
        app.api().get(&format!("/gw/up/{n}")).await.expect(200);
    }
    sim.script([Answer::status(503), Answer::status(429), Answer::usual()]);
    app.api().get("/gw/up/retried").await.expect(200);
    sim.script([Answer::status(400)]);
    assert_eq!(app.api().get("/gw/up/bad").await.status, 400);
    sim.script([Answer::drop_connection(), Answer::usual()]);
    app.api().get("/gw/up/dropped").await.expect(200);
    for _ in 0..30 {
        app.api().get("/gw/small/x").await.expect(200);
    }
    let never = app.api().request(Method::GET, "/gw/small/never").header("penstock-wait", "0");
    app.api().post("/api/v1/breakers/small/trip", &json!({"reason": "test", "for_s": 60})).await.expect(200);
    assert_eq!(app.api().send(never).await.status, 503);

    let told = scrape(&app).await;
    let of = |name: &str| told.get(name).copied().unwrap_or_else(|| panic!("{name} is missing: {told:#?}"));
    assert_eq!(of(r#"penstock_attempts_total{upstream="up",outcome="success"}"#), 5.0);
    assert_eq!(of(r#"penstock_attempts_total{upstream="up",outcome="server_error"}"#), 2.0);
    assert_eq!(of(r#"penstock_attempts_total{upstream="up",outcome="rate_limited"}"#), 1.0);
    assert_eq!(of(r#"penstock_attempts_total{upstream="up",outcome="client_error"}"#), 1.0);
    assert_eq!(of(r#"penstock_possibly_billed_twice_total{upstream="up"}"#), 1.0);
    assert_eq!(of(r#"penstock_answer_seconds_count{upstream="up"}"#), 9.0);
    assert_eq!(of(r#"penstock_attempts_total{upstream="small",outcome="success"}"#), 30.0);
    assert_eq!(of(r#"penstock_refusals_total{upstream="small",reason="breaker"}"#), 1.0);
    assert_eq!(of(r#"penstock_breaker_state{upstream="small"}"#), 2.0, "an operator's trip is open, too");
    assert_eq!(of(r#"penstock_breaker_computed_state{upstream="small"}"#), 0.0, "its rules had nothing against it");
    assert_eq!(of(r#"penstock_breaker_forced{upstream="small",mode="open"}"#), 1.0);
    assert_eq!(of(r#"penstock_breaker_state{upstream="up"}"#), 0.0);
    assert_eq!(of(r#"penstock_pending_records{error_class="client_error"}"#), 1.0);
    assert_eq!(of(r#"penstock_in_flight{upstream="up"}"#), 0.0);
    assert_eq!(of(r#"penstock_queued{upstream="up"}"#), 0.0);
    let utilisation = of(r#"penstock_utilisation_ratio{upstream="small"}"#);
    assert!((utilisation - 0.05).abs() < 1e-9, "30 of 600 within the minute: {utilisation}");
}
