//! What a model's answer is made of, whichever API it is told by.

use std::time::Duration;

/// What the model says about every tile, over and over.
const WORDS: [&str; 16] = [
    "roof", "road", "field", "water", "hedge", "track", "barn", "orchard", "canal", "bridge", "meadow", "quarry",
    "wood", "path", "wall", "yard",
];

/// How an answer is made.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Reply {
    /// The call's number, for its id.
    pub(crate) number: u64,
    /// Unix seconds.
    pub(crate) created: u64,
    /// Words in an answer that isn't cut.
    pub(crate) words: u64,
    /// The wait before each streamed word.
    pub(crate) word_delay: Duration,
    /// The content filter ate the answer.
    pub(crate) filtered: bool,
}

/// The first words of the answer, each but the first with the space before it.
pub(crate) fn words(count: u64) -> impl Iterator<Item = String> {
    let words = WORDS.iter().cycle().take(usize::try_from(count).unwrap_or(usize::MAX)).enumerate();
    words.map(|(n, word)| if n == 0 { (*word).to_owned() } else { format!(" {word}") })
}
