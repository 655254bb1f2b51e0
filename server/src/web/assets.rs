//! The console's files, as `cargo xtask build` left them: embedded, compressed beforehand, and named by their contents.
//!
//! The folder in an address is a hash of everything in it, so an answer may be kept for ever and nothing is ever
//! revalidated. Without the feature `embed` there are no files: [`site_hash`] says so, and pages go without scripts.

use std::borrow::Cow;

use axum::body::{Body, Bytes};
use axum::extract::Path;
use axum::http::header::{ACCEPT_ENCODING, CACHE_CONTROL, CONTENT_ENCODING, CONTENT_TYPE, VARY};
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};

#[cfg(feature = "embed")]
#[derive(rust_embed::Embed)]
#[folder = "../target/site"]
struct Site;

/// The folder under `/assets/` that this binary carries; `None` if it was built without a console.
pub fn site_hash() -> Option<String> {
    let manifest: serde_json::Value = serde_json::from_slice(&embedded("manifest.json")?).ok()?;
    manifest.get("hash")?.as_str().map(str::to_owned)
}

/// `GET /assets/{hash}/{*file}`: the smallest form of the file that the browser takes.
pub async fn serve(Path((hash, file)): Path<(String, String)>, headers: HeaderMap) -> Response {
    let path = format!("assets/{hash}/{file}");
    let encoding = Encoding::choose(&headers);
    let (bytes, encoding) = match (embedded(&format!("{path}{}", encoding.suffix())), embedded(&path)) {
        (_, None) => return StatusCode::NOT_FOUND.into_response(),
        (Some(bytes), _) => (bytes, encoding),
        (None, Some(bytes)) => (bytes, Encoding::Identity),
    };
    let body = match bytes {
        Cow::Borrowed(bytes) => Bytes::from_static(bytes),
        Cow::Owned(bytes) => Bytes::from(bytes),
    };
    let mut response = Body::from(body).into_response();
    let answer = response.headers_mut();
    answer.insert(CONTENT_TYPE, HeaderValue::from_static(content_type(&file)));
    answer.insert(CACHE_CONTROL, HeaderValue::from_static("public, max-age=31536000, immutable"));
    answer.insert(VARY, HeaderValue::from_static("accept-encoding"));
    if let Some(name) = encoding.name() {
        answer.insert(CONTENT_ENCODING, HeaderValue::from_static(name));
    }
    response
}

#[cfg(feature = "embed")]
fn embedded(path: &str) -> Option<Cow<'static, [u8]>> {
    Site::get(path).map(|file| file.data)
}

#[cfg(not(feature = "embed"))]
fn embedded(_path: &str) -> Option<Cow<'static, [u8]>> {
    None
}

/// The forms in which each file lies ready, smallest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Encoding {
    Brotli,
    Gzip,
    Identity,
}

impl Encoding {
    /// The smallest form that `Accept-Encoding` doesn't refuse. Weights other than zero are not compared: they tell what
    /// costs a server work, and here no form costs any.
    fn choose(headers: &HeaderMap) -> Self {
        let takes = |name: &str| {
            let values = headers.get_all(ACCEPT_ENCODING).iter().filter_map(|value| value.to_str().ok());
            values.flat_map(|value| value.split(',')).any(|coding| {
                let mut parts = coding.split(';');
                parts.next().is_some_and(|found| found.trim().eq_ignore_ascii_case(name)) && !parts.any(is_zero_weight)
            })
        };
        if takes("br") {
            Self::Brotli
        } else if takes("gzip") {
            Self::Gzip
        } else {
            Self::Identity
        }
    }

    fn suffix(self) -> &'static str {
        match self {
            Self::Brotli => ".br",
            Self::Gzip => ".gz",
            Self::Identity => "",
        }
    }

    fn name(self) -> Option<&'static str> {
        match self {
            Self::Brotli => Some("br"),
            Self::Gzip => Some("gzip"),
            Self::Identity => None,
        }
    }
}

fn is_zero_weight(parameter: &str) -> bool {
    let Some((name, value)) = parameter.split_once('=') else { return false };
    name.trim().eq_ignore_ascii_case("q") && value.trim().parse::<f32>().is_ok_and(|weight| weight <= 0.0)
}

/// By the file's name; a browser refuses WebAssembly and modules of another type.
fn content_type(file: &str) -> &'static str {
    match file.rsplit_once('.').map(|(_, extension)| extension) {
        Some("wasm") => "application/wasm",
        Some("js" | "mjs") => "text/javascript; charset=utf-8",
        Some("css") => "text/css; charset=utf-8",
        Some("svg") => "image/svg+xml",
        Some("png") => "image/png",
        Some("ico") => "image/x-icon",
        Some("woff2") => "font/woff2",
        Some("json") => "application/json",
        Some("webmanifest") => "application/manifest+json",
        Some("txt") => "text/plain; charset=utf-8",
        _ => "application/octet-stream",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn choose(values: &[&str]) -> Encoding {
        let pairs = values.iter().map(|value| (ACCEPT_ENCODING, HeaderValue::from_str(value).unwrap()));
        Encoding::choose(&pairs.collect())
    }

    #[test]
    fn the_smallest_form_that_is_taken() {
        assert_eq!(choose(&["gzip, deflate, br, zstd"]), Encoding::Brotli);
        assert_eq!(choose(&["br;q=0.1, gzip"]), Encoding::Brotli);
        assert_eq!(choose(&["gzip, deflate"]), Encoding::Gzip);
        assert_eq!(choose(&["gzip", "BR"]), Encoding::Brotli);
    }

    #[test]
    fn nothing_that_is_refused() {
        assert_eq!(choose(&["br;q=0, gzip"]), Encoding::Gzip);
        assert_eq!(choose(&["br; Q=0.000 , gzip ; q=0"]), Encoding::Identity);
        assert_eq!(choose(&[]), Encoding::Identity);
        assert_eq!(choose(&["zstd, brotli"]), Encoding::Identity);
    }

    #[test]
    fn types_that_browsers_insist_on() {
        assert_eq!(content_type("app_bg.wasm"), "application/wasm");
        assert_eq!(content_type("snippets/app/chart.js"), "text/javascript; charset=utf-8");
        assert_eq!(content_type("no-extension"), "application/octet-stream");
    }

    #[tokio::test]
    async fn what_is_not_there_is_not_found() {
        let answer = serve(Path(("0".to_owned(), "app.js".to_owned())), HeaderMap::new()).await;
        assert_eq!(answer.status(), StatusCode::NOT_FOUND);
    }

    #[cfg(feature = "embed")]
    #[tokio::test]
    async fn the_embedded_script_comes_compressed_and_for_ever() {
        let headers = HeaderMap::from_iter([(ACCEPT_ENCODING, HeaderValue::from_static("gzip, br"))]);
        let answer = serve(Path((site_hash().unwrap(), "app.js".to_owned())), headers).await;
        assert_eq!(answer.status(), StatusCode::OK);
        assert_eq!(answer.headers()[CONTENT_ENCODING], "br");
        assert_eq!(answer.headers()[CONTENT_TYPE], "text/javascript; charset=utf-8");
        assert_eq!(answer.headers()[CACHE_CONTROL], "public, max-age=31536000, immutable");
    }
}
