//! What the upstream says of its quota corrects ours (G9).

use futures_util::future::join_all;
use harness::{Penstock, upstream_toml};
use reqwest::Method;

use crate::gateway::wire::Wire;

const QUOTA: &str = "profile = \"openai\"\nquota = { requests_per_minute = 60, safety = 1.0, burst = 10 }";

/// How many of five calls that hardly wait pass, after one whose answer has these headers; and the units taken away.
async fn passing_after(headers: &str) -> (usize, Option<String>) {
    let answer = format!(
        "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n{headers}Content-Length: 2\r\nConnection: close\r\n\r\nok"
    );
    let wire = Wire::answering(answer).await;
    let app = Penstock::start(&upstream_toml("up", &wire.base_url(), QUOTA)).await;
    app.api().get("/gw/up/x").await.expect(200);
    let call = async || {
        let request = app.api().request(Method::GET, "/gw/up/x").header("Penstock-Wait", "0.4");
        app.api().send(request).await.status
    };
    let statuses = join_all((0..5).map(|_| call())).await;
    assert!(statuses.iter().all(|status| [200, 429].contains(status)), "{statuses:?}");
    let scrape = app.api().get("/metrics").await.text();
    let corrected = scrape.lines().find(|line| line.starts_with("penstock_quota_corrected_total{"));
    (statuses.iter().filter(|status| **status == 200).count(), corrected.map(str::to_owned))
}

#[tokio::test]
async fn what_others_have_spent_is_not_spent_again() {
    let (passed, corrected) = passing_after("x-ratelimit-remaining-requests: 2\r\n").await;
    assert!(passed <= 3, "two were left, and a third may have come back meanwhile: {passed}");
    let corrected = corrected.expect("counted");
    assert!(corrected.contains("dimension=\"requests_per_minute\""), "{corrected}");
}

#[tokio::test]
async fn case_26_litellm_27748_absent_is_not_zero_and_a_sentinel_says_nothing() {
    for headers in [
        "",
        "x-ratelimit-remaining-requests: -1\r\n",
        "x-ratelimit-remaining-requests: \r\n",
        "x-ratelimit-limit-requests: 60\r\n",
    ] {
        assert_eq!(passing_after(headers).await, (5, None), "{headers:?}");
    }
}

#[tokio::test]
async fn more_than_we_hold_is_no_news() {
    assert_eq!(passing_after("x-ratelimit-remaining-requests: 5000\r\n").await, (5, None));
}
