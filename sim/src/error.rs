//! What can go wrong when a simulated part is started.

use std::net::SocketAddr;

/// Why a simulated component did not start.
#[derive(Debug, thiserror::Error)]
pub enum SimError {
    /// The upstream's address could not be bound.
    #[error("cannot listen on {address}: {source}")]
    Bind {
        /// The address asked for.
        address: SocketAddr,
        /// What the operating system said.
        source: std::io::Error,
    },
    /// A base URL or path does not make an `http://` URL.
    #[error("{url:?} is not a plain http URL: {reason}")]
    Url {
        /// The text as given.
        url: String,
        /// What is wrong with it.
        reason: String,
    },
    /// A number in a specification makes no sense.
    #[error("{field} {problem}")]
    Spec {
        /// The field's name.
        field: &'static str,
        /// What it must be.
        problem: &'static str,
    },
}
