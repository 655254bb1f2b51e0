//! Signing in: a password, a cookie, a session of twelve hours.

use std::time::Duration;

use axum::{
    Form,
    extract::State,
    response::{IntoResponse, Redirect, Response},
};
use http::{HeaderMap, HeaderValue, header};
use serde::Deserialize;
use sha2::{Digest, Sha256};

use super::access::Access;
use crate::rest::problem;

/// The cookie's name.
const COOKIE: &str = "penstock_session";
/// How long a session lasts.
const LASTS: Duration = Duration::from_hours(12);
/// What the store keeps of a token.
pub fn hash(token: &str) -> Vec<u8> {
    Sha256::digest(token.as_bytes()).to_vec()
}

/// The session's token in a request.
pub fn token(headers: &HeaderMap) -> Option<String> {
    headers
        .get_all(header::COOKIE)
        .iter()
        .filter_map(|c| c.to_str().ok())
        .flat_map(|c| c.split(';'))
        .find_map(|pair| pair.trim().strip_prefix(COOKIE)?.strip_prefix('=').map(str::to_owned))
        .filter(|t| !t.is_empty())
}

/// The password in `Authorization: Basic`; the user's name does not matter.
pub fn basic_password(headers: &HeaderMap) -> Option<Vec<u8>> {
    let value = headers.get(header::AUTHORIZATION)?.to_str().ok()?;
    let encoded = value.split_once(' ').filter(|(scheme, _)| scheme.eq_ignore_ascii_case("basic"))?.1;
    let decoded = decode_base64(encoded.trim())?;
    let colon = decoded.iter().position(|b| *b == b':')?;
    decoded.get(colon + 1..).map(<[u8]>::to_vec)
}

fn decode_base64(text: &str) -> Option<Vec<u8>> {
    use base64::Engine;
    base64::engine::general_purpose::STANDARD.decode(text).ok()
}

/// The sign-in form.
#[derive(Deserialize)]
pub struct SignIn {
    password: String,
    #[serde(default)]
    to: String,
}

/// Only a path of ours: never a way to another site.
pub fn local_path(to: &str) -> &str {
    let ours =
        to.starts_with('/') && !to.starts_with("//") && !to.starts_with("/\\") && !to.chars().any(char::is_control);
    if ours { to } else { "/" }
}

/// Whether a proxy in front says that the browser came by TLS. Believed for what can only make things stricter.
pub fn behind_tls(headers: &HeaderMap) -> bool {
    headers.get("x-forwarded-proto").is_some_and(|p| p.as_bytes().eq_ignore_ascii_case(b"https"))
}

fn cookie(token: &str, seconds: u64, tls: bool) -> HeaderValue {
    let secure = if tls { "; Secure" } else { "" };
    let text = format!("{COOKIE}={token}; Path=/; HttpOnly; SameSite=Strict; Max-Age={seconds}{secure}");
    HeaderValue::from_str(&text).unwrap_or(HeaderValue::from_static("penstock_session=; Path=/"))
}

/// 256 random bits.
fn new_token() -> String {
    use base64::Engine;
    base64::engine::general_purpose::URL_SAFE_NO_PAD.encode(rand::random::<[u8; 32]>())
}

/// `POST /login`.
pub async fn sign_in(State(access): State<Access>, headers: HeaderMap, Form(form): Form<SignIn>) -> Response {
    let to = local_path(&form.to).to_owned();
    let back: String = url::form_urlencoded::byte_serialize(to.as_bytes()).collect();
    if !access.may_try() {
        return Redirect::to(&format!("/login?failed=wait&to={back}")).into_response();
    }
    if !access.is_password(form.password.as_bytes()) {
        tracing::warn!("a sign-in was refused");
        return Redirect::to(&format!("/login?failed=wrong&to={back}")).into_response();
    }
    let token: String = new_token();
    let now = access.app.clock.wall();
    if let Err(error) = access.app.store.add_session(hash(&token), now, now.plus(LASTS)).await {
        return problem::respond(&problem::store(&error));
    }
    let mut response = Redirect::to(&to).into_response();
    response.headers_mut().insert(header::SET_COOKIE, cookie(&token, LASTS.as_secs(), behind_tls(&headers)));
    response
}

/// `POST /logout`.
pub async fn sign_out(State(access): State<Access>, headers: HeaderMap) -> Response {
    if let Some(token) = token(&headers)
        && let Err(error) = access.app.store.end_session(hash(&token)).await
    {
        return problem::respond(&problem::store(&error));
    }
    let mut response = Redirect::to("/login").into_response();
    response.headers_mut().insert(header::SET_COOKIE, cookie("", 0, behind_tls(&headers)));
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signing_in_never_leads_to_another_site() {
        for (to, led) in [
            ("/pending?a=1", "/pending?a=1"),
            ("//evil.example", "/"),
            ("https://evil.example", "/"),
            ("/\\evil", "/"),
            ("", "/"),
        ] {
            assert_eq!(local_path(to), led);
        }
    }

    #[test]
    fn the_password_is_what_stands_after_the_first_colon() {
        let mut headers = HeaderMap::new();
        headers.insert(header::AUTHORIZATION, "Basic b3A6YTpi".parse().unwrap());
        assert_eq!(basic_password(&headers).as_deref(), Some(&b"a:b"[..]));
    }
}
