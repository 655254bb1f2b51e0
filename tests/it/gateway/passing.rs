//! What goes through arrives as it was sent, in both directions.

use harness::{NO_BREAKER, Penstock, ROOMY, raw_http, upstream_toml};
use reqwest::Method;

use super::wire::{Wire, parted};

const OK: &str = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

async fn behind(wire: &Wire) -> Penstock {
    Penstock::start(&upstream_toml("up", &wire.base_url(), &format!("{ROOMY}\n{NO_BREAKER}"))).await
}

fn by_hand(app: &Penstock, method: &str, target: &str, headers: &str) -> Vec<u8> {
    let host = app.base().trim_start_matches("http://");
    format!("{method} {target} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n{headers}\r\n").into_bytes()
}

#[tokio::test]
async fn any_method_arrives_as_sent() {
    let wire = Wire::answering(OK).await;
    let app = behind(&wire).await;
    for method in ["GET", "PUT", "DELETE", "HEAD", "PATCH", "OPTIONS", "POST", "PROPFIND"] {
        let answer = raw_http(app.base(), &by_hand(&app, method, "/gw/up/v1/x", "Content-Length: 0\r\n")).await;
        assert!(answer.starts_with(b"HTTP/1.1 200"), "{method}: {}", String::from_utf8_lossy(&answer));
        assert_eq!(wire.last().line(), format!("{method} /v1/x HTTP/1.1"));
        assert_eq!(wire.last().body, b"");
    }
}

#[tokio::test]
async fn paths_and_queries_arrive_as_sent() {
    let wire = Wire::answering(OK).await;
    let app = behind(&wire).await;
    for target in [
        "/",
        "/v1/chat/completions",
        "/a%2Fb%2fc",
        "//double//slashes/",
        "/%E4%B8%AD%E6%96%87/%20+",
        "/~x;p=1,2:3@4/$&()*!'",
        "/models/gemini:generateContent?key2=v",
        "/%zz/%",
        "/%252e%252e/x",
        "/a..b/...",
        "/x?",
        "/x?a=b+c&d=%2B%26&e&=&f==",
        "/x?next=/gw/up/../y&u=http://other.example/?z",
        "/x?q=%E4%B8%AD%ff",
        "?only=query",
    ] {
        let answer = raw_http(app.base(), &by_hand(&app, "GET", &format!("/gw/up{target}"), "")).await;
        assert!(answer.starts_with(b"HTTP/1.1 200"), "{target}: {}", String::from_utf8_lossy(&answer));
        let wanted = if target.starts_with('?') { format!("/{target}") } else { target.to_owned() };
        assert_eq!(wire.last().line(), format!("GET {wanted} HTTP/1.1"));
    }
}

#[tokio::test]
async fn paths_go_below_the_base_urls_own_path() {
    let wire = Wire::answering(OK).await;
    let app = Penstock::start(&upstream_toml("up", &format!("{}/openai/v1/", wire.base_url()), ROOMY)).await;
    for (target, line) in [
        ("/chat?x=1", "GET /openai/v1/chat?x=1 HTTP/1.1"),
        ("//chat", "GET /openai/v1//chat HTTP/1.1"),
        ("", "GET /openai/v1 HTTP/1.1"),
    ] {
        app.api().get(&format!("/gw/up{target}")).await.expect(200);
        assert_eq!(wire.last().line(), line);
    }
}

#[tokio::test]
async fn bodies_go_there_and_back_byte_for_byte() {
    let wire = Wire::echoing().await;
    let app = behind(&wire).await;
    let every_byte: Vec<u8> = (0..=255).collect();
    let large: Vec<u8> = every_byte.iter().copied().cycle().take(3_000_001).collect();
    for body in [Vec::new(), every_byte, b"\xff\xfe\0not text\r\n\r\n".to_vec(), large] {
        let request = app.api().request(Method::PUT, "/gw/up/blob").header("content-type", "image/jpeg");
        let told = app.api().send(request.body(body.clone())).await;
        assert_eq!(told.status, 200);
        assert!(told.bytes == body, "{} bytes came back of {}", told.bytes.len(), body.len());
        assert!(wire.last().body == body, "{} bytes arrived of {}", wire.last().body.len(), body.len());
        assert_eq!(wire.last().one("content-type"), "image/jpeg");
        assert_eq!(wire.last().one("content-length"), body.len().to_string());
    }
}

