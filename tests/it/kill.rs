//! `kill -9` at random moments under load: every accepted record is accounted for by its id, and none is sent again after a
//! success that was recorded.
//!
//! Two upstreams, both slow, with 503s and dropped connections. `again` serves pure reads: what was in flight at a kill is
//! sent again. `once` ignores keys and may not be called twice: what was in flight is for a person to decide. The workers do
//! as workers should: what was not acknowledged is submitted again, under the same key.

use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use harness::{Api, NO_BREAKER, PATIENCE, Penstock, eventually, holds_for, sim_with, upstream_toml};
use rand::rngs::StdRng;
use rand::{Rng as _, SeedableRng as _};
use serde_json::{Value, json};
use sim::{Call, FaultPlan, LatencySpec, Upstream, UpstreamSpec};

const SEED: u64 = 0x5eed_0b5e;
const KILLS: usize = 24;
/// Records of each round, and with them all that the test submits.
const PER_ROUND: usize = 90;
/// Lines of a batch.
const LINES: usize = 30;
/// Single records that are submitted at once.
const SINGLES: usize = 6;

async fn upstream(seed: u64) -> Upstream {
    let latency = LatencySpec {
        median: Duration::from_millis(40),
        p95: Duration::from_millis(150),
        slow_share: 0.01,
        slow_over: Duration::from_millis(400),
        dropped_share: 0.02,
        dropped_after: Duration::from_millis(60),
        time_scale: 1.0,
    };
    let faults = FaultPlan { server_error: 0.06, ..FaultPlan::none() };
    sim_with(UpstreamSpec { seed, latency: Some(latency), faults, ..UpstreamSpec::default() }).await
}

/// A record of the load; its name is its id in the upstream's ledger and its idempotency key.
#[derive(Clone)]
struct Piece {
    name: String,
    record: Value,
}

fn piece(n: usize) -> Piece {
    let (name, upstream) = (format!("r{n}"), if n.is_multiple_of(2) { "again" } else { "once" });
    let record = json!({
        "upstream": upstream, "path": "/work", "body": { "id": name }, "idempotency_key": name,
        "workload": if n.is_multiple_of(7) { "interactive" } else { "batch" },
    });
    Piece { name, record }
}

/// What the workers know: acknowledged names with their ids.
#[derive(Default)]
struct Known {
    ids: BTreeMap<String, String>,
    /// Names whose success was read, with the upstream's time at that moment.
    succeeded: HashMap<String, Duration>,
}

impl Known {
    /// A name keeps its id, whoever acknowledged it.
    fn acknowledged(&mut self, name: &str, told: &Value) {
        let id = told["id"].as_str().unwrap_or_else(|| panic!("{name} was refused: {told}"));
        let before = self.ids.insert(name.to_owned(), id.to_owned());
        assert!(before.as_deref().is_none_or(|b| b == id), "{name} was {before:?} and is {id}");
    }
}

/// Submits everything that is given, in batches and singles at once, and notes what was acknowledged. Cut off by the kill.
async fn submit(api: &Api, pieces: &[Piece], acknowledged: tokio::sync::mpsc::UnboundedSender<(String, Value)>) {
    let (batched, single) = pieces.split_at(pieces.len() * 2 / 3);
    let batches = async {
        for batch in batched.chunks(LINES) {
            let lines: Vec<String> = batch.iter().map(|p| p.record.to_string()).collect();
            let Ok(answer) = api.try_send(api.lines_request(&lines)).await else { return };
            let told = answer.expect(202);
            for line in told["lines"].as_array().expect("lines are told") {
                let n = line["line"].as_u64().expect("a line has a number") as usize;
                let _ = acknowledged.send((batch[n - 1].name.clone(), line.clone()));
            }
        }
    };
    let singles = async {
        for few in single.chunks(SINGLES) {
            let sent = few.iter().map(|p| async {
                let request = api.request(reqwest::Method::POST, "/api/v1/records").json(&p.record);
                if let Ok(answer) = api.try_send(request).await {
                    let _ = acknowledged.send((p.name.clone(), answer.expect(202)));
                }
            });
            futures_util::future::join_all(sent).await;
        }
    };
    tokio::join!(batches, singles);
}

