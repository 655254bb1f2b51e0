//! The client that calls one upstream: pooled connections, HTTP/1.1 or 2, no redirects, no retries of what was sent.

use std::{sync::Arc, time::Duration};

use app::model::upstream::{FieldProblem, UpstreamConfig};
use base64::Engine as _;
use http::{HeaderValue, Request, Response, header, uri::Scheme};
use hyper::body::Incoming;
use hyper_util::{
    client::legacy::{Client as Pooled, Error},
    rt::{TokioExecutor, TokioTimer},
};
use rustls::{
    ClientConfig,
    pki_types::{CertificateDer, pem::PemObject as _},
};
use rustls_platform_verifier::Verifier;

use super::{
    body::Sent,
    way::{Proxy, Way},
};

/// A connection that nobody uses is closed after this: most servers close theirs a little earlier or later.
const IDLE: Duration = Duration::from_secs(90);

/// The client. Cheap to clone.
#[derive(Clone)]
pub struct Client {
    pooled: Pooled<Way, Sent>,
    /// What a proxy is shown with each call that it does not tunnel.
    proxy: Option<HeaderValue>,
}

impl Client {
    /// Makes the client. None: the proxy's credential names an environment variable that is not set; to go without the proxy
    /// would be to go where nobody said.
    pub fn of(
        config: &UpstreamConfig,
        connect: Duration,
        variable: &dyn Fn(&str) -> Option<String>,
    ) -> Result<Option<Self>, FieldProblem> {
        let proxy = match config.proxy.as_deref() {
            None => None,
            Some(address) => match proxy(address, variable)? {
                Some(proxy) => Some(proxy),
                None => return Ok(None),
            },
        };
        let shown = proxy.as_ref().and_then(|proxy| proxy.credential.clone());
        let way = Way::new(tls(config.ca_file.as_deref())?, proxy, connect);
        Ok(Some(Self::over(way, shown)))
    }

    /// A client that stands where none may be used.
    pub fn without_proxy(connect: Duration) -> Result<Self, FieldProblem> {
        Ok(Self::over(Way::new(tls(None)?, None, connect), None))
    }

    fn over(way: Way, proxy: Option<HeaderValue>) -> Self {
        let pooled = Pooled::builder(TokioExecutor::new())
            .pool_idle_timeout(IDLE)
            .pool_timer(TokioTimer::new())
            // Another connection is taken where a pooled one turned out to be closed before anything was sent on it.
            .retry_canceled_requests(true)
            .build(way);
        Self { pooled, proxy }
    }

    /// Sends a request and waits for the answer's head.
    pub async fn send(&self, mut request: Request<Sent>) -> Result<Response<Incoming>, Error> {
        if let Some(shown) = &self.proxy
            && request.uri().scheme() != Some(&Scheme::HTTPS)
        {
            request.headers_mut().insert(header::PROXY_AUTHORIZATION, shown.clone());
        }
        self.pooled.request(request).await
    }
}

impl std::fmt::Debug for Client {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Client")
    }
}

/// The system's authorities, and those of a file.
fn tls(ca_file: Option<&str>) -> Result<ClientConfig, FieldProblem> {
    let bad = |why: String| FieldProblem::new("ca_file", "bad_file", why);
    let extra = ca_file.map(certificates).transpose()?.unwrap_or_default();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let verifier = Verifier::new_with_extra_roots(extra, provider.clone()).map_err(|e| bad(e.to_string()))?;
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|e| bad(e.to_string()))?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(verifier))
        .with_no_client_auth();
    Ok(config)
}

fn certificates(file: &str) -> Result<Vec<CertificateDer<'static>>, FieldProblem> {
    let bad = |why: String| FieldProblem::new("ca_file", "bad_file", format!("{file}: {why}"));
    let pem = std::fs::read(file).map_err(|e| bad(format!("can't be read by the server ({e})")))?;
    let found: Vec<_> =
        CertificateDer::pem_slice_iter(&pem).collect::<Result<_, _>>().map_err(|e| bad(format!("is not PEM ({e})")))?;
    if found.is_empty() { Err(bad("holds no certificate".to_owned())) } else { Ok(found) }
}

fn proxy(address: &str, variable: &dyn Fn(&str) -> Option<String>) -> Result<Option<Proxy>, FieldProblem> {
    let bad = |e: &str| FieldProblem::new("proxy", "not_a_url", e);
    let (scheme, rest) = address.split_once("://").ok_or_else(|| bad("it has no scheme"))?;
    let (user, host) = rest.rsplit_once('@').map_or((None, rest), |(user, host)| (Some(user), host));
    let address = format!("{scheme}://{}", host.trim_end_matches('/'));
    let address = address.parse().map_err(|_| bad("it is no address"))?;
    let Some(user) = user else { return Ok(Some(Proxy { address, credential: None })) };
    let (name, password) = user.split_once(':').unwrap_or((user, ""));
    let read = |text: &str| crate::upstream::expanded("proxy", text, variable);
    let (Some(name), Some(password)) = (read(name)?, read(password)?) else { return Ok(None) };
    let basic = base64::engine::general_purpose::STANDARD.encode(format!("{name}:{password}"));
    let mut credential =
        HeaderValue::from_str(&format!("Basic {basic}")).map_err(|_| bad("its credential can't be sent"))?;
    credential.set_sensitive(true);
    Ok(Some(Proxy { address, credential: Some(credential) }))
}
