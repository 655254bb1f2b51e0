//! Tiles, and who brings them to the records door at a steady rate.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use harness::Api;
use rand::rngs::StdRng;
use rand::{RngCore as _, SeedableRng as _};
use serde_json::json;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use crate::SEED;

/// A 512x512 JPEG in base64.
const IMAGE: usize = 58_000;
const QUESTION: &str = "You are given one orthophoto tile of 512 by 512 pixels at 10 cm ground sampling distance.";
const GUIDANCE: &str = " Name the land cover, count buildings, and mark anything that a surveyor should look at again.";
/// Lines in one post.
const LINES: u64 = 50;
/// Who posts at the same time.
const POSTERS: u64 = 2;
/// Beyond so many that wait nothing is brought: the disk of whoever runs this must not fill up.
const MOST_WAITING: u64 = 3_000;

/// A chat completion's request with an image; the same for the same number.
pub(crate) fn body(label: &str, tile: u64) -> String {
    const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut hasher = DefaultHasher::new();
    (SEED, label, tile).hash(&mut hasher);
    let mut noise = vec![0_u8; IMAGE];
    StdRng::seed_from_u64(hasher.finish()).fill_bytes(&mut noise);
    let noise = noise.iter().map(|byte| ALPHABET.get(usize::from(byte & 63)).map_or('A', |c| char::from(*c)));
    let image: String = "data:image/jpeg;base64,/9j/".chars().chain(noise).collect();
    let content = json!([
        {"type": "text", "text": format!("{QUESTION}{}", GUIDANCE.repeat(14))},
        {"type": "image_url", "image_url": {"url": image}},
    ]);
    json!({ "model": "sim-vision", "messages": [{"role": "user", "content": content}] }).to_string()
}

/// A record as a line of NDJSON. Its key is made of run label, tile and a hash of the body.
fn line(label: &str, tile: u64) -> String {
    let body = body(label, tile);
    let mut hasher = DefaultHasher::new();
    body.hash(&mut hasher);
    format!(
        r#"{{"upstream":"vision","path":"/v1/chat/completions","workload":"batch","engine":"fme-engine-{}","idempotency_key":"{label}/tile-{tile:06}/{:016x}","body":{body}}}"#,
        tile % 8 + 1,
        hasher.finish()
    )
}

/// What was brought.
#[derive(Debug, Default)]
pub(crate) struct Sent {
    /// Lines that the door accepted.
    pub(crate) accepted: AtomicU64,
    /// Lines that it did not.
    pub(crate) rejected: AtomicU64,
    /// Posts that were put off because too much waited.
    pub(crate) put_off: AtomicU64,
    waiting: AtomicU64,
    tile: AtomicU64,
    /// How long each post of [`LINES`] took, in milliseconds.
    posts: Mutex<Vec<f64>>,
}

impl Sent {
    /// The posts since this was last asked.
    pub(crate) fn take_posts(&self) -> Vec<f64> {
        std::mem::take(&mut *self.posts.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// A running load.
#[derive(Debug)]
pub(crate) struct Load {
    pub(crate) sent: Arc<Sent>,
    stop: CancellationToken,
    tasks: JoinSet<()>,
}

impl Load {
    /// Brings `rate` tiles a second, and keeps a console open.
    pub(crate) fn start(api: &Api, label: &'static str, rate: f64) -> Self {
        let (sent, stop, mut tasks) = (Arc::new(Sent::default()), CancellationToken::new(), JoinSet::new());
        let pause = Duration::from_secs_f64((LINES * POSTERS) as f64 / rate);
        for poster in 0..POSTERS {
            let first = tokio::time::Instant::now() + pause.mul_f64(poster as f64 / POSTERS as f64);
            let beat = tokio::time::interval_at(first, pause);
            tasks.spawn(post(api.clone(), label, Arc::clone(&sent), beat, stop.clone()));
        }
        tasks.spawn(watch(api.clone(), Arc::clone(&sent), stop.clone()));
        Self { sent, stop, tasks }
    }

    /// Ends after the posts under way.
    pub(crate) async fn stop(mut self) -> Arc<Sent> {
        self.stop.cancel();
        while self.tasks.join_next().await.is_some() {}
        self.sent
    }
}

async fn post(
    api: Api,
    label: &'static str,
    sent: Arc<Sent>,
    mut beat: tokio::time::Interval,
    stop: CancellationToken,
) {
    loop {
        tokio::select! {
            () = stop.cancelled() => return,
            _ = beat.tick() => {}
        }
        if sent.waiting.load(Ordering::Relaxed) > MOST_WAITING {
            sent.put_off.fetch_add(1, Ordering::Relaxed);
            continue;
        }
        let first = sent.tile.fetch_add(LINES, Ordering::Relaxed);
        let lines: Vec<String> = (first..first + LINES).map(|tile| line(label, tile)).collect();
        let began = tokio::time::Instant::now();
        // A post that broke off is sent again: its keys tell what is there already.
        let told = loop {
            match api.try_send(api.lines_request(&lines)).await {
                Ok(reply) => break reply.json,
                Err(_) => tokio::time::sleep(Duration::from_millis(200)).await,
            }
        };
        let took = began.elapsed().as_secs_f64() * 1_000.0;
        sent.posts.lock().unwrap_or_else(PoisonError::into_inner).push(took);
        let accepted = told["accepted"].as_u64().unwrap_or(0);
        sent.accepted.fetch_add(accepted, Ordering::Relaxed);
        sent.rejected.fetch_add(LINES.saturating_sub(accepted), Ordering::Relaxed);
    }
}

/// What an open console does: it looks once a second.
async fn watch(api: Api, sent: Arc<Sent>, stop: CancellationToken) {
    loop {
        let overview = api.try_send(api.request(reqwest::Method::GET, "/api/v1/overview")).await;
        if let Ok(overview) = overview {
            let upstreams = overview.json["upstreams"].as_array().into_iter().flatten();
            let waiting = upstreams.filter_map(|upstream| upstream["waiting_records"].as_u64()).sum();
            sent.waiting.store(waiting, Ordering::Relaxed);
        }
        tokio::select! {
            () = stop.cancelled() => return,
            () = tokio::time::sleep(Duration::from_secs(1)) => {}
        }
    }
}