#[tokio::test]
async fn a_chunked_body_arrives_whole() {
    let wire = Wire::answering(OK).await;
    let app = behind(&wire).await;
    let mut request = by_hand(&app, "POST", "/gw/up/x", "Transfer-Encoding: chunked\r\n");
    request.extend_from_slice(b"5\r\nhello\r\n1\r\n \r\n6\r\nworld!\r\n0\r\n\r\n");
    assert!(raw_http(app.base(), &request).await.starts_with(b"HTTP/1.1 200"));
    assert_eq!(wire.only().body, b"hello world!");
}

#[tokio::test]
async fn headers_of_the_hop_and_our_own_stay_here() {
    let wire = Wire::answering(OK).await;
    let app = behind(&wire).await;
    let headers = "Connection: x-for-you\r\nX-For-You: 1\r\nKeep-Alive: timeout=5\r\nProxy-Connection: keep-alive\r\n\
        Proxy-Authorization: Basic eDp5\r\nTE: trailers\r\nUpgrade: h2c\r\nPenstock-Wait: 20\r\nPenstock-Engine: e7\r\n\
        Penstock-Workload: batch\r\nPenstock-Tokens: 12\r\nPenstock-Anything: 1\r\nUser-Agent: tiles/1.0\r\nAccept: a/b\r\n\
        X-Trace: t1\r\nX-Trace: t2\r\nCookie: c=d\r\nAuthorization: Bearer the-callers\r\nX-Forwarded-Proto: https\r\n";
    assert!(raw_http(app.base(), &by_hand(&app, "GET", "/gw/up/x", headers)).await.starts_with(b"HTTP/1.1 200"));
    let seen = wire.only();
    assert_eq!(
        seen.names(),
        [
            "accept",
            "accept-encoding",
            "authorization",
            "cookie",
            "host",
            "user-agent",
            "x-forwarded-proto",
            "x-trace",
            "x-trace"
        ]
    );
    assert_eq!(seen.one("host"), wire.host(), "the upstream is called by its own name");
    assert_eq!(seen.all("x-trace"), [b"t1", b"t2"]);
    assert_eq!(seen.one("authorization"), "Bearer the-callers");
    assert_eq!(seen.one("user-agent"), "tiles/1.0");
}

#[tokio::test]
async fn an_answers_headers_come_back_without_those_of_the_hop() {
    let wire = Wire::answering(
        "HTTP/1.1 201 Made\r\nConnection: x-mine\r\nX-Mine: 1\r\nKeep-Alive: timeout=5\r\nProxy-Authenticate: Basic\r\n\
         Set-Cookie: a=1\r\nSet-Cookie: b=2\r\nX-Request-Id: r1\r\nContent-Type: text/weird; x=\"y\"\r\nCache-Control: max-age=5\r\n\
         Content-Security-Policy: sandbox\r\nContent-Length: 3\r\n\r\nabc",
    )
    .await;
    let app = behind(&wire).await;
    let told = app.api().get("/gw/up/x").await;
    assert_eq!((told.status, told.text()), (201, "abc".to_owned()));
    let cookies: Vec<_> = told.headers.get_all("set-cookie").iter().map(|v| v.to_str().unwrap_or_default()).collect();
    assert_eq!(cookies, ["a=1", "b=2"]);
    for (name, value) in [
        ("x-request-id", "r1"),
        ("content-type", "text/weird; x=\"y\""),
        ("cache-control", "max-age=5"),
        ("content-security-policy", "sandbox"),
        ("content-length", "3"),
        ("penstock-attempts", "1"),
    ] {
        assert_eq!(told.header(name), value, "{name}");
    }
    for name in ["x-mine", "keep-alive", "proxy-authenticate", "x-content-type-options", "x-should-retry"] {
        assert!(!told.headers.contains_key(name), "{name} must not come back");
    }
}

#[tokio::test]
async fn an_answer_without_a_body_keeps_the_length_that_it_names() {
    let wire = Wire::answering("HTTP/1.1 200 OK\r\nContent-Length: 4711\r\nETag: \"e\"\r\n\r\n").await;
    let app = behind(&wire).await;
    let answer = raw_http(app.base(), &by_hand(&app, "HEAD", "/gw/up/file", "")).await;
    let (head, body) = parted(&answer);
    assert!(head.contains("content-length: 4711\r\n") && head.contains("etag: \"e\""), "{head}");
    assert_eq!(body, b"");
}

