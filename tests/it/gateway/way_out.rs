//! The way to the upstream: through a proxy, and trusting an authority of one's own.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};

use harness::{NO_BREAKER, Penstock, ROOMY, Reply, sim_upstream, upstream_toml};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use reqwest::Method;
use rustls::pki_types::PrivateKeyDer;
use serde_json::json;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;

/// A forward proxy: tunnels where it is asked to (CONNECT), else sends on what came in absolute form. Keeps the heads it saw.
struct Proxy {
    address: SocketAddr,
    heads: Arc<Mutex<Vec<String>>>,
}

impl Proxy {
    async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("an address");
        let heads = Arc::new(Mutex::new(Vec::new()));
        let kept = Arc::clone(&heads);
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(pass(stream, Arc::clone(&kept)));
            }
        });
        Self { address, heads }
    }

    fn heads(&self) -> Vec<String> {
        self.heads.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

async fn head(stream: &mut (impl AsyncRead + Unpin)) -> String {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        match stream.read_u8().await {
            Ok(byte) => head.push(byte),
            Err(_) => break,
        }
    }
    String::from_utf8_lossy(&head).into_owned()
}

async fn pass(mut caller: TcpStream, heads: Arc<Mutex<Vec<String>>>) {
    let head = head(&mut caller).await;
    heads.lock().unwrap_or_else(PoisonError::into_inner).push(head.clone());
    let target = head.split(' ').nth(1).unwrap_or_default().to_owned();
    let tunnels = head.starts_with("CONNECT ");
    let rest = target.trim_start_matches("http://");
    let authority = rest.split('/').next().unwrap_or_default();
    let mut upstream = TcpStream::connect(authority).await.expect("the upstream listens");
    if tunnels {
        caller.write_all(b"HTTP/1.1 200 OK\r\n\r\n").await.expect("the caller listens");
    } else {
        let origin_form = head.replacen(&format!("http://{authority}"), "", 1);
        upstream.write_all(origin_form.as_bytes()).await.expect("the upstream listens");
    }
    let _ = tokio::io::copy_bidirectional(&mut caller, &mut upstream).await;
}

/// An authority of one's own, as PEM, and an upstream for `localhost` that shows a certificate of it.
async fn private_upstream() -> (String, u16) {
    let mut params = CertificateParams::new(Vec::new()).expect("no names");
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let authority = CertifiedIssuer::self_signed(params, KeyPair::generate().expect("a key")).expect("a certificate");
    let key = KeyPair::generate().expect("a key");
    let names = CertificateParams::new(vec!["localhost".to_owned()]).expect("a name");
    let shown = names.signed_by(&key, &authority).expect("a certificate");
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("versions")
        .with_no_client_auth()
        .with_single_cert(vec![shown.der().clone()], PrivateKeyDer::Pkcs8(key.serialize_der().into()))
        .expect("a certificate and its key");
    let acceptor = TlsAcceptor::from(Arc::new(config));
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let port = listener.local_addr().expect("an address").port();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let acceptor = acceptor.clone();
            tokio::spawn(async move {
                let Ok(mut stream) = acceptor.accept(stream).await else { return };
                head(&mut stream).await;
                let body = r#"{"private":true}"#;
                let kind = "content-type: application/json\r\nconnection: close";
                let answer = format!("HTTP/1.1 200 OK\r\n{kind}\r\ncontent-length: {}\r\n\r\n{body}", body.len());
                let _ = stream.write_all(answer.as_bytes()).await;
                let _ = stream.shutdown().await;
            });
        }
    });
    (authority.pem(), port)
}

async fn call(app: &Penstock) -> Reply {
    app.api().send(app.api().request(Method::GET, "/gw/up/v1/things?x=1")).await
}

