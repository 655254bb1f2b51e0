//! The client that calls one upstream: what reqwest would do by itself is switched off, and the way out is as configured.

use std::time::Duration;

use app::model::upstream::{FieldProblem, UpstreamConfig};

/// Makes the client. None: the proxy's credential names an environment variable that is not set; to go without the proxy would
/// be to go where nobody said.
pub fn client(
    config: &UpstreamConfig,
    connect: Duration,
    variable: &dyn Fn(&str) -> Option<String>,
) -> Result<Option<reqwest::Client>, FieldProblem> {
    let mut builder = reqwest::Client::builder()
        .connect_timeout(connect)
        .redirect(reqwest::redirect::Policy::none())
        .retry(reqwest::retry::never())
        .referer(false)
        .no_proxy()
        .tcp_nodelay(true);
    if let Some(address) = config.proxy.as_deref() {
        let Some(proxy) = proxy(address, variable)? else { return Ok(None) };
        builder = builder.proxy(proxy);
    }
    if let Some(file) = config.ca_file.as_deref() {
        builder = builder.tls_certs_merge(certificates(file)?);
    }
    builder.build().map(Some).map_err(|e| FieldProblem::new("base_url", "not_a_url", e.to_string()))
}

fn proxy(address: &str, variable: &dyn Fn(&str) -> Option<String>) -> Result<Option<reqwest::Proxy>, FieldProblem> {
    let bad = |e: String| FieldProblem::new("proxy", "not_a_url", e);
    let (scheme, rest) = address.split_once("://").ok_or_else(|| bad("it has no scheme".to_owned()))?;
    let (user, host) = rest.rsplit_once('@').map_or((None, rest), |(user, host)| (Some(user), host));
    // Everything goes through it: plain calls in absolute form, TLS in a tunnel (RFC 9110, 9.3.6).
    let proxy = reqwest::Proxy::all(format!("{scheme}://{host}")).map_err(|e| bad(e.to_string()))?;
    let Some(user) = user else { return Ok(Some(proxy)) };
    let (name, password) = user.split_once(':').unwrap_or((user, ""));
    let read = |text: &str| crate::upstream::expanded("proxy", text, variable);
    let (Some(name), Some(password)) = (read(name)?, read(password)?) else { return Ok(None) };
    Ok(Some(proxy.basic_auth(&name, &password)))
}

fn certificates(file: &str) -> Result<Vec<reqwest::Certificate>, FieldProblem> {
    let bad = |why: String| FieldProblem::new("ca_file", "bad_file", format!("{file}: {why}"));
    let pem = std::fs::read(file).map_err(|e| bad(format!("can't be read by the server ({e})")))?;
    let found = reqwest::Certificate::from_pem_bundle(&pem).map_err(|e| bad(format!("is not PEM ({e})")))?;
    if found.is_empty() { Err(bad("holds no certificate".to_owned())) } else { Ok(found) }
}
