//! OpenAI's protocol, as far as its clients look.

mod chat;
mod errors;
mod lists;
mod prompt;

pub(crate) use chat::completion;
pub(crate) use errors::{fault, invalid, outage, rate_headers, refusal, used_up};
pub(crate) use lists::{embedding_inputs, embeddings, models};
pub(crate) use prompt::{Prompt, text_tokens};
