//! `GET /prefs?lang=zh&to=/pending`: sets a preference's cookie and comes back. Works without JavaScript.

use app::{
    Lang, Theme,
    prefs::{LANG_COOKIE, THEME_COOKIE},
};
use axum::{
    extract::Query,
    response::{IntoResponse, Redirect, Response},
};
use http::{HeaderValue, header};
use serde::Deserialize;

use super::session::local_path;

/// A year.
const LASTS_S: u64 = 31_536_000;

/// What is set, and where to go back.
#[derive(Deserialize)]
pub struct Wish {
    lang: Option<String>,
    theme: Option<String>,
    #[serde(default)]
    to: String,
}

/// Sets what was named; unknown words set the default.
pub async fn set(Query(wish): Query<Wish>) -> Response {
    let mut response = Redirect::to(local_path(&wish.to)).into_response();
    let lang = wish.lang.map(|w| (LANG_COOKIE, Lang::from_tag(&w).unwrap_or_default().word()));
    let theme = wish.theme.map(|w| (THEME_COOKIE, Theme::from_word(&w).word()));
    for (name, word) in lang.into_iter().chain(theme) {
        let cookie = format!("{name}={word}; Path=/; SameSite=Lax; Max-Age={LASTS_S}");
        if let Ok(cookie) = HeaderValue::from_str(&cookie) {
            response.headers_mut().append(header::SET_COOKIE, cookie);
        }
    }
    response
}
