//! The tile workload: one image, one question, the same every time for the same seed and number.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;
use rand::rngs::StdRng;
use rand::{RngCore as _, SeedableRng as _};
use serde_json::json;

use super::sending::{Piece, Sender};

/// What is asked about every tile; some 350 tokens, as such prompts have.
const QUESTION: &str = "You are given one orthophoto tile of 512 by 512 pixels at 10 cm ground sampling distance.";
const GUIDANCE: &str = " Name the land cover, count buildings, and mark anything that a surveyor should look at again.";

/// What one call slot of one engine needs.
#[derive(Debug)]
pub(crate) struct Run {
    pub(crate) label: String,
    pub(crate) engine: String,
    pub(crate) model: String,
    pub(crate) seed: u64,
    pub(crate) count: Option<u64>,
    pub(crate) image_bytes: usize,
    /// The next tile nobody has taken.
    pub(crate) next: Arc<AtomicU64>,
}

impl Run {
    /// Takes tiles one after the other until none is left.
    pub(crate) async fn work(self, sender: Arc<Sender>) {
        loop {
            let tile = self.next.fetch_add(1, Ordering::Relaxed);
            if self.count.is_some_and(|count| tile >= count) {
                return;
            }
            let mut rng = StdRng::seed_from_u64(self.seed.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(tile));
            let piece = Piece {
                run: &self.label,
                id: format!("tile-{tile:06}"),
                engine: &self.engine,
                workload: "batch",
                body: body(&self.model, self.image_bytes, &mut rng),
            };
            sender.deliver(piece, &mut rng).await;
        }
    }
}

/// A chat completion's request with an image of `image_bytes` base64 characters as a data URL.
fn body(model: &str, image_bytes: usize, rng: &mut StdRng) -> Bytes {
    let request = json!({
        "model": model,
        "messages": [{"role": "user", "content": [
            {"type": "text", "text": format!("{QUESTION}{}", GUIDANCE.repeat(14))},
            {"type": "image_url", "image_url": {"url": format!("data:image/jpeg;base64,{}", image(image_bytes, rng))}},
        ]}],
    });
    Bytes::from(request.to_string())
}

/// Random base64 that begins as a JPEG's does.
fn image(characters: usize, rng: &mut StdRng) -> String {
    const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut noise = vec![0_u8; characters];
    rng.fill_bytes(&mut noise);
    let noise = noise.iter().map(|byte| ALPHABET.get(usize::from(byte & 63)).map_or('A', |c| char::from(*c)));
    "/9j/".chars().chain(noise).take(characters).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tile_is_the_same_for_the_same_seed() {
        let of = |seed| body("m", 2000, &mut StdRng::seed_from_u64(seed));
        assert_eq!(of(1), of(1));
        assert_ne!(of(1), of(2));
        assert!((2000..4000).contains(&of(1).len()), "{}", of(1).len());
    }
}
