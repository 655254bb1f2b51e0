//! Workers against a real upstream.

use std::time::Duration;

use super::*;
use crate::clock::Clock;
use crate::upstream::{Answer, JudgeSpec, RetryAfter, Upstream, UpstreamSpec};

const RUN: Duration = Duration::from_millis(800);

async fn judged() -> Upstream {
    let judge = JudgeSpec { retry_after: RetryAfter::Absent, ..JudgeSpec::requests(5, Duration::from_millis(400)) };
    Upstream::start(UpstreamSpec { judge: Some(judge), ..UpstreamSpec::default() }).await.unwrap()
}

#[tokio::test]
async fn workers_count_what_the_upstream_counts() {
    let upstream = judged().await;
    let reports = run_workers(3, &upstream.base_url(), "/v1/calls", RUN, Behaviour::Plain, 1).await.unwrap();
    assert_eq!(reports.iter().map(|report| report.worker).collect::<Vec<_>>(), [0, 1, 2]);
    let calls: u64 = reports.iter().map(WorkerReport::calls).sum();
    assert!(calls <= upstream.total() && calls + 3 >= upstream.total(), "at most the interrupted are missing");
    assert!(reports.iter().map(|report| report.refused).sum::<u64>() > 20, "nobody held them back");
    assert!(upstream.calls().iter().all(|call| call.engine.as_deref().is_some_and(|name| name.starts_with("worker-"))));
}

#[tokio::test]
async fn backoff_sends_fewer_calls() {
    let upstream = judged().await;
    let backoff = Behaviour::FullJitterBackoff { base: Duration::from_millis(50), cap: Duration::from_millis(200) };
    let began = Clock::started_now();
    let reports = run_workers(3, &upstream.base_url(), "/v1/calls", RUN, backoff, 1).await.unwrap();
    assert!(began.now() < RUN + Duration::from_millis(500));
    assert!(reports.iter().map(|report| report.accepted).sum::<u64>() >= 5);
    assert!(upstream.total() < 150, "{}", upstream.total());
}

#[tokio::test]
async fn whatever_else_comes_is_other() {
    let upstream = judged().await;
    upstream.on_path("/v1/calls", Answer::status(500));
    let reports =
        run_workers(1, &upstream.base_url(), "/v1/calls", Duration::from_millis(100), Behaviour::Plain, 1).await;
    let report = reports.unwrap().remove(0);
    assert!(report.other > 0 && report.accepted == 0 && report.last_accepted.is_none(), "{report:?}");
    assert!(run_workers(1, "ftp://x", "/", RUN, Behaviour::Plain, 1).await.is_err());
}
