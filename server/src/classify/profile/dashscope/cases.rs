//! Cases of DashScope.

use app::model::{ErrorClass, Suggestion, upstream::Profile::Dashscope};

use crate::classify::{
    Retryable, Usage, Verdict, estimate,
    testing::{
        BROKEN, BROKEN_LATE, CLIENT, CONTENT, EVENTS, Expected, HTML, JSON, LIMITED, PLAIN, SLOW, UNPAID, check,
        failure, streamed, verdict,
    },
};

#[test]
fn refusals_of_its_own_protocol() {
    check(
        Dashscope,
        &[
            (
                429,
                JSON,
                r#"{"code":"Throttling","message":"Requests throttling triggered.","request_id":"r"}"#,
                LIMITED,
            ),
            (429, JSON, r#"{"code":"Throttling.RateQuota","message":"m","request_id":"r"}"#, LIMITED),
            (429, JSON, r#"{"code":"Throttling.BurstRate","message":"m"}"#, LIMITED),
            (
                429,
                JSON,
                r#"{"code":"Throttling.AllocationQuota","message":"Allocated quota exceeded, please increase your quota limit."}"#,
                LIMITED,
            ),
            (429, JSON, r#"{"code":"Throttling.AllocationQuota"}"#, LIMITED),
            (429, JSON, r#"{"code":"Throttling.AllocationQuota","message":"Free allocated quota exceeded."}"#, UNPAID),
            (429, JSON, r#"{"code":"Throttling.RateQuota","message":"Free allocated quota exceeded."}"#, LIMITED),
            (
                429,
                JSON,
                r#"{"code":"Throttling.AllocationQuota","message":"You wrote: Free allocated quota exceeded."}"#,
                LIMITED,
            ),
            (429, JSON, r#"{"code":"PostpaidBillOverdue","message":"The postpaid bill is overdue."}"#, UNPAID),
            (429, JSON, r#"{"code":"CommodityNotPurchased"}"#, UNPAID),
            (429, JSON, r#"{"code":429}"#, LIMITED),
            (429, JSON, r#"["Throttling"]"#, LIMITED),
            (429, PLAIN, "", LIMITED),
            (
                403,
                JSON,
                r#"{"code":"AllocationQuota.FreeTierOnly","message":"The free tier of the model has been exhausted."}"#,
                CLIENT,
            ),
            (
                400,
                JSON,
                r#"{"code":"Arrearage","message":"Access denied, please make sure your account is in good standing."}"#,
                CLIENT,
            ),
            (400, JSON, r#"{"code":"Throttling.AllocationQuota","message":"Free allocated quota exceeded."}"#, CLIENT),
            (
                400,
                JSON,
                r#"{"code":"DataInspectionFailed","message":"Input data may contain inappropriate content."}"#,
                CONTENT,
            ),
            (400, JSON, r#"{"code":"CustomRoleBlocked"}"#, CONTENT),
            (400, JSON, r#"{"code":"IPInfringementSuspect"}"#, CONTENT),
            (400, JSON, r#"{"code":"InvalidParameter","message":"DataInspectionFailed"}"#, CLIENT),
            (
                400,
                JSON,
                r#"{"code":"InternalError.Algo","message":"Missing Content-Length of multimodal url."}"#,
                CLIENT,
            ),
            (401, JSON, r#"{"code":"InvalidApiKey","message":"Invalid API-key provided."}"#, CLIENT),
            (403, JSON, r#"{"code":"Model.AccessDenied"}"#, CLIENT),
            (404, JSON, r#"{"code":"ModelNotFound"}"#, CLIENT),
            (500, JSON, r#"{"code":"InternalError.Algo","message":"inference internal error."}"#, BROKEN),
            (500, JSON, r#"{"code":"InternalError.Timeout"}"#, BROKEN),
            (500, JSON, r#"{"code":"RequestTimeOut","message":"Request timed out, please try again later."}"#, SLOW),
            (503, JSON, r#"{"code":"ModelServingError","message":"Too many requests."}"#, BROKEN),
            (503, JSON, r#"{"code":"ModelUnavailable"}"#, BROKEN),
            (502, HTML, "<html>", BROKEN),
        ],
    );
}

#[test]
fn refusals_of_the_compatible_protocol() {
    check(
        Dashscope,
        &[
            (429, JSON, r#"{"error":{"code":"limit_requests","type":"limit_requests","message":"m"}}"#, LIMITED),
            (429, JSON, r#"{"error":{"code":"limit_burst_rate","type":"limit_burst_rate"}}"#, LIMITED),
            (
                429,
                JSON,
                r#"{"error":{"code":"insufficient_quota","type":"insufficient_quota","message":"You exceeded your current quota"}}"#,
                LIMITED,
            ),
            (429, JSON, r#"{"error":{"code":"insufficient_quota","message":"FREE ALLOCATED QUOTA EXCEEDED"}}"#, UNPAID),
            (
                429,
                JSON,
                r#"{"error":{"code":null,"type":"insufficient_quota","message":"Free allocated quota exceeded."}}"#,
                UNPAID,
            ),
            (429, JSON, r#"{"error":{"code":"insufficient_quota","message":7}}"#, LIMITED),
            (
                403,
                JSON,
                r#"{"error":{"code":"AllocationQuota.FreeTierOnly","type":"AllocationQuota.FreeTierOnly"}}"#,
                CLIENT,
            ),
            (400, JSON, r#"{"error":{"code":"Arrearage","type":"Arrearage"}}"#, CLIENT),
            (
                400,
                JSON,
                r#"{"error":{"code":"data_inspection_failed","type":"data_inspection_failed","param":null}}"#,
                CONTENT,
            ),
            (400, JSON, r#"{"error":{"code":"invalid_parameter_error","type":"invalid_request_error"}}"#, CLIENT),
            (401, JSON, r#"{"error":{"code":"invalid_api_key","type":"invalid_request_error"}}"#, CLIENT),
            (404, JSON, r#"{"error":{"code":"model_not_found"}}"#, CLIENT),
            (500, JSON, r#"{"error":{"code":"internal_error","type":"internal_error"}}"#, BROKEN),
            (503, JSON, r#"{"error":{"code":"ModelServingError"}}"#, BROKEN),
        ],
    );
}

#[test]
fn failures_inside_a_200() {
    check(
        Dashscope,
        &[
            (
                200,
                JSON,
                r#"{"output":{"text":"hi","finish_reason":"stop"},"usage":{"input_tokens":1},"request_id":"r"}"#,
                None,
            ),
            (
                200,
                JSON,
                r#"{"status_code":200,"code":"","message":"","output":{"choices":[{"finish_reason":"stop"}]}}"#,
                None,
            ),
            (200, JSON, r#"{"output":{"choices":[]},"usage":{}}"#, BROKEN),
            (200, JSON, r#"{"output":{"task_status":"FAILED","code":"DataInspectionFailed","message":"m"}}"#, None),
            (200, JSON, r#"{"output":{"task_id":"t","task_status":"PENDING"},"request_id":"r"}"#, None),
            (200, JSON, r#"{"code":"Throttling.AllocationQuota","message":"m","request_id":"r"}"#, LIMITED),
            (200, JSON, r#"{"code":"Throttling.AllocationQuota","message":"Free allocated quota exceeded."}"#, UNPAID),
            (200, JSON, r#"{"code":"DataInspectionFailed","message":"m"}"#, CONTENT),
            (200, JSON, r#"{"code":"InvalidParameter","message":"m"}"#, CLIENT),
            (200, JSON, r#"{"code":"InternalError.Algo","message":"m"}"#, BROKEN),
            (200, JSON, r#"{"code":"NeverHeardOf","message":"m"}"#, BROKEN),
            (200, JSON, r#"{"code":"Success","message":"ok","data":{"id":1}}"#, None),
            (200, JSON, r#"{"choices":[{"finish_reason":"stop","message":{"content":"hi"}}]}"#, None),
            (200, JSON, r#"{"choices":[{"finish_reason":"content_filter","message":{"content":null}}]}"#, CONTENT),
            (200, JSON, r#"{"choices":[]}"#, BROKEN),
            (200, JSON, r#"{"error":{"code":"insufficient_quota","message":"m"}}"#, LIMITED),
            (200, JSON, r#"{"error":{"code":"invalid_api_key","message":"m"}}"#, CLIENT),
            (200, JSON, r#"{"output":{"te"#, BROKEN_LATE),
            (200, HTML, "<html>log in", BROKEN),
            (200, JSON, "[]", None),
        ],
    );
}

#[test]
fn event_streams() {
    let result = |text: &str, reason: &str| {
        format!(
            "id:1\nevent:result\n:HTTP_STATUS/200\ndata:{{\"output\":{{\"choices\":[{{\"message\":{{\"content\":\"{text}\",\"role\":\"assistant\"}},\
             \"finish_reason\":\"{reason}\"}}]}},\"usage\":{{\"input_tokens\":8,\"output_tokens\":2}},\"request_id\":\"r\"}}\n\n"
        )
    };
    let text = |text: &str, reason: &str| {
        format!(
            "id:1\nevent:result\n:HTTP_STATUS/200\ndata:{{\"output\":{{\"text\":\"{text}\",\"finish_reason\":\"{reason}\"}}}}\n\n"
        )
    };
    let error = |status: u16, code: &str| {
        format!(
            "id:2\nevent:error\n:HTTP_STATUS/{status}\ndata:{{\"code\":\"{code}\",\"message\":\"m\",\"request_id\":\"r\"}}\n\n"
        )
    };
    let chunk = "data: {\"choices\":[{\"delta\":{\"content\":\"a\"}}]}\n\n";
    let stop = "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n";
    let compatible =
        |code: &str| format!("data: {{\"error\":{{\"code\":\"{code}\",\"type\":\"{code}\"}},\"id\":\"c\"}}\n\n");
    let table: &[(String, Expected)] = &[
        (result("a", "null") + &result("b", "stop"), None),
        (text("a", "null") + &text("ab", "length"), None),
        (result("", "null") + &result("", "stop"), None),
        (result("a", "null"), BROKEN_LATE),
        (text("a", ""), BROKEN_LATE),
        (error(429, "Throttling.AllocationQuota"), LIMITED),
        (error(429, "Throttling.RateQuota"), LIMITED),
        (error(403, "AccessDenied"), CLIENT),
        (error(401, "InvalidApiKey"), CLIENT),
        (error(400, "InvalidParameter"), CLIENT),
        (error(400, "DataInspectionFailed"), CONTENT),
        (error(400, "Arrearage"), UNPAID),
        (error(500, "InternalError.Algo"), BROKEN),
        (error(500, "RequestTimeOut"), SLOW),
        (error(503, "ModelServingError"), BROKEN),
        (error(500, "NeverHeardOf"), BROKEN),
        (result("a", "null") + &error(400, "DataInspectionFailed"), CONTENT),
        (result("a", "null") + &error(429, "Throttling"), Some((ErrorClass::RateLimited, Retryable::UnknownOutcome))),
        (result("", "null") + &error(429, "Throttling"), LIMITED),
        (error(429, "Throttling") + &error(400, "InvalidParameter"), LIMITED),
        ("event:result\ndata:{\"code\":\"Throttling\",\"message\":\"m\"}\n\n".to_owned(), LIMITED),
        (
            "event:result\ndata:{\"output\":{\"audio\":{\"data\":\"AAAA\"},\"finish_reason\":\"null\"}}\n\n".to_owned(),
            BROKEN_LATE,
        ),
        ("event:result\ndata:[1]\n\nevent:result\ndata:<x>\n\n".to_owned(), BROKEN),
        (chunk.to_owned() + stop, None),
        (chunk.to_owned(), BROKEN_LATE),
        (compatible("insufficient_quota"), LIMITED),
        (compatible("data_inspection_failed"), CONTENT),
        (chunk.to_owned() + &compatible("data_inspection_failed"), CONTENT),
        (chunk.to_owned() + &compatible("internal_error"), BROKEN_LATE),
        (String::new(), BROKEN),
    ];
    for (stream, expected) in table {
        check(Dashscope, &[(200, EVENTS, stream, *expected)]);
    }
}

#[test]
fn case_13_oh_my_pi_8476_insufficient_quota_passes_in_a_minute() {
    let body = r#"{"error":{"message":"You exceeded your current quota, please check your plan and billing details. For details, see: https://help.aliyun.com/zh/model-studio/error-code#token-limit","type":"insufficient_quota","param":"insufficient_quota","code":"insufficient_quota"},"request_id":"r"}"#;
    let refused = failure(Dashscope, 429, JSON, body);
    let inside = failure(Dashscope, 200, EVENTS, &format!("data: {body}\n\n"));
    for failed in [refused, inside] {
        assert_eq!((failed.class, failed.retryable), (ErrorClass::RateLimited, Retryable::Yes));
        assert_eq!(failed.suggestion, Suggestion::Wait);
        assert_eq!(failed.code.as_deref(), Some("insufficient_quota"));
        assert!(failed.message.as_deref().is_some_and(|message| message.starts_with("You exceeded")));
        assert!(failed.is_passing());
    }
}

#[test]
fn what_must_be_paid_says_so() {
    for (status, body) in [
        (429, r#"{"code":"Throttling.AllocationQuota","message":"Free allocated quota exceeded."}"#),
        (403, r#"{"code":"AllocationQuota.FreeTierOnly","message":"m"}"#),
        (400, r#"{"error":{"code":"Arrearage"}}"#),
    ] {
        let failed = failure(Dashscope, status, JSON, body);
        assert_eq!((failed.retryable, failed.suggestion), (Retryable::No, Suggestion::FixCredentials), "{body}");
        assert!(!failed.authentication, "the key is right: {body}");
    }
    assert!(failure(Dashscope, 401, JSON, r#"{"code":"InvalidApiKey"}"#).authentication);
    assert!(failure(Dashscope, 200, EVENTS, "event:error\ndata:{\"code\":\"InvalidApiKey\"}\n\n").authentication);
}

#[test]
fn usage_in_both_protocols() {
    let usage = Some(Usage { total: 10, input: Some(8), output: Some(2) });
    for body in [
        r#"{"output":{"text":"a"},"usage":{"input_tokens":8,"output_tokens":2}}"#,
        r#"{"output":{"text":"a"},"usage":{"total_tokens":10,"input_tokens":8,"output_tokens":2}}"#,
        r#"{"choices":[{}],"usage":{"prompt_tokens":8,"completion_tokens":2,"total_tokens":10}}"#,
    ] {
        assert_eq!(verdict(Dashscope, 200, JSON, body.as_bytes()), Verdict::Success { usage }, "{body}");
    }
    let stream = b"event:result\ndata:{\"output\":{\"text\":\"a\",\"finish_reason\":\"null\"},\"usage\":{\"input_tokens\":8,\"output_tokens\":1}}\n\n\
        event:result\ndata:{\"output\":{\"text\":\"ab\",\"finish_reason\":\"stop\"},\"usage\":{\"input_tokens\":8,\"output_tokens\":2}}\n\n";
    for cut in [0, 7, 40, stream.len()] {
        let (head, tail) = stream.split_at(cut);
        assert_eq!(streamed(Dashscope, [head, tail], true), Verdict::Success { usage }, "{cut}");
    }
    assert_eq!(streamed(Dashscope, [stream.as_slice()], false), Verdict::Success { usage }, "all of it had come");
}

#[test]
fn the_first_piece_of_the_answer_is_seen() {
    let failed = streamed(
        Dashscope,
        [b"event:result\ndata:{\"output\":{\"choices\":[{\"message\":{\"content\":[{\"text\":\"a\"}]},\"finish_reason\":\"null\"}]}}\n\n".as_slice()],
        false,
    );
    assert!(failed.failure().unwrap().after_first_delta);
    let failed = streamed(
        Dashscope,
        [b"event:result\ndata:{\"output\":{\"choices\":[{\"message\":{\"content\":[]},\"finish_reason\":\"null\"}]}}\n\n".as_slice()],
        false,
    );
    assert!(!failed.failure().unwrap().after_first_delta);
}

#[test]
fn estimates() {
    let long = "A".repeat(1_000_000);
    let of = |body: &str| estimate(Dashscope, body.as_bytes());
    for (body, tokens) in [
        (r#"{"model":"","input":{"prompt":"aaaaaaaa"},"parameters":{"max_tokens":50,"n":2}}"#.to_owned(), 102),
        (r#"{"input":{"messages":[{"role":"","content":"水水水"}]},"parameters":{}}"#.to_owned(), 3),
        (r#"{"input":{"texts":["aaaa","aaaa"]}}"#.to_owned(), 2),
        (r#"{"input":{"messages":[{"content":[{"image":"https://x/y.png"},{"text":"aaaa"}]}]}}"#.to_owned(), 256),
        (format!(r#"{{"input":{{"messages":[{{"content":[{{"image":"data:image/png;base64,{long}"}}]}}]}}}}"#), 255),
        (format!(r#"{{"input":{{"images":["data:image/png;base64,{long}"]}}}}"#), 255),
        (r#"{"messages":[{"role":"","content":"aaaa"}],"max_tokens":50}"#.to_owned(), 51),
        (r#"{"input":["aaaa"]}"#.to_owned(), 1),
        ("no JSON at all".to_owned(), 4),
        (r#"{"input":{}}"#.to_owned(), 1),
    ] {
        assert_eq!(of(&body), tokens, "{body:.200}");
    }
}
