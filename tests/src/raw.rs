//! HTTP by hand, for requests that no client would send.

use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

/// Sends these bytes to `base` (`http://host:port`) and returns all that comes back until the server closes; ask for
/// `Connection: close`.
///
/// # Panics
/// When the server does not take the connection, or does not close it within 30 s.
pub async fn raw_http(base: &str, request: &[u8]) -> Vec<u8> {
    let address = base.trim_start_matches("http://");
    let mut stream = TcpStream::connect(address).await.expect("the server takes connections");
    // A server may refuse, and close, before it has read everything.
    let _ = stream.write_all(request).await;
    let mut said = Vec::new();
    let reading = stream.read_to_end(&mut said);
    // A reset is a way to close, too.
    let _ = tokio::time::timeout(Duration::from_secs(30), reading).await.expect("the server closes the connection");
    said
}
