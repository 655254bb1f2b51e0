//! The console without JavaScript: what the server writes is the page.

use harness::{NO_BREAKER, Penstock, ROOMY, Reply, sim_upstream, upstream_toml};
use reqwest::Method;
use serde_json::json;
use sim::Answer;

async fn page(app: &Penstock, path: &str, language: &str) -> Reply {
    let request = app.api().request(Method::GET, path).header("accept", "text/html");
    app.api().send(request.header("cookie", format!("penstock_lang={language}"))).await
}

/// The words of a page: no tags, no scripts.
fn words(html: &str) -> String {
    let mut out = String::new();
    let mut rest = html.split("<body").nth(1).unwrap_or_default();
    while let Some(open) = rest.find('<') {
        out.push_str(&rest[..open]);
        out.push(' ');
        let skipped = if rest[open..].starts_with("<script") { rest[open..].find("</script>").unwrap_or(0) } else { 0 };
        let tag = &rest[open + skipped..];
        rest = tag.find('>').map_or("", |close| &tag[close + 1..]);
    }
    out.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn chinese(text: &str) -> usize {
    text.chars().filter(|c| ('\u{4e00}'..='\u{9fff}').contains(c)).count()
}

#[tokio::test]
async fn every_page_is_readable_in_both_languages_without_scripts() {
    let sim = sim_upstream().await;
    let app = Penstock::start(&upstream_toml("vision", &sim.base_url(), &format!("{ROOMY}\n{NO_BREAKER}"))).await;
    sim.script([Answer::json(400, &json!({"error": {"message": "tile 4711 is no image"}}))]);
    let told = app.api().post("/gw/vision/v1/tiles", &json!({"id": "tile-4711"})).await;
    let detail = format!("/pending/{}", told.header("penstock-record"));
    for (path, shown) in [
        ("/", "vision"),
        ("/pending", "4711"),
        ("/pending?error_class=client_error&upstream=vision&text=4711", "4711"),
        (detail.as_str(), "tile-4711"),
        ("/replays", ""),
        ("/breakers", "vision"),
        ("/quotas", "vision"),
        ("/quotas/new", ""),
        ("/quotas/vision", "vision"),
        ("/login", ""),
    ] {
        let mut titles = Vec::new();
        for language in ["en", "zh"] {
            let told = page(&app, path, language).await;
            assert_eq!(told.status, 200, "{path}");
            assert!(told.header("content-type").starts_with("text/html"), "{path}");
            let html = told.text();
            let tag = if language == "zh" { "lang=\"zh-CN\"" } else { "lang=\"en\"" };
            assert!(html.contains(tag), "{path} has no {tag}");
            let text = words(&html);
            assert!(text.contains(shown), "{path} in {language} does not show {shown:?}: {text}");
            if language == "zh" {
                assert!(chinese(&text) > 20, "{path} is hardly Chinese: {text}");
            } else {
                // The name of the other language is the only Chinese on an English page.
                assert!(chinese(&text) <= 8, "{path} in English holds Chinese: {text}");
                assert!(text.split(' ').count() > 10, "{path} says hardly anything: {text}");
            }
            assert!(
                !html.contains("panicked") && !text.contains("undefined") && !text.contains("NaN"),
                "{path}: {text}"
            );
            let title =
                html.split("<title>").nth(1).and_then(|t| t.split("</title>").next()).unwrap_or_default().to_owned();
            assert!(title.contains("Penstock") && title.len() > 10, "{path}: {title:?}");
            assert_eq!(html.matches("<h1").count(), 1, "{path} has one heading");
            titles.push(title);
        }
        assert_ne!(titles[0], titles[1], "{path}: the title is not translated");
    }
}

#[tokio::test]
async fn an_empty_program_shows_pages_that_help() {
    let app = Penstock::start("").await;
    for language in ["en", "zh"] {
        for path in ["/", "/pending", "/replays", "/breakers", "/quotas"] {
            let told = page(&app, path, language).await;
            assert_eq!(told.status, 200, "{path}");
            assert!(words(&told.text()).split(' ').count() > 10, "{path}");
        }
        assert!(page(&app, "/", language).await.text().contains("/quotas/new"), "the first step is shown");
    }
}

#[tokio::test]
async fn nonsense_is_404_with_a_page_that_leads_back() {
    let app = Penstock::start("").await;
    for path in ["/nonsense", "/pending/nonsense/more", "/quotas/a/b/c"] {
        for language in ["en", "zh"] {
            let told = page(&app, path, language).await;
            assert_eq!(told.status, 404, "{path}");
            let html = told.text();
            assert!(html.contains("href=\"/\"") && html.contains("<h1"), "{path}: {html}");
            assert!(language == "en" || chinese(&words(&html)) > 8, "{path}: {html}");
        }
    }
    app.api().get("/api/v1/nonsense").await.problem(404, "no-such-path");
}

#[tokio::test]
async fn the_browsers_language_serves_until_one_is_chosen() {
    let app = Penstock::start("").await;
    for (accepts, cookie, tag) in [
        ("zh-CN,zh;q=0.9,en;q=0.8", "", "zh-CN"),
        ("en-GB,en;q=0.9,zh;q=0.8", "", "en"),
        ("fr", "", "en"),
        ("zh-CN", "penstock_lang=en", "en"),
        ("en", "x=1; penstock_lang=zh", "zh-CN"),
        ("en", "penstock_lang=%3Cscript%3E", "en"),
    ] {
        let mut request = app.api().request(Method::GET, "/").header("accept-language", accepts);
        if !cookie.is_empty() {
            request = request.header("cookie", cookie);
        }
        let html = app.api().send(request).await.text();
        assert!(html.contains(&format!("lang=\"{tag}\"")), "{accepts} {cookie}");
    }
    let told = app.api().get("/prefs?lang=zh&to=/pending").await;
    assert_eq!((told.status, told.header("location")), (303, "/pending"));
    assert!(told.header("set-cookie").starts_with("penstock_lang=zh;"), "{}", told.header("set-cookie"));
}

#[tokio::test]
async fn what_a_provider_said_is_text_on_the_page() {
    let sim = sim_upstream().await;
    let app =
        Penstock::start(&upstream_toml("up", &sim.base_url(), &format!("profile = \"openai\"\n{ROOMY}\n{NO_BREAKER}")))
            .await;
    let evil = "<script>alert(1)</script><img src=x onerror=alert(2)>";
    sim.script([Answer::json(400, &json!({"error": {"message": evil, "code": evil}}))]);
    let request = app.api().request(Method::POST, "/gw/up/x").header("penstock-engine", evil).body(evil);
    let told = app.api().send(request).await;
    for path in ["/".to_owned(), "/pending".to_owned(), format!("/pending/{}", told.header("penstock-record"))] {
        let html = page(&app, &path, "en").await.text();
        assert!(!html.contains("<script>alert") && !html.contains("<img src=x"), "{path}");
    }
    assert!(page(&app, "/pending", "en").await.text().contains("&lt;script&gt;alert(1)"), "it is shown, as text");
}

#[tokio::test]
async fn the_api_describes_itself_to_programs_and_to_people() {
    let app = Penstock::start("").await;
    let told = app.api().get("/api/v1/openapi.json").await.expect(200);
    assert_eq!(told["openapi"], "3.1.0");
    assert!(
        told["paths"]["/permits"]["post"]["requestBody"].is_object()
            && told["components"]["schemas"]["Problem"].is_object()
    );
    let page = app.api().get("/docs").await;
    let text = page.text();
    assert_eq!(page.status, 200);
    assert!(text.contains("POST /permits/{id}/settle") && text.contains("id=\"PendingItem\""));
    assert!(page.header("content-security-policy").contains("style-src 'self'"), "{:?}", page.headers);
    // Every operation is really there: none answers that there is no such path, or no such method.
    for (path, methods) in told["paths"].as_object().unwrap() {
        for method in methods.as_object().unwrap().keys() {
            if path == "/events" {
                continue;
            }
            let method = reqwest::Method::from_bytes(method.to_uppercase().as_bytes()).unwrap();
            let at = format!(
                "/api/v1{}",
                path.replace("{id}", "x")
                    .replace("{name}", "x")
                    .replace("{action}", if path.starts_with("/replays") { "pause" } else { "reset" })
            );
            let answer = app.api().send(app.api().request(method.clone(), &at).body("{}")).await;
            assert_ne!(
                (answer.status, &answer.json["type"]),
                (404, &serde_json::json!("no-such-path")),
                "{method} {at}"
            );
            assert_ne!(answer.status, 405, "{method} {at}");
        }
    }
}
