//! Upstreams and what they allow: the list, and the form behind each.

mod changes;
mod draft;
mod extra;
mod fields;
mod form;
mod graph;
mod inputs;
mod list;
mod number;
mod permitted;
mod preset;
mod retries;
mod save;
mod versions;

pub(crate) use form::QuotaPage;
pub(crate) use list::QuotasPage;
