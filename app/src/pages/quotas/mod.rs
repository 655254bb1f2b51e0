//! Upstreams and what they allow: the list, and the form behind each.

mod changes;
mod draft;
mod draft_rules;
mod drift;
mod extra;
mod fields;
mod form;
mod graph;
mod inputs;
mod judged;
mod list;
mod number;
mod permitted;
mod preset;
mod retries;
mod rule_fields;
mod rules;
mod save;
mod try_answer;
mod try_fields;
mod versions;

pub(crate) use form::QuotaPage;
pub(crate) use list::QuotasPage;