#[tokio::test]
async fn plain_calls_go_through_the_proxy_that_is_named_with_its_password_from_the_environment() {
    let (sim, proxy) = (sim_upstream().await, Proxy::start().await);
    let named = format!("proxy = \"http://me:${{PENSTOCK_KEY_PROXY}}@{}\"\n{ROOMY}", proxy.address);
    let setup = Penstock::with(&upstream_toml("up", &sim.base_url(), &named)).with_env("PENSTOCK_KEY_PROXY", "s3cret");
    let app = setup.start().await;
    let seen = call(&app).await.expect(200);
    assert_eq!((&seen["path"], &seen["query"]), (&json!("/v1/things"), &json!("x=1")));
    let head = proxy.heads().remove(0);
    assert!(head.starts_with(&format!("GET {}/v1/things?x=1 HTTP/1.1\r\n", sim.base_url())), "absolute form: {head}");
    // me:s3cret
    assert!(head.to_lowercase().contains("proxy-authorization: basic bwu6cznjcmv0"), "{head}");
    assert!(!seen["headers"].to_string().contains("s3cret"));
    let told = app.api().get("/api/v1/upstreams/up").await.text();
    assert!(told.contains("${PENSTOCK_KEY_PROXY}") && !told.contains("s3cret"), "{told}");
}

#[tokio::test]
async fn without_the_proxys_password_nothing_is_sent_past_it() {
    let (sim, proxy) = (sim_upstream().await, Proxy::start().await);
    let named = format!("proxy = \"http://me:${{NOT_SET_ANYWHERE}}@{}\"\n{ROOMY}", proxy.address);
    let app = Penstock::start(&upstream_toml("up", &sim.base_url(), &named)).await;
    call(&app).await.problem(503, "credential-missing");
    assert_eq!((sim.total(), proxy.heads().len()), (0, 0));
}

#[tokio::test]
async fn a_private_authority_is_trusted_where_its_file_is_named_and_nowhere_else() {
    let (pem, port) = private_upstream().await;
    let proxy = Proxy::start().await;
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("ca.pem");
    std::fs::write(&file, pem).expect("a file");
    let base = format!("https://localhost:{port}");
    let trusting = format!("ca_file = \"{}\"\n{ROOMY}", file.display());
    let tunnelled = format!("proxy = \"http://{}\"\n{trusting}", proxy.address);
    let once = "retry = { max_retries = 0 }";
    let app = Penstock::start(&upstream_toml("up", &base, &format!("{tunnelled}\n{once}"))).await;
    assert_eq!(call(&app).await.expect(200), json!({ "private": true }));
    let head = proxy.heads().remove(0);
    assert!(head.starts_with(&format!("CONNECT localhost:{port} HTTP/1.1\r\n")), "TLS goes through a tunnel: {head}");

    let app = Penstock::start(&upstream_toml("up", &base, &format!("{ROOMY}\n{NO_BREAKER}\n{once}"))).await;
    let refused = call(&app).await.problem(502, "upstream-failed");
    assert!(refused["detail"].as_str().unwrap().to_lowercase().contains("certificate"), "{refused}");
}

#[tokio::test]
async fn a_way_that_makes_no_sense_is_refused_with_its_field() {
    let app = Penstock::start("").await;
    for (field, value, says) in [
        ("proxy", json!("proxy.example:3128"), "http://"),
        ("proxy", json!("http://me:literal@proxy:1"), "environment variable"),
        ("proxy", json!("http://me:${PENSTOCK_PASSWORD}@proxy:1"), "own variables"),
        ("ca_file", json!("/no/such/file.pem"), "/no/such/file.pem"),
    ] {
        let config = json!({ "base_url": "http://127.0.0.1:9", "quota": { "concurrency": 1 }, field: value });
        let reply = app.api().put("/api/v1/upstreams/up", &json!({ "config": config })).await;
        let problem = reply.problem(422, "bad-config");
        assert_eq!(problem["fields"][0]["field"], field, "{problem}");
        assert!(problem["fields"][0]["message"].as_str().unwrap().contains(says), "{problem}");
    }
}
