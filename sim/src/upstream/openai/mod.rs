//! OpenAI's protocol, as far as its clients look.

mod chat;
mod errors;
mod lists;
mod prompt;

pub(crate) use chat::{Reply, completion};
pub(crate) use errors::{error, fault, invalid, rate_headers, refusal};
pub(crate) use lists::{embedding_inputs, embeddings, models};
pub(crate) use prompt::{Prompt, text_tokens};