#[tokio::test]
async fn a_conditional_answer_304_passes() {
    let wire = Wire::answering("HTTP/1.1 304 Not Modified\r\nETag: \"e\"\r\n\r\n").await;
    let app = behind(&wire).await;
    let answer = raw_http(app.base(), &by_hand(&app, "GET", "/gw/up/file", "If-None-Match: \"e\"\r\n")).await;
    assert!(answer.starts_with(b"HTTP/1.1 304"), "{}", String::from_utf8_lossy(&answer));
    assert_eq!(wire.only().one("if-none-match"), "\"e\"");
    assert_eq!(app.api().get("/api/v1/pending").await.expect(200)["total"]["n"], 0);
}

#[tokio::test]
async fn answers_are_never_compressed_by_us() {
    let text = "the same words again and again ".repeat(2_000);
    let wire = Wire::answering(format!(
        "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: {}\r\n\r\n{text}",
        text.len()
    ))
    .await;
    let app = behind(&wire).await;
    let answer = raw_http(app.base(), &by_hand(&app, "GET", "/gw/up/x", "Accept-Encoding: gzip, br, zstd\r\n")).await;
    let (head, body) = parted(&answer);
    assert!(!head.contains("content-encoding"), "{head}");
    assert!(body == text.as_bytes());
    assert_eq!(wire.only().one("accept-encoding"), "identity", "the answer must be readable on its way");
}

#[tokio::test]
async fn what_the_upstream_compressed_stays_as_it_is() {
    let body = b"\x1f\x8b\x08\0\0\0\0\0not really gzip";
    let head = format!("HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: {}\r\n\r\n", body.len());
    let wire = Wire::answering([head.as_bytes(), body].concat()).await;
    let app = behind(&wire).await;
    let (head, got) = parted(&raw_http(app.base(), &by_hand(&app, "GET", "/gw/up/x", "")).await);
    assert!(head.contains("content-encoding: gzip"), "{head}");
    assert_eq!(got, body);
}

#[tokio::test]
async fn redirects_are_not_followed() {
    let elsewhere = Wire::answering(OK).await;
    let location = format!("{}/stolen", elsewhere.base_url());
    let wire = Wire::answering(format!("HTTP/1.1 307 Go\r\nLocation: {location}\r\nContent-Length: 0\r\n\r\n")).await;
    let app = behind(&wire).await;
    let told = app.api().send(app.api().request(Method::POST, "/gw/up/x").body("secret")).await;
    assert_eq!((told.status, told.header("location")), (307, location.as_str()));
    assert_eq!((wire.seen().len(), elsewhere.seen().len()), (1, 0));
}

#[tokio::test]
async fn case_20_a_byte_ff_in_a_header_or_a_body_goes_through() {
    let mut answer = b"HTTP/1.1 200 OK\r\nX-Odd: a\xffb\r\nContent-Length: 3\r\n\r\n".to_vec();
    answer.extend_from_slice(b"\xff\xfe\xfd");
    let wire = Wire::answering(answer).await;
    let app = behind(&wire).await;
    let mut request = by_hand(&app, "POST", "/gw/up/x", "Content-Length: 2\r\n");
    request.truncate(request.len() - 2);
    request.extend_from_slice(b"X-Caller: \xff\x80\r\n\r\n\xff\x00");
    let answer = raw_http(app.base(), &request).await;
    assert!(answer.starts_with(b"HTTP/1.1 200"), "{}", String::from_utf8_lossy(&answer));
    assert!(answer.windows(3).any(|w| w == b"a\xffb"), "the answer's header came back as it was");
    assert_eq!(parted(&answer).1, b"\xff\xfe\xfd");
    assert_eq!(wire.only().all("x-caller"), [b"\xff\x80"]);
    assert_eq!(wire.only().body, b"\xff\x00");
}

#[tokio::test]
async fn case_20_a_byte_ff_in_a_failure_is_kept_and_shown() {
    let body = b"broken \xff\xfe bytes";
    let head = format!("HTTP/1.1 400 Bad\r\nX-Odd: \u{fffd}\r\nContent-Length: {}\r\n\r\n", body.len());
    let wire = Wire::answering([head.as_bytes(), body].concat()).await;
    let app = behind(&wire).await;
    let request = app.api().request(Method::POST, "/gw/up/x").body(vec![0xff, b'a']);
    let told =
        app.api().send(request.header("x-odd", reqwest::header::HeaderValue::from_bytes(b"\xff").unwrap())).await;
    assert_eq!((told.status, &*told.bytes), (400, &body[..]));
    let pending = app.api().pending(told.header("penstock-record")).await;
    assert_eq!(pending["payload"], "\u{fffd}a", "lossy on the screen alone");
    assert_eq!(pending["payload_bytes"], 2);
}
