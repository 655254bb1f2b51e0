//! Anthropic's door over real sockets.

use std::time::Duration;

use http::Method;
use serde_json::{Value, json};

use super::*;

fn ask(extra: Value) -> String {
    let mut body = json!({"model": "m", "max_tokens": 99, "messages": [{"role": "user", "content": "look at this"}]});
    body.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
    body.to_string()
}

#[tokio::test]
async fn messages_answer_as_anthropic_does() {
    let upstream = start(UpstreamSpec::default()).await;
    let post = async |body: String| send(&upstream, Method::POST, "/v1/messages", &[], body).await.unwrap();
    let whole = parsed(&post(ask(json!({}))).await);
    assert_eq!(
        (&whole["type"], &whole["role"], &whole["stop_reason"]),
        (&json!("message"), &json!("assistant"), &json!("end_turn"))
    );
    assert_eq!(whole["content"][0]["text"].as_str().unwrap().split(' ').count(), 8);
    assert_eq!(whole["usage"], json!({"input_tokens": 3, "output_tokens": 8}));
    assert_eq!(parsed(&post(ask(json!({"max_tokens": 2}))).await)["stop_reason"], "max_tokens");
    for body in ["{".to_owned(), chat(json!({}))] {
        let bad = post(body).await;
        let told = parsed(&bad);
        assert_eq!((bad.status.as_u16(), &told["type"]), (400, &json!("error")), "{told}");
        assert_eq!(told["error"]["type"], "invalid_request_error", "{told}");
    }
}

#[tokio::test]
async fn messages_stream_event_by_event() {
    let upstream = start(UpstreamSpec { answer_words: 3, word_delay: Duration::ZERO, ..UpstreamSpec::default() }).await;
    let body = ask(json!({"stream": true}));
    let told = send(&upstream, Method::POST, "/v1/messages", &[], body).await.unwrap();
    assert_eq!(told.headers["content-type"], "text/event-stream; charset=utf-8");
    let said = String::from_utf8(told.body.to_vec()).unwrap();
    let named: Vec<_> = said.lines().filter_map(|line| line.strip_prefix("event: ")).collect();
    let data: Vec<Value> = said
        .lines()
        .filter_map(|line| line.strip_prefix("data: "))
        .map(|data| serde_json::from_str(data).unwrap())
        .collect();
    let word = "content_block_delta";
    let end = ["content_block_stop", "message_delta", "message_stop"];
    assert_eq!(named, [&["message_start", "content_block_start", "ping", word, word, word][..], &end].concat());
    assert!(named.iter().zip(&data).all(|(name, data)| data["type"] == **name), "{said}");
    let text: String = data.iter().filter_map(|event| event["delta"]["text"].as_str()).collect();
    assert_eq!(text, "roof road field");
    assert_eq!(data[0]["message"]["usage"]["input_tokens"], 3);
    assert_eq!((&data[7]["delta"]["stop_reason"], &data[7]["usage"]["output_tokens"]), (&json!("end_turn"), &json!(3)));
}

#[tokio::test]
async fn refusals_and_faults_look_as_they_do_at_anthropic() {
    let post =
        async |upstream: &Upstream| send(upstream, Method::POST, "/v1/messages", &[], ask(json!({}))).await.unwrap();
    let kind = |reply: &Reply| (reply.status.as_u16(), parsed(reply)["error"]["type"].as_str().unwrap().to_owned());
    let judge = Some(JudgeSpec::requests(1, Duration::from_secs(30)));
    let upstream = start(UpstreamSpec { judge, ..UpstreamSpec::default() }).await;
    assert_eq!(post(&upstream).await.headers["anthropic-ratelimit-requests-remaining"], "0");
    let refused = post(&upstream).await;
    assert_eq!(kind(&refused), (429, "rate_limit_error".to_owned()));
    assert_eq!(refused.headers["retry-after"], "30", "rounded up");
    upstream.episodes().set_outage(true);
    assert_eq!(kind(&post(&upstream).await), (529, "overloaded_error".to_owned()));
    upstream.episodes().set_outage(false);
    upstream.episodes().set_insufficient_quota(true);
    assert_eq!(kind(&post(&upstream).await), (400, "invalid_request_error".to_owned()));
    let faulty = async |faults| post(&start(UpstreamSpec { faults, ..UpstreamSpec::default() }).await).await;
    let none = FaultPlan::none();
    assert_eq!(kind(&faulty(FaultPlan { too_large: 1.0, ..none }).await), (413, "request_too_large".to_owned()));
    assert_eq!(kind(&faulty(FaultPlan { server_error: 1.0, ..none }).await).1, "api_error");
    assert_eq!(parsed(&faulty(FaultPlan { content_200: 1.0, ..none }).await)["stop_reason"], "refusal");
}