/// Reads some acknowledged records: whose success can be read now must not be sent from now on.
async fn look(api: &Api, known: &mut Known, sims: &[&Upstream; 2], rng: &mut StdRng) {
    let names: Vec<(String, String)> = known.ids.iter().map(|(n, i)| (n.clone(), i.clone())).collect();
    for _ in 0..30.min(names.len()) {
        let (name, id) = &names[rng.random_range(0..names.len())];
        let Ok(answer) = api.try_send(api.request(reqwest::Method::GET, &format!("/api/v1/records/{id}"))).await else {
            return;
        };
        if answer.expect(200)["state"] == "succeeded" {
            let sim = sims[usize::from(!number(name).is_multiple_of(2))];
            known.succeeded.entry(name.clone()).or_insert_with(|| sim.now());
        }
    }
}

fn number(name: &str) -> usize {
    name.trim_start_matches('r').parse().expect("a name is r and a number")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn after_many_kills_at_random_moments_every_accepted_record_is_accounted_for() {
    let mut rng = StdRng::seed_from_u64(SEED);
    let (again, once) = (upstream(1).await, upstream(2).await);
    let quota = "quota = { requests_per_second = 10000, concurrency = 12, burst = 10000 }";
    let retry = "retry = { base_s = 0.03, cap_s = 0.2, max_retries = 8 }\ntimeout = { request_s = 5 }";
    let config = [
        upstream_toml("again", &again.base_url(), &format!("preset = \"tiles\"\n{quota}\n{retry}\n{NO_BREAKER}")),
        upstream_toml("once", &once.base_url(), &format!("on_unknown = \"park\"\n{quota}\n{retry}\n{NO_BREAKER}")),
    ]
    .concat();
    let mut app = Penstock::start(&config).await;
    let mut known = Known::default();
    let mut unacknowledged: Vec<Piece> = Vec::new();
    let mut cut = 0;
    for round in 0..KILLS {
        let mut pieces = std::mem::take(&mut unacknowledged);
        cut += pieces.len();
        pieces.extend((round * PER_ROUND..(round + 1) * PER_ROUND).map(piece));
        let (tell, mut told) = tokio::sync::mpsc::unbounded_channel();
        let (api, mine) = (app.api().clone(), pieces.clone());
        let load = tokio::spawn(async move { submit(&api, &mine, tell).await });
        let api = app.api().clone();
        let moment = Duration::from_millis(rng.random_range(20..700));
        let looking = async {
            loop {
                look(&api, &mut known, &[&again, &once], &mut rng).await;
                tokio::time::sleep(Duration::from_millis(30)).await;
            }
        };
        // A random moment is no signal that could be waited for.
        let _ = tokio::time::timeout(moment, looking).await;
        app.kill9().await;
        load.await.expect("the workers do not panic");
        while let Ok((name, line)) = told.try_recv() {
            known.acknowledged(&name, &line);
        }
        unacknowledged = pieces.into_iter().filter(|p| !known.ids.contains_key(&p.name)).collect();
        app.restart().await;
    }
    let (tell, mut told) = tokio::sync::mpsc::unbounded_channel();
    submit(app.api(), &unacknowledged, tell).await;
    while let Ok((name, line)) = told.try_recv() {
        known.acknowledged(&name, &line);
    }
    assert_eq!(known.ids.len(), KILLS * PER_ROUND);

    let views = settle(&app, &known).await;
    let total = again.total() + once.total();
    holds_for("all is quiet", Duration::from_secs(2), || async { again.total() + once.total() == total }).await;

    let seen = account(&views, &known, &again, &once);
    let recovered = app.log().matches("calls were in flight when the program last ended").count();
    eprintln!(
        "{KILLS} kills, {} records ({cut} of them submitted again), {total} calls, {recovered} starts found calls in flight; {seen}",
        known.ids.len()
    );
    // The test shows something only if kills met work.
    assert!(recovered >= KILLS / 3, "only {recovered} kills met calls in flight");
    assert!(seen.cut_short_parked > 0 && seen.sent_again > 0 && seen.success_was_read > 50, "{seen}");
    app.stop().await;
}

/// Waits until nothing is under way any more; a record may wait in the retry queue for its time.
async fn settle(app: &Penstock, known: &Known) -> HashMap<String, Value> {
    let mut views = HashMap::new();
    for (name, id) in &known.ids {
        let view = eventually(&format!("{name} stands somewhere"), PATIENCE * 3, || async {
            let view = app.api().record(id).await;
            let later = || {
                let at = view["next_attempt_at"].as_str().and_then(|t| t.parse::<chrono::DateTime<chrono::Utc>>().ok());
                let created = view["created_at"].as_str().and_then(|t| t.parse::<chrono::DateTime<chrono::Utc>>().ok());
                view["attempts"].as_u64() > Some(8) && at.zip(created).is_some_and(|(a, c)| (a - c).num_seconds() >= 50)
            };
            match view["state"].as_str() {
                Some("succeeded" | "pending") => Some(view),
                Some("waiting") if later() => Some(view),
                _ => None,
            }
        })
        .await;
        views.insert(name.clone(), view);
    }
    views
}

#[derive(Default)]
struct Seen {
    succeeded: usize,
    pending: usize,
    waiting: usize,
    /// Parked since a kill met its call.
    cut_short_parked: usize,
    /// Called again though a call's outcome was unknown: allowed for pure reads.
    sent_again: usize,
    success_was_read: usize,
}

impl std::fmt::Display for Seen {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "{} succeeded, {} pending ({} of them cut short by a kill), {} put off; {} calls repeated after an unknown outcome; \
             {} successes were read before a kill",
            self.succeeded, self.pending, self.cut_short_parked, self.waiting, self.sent_again, self.success_was_read
        )
    }
}

