//! Who may ask for what. Loopback only unless a password is set; Host, Origin and Sec-Fetch-Site are checked on every
//! request, since any web page can send requests to a loopback address.

use std::{net::SocketAddr, sync::Arc};

use app::model::{Problem, Via};
use axum::{
    extract::{ConnectInfo, Request, State},
    middleware::Next,
    response::{IntoResponse, Redirect, Response},
};
use http::{HeaderMap, HeaderName, HeaderValue, Method, header};
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;

use super::session;
use crate::{config::Secret, operator::Operator, rest::problem, state::App};

const FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");
const PENSTOCK_KEY: HeaderName = HeaderName::from_static("penstock-key");
const SEC_FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");

/// What access rests on.
#[derive(Clone)]
pub struct Access {
    /// The program.
    pub app: Arc<App>,
    /// Host names, beside the loopback's, that may stand in `Host`.
    pub public_hosts: Arc<[String]>,
    /// Operators' password.
    pub password: Option<Secret>,
    /// Key of workers on other hosts.
    pub worker_key: Option<Secret>,
    /// How often a password may be tried, by everybody together.
    pub tries: Arc<std::sync::Mutex<limiter::TokenBucket>>,
}

fn host_name(authority: &str) -> &str {
    if let Some(end) = authority.find(']') {
        return authority.get(..=end).unwrap_or(authority);
    }
    authority.rsplit_once(':').map_or(authority, |(name, _)| name)
}

impl Access {
    /// Whether a `Host` is one of ours: a rebinding DNS name is not.
    fn knows_host(&self, authority: &str) -> bool {
        let name = host_name(authority);
        name.eq_ignore_ascii_case("localhost")
            || name == "[::1]"
            || name.parse::<std::net::Ipv4Addr>().is_ok_and(|ip| ip.is_loopback())
            || self.public_hosts.iter().any(|h| h.eq_ignore_ascii_case(name) || h.eq_ignore_ascii_case(authority))
    }

    /// Compares without telling by its time how much was right.
    fn matches(secret: &Secret, given: &[u8]) -> bool {
        let (a, b) = (Sha256::digest(secret.expose().as_bytes()), Sha256::digest(given));
        a.ct_eq(&b).into()
    }

    /// Whether a password may be tried now: guessing is limited to a try each six seconds, after a burst of ten.
    pub fn may_try(&self) -> bool {
        let mut tries = self.tries.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        tries.take(self.app.clock.now(), 1) == limiter::Decision::Granted
    }

    /// Whether that is the password.
    pub fn is_password(&self, given: &[u8]) -> bool {
        self.password.as_ref().is_some_and(|p| Self::matches(p, given))
    }
}

/// Refuses requests that a foreign web page had sent, and requests under a foreign name.
pub async fn same_origin(State(access): State<Access>, request: Request, next: Next) -> Response {
    match foreign(&access, &request) {
        None => next.run(request).await,
        Some(problem) => problem::respond(&problem),
    }
}

/// Why a request is not looked at: a foreign web page sent it, or it came under a foreign name.
pub(super) fn foreign(access: &Access, request: &Request) -> Option<Problem> {
    let headers = request.headers();
    // CONNECT and `*` name no path: nothing here is asked for so.
    if !request.uri().path().starts_with('/') {
        return Some(
            Problem::new(400, "bad-target", "No path is asked for", "the request names no path; nothing was done")
                .hint("Penstock is no forward proxy: call a path, e.g. /gw/{upstream}/…"),
        );
    }
    if headers.get_all(header::HOST).iter().count() > 1 {
        return Some(
            Problem::new(400, "bad-header", "A request header is wrong", "Host stands there twice; nothing was done")
                .hint("send one Host"),
        );
    }
    let host = headers
        .get(header::HOST)
        .and_then(|h| h.to_str().ok())
        .or_else(|| request.uri().authority().map(http::uri::Authority::as_str));
    let Some(host) = host.filter(|h| access.knows_host(h)) else {
        return Some(
            Problem::new(
                421,
                "unknown-host",
                "Not reached under this name",
                "the Host header names no host of this server; nothing was done",
            )
            .hint("use the loopback address, or add the name to public_hosts in penstock.toml"),
        );
    };
    let refuse = |what: &str| {
        Some(
            Problem::new(403, "foreign-origin", "Sent by another site", format!("{what}; nothing was done"))
                .hint("use the console itself, or a program that sends no Origin"),
        )
    };
    if let Some(origin) = headers.get(header::ORIGIN) {
        let same = origin
            .to_str()
            .ok()
            .and_then(|o| o.split_once("://"))
            .is_some_and(|(_, authority)| authority.eq_ignore_ascii_case(host));
        if !same {
            return refuse("the Origin is another site");
        }
    }
    let navigates = *request.method() == Method::GET
        && headers.get("sec-fetch-mode").is_some_and(|m| m == "navigate")
        && !request.uri().path().starts_with("/gw/");
    match headers.get(&SEC_FETCH_SITE).map(HeaderValue::as_bytes) {
        None | Some(b"same-origin" | b"none") => None,
        // A link from elsewhere may open a page.
        Some(_) if navigates => None,
        Some(_) => refuse("Sec-Fetch-Site says that another site sent it"),
    }
}

