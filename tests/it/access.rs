//! Who is let in: names, origins, passwords, keys.

use harness::{Penstock, ROOMY, Reply, Setup, raw_http, sim_upstream, upstream_toml};
use reqwest::Method;
use serde_json::json;

const PASSWORD: &str = "correct horse battery staple";

/// Every kind of door: pages, API, gateway, records, metrics, health, sign-in.
const DOORS: [(Method, &str); 9] = [
    (Method::GET, "/"),
    (Method::GET, "/api/v1/overview"),
    (Method::POST, "/api/v1/breakers/up/trip"),
    (Method::POST, "/api/v1/records"),
    (Method::GET, "/gw/up/x"),
    (Method::POST, "/gw/up/x"),
    (Method::GET, "/metrics"),
    (Method::GET, "/healthz"),
    (Method::POST, "/login"),
];

async fn locked(config: &str) -> Penstock {
    Setup::new(config).with_env("PENSTOCK_PASSWORD", PASSWORD).start().await
}

async fn with(app: &Penstock, method: Method, path: &str, headers: &[(&str, &str)]) -> Reply {
    let mut request = app.api().request(method, path);
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    app.api().send(request).await
}

async fn by_name(app: &Penstock, host: &str, method: &Method, path: &str) -> String {
    let request = format!("{method} {path} HTTP/1.1\r\nHost: {host}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
    String::from_utf8_lossy(&raw_http(app.base(), request.as_bytes()).await).into_owned()
}

fn basic(password: &str) -> String {
    use std::fmt::Write as _;
    const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let text = format!("op:{password}");
    let mut out = "Basic ".to_owned();
    for three in text.as_bytes().chunks(3) {
        let n = three.iter().fold(0_u32, |n, b| n << 8 | u32::from(*b)) << (8 * (3 - three.len()));
        for place in 0..4 {
            let digit = ALPHABET[usize::try_from(n >> (18 - 6 * place) & 63).unwrap_or(0)];
            let _ = write!(out, "{}", if place <= three.len() { char::from(digit) } else { '=' });
        }
    }
    out
}

async fn sign_in(app: &Penstock, password: &str, to: &str) -> Reply {
    let form = format!("password={}&to={}", escaped(password), escaped(to));
    let request = app.api().request(Method::POST, "/login").header("content-type", "application/x-www-form-urlencoded");
    app.api().send(request.body(form)).await
}

fn escaped(text: &str) -> String {
    text.bytes()
        .map(|b| if b.is_ascii_alphanumeric() { char::from(b).to_string() } else { format!("%{b:02X}") })
        .collect()
}

/// The cookie of a sign-in, as a browser sends it back.
fn cookie_of(told: &Reply) -> String {
    told.header("set-cookie").split(';').next().unwrap_or_default().to_owned()
}

#[tokio::test]
async fn a_foreign_name_is_refused_at_every_door() {
    let sim = sim_upstream().await;
    let app = Penstock::start(&upstream_toml("up", &sim.base_url(), ROOMY)).await;
    let port = app.base().rsplit(':').next().unwrap();
    for (method, path) in &DOORS {
        for host in [
            "rebound.example",
            "rebound.example:80",
            "127.0.0.1.evil.example",
            "localhost.evil.example",
            "169.254.169.254",
        ] {
            let answer = by_name(&app, host, method, path).await;
            assert!(
                answer.starts_with("HTTP/1.1 421") && answer.contains("unknown-host"),
                "{host} {method} {path}: {answer}"
            );
        }
    }
    for host in ["localhost", &format!("localhost:{port}"), &format!("127.0.0.1:{port}"), "[::1]"] {
        assert!(by_name(&app, host, &Method::GET, "/healthz").await.starts_with("HTTP/1.1 200"), "{host}");
    }
    assert_eq!(sim.total(), 0);
}

#[tokio::test]
async fn a_name_that_the_configuration_knows_is_let_in() {
    let app = Penstock::start("public_hosts = [\"penstock.example\"]").await;
    assert!(by_name(&app, "penstock.example", &Method::GET, "/healthz").await.starts_with("HTTP/1.1 200"));
    assert!(by_name(&app, "other.example", &Method::GET, "/healthz").await.starts_with("HTTP/1.1 421"));
}

#[tokio::test]
async fn what_a_foreign_page_sends_is_refused_at_every_door() {
    let sim = sim_upstream().await;
    let app = Penstock::start(&upstream_toml("up", &sim.base_url(), ROOMY)).await;
    let other_port = app.base().rsplit(':').next().unwrap().parse::<u16>().unwrap() ^ 1;
    let neighbour = format!("http://127.0.0.1:{other_port}");
    for (method, path) in &DOORS {
        for (name, value) in [
            ("origin", "https://evil.example"),
            ("origin", "null"),
            ("origin", neighbour.as_str()),
            ("sec-fetch-site", "cross-site"),
            ("sec-fetch-site", "same-site"),
            ("sec-fetch-site", "nonsense"),
        ] {
            let told = with(&app, method.clone(), path, &[(name, value)]).await;
            assert_eq!(told.status, 403, "{method} {path} with {name}: {value}");
            assert_eq!(told.json["type"], "foreign-origin", "{method} {path}");
        }
    }
    assert_eq!(sim.total(), 0, "nothing was sent for a foreign page");
    assert_eq!(app.api().get("/api/v1/breakers").await.json[0]["forced"], json!(null), "nothing was done for it");
    // Its own pages, programs without such headers, and links from elsewhere are let in.
    let own = app.base().to_owned();
    assert_eq!(
        with(&app, Method::GET, "/gw/up/x", &[("origin", &own), ("sec-fetch-site", "same-origin")]).await.status,
        200
    );
    assert_eq!(with(&app, Method::GET, "/gw/up/x", &[]).await.status, 200);
    assert_eq!(
        with(&app, Method::GET, "/pending", &[("sec-fetch-site", "cross-site"), ("sec-fetch-mode", "navigate")])
            .await
            .status,
        200
    );
    let link =
        with(&app, Method::GET, "/gw/up/x", &[("sec-fetch-site", "cross-site"), ("sec-fetch-mode", "navigate")]).await;
    assert_eq!(link.status, 403, "a link from elsewhere must not spend the quota");
}

#[tokio::test]
async fn other_hosts_are_let_in_only_with_a_password() {
    let setup = Setup::new("").with_env("PENSTOCK_LISTEN", "0.0.0.0:0");
    let failed = setup.expect_failure().await;
    let sentence = failed.sentence();
    assert!(sentence.contains("PENSTOCK_PASSWORD") && sentence.contains("127.0.0.1"), "{sentence}");
    assert!(!setup.database().exists(), "a refused start touches nothing");
}

#[tokio::test]
async fn without_a_password_a_proxy_on_this_machine_lets_nobody_in() {
    let sim = sim_upstream().await;
    let app = Penstock::start(&upstream_toml("up", &sim.base_url(), ROOMY)).await;
    for (name, value) in [("x-forwarded-for", "203.0.113.9"), ("forwarded", "for=203.0.113.9")] {
        assert_eq!(with(&app, Method::GET, "/api/v1/overview", &[(name, value)]).await.status, 401, "{name}");
        assert_eq!(with(&app, Method::GET, "/gw/up/x", &[(name, value)]).await.status, 401, "{name}");
    }
    assert_eq!(sim.total(), 0);
}

#[tokio::test]
async fn with_a_password_the_api_says_401_and_pages_lead_to_the_sign_in() {
    let sim = sim_upstream().await;
    let app = locked(&upstream_toml("up", &sim.base_url(), ROOMY)).await;
    for path in ["/api/v1/overview", "/api/v1/pending", "/api/v1/events", "/api/v1/upstreams/up", "/metrics"] {
        with(&app, Method::GET, path, &[]).await.problem(401, "not-signed-in");
    }
    for path in ["/", "/pending?error_class=timeout", "/quotas/new", "/nonsense"] {
        let told = with(&app, Method::GET, path, &[("accept", "text/html,*/*;q=0.8")]).await;
        let to = path.replace('/', "%2F").replace('?', "%3F").replace('=', "%3D");
        assert_eq!((told.status, told.header("location")), (303, format!("/login?to={to}").as_str()));
    }
    for path in ["/healthz", "/readyz", "/login"] {
        assert_eq!(with(&app, Method::GET, path, &[]).await.status, 200, "{path} is for everybody");
    }
    assert_eq!(with(&app, Method::GET, "/gw/up/x", &[]).await.status, 200, "workers on this machine need no key");
}

#[tokio::test]
async fn signing_in_by_form_gives_a_cookie_that_serves_and_signing_out_ends_it() {
    let app = locked("").await;
    let told = sign_in(&app, PASSWORD, "/pending?error_class=timeout").await;
    assert_eq!((told.status, told.header("location")), (303, "/pending?error_class=timeout"));
    let set = told.header("set-cookie").to_owned();
    for part in ["HttpOnly", "SameSite=Strict", "Path=/", "Max-Age="] {
        assert!(set.contains(part), "{part} is missing: {set}");
    }
    let cookie = cookie_of(&told);
    let value = cookie.split('=').nth(1).unwrap();
    assert!(value.len() >= 32, "a token that can't be guessed: {value}");
    assert_eq!(with(&app, Method::GET, "/api/v1/overview", &[("cookie", &cookie)]).await.status, 200);
    let page = with(&app, Method::GET, "/", &[("cookie", &cookie), ("accept", "text/html")]).await;
    assert_eq!(page.status, 200);
    let other = sign_in(&app, PASSWORD, "").await;
    assert_ne!(cookie_of(&other), cookie, "each session has a token of its own");
    assert_eq!(other.header("location"), "/");

    let out = with(&app, Method::POST, "/logout", &[("cookie", &cookie)]).await;
    assert_eq!((out.status, out.header("location")), (303, "/login"));
    assert!(out.header("set-cookie").contains("Max-Age=0"));
    with(&app, Method::GET, "/api/v1/overview", &[("cookie", &cookie)]).await.problem(401, "not-signed-in");
    let others = cookie_of(&other);
    assert_eq!(
        with(&app, Method::GET, "/api/v1/overview", &[("cookie", &others)]).await.status,
        200,
        "the other session goes on"
    );
}

#[tokio::test]
async fn a_session_outlives_a_restart_and_its_token_is_not_on_disk() {
    let mut app = locked("").await;
    let cookie = cookie_of(&sign_in(&app, PASSWORD, "/").await);
    app.stop().await;
    app.restart().await;
    assert_eq!(with(&app, Method::GET, "/api/v1/overview", &[("cookie", &cookie)]).await.status, 200);
    let token = cookie.split('=').nth(1).unwrap().as_bytes().to_vec();
    for file in std::fs::read_dir(app.setup().database().parent().unwrap()).unwrap() {
        let bytes = std::fs::read(file.unwrap().path()).unwrap();
        assert!(!bytes.windows(token.len()).any(|w| w == token), "whoever reads the file could sign in");
    }
}

#[tokio::test]
async fn a_wrong_password_is_told_and_guessing_is_slowed() {
    let app = locked("").await;
    let wrong = sign_in(&app, "wrong", "/pending").await;
    assert_eq!((wrong.status, wrong.header("location")), (303, "/login?failed=wrong&to=%2Fpending"));
    assert!(!wrong.headers.contains_key("set-cookie"));
    let page = app.api().get("/login?failed=wrong&to=%2Fpending").await;
    assert!(page.text().contains("role=\"alert\"") && page.text().contains("value=\"/pending\""), "{}", page.text());

    let mut slowed = None;
    for n in 0..30 {
        let told = sign_in(&app, &format!("guess {n}"), "/").await;
        if told.header("location").starts_with("/login?failed=wait") {
            slowed = Some(n);
            break;
        }
    }
    assert!(slowed.is_some_and(|n| n < 20), "thirty guesses went unhindered");
    let right = sign_in(&app, PASSWORD, "/").await;
    assert!(
        right.header("location").starts_with("/login?failed=wait"),
        "else the pause would tell a right guess from a wrong one"
    );
    let guess = basic("guess");
    let told = with(&app, Method::GET, "/api/v1/overview", &[("authorization", &guess)]).await;
    assert_eq!(told.status, 429, "the other way in is slowed with it");
    assert!(!app.log().contains("guess 1"), "what was tried is nobody's business");
}

#[tokio::test]
async fn programs_show_the_password_with_each_request() {
    let app = locked("").await;
    let (right, wrong) = (basic(PASSWORD), basic("wrong"));
    assert_eq!(with(&app, Method::GET, "/api/v1/overview", &[("authorization", &right)]).await.status, 200);
    assert_eq!(with(&app, Method::GET, "/metrics", &[("authorization", &right)]).await.status, 200);
    with(&app, Method::GET, "/api/v1/overview", &[("authorization", &wrong)]).await.problem(401, "not-signed-in");
    for nonsense in ["Basic", "Basic !!!", "Basic b3A=", "Bearer x"] {
        with(&app, Method::GET, "/api/v1/overview", &[("authorization", nonsense)]).await.problem(401, "not-signed-in");
    }
    let with_cookie = [("cookie", "penstock_session=0000000000000000000000000000000000000000000000000000000000000000")];
    with(&app, Method::GET, "/api/v1/overview", &with_cookie).await.problem(401, "not-signed-in");
}

#[tokio::test]
async fn signing_in_leads_to_no_other_site() {
    let app = locked("").await;
    for to in [
        "//evil.example",
        "https://evil.example/",
        "/\\evil.example",
        "\\\\evil.example",
        "javascript:alert(1)",
        "/\r\nX: 1",
    ] {
        let told = sign_in(&app, PASSWORD, to).await;
        assert_eq!((told.status, told.header("location")), (303, "/"), "{to:?}");
    }
    let told = app.api().get("/prefs?lang=zh&to=//evil.example").await;
    assert_eq!((told.status, told.header("location")), (303, "/"));
    for to in ["//evil.example", "https://evil.example"] {
        let page = app.api().get(&format!("/login?to={to}")).await.text();
        assert!(page.contains("name=\"to\" value=\"/\""), "the form would lead to {to}: {page}");
        assert!(!page.contains(&format!("href=\"{to}")) && !page.contains(&format!("value=\"{to}")), "{page}");
    }
}

#[tokio::test]
async fn workers_show_their_key_and_it_goes_no_further() {
    const KEY: &str = "worker-key-123";
    let sim = sim_upstream().await;
    let setup = Setup::new(&upstream_toml("up", &sim.base_url(), ROOMY)).with_env("PENSTOCK_PASSWORD", PASSWORD);
    let app = setup.with_env("PENSTOCK_WORKER_KEY", KEY).start().await;
    // As if from another host, through a proxy on this one.
    let from_afar = ("x-forwarded-for", "203.0.113.9");
    with(&app, Method::GET, "/gw/up/x", &[from_afar]).await.problem(401, "no-key");
    with(&app, Method::GET, "/gw/up/x", &[from_afar, ("penstock-key", "wrong")]).await.problem(401, "no-key");
    with(&app, Method::GET, "/gw/up/x", &[("penstock-key", "wrong")]).await.problem(401, "no-key");
    with(&app, Method::POST, "/api/v1/records", &[from_afar]).await.problem(401, "no-key");
    assert_eq!(sim.total(), 0);
    let told = with(
        &app,
        Method::GET,
        "/gw/up/x",
        &[from_afar, ("penstock-key", KEY), ("authorization", "Bearer the-upstreams")],
    )
    .await;
    assert_eq!((told.status, &told.json["headers"]["authorization"]), (200, &json!("Bearer the-upstreams")));
    assert!(told.json["headers"]["penstock-key"].is_null(), "{}", told.json);
    let told = with(&app, Method::GET, "/api/v1/overview", &[("penstock-key", KEY)]).await;
    told.problem(401, "not-signed-in");
}

#[tokio::test]
async fn pages_come_under_a_strict_policy() {
    let app = Penstock::start("").await;
    for path in ["/", "/pending", "/replays", "/breakers", "/quotas", "/quotas/new", "/login", "/nonsense"] {
        let page = with(&app, Method::GET, path, &[("accept", "text/html")]).await;
        let policy = page.header("content-security-policy").to_owned();
        for part in [
            "default-src 'none'",
            "base-uri 'none'",
            "form-action 'self'",
            "frame-ancestors 'none'",
            "style-src 'self'",
            "connect-src 'self'",
        ] {
            assert!(policy.contains(part), "{path} lacks {part}: {policy}");
        }
        for never in ["unsafe-inline", "'unsafe-eval'", "http:", "https:", "*"] {
            assert!(!policy.contains(never), "{path} allows {never}: {policy}");
        }
        let nonce =
            policy.split("'nonce-").nth(1).and_then(|rest| rest.split('\'').next()).unwrap_or_default().to_owned();
        assert!(nonce.len() >= 16, "{path} has no nonce: {policy}");
        assert_ne!(
            nonce,
            with(&app, Method::GET, path, &[])
                .await
                .header("content-security-policy")
                .split("'nonce-")
                .nth(1)
                .unwrap()
                .split('\'')
                .next()
                .unwrap()
        );
        for (name, value) in [
            ("x-content-type-options", "nosniff"),
            ("referrer-policy", "same-origin"),
            ("cross-origin-opener-policy", "same-origin"),
        ] {
            assert_eq!(page.header(name), value, "{path}");
        }
        // Nothing on the page that its own policy would refuse.
        let html = page.text();
        assert!(!html.contains(" style=\"") && !html.contains(" onclick=") && !html.contains("javascript:"), "{path}");
        for script in html.split("<script").skip(1) {
            let tag = script.split('>').next().unwrap_or_default();
            assert!(
                tag.contains(&format!("nonce=\"{nonce}\"")) || tag.contains("src=\"/assets/"),
                "{path}: <script{tag}>"
            );
        }
    }
    let api = app.api().get("/api/v1/overview").await;
    assert_eq!(api.header("content-security-policy"), "default-src 'none'; frame-ancestors 'none'");
    assert_eq!((api.header("cache-control"), api.header("x-content-type-options")), ("no-store", "nosniff"));
}