/// Compares what the server says with what the upstreams saw.
fn account(views: &HashMap<String, Value>, known: &Known, again: &Upstream, once: &Upstream) -> Seen {
    let ledgers = [again.by_id(), once.by_id()];
    assert!(again.summary().unlisted + once.summary().unlisted == 0, "the ledger was too short");
    let mut seen = Seen::default();
    for (name, view) in views {
        let one_call_only = !number(name).is_multiple_of(2);
        let calls: &[Call] = ledgers[usize::from(one_call_only)].get(name).map_or(&[], Vec::as_slice);
        let good = |c: &Call| c.status == Some(200);
        let state = view["state"].as_str().unwrap();
        let attempts = view["attempts"].as_u64().unwrap();
        // Each call was written down before it was made.
        assert!(calls.len() as u64 <= attempts, "{name}: {} calls, {view}", calls.len());
        assert!(calls.iter().all(|c| c.key.as_deref() == Some(name.as_str())), "{name}: {calls:?}");
        match state {
            "succeeded" => {
                seen.succeeded += 1;
                assert!(calls.last().is_some_and(good), "{name} succeeded, but: {calls:?}");
            }
            "pending" => {
                seen.pending += 1;
                assert!(view["error_class"].is_string(), "{view}");
            }
            _ => seen.waiting += 1,
        }
        if one_call_only {
            // Sent again only after an answer that said: not done.
            for pair in calls.windows(2) {
                assert!(pair[0].status.is_some_and(|s| s >= 500), "{name} was sent again after {:?}", pair[0]);
            }
            let cut_short = view["error_message"].as_str().is_some_and(|m| m.contains("Penstock ended"));
            if state == "pending" && cut_short {
                seen.cut_short_parked += 1;
                assert_eq!(view["error_class"], "timeout", "{view}");
            }
        } else {
            assert_ne!(state, "pending", "a pure read needs nobody: {view}");
            seen.sent_again += calls.windows(2).filter(|p| p[0].status.is_none_or(|s| s == 200)).count();
        }
        if let Some(read_at) = known.succeeded.get(name) {
            seen.success_was_read += 1;
            assert_eq!(state, "succeeded", "{name} had succeeded: {view}");
            let late: Vec<&Call> = calls.iter().filter(|c| c.at > *read_at).collect();
            assert!(late.is_empty(), "{name} was sent after its success was read: {late:?}");
        }
    }
    // Nothing but what was submitted was ever sent.
    for name in ledgers.iter().flat_map(HashMap::keys) {
        assert!(views.contains_key(name), "{name} was sent, but never accepted");
    }
    seen
}
