//! An upstream that keeps what came over the wire, byte for byte, and answers with bytes given beforehand.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

/// A request as it came.
#[derive(Debug, Clone)]
pub(crate) struct Seen {
    /// Request line and headers.
    pub(crate) head: Vec<u8>,
    /// The body, without the chunks' frames.
    pub(crate) body: Vec<u8>,
    /// When it was here as a whole.
    pub(crate) at: Instant,
}

impl Seen {
    /// `GET /path?query HTTP/1.1`.
    pub(crate) fn line(&self) -> String {
        String::from_utf8_lossy(self.head.split(|b| *b == b'\r').next().unwrap_or_default()).into_owned()
    }

    /// Every value of a header, as bytes; the name in lower case.
    pub(crate) fn all(&self, name: &str) -> Vec<Vec<u8>> {
        self.headers().into_iter().filter(|(found, _)| found == name).map(|(_, value)| value).collect()
    }

    /// A header's only value; empty where it is absent.
    pub(crate) fn one(&self, name: &str) -> String {
        let values = self.all(name);
        assert!(values.len() <= 1, "{name} came {} times", values.len());
        values.first().map(|v| String::from_utf8_lossy(v).into_owned()).unwrap_or_default()
    }

    /// All header names, sorted, in lower case.
    pub(crate) fn names(&self) -> Vec<String> {
        let mut names: Vec<String> = self.headers().into_iter().map(|(name, _)| name).collect();
        names.sort();
        names
    }

    fn headers(&self) -> Vec<(String, Vec<u8>)> {
        let lines = self.head.split(|b| *b == b'\n').skip(1);
        let pair = |line: &[u8]| {
            let line = line.strip_suffix(b"\r").unwrap_or(line);
            let colon = line.iter().position(|b| *b == b':')?;
            let (name, value) = (line.get(..colon)?, line.get(colon + 1..)?);
            Some((String::from_utf8_lossy(name).to_ascii_lowercase(), value.trim_ascii().to_vec()))
        };
        lines.filter_map(pair).collect()
    }
}

/// A running upstream of this kind; each connection serves one request.
pub(crate) struct Wire {
    address: SocketAddr,
    seen: Arc<Mutex<Vec<Seen>>>,
}

impl Wire {
    /// Answers every request with these bytes, status line and all.
    pub(crate) async fn answering(answer: impl Into<Vec<u8>>) -> Self {
        let answer = answer.into();
        Self::start(move |_| answer.clone()).await
    }

    /// Answers each request with the next of these bytes, and with the last once there are no more.
    pub(crate) async fn scripted(answers: Vec<Vec<u8>>) -> Self {
        let next = AtomicUsize::new(0);
        Self::start(move |_| {
            let at = next.fetch_add(1, Ordering::Relaxed).min(answers.len() - 1);
            answers[at].clone()
        })
        .await
    }

    /// Answers every request with its own body.
    pub(crate) async fn echoing() -> Self {
        Self::start(|seen| {
            let head = format!(
                "HTTP/1.1 200 OK\r\nContent-Type: application/octet-stream\r\nContent-Length: {}\r\n\r\n",
                seen.body.len()
            );
            [head.as_bytes(), &seen.body].concat()
        })
        .await
    }