/// Workers: everybody on this machine, and those on others who show the key.
pub async fn workers(
    State(access): State<Access>,
    ConnectInfo(peer): ConnectInfo<SocketAddr>,
    request: Request,
    next: Next,
) -> Response {
    match no_worker(&access, Some(peer), request.headers()) {
        None => next.run(request).await,
        Some(problem) => problem::respond(&problem),
    }
}

/// Why somebody is not let in as a worker.
pub(super) fn no_worker(access: &Access, peer: Option<SocketAddr>, headers: &HeaderMap) -> Option<Problem> {
    let shown = headers.get(&PENSTOCK_KEY).map(HeaderValue::as_bytes);
    let may = match shown {
        Some(shown) => {
            access.worker_key.as_ref().is_some_and(|key| Access::matches(key, shown))
                || access.app.keys.lets_in(shown, access.app.clock.wall())
        }
        None => peer.is_some_and(|peer| peer.ip().is_loopback()) && !is_forwarded(headers),
    };
    if may {
        return None;
    }
    let detail = if shown.is_some() {
        "the Penstock-Key is not right"
    } else {
        "a worker on another host must show a Penstock-Key"
    };
    Some(Problem::new(401, "no-key", "Not let in", format!("{detail}; nothing was sent")).hint(
        "an operator makes keys under Engines (/engines); PENSTOCK_WORKER_KEY in the server's environment is one more",
    ))
}

/// Behind a proxy on this machine the peer is always loopback: then nobody is trusted for his address.
fn is_forwarded(headers: &HeaderMap) -> bool {
    headers.contains_key(&FORWARDED_FOR) || headers.contains_key(header::FORWARDED)
}

/// Operators: everybody on this machine while no password is set, else those who signed in or show the password
/// (`Authorization: Basic`). Puts an [`Operator`] into the request.
pub async fn operators(
    State(access): State<Access>,
    ConnectInfo(peer): ConnectInfo<SocketAddr>,
    mut request: Request,
    next: Next,
) -> Response {
    let signed_in = match who(&access, peer, request.headers()).await {
        Ok(signed_in) => signed_in,
        Err(problem) => return problem::respond(&problem),
    };
    let Some(who) = signed_in else {
        return not_signed_in(&request);
    };
    let via = door(request.headers());
    request.extensions_mut().insert(Operator::new(access.app.clone(), who, via));
    next.run(request).await
}

/// The door, for the audit. Browsers say where a request comes from; our own commands say who they are.
fn door(headers: &HeaderMap) -> Via {
    let agent = headers.get(header::USER_AGENT).and_then(|a| a.to_str().ok()).unwrap_or_default();
    if headers.contains_key("sec-fetch-site") {
        Via::Page
    } else if agent.starts_with("penstock/") {
        Via::Command
    } else {
        Via::Api
    }
}

async fn who(access: &Access, peer: SocketAddr, headers: &HeaderMap) -> Result<Option<&'static str>, Problem> {
    if access.password.is_none() {
        return Ok((peer.ip().is_loopback() && !is_forwarded(headers)).then_some("local operator"));
    }
    if let Some(password) = session::basic_password(headers) {
        if access.is_password(&password) {
            return Ok(Some("operator (API)"));
        }
        if !access.may_try() {
            return Err(Problem::new(429, "too-many-tries", "Too many wrong passwords", "nothing was done")
                .hint("wait a minute"));
        }
        return Ok(None);
    }
    let Some(token) = session::token(headers) else { return Ok(None) };
    let holds = access.app.store.session_holds(&session::hash(&token), access.app.clock.wall()).await;
    Ok(holds.map_err(|e| problem::store(&e))?.then_some("operator"))
}

fn not_signed_in(request: &Request) -> Response {
    let wants_page =
        request.headers().get(header::ACCEPT).and_then(|a| a.to_str().ok()).is_some_and(|a| a.contains("text/html"));
    let path = request.uri().path_and_query().map_or("/", http::uri::PathAndQuery::as_str);
    if wants_page && !path.starts_with("/api/") {
        let to: String = url::form_urlencoded::byte_serialize(path.as_bytes()).collect();
        return Redirect::to(&format!("/login?to={to}")).into_response();
    }
    problem::respond(
        &Problem::new(401, "not-signed-in", "Not signed in", "this needs an operator; nothing was done")
            .hint("sign in at /login, or send the password: Authorization: Basic"),
    )
}

/// Headers that every answer of ours carries; the gateway's belong to its upstreams.
pub async fn armour(request: Request, next: Next) -> Response {
    let mut response = next.run(request).await;
    let headers = response.headers_mut();
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert(header::REFERRER_POLICY, HeaderValue::from_static("same-origin"));
    headers.insert("cross-origin-opener-policy", HeaderValue::from_static("same-origin"));
    headers.insert("cross-origin-resource-policy", HeaderValue::from_static("same-origin"));
    headers
        .entry(header::CONTENT_SECURITY_POLICY)
        .or_insert(HeaderValue::from_static("default-src 'none'; frame-ancestors 'none'"));
    headers.entry(header::CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hosts_name_is_what_stands_before_its_port() {
        for (authority, name) in
            [("localhost:7070", "localhost"), ("[::1]:7070", "[::1]"), ("[::1]", "[::1]"), ("a.b", "a.b")]
        {
            assert_eq!(host_name(authority), name);
        }
    }
}
