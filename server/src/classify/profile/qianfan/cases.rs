//! Cases of Baidu Qianfan.

use app::model::{ErrorClass, Suggestion, upstream::Profile::Qianfan};
use limiter::Signal;

use super::super::{
    super::{Counted, Limit},
    Rules,
};
use crate::classify::{
    Retryable, Usage, Verdict, estimate,
    testing::{
        BROKEN, BROKEN_LATE, CLIENT, CONTENT, EVENTS, Expected, HTML, JSON, LIMITED, PLAIN, UNPAID, check, failure,
        headers, now, streamed, verdict,
    },
};

#[test]
fn v1_errors_come_in_a_200() {
    for (code, expected) in [
        (18, LIMITED),
        (4, LIMITED),
        (336_501, LIMITED),
        (336_502, LIMITED),
        (1, BROKEN),
        (2, BROKEN),
        (336_000, BROKEN),
        (336_100, BROKEN),
        (17, UNPAID),
        (19, UNPAID),
        (6, CLIENT),
        (13, CLIENT),
        (14, CLIENT),
        (100, CLIENT),
        (110, CLIENT),
        (111, CLIENT),
        (3, CLIENT),
        (336_001, CLIENT),
        (336_003, CLIENT),
        (336_104, CLIENT),
        (15, BROKEN),
        (999_999, BROKEN),
    ] {
        let long = format!(r#"{{"error_code":{code},"error_msg":"m","id":"as-x"}}"#);
        let short = format!(r#"{{"code":{code},"msg":"m"}}"#);
        let text = format!(r#"{{"error_code":"{code}","error_msg":"m"}}"#);
        check(
            Qianfan,
            &[
                (200, JSON, &long, expected),
                (200, JSON, &short, expected),
                (200, JSON, &text, expected),
                (200, PLAIN, &long, expected),
            ],
        );
    }
}

#[test]
fn v1_answers() {
    check(
        Qianfan,
        &[
            (
                200,
                JSON,
                r#"{"id":"as","object":"chat.completion","result":"hi","is_truncated":false,"need_clear_history":false,"usage":{"total_tokens":3}}"#,
                None,
            ),
            (
                200,
                JSON,
                r#"{"id":"as","object":"chat.completion","result":"no","need_clear_history":true,"ban_round":-1}"#,
                CONTENT,
            ),
            (200, JSON, r#"{"result":"need_clear_history: true, error_code: 18","need_clear_history":null}"#, None),
            (200, JSON, r#"{"result":"","need_clear_history":"true"}"#, None),
            (200, JSON, r#"{"error_code":0,"error_msg":"","result":"hi"}"#, None),
            (200, JSON, r#"{"code":18,"result":"a code of the answer's own"}"#, None),
            (200, JSON, r#"{"error_code":[18]}"#, None),
            (200, JSON, r#"{"error_code":"","error_msg":""}"#, None),
            (200, JSON, r#"{"object":"embedding_list","data":[{"embedding":[0.1]}],"usage":{"total_tokens":3}}"#, None),
            (200, JSON, r#"{"object":"embedding_list","data":[],"usage":{"total_tokens":3}}"#, BROKEN),
            (200, JSON, r#"{"result":"h"#, BROKEN_LATE),
            (200, JSON, "", BROKEN),
            (200, HTML, "<html>", BROKEN),
            (401, JSON, r#"{"error":"invalid_client","error_description":"unknown client id"}"#, CLIENT),
            (429, JSON, r#"{"error_code":336501,"error_msg":"Rate limit reached for RPM"}"#, LIMITED),
            (429, JSON, r#"{"error_code":17,"error_msg":"Open api daily request limit reached"}"#, UNPAID),
            (400, JSON, r#"{"error_code":999999,"error_msg":"m"}"#, CLIENT),
            (500, JSON, r#"{"error_code":336000,"error_msg":"Internal error"}"#, BROKEN),
        ],
    );
}

#[test]
fn v2_refusals() {
    check(
        Qianfan,
        &[
            (
                429,
                JSON,
                r#"{"error":{"code":"rpm_rate_limit_exceeded","message":"Rate limit reached for RPM","type":"rate_limit_exceeded"},"id":"as"}"#,
                LIMITED,
            ),
            (429, JSON, r#"{"error":{"code":"tpm_rate_limit_exceeded","type":"rate_limit_exceeded"}}"#, LIMITED),
            (
                429,
                JSON,
                r#"{"error":{"code":"preemptible_rate_limit_exceeded","type":"rate_limit_exceeded"}}"#,
                LIMITED,
            ),
            (429, JSON, r#"{"error":{"code":"user_rate_limit_exceeded"}}"#, LIMITED),
            (429, JSON, r#"{"error":{"code":"insufficient_quota"}}"#, LIMITED),
            (429, PLAIN, "", LIMITED),
            (400, JSON, r#"{"error":{"code":"image_url_unsafe","message":"m","type":"unsafe_request"}}"#, CONTENT),
            (403, JSON, r#"{"error":{"code":"system_unsafe","type":"unsafe_request"}}"#, CONTENT),
            (400, JSON, r#"{"error":{"code":"unsafe_request"}}"#, CONTENT),
            (
                400,
                JSON,
                r#"{"error":{"code":"invalid_messages","message":"unsafe_request","type":"invalid_request_error"}}"#,
                CLIENT,
            ),
            (400, JSON, r#"{"error":{"code":"tokens_too_long","type":"invalid_request_error"}}"#, CLIENT),
            (401, JSON, r#"{"error":{"code":"invalid_iam_token","type":"invalid_request_error"}}"#, CLIENT),
            (401, JSON, r#"{"error":{"code":"invalid_model","type":"invalid_request_error"}}"#, CLIENT),
            (403, JSON, r#"{"error":{"code":"account_overdue","type":"access_denied"}}"#, CLIENT),
            (403, JSON, r#"{"error":{"code":"model_offline","type":"access_denied"}}"#, CLIENT),
            (405, JSON, r#"{"error":{"code":"method_not_supported"}}"#, CLIENT),
            (500, JSON, r#"{"error":{"code":"internal_error","type":"Internal_error"}}"#, BROKEN),
            (500, JSON, r#"{"error":{"code":"x","type":"unsafe_request"}}"#, BROKEN),
            (502, HTML, "<html>", BROKEN),
        ],
    );
}

#[test]
fn v2_failures_inside_a_200() {
    check(
        Qianfan,
        &[
            (
                200,
                JSON,
                r#"{"id":"as","object":"chat.completion","choices":[{"finish_reason":"stop","message":{"content":"hi"},"flag":0}]}"#,
                None,
            ),
            (200, JSON, r#"{"choices":[{"finish_reason":"content_filter","message":{"content":""}}]}"#, CONTENT),
            (200, JSON, r#"{"choices":[]}"#, BROKEN),
            (200, JSON, r#"{"error":{"code":"rpm_rate_limit_exceeded"}}"#, LIMITED),
            (200, JSON, r#"{"error":{"code":"x","type":"rate_limit_exceeded"}}"#, LIMITED),
            (200, JSON, r#"{"error":{"code":"system_unsafe","type":"unsafe_request"}}"#, CONTENT),
            (200, JSON, r#"{"error":{"code":"account_overdue","type":"access_denied"}}"#, UNPAID),
            (200, JSON, r#"{"error":{"code":"invalid_iam_token"}}"#, CLIENT),
            (200, JSON, r#"{"error":{"code":"no_parameter_permission","type":"access_denied"}}"#, CLIENT),
            (200, JSON, r#"{"error":{"code":"internal_error","type":"Internal_error"}}"#, BROKEN),
        ],
    );
}

#[test]
fn event_streams() {
    let v1 = |text: &str, end: bool| {
        format!(
            "data: {{\"id\":\"as\",\"object\":\"chat.completion\",\"sentence_id\":0,\"is_end\":{end},\"is_truncated\":false,\
             \"result\":\"{text}\",\"need_clear_history\":false,\"usage\":{{\"prompt_tokens\":1,\"completion_tokens\":2,\"total_tokens\":3}}}}\n\n"
        )
    };
    let banned = "data: {\"is_end\":true,\"result\":\"no\",\"need_clear_history\":true,\"ban_round\":0}\n\n";
    let error = |code: u64| format!("data: {{\"error_code\":{code},\"error_msg\":\"m\"}}\n\n");
    let v2 = "data: {\"choices\":[{\"delta\":{\"content\":\"a\"}}]}\n\n";
    let v2_end = "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n";
    let v2_error = |kind: &str| format!("data: {{\"error\":{{\"code\":\"x\",\"type\":\"{kind}\"}}}}\n\n");
    let table: &[(String, Expected)] = &[
        (v1("a", false) + &v1("b", true), None),
        (v1("", true), None),
        (v1("a", false), BROKEN_LATE),
        (v1("a", false) + banned, CONTENT),
        (banned.to_owned(), CONTENT),
        (error(336_501), LIMITED),
        (error(18), LIMITED),
        (error(336_100), BROKEN),
        (error(17), UNPAID),
        (error(111), CLIENT),
        (v1("a", false) + &error(336_100), BROKEN_LATE),
        (v1("", false) + &error(336_100), BROKEN),
        (error(18) + &error(17), LIMITED),
        ("data: {\"choices\":[{\"delta\":{\"content\":\"\\\"is_end\\\":true\"}}]}\n\n".to_owned() + v2_end, None),
        ("data: {\"is_end\":\"true\",\"result\":\"a\"}\n\n".to_owned(), BROKEN_LATE),
        ("data: [\"is_end\"]\n\n".to_owned(), BROKEN),
        (v2.to_owned() + v2_end, None),
        (v2.to_owned(), BROKEN_LATE),
        (v2_error("rate_limit_exceeded"), LIMITED),
        (v2_error("unsafe_request"), CONTENT),
        (v2.to_owned() + &v2_error("Internal_error"), BROKEN_LATE),
        (String::new(), BROKEN),
    ];
    for (stream, expected) in table {
        check(Qianfan, &[(200, EVENTS, stream, *expected)]);
    }
}

#[test]
fn codes_and_messages_of_v1_are_told() {
    let failed =
        failure(Qianfan, 200, JSON, r#"{"error_code":110,"error_msg":"Access token invalid or no longer valid"}"#);
    assert_eq!((failed.class, failed.retryable), (ErrorClass::ClientError, Retryable::No));
    assert!(failed.authentication);
    assert_eq!(failed.code.as_deref(), Some("110"));
    assert_eq!(failed.message.as_deref(), Some("Access token invalid or no longer valid"));
    let failed = failure(Qianfan, 400, JSON, r#"{"error_code":999999,"error_msg":"m"}"#);
    assert_eq!((failed.code.as_deref(), failed.message.as_deref()), (Some("999999"), Some("m")));
}

#[test]
fn one_model_that_is_gone_does_not_condemn_the_credentials() {
    for (status, code, authentication) in [
        (401, "invalid_model", false),
        (403, "model_offline", false),
        (401, "invalid_iam_token", true),
        (401, "", true),
    ] {
        let failed = failure(Qianfan, status, JSON, &format!(r#"{{"error":{{"code":"{code}"}}}}"#));
        assert_eq!(failed.authentication, authentication, "{code}");
    }
    let unpaid = failure(Qianfan, 403, JSON, r#"{"error":{"code":"account_overdue","type":"access_denied"}}"#);
    assert_eq!((unpaid.suggestion, unpaid.authentication), (Suggestion::FixCredentials, false));
}

#[test]
fn case_33_litellm_5225_content_never_blames_the_upstream() {
    let body = r#"{"result":"no","need_clear_history":true,"usage":{"total_tokens":9}}"#;
    let failed = failure(Qianfan, 200, JSON, body);
    assert_eq!(failed.breaker_signal(1), Signal::Ignored);
    assert_eq!(failed.code.as_deref(), Some("need_clear_history"));
    assert_eq!(failed.usage.map(|usage| usage.total), Some(9), "it is billed all the same");
}

#[test]
fn limits_have_no_reset() {
    let limits = |of: &[(&str, &str)]| super::Qianfan.limits(&headers(of), now()).0;
    let limit = |counted, limit, remaining| Limit { counted, limit, remaining, reset: None };
    assert_eq!(
        limits(&[
            ("X-Ratelimit-Limit-Requests", "60"),
            ("X-Ratelimit-Remaining-Requests", "59"),
            ("X-Ratelimit-Limit-Tokens", "150000"),
            ("X-Ratelimit-Remaining-Tokens", "0"),
        ]),
        [limit(Counted::Requests, Some(60), Some(59)), limit(Counted::Tokens, Some(150_000), Some(0))]
    );
    assert_eq!(limits(&[("x-ratelimit-remaining-tokens", "5")]), [limit(Counted::Tokens, None, Some(5))]);
    assert_eq!(limits(&[("x-ratelimit-remaining-tokens", "-1"), ("x-ratelimit-reset-tokens", "1s")]), []);
    assert_eq!(limits(&[]), []);
}

#[test]
fn usage_and_estimates() {
    let usage = Some(Usage { total: 3, input: Some(1), output: Some(2) });
    let stream = b"data: {\"is_end\":false,\"result\":\"a\",\"usage\":{\"prompt_tokens\":1,\"completion_tokens\":1,\"total_tokens\":2}}\n\n\
        data: {\"is_end\":true,\"result\":\"\",\"usage\":{\"prompt_tokens\":1,\"completion_tokens\":2,\"total_tokens\":3}}\n\n";
    assert_eq!(streamed(Qianfan, [stream.as_slice()], true), Verdict::Success { usage });
    assert_eq!(streamed(Qianfan, [stream.as_slice()], false), Verdict::Success { usage }, "all of it had come");
    let body = br#"{"result":"a","usage":{"prompt_tokens":1,"completion_tokens":2,"total_tokens":3}}"#;
    assert_eq!(verdict(Qianfan, 200, JSON, body), Verdict::Success { usage });
    assert_eq!(
        estimate(Qianfan, r#"{"messages":[{"role":"","content":"水水aaaa"}],"max_output_tokens":7}"#.as_bytes()),
        10
    );
}