    async fn start(answer: impl Fn(&Seen) -> Vec<u8> + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("a bound address");
        let seen = Arc::new(Mutex::new(Vec::new()));
        let (into, answer) = (Arc::clone(&seen), Arc::new(answer));
        tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                let (into, answer) = (Arc::clone(&into), Arc::clone(&answer));
                tokio::spawn(async move {
                    let Some(request) = read(&mut stream).await else { return };
                    let bytes = answer(&request);
                    into.lock().unwrap_or_else(PoisonError::into_inner).push(request);
                    // A caller that went needs no answer.
                    let _ = stream.write_all(&bytes).await;
                    let _ = stream.shutdown().await;
                });
            }
        });
        Self { address, seen }
    }

    pub(crate) fn base_url(&self) -> String {
        format!("http://{}", self.address)
    }

    pub(crate) fn host(&self) -> String {
        self.address.to_string()
    }

    /// What came so far.
    pub(crate) fn seen(&self) -> Vec<Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The one request that came.
    #[track_caller]
    pub(crate) fn only(&self) -> Seen {
        let mut seen = self.seen();
        assert_eq!(seen.len(), 1, "exactly one request is wanted");
        seen.remove(0)
    }

    /// How long after the first request the second came.
    #[track_caller]
    pub(crate) fn gap(&self) -> Duration {
        let seen = self.seen();
        assert_eq!(seen.len(), 2, "exactly two requests are wanted");
        seen[1].at.duration_since(seen[0].at)
    }

    /// The newest request.
    #[track_caller]
    pub(crate) fn last(&self) -> Seen {
        self.seen().pop().expect("a request came")
    }
}

/// Reads one request to its end; `None` if it broke off.
async fn read(stream: &mut TcpStream) -> Option<Seen> {
    let head = read_head(stream).await?;
    let mut seen = Seen { head, body: Vec::new(), at: now() };
    if seen.one("transfer-encoding").eq_ignore_ascii_case("chunked") {
        loop {
            let size = read_line(stream).await?;
            let size = usize::from_str_radix(&size, 16).ok()?;
            let start = seen.body.len();
            seen.body.resize(start + size, 0);
            stream.read_exact(seen.body.get_mut(start..)?).await.ok()?;
            read_line(stream).await?;
            if size == 0 {
                return Some(seen);
            }
        }
    }
    let length = seen.one("content-length").parse().unwrap_or(0);
    seen.body = vec![0; length];
    stream.read_exact(&mut seen.body).await.ok()?;
    Some(seen)
}

#[expect(clippy::disallowed_methods, reason = "a stopwatch: what comes over the wire comes in real time")]
fn now() -> Instant {
    Instant::now()
}

/// Reads up to the blank line after the headers, byte by byte, so that nothing of the body is taken.
pub(crate) async fn read_head(stream: &mut (impl AsyncRead + Unpin)) -> Option<Vec<u8>> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(stream.read_u8().await.ok()?);
    }
    Some(head)
}

async fn read_line(stream: &mut TcpStream) -> Option<String> {
    let mut line = Vec::new();
    while !line.ends_with(b"\r\n") {
        line.push(stream.read_u8().await.ok()?);
    }
    String::from_utf8(line).ok().map(|line| line.trim_end().to_owned())
}

/// Sends a request by hand to `base` and hands the connection over, for a caller that leaves when it likes.
pub(crate) async fn call_by_hand(base: &str, request: &[u8]) -> TcpStream {
    let mut stream =
        TcpStream::connect(base.trim_start_matches("http://")).await.expect("the server takes connections");
    stream.write_all(request).await.expect("the server reads");
    stream
}

/// The head of an answer that was taken whole, in lower case, and its body without the chunks' frames.
pub(crate) fn parted(answer: &[u8]) -> (String, Vec<u8>) {
    let end = answer.windows(4).position(|w| w == b"\r\n\r\n").expect("an answer has a head");
    let (head, rest) = answer.split_at(end + 4);
    let head = String::from_utf8_lossy(head).to_ascii_lowercase();
    if !head.contains("transfer-encoding: chunked") {
        return (head, rest.to_vec());
    }
    let (mut body, mut rest) = (Vec::new(), rest);
    loop {
        let end = rest.windows(2).position(|w| w == b"\r\n").expect("a chunk has a size");
        let size = std::str::from_utf8(&rest[..end]).ok().and_then(|s| usize::from_str_radix(s, 16).ok());
        let size = size.expect("a chunk's size is hexadecimal");
        if size == 0 {
            return (head, body);
        }
        body.extend_from_slice(&rest[end + 2..end + 2 + size]);
        rest = &rest[end + 2 + size + 2..];
    }
}
