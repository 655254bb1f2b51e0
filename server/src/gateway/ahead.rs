//! A look ahead into an event stream. While nothing of the answer itself has come, nobody has read anything, and a failure in the
//! stream can be mended by another attempt. It is short: what a caller waits for must not wait here.

use std::{collections::VecDeque, time::Duration};

use bytes::Bytes;
use http_body_util::BodyExt as _;
use hyper::body::Incoming;

use crate::classify::Inspector;

/// The longest look. A model that thinks longer before its first word is passed on as it comes.
const LONGEST: Duration = Duration::from_secs(1);
/// The most that is held meanwhile.
const MOST: usize = 64 * 1024;

/// What was read ahead.
#[derive(Debug, Default)]
pub(super) struct Ahead {
    /// The chunks, as they came.
    pub(super) chunks: VecDeque<Bytes>,
    /// The connection was lost after them.
    pub(super) broke: bool,
    /// The stream ended after them.
    pub(super) ended: bool,
}

impl Ahead {
    /// Reads until a piece of the answer or a failure has come, or it is time.
    pub(super) async fn look(body: &mut Incoming, inspector: &mut Inspector) -> Self {
        let mut ahead = Self::default();
        let looking = async {
            let mut held = 0;
            while inspector.sees() && !inspector.first_delta_seen() && !inspector.failed() && held < MOST {
                match body.frame().await {
                    Some(Ok(frame)) => {
                        let Ok(chunk) = frame.into_data() else { continue };
                        inspector.feed(&chunk);
                        held += chunk.len();
                        ahead.chunks.push_back(chunk);
                    }
                    Some(Err(_)) => {
                        ahead.broke = true;
                        return;
                    }
                    None => {
                        ahead.ended = true;
                        return;
                    }
                }
            }
        };
        // What was read is kept, however it ended.
        let _ = tokio::time::timeout(LONGEST, looking).await;
        ahead
    }

    /// Bytes that are held.
    pub(super) fn len(&self) -> u64 {
        self.chunks.iter().map(|chunk| chunk.len() as u64).sum()
    }
}
