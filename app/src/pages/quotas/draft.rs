//! The form's content: for each field the text that stands in it, kept as it was typed even when it can't be read.

use std::{collections::BTreeMap, fmt::Write as _};

use serde_json::Value;

use super::{
    changes::Change,
    draft_rules,
    fields::{self, Input},
    number,
};
use crate::model::upstream::{FieldProblem, UpstreamConfig};

/// Texts by dotted path. Besides the form's fields it holds what the form does not show, so that nothing is lost.
pub(super) type Draft = BTreeMap<String, String>;

/// What a draft comes to.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Checked {
    /// The configuration; what could not be read is left at its default.
    pub(super) config: UpstreamConfig,
    /// The faults, those of reading first.
    pub(super) problems: Vec<FieldProblem>,
}

/// A configuration as the form shows it.
pub(super) fn of(config: &UpstreamConfig) -> Draft {
    let mut draft = Draft::new();
    let value = serde_json::to_string(config).ok().and_then(|json| serde_json::from_str(&json).ok());
    if let Some(value) = value {
        flatten("", &value, &mut draft);
    }
    draft
}

fn flatten(path: &str, value: &Value, into: &mut Draft) {
    let text = match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
                flatten(&path, value, into);
            }
            return;
        }
        Value::String(text) => text.clone(),
        Value::Number(n) => match (fields::input_of(path), n.as_u64(), n.as_f64()) {
            (Some(Input::Share), _, Some(share)) => number::show_percent(share),
            (_, Some(n), _) => n.to_string(),
            (_, None, Some(n)) => number::show(n),
            _ => n.to_string(),
        },
        Value::Bool(on) => on.to_string(),
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                flatten(&format!("{path}.{index}"), item, into);
            }
            return;
        }
        Value::Null => return,
    };
    into.insert(path.to_owned(), text);
}

/// Reads a draft, and checks what it says with the server's own rules.
pub(super) fn check(draft: &Draft) -> Checked {
    let mut problems = Vec::new();
    let mut json = BTreeMap::<&str, String>::new();
    for field in fields::all() {
        let typed = draft.get(field.path).map_or("", |text| text.trim());
        match read(field.input, typed) {
            Ok(Some(value)) => {
                json.insert(field.path, value);
            }
            Ok(None) => {}
            Err(code) => problems.push(FieldProblem::new(field.path, code, "from 0 to 4294967295")),
        }
    }
    // Half a credential is a fault in its other half, not no credential.
    if json.contains_key("auth.header") != json.contains_key("auth.value") {
        json.entry("auth.header").or_insert_with(|| "\"\"".to_owned());
        json.entry("auth.value").or_insert_with(|| "\"\"".to_owned());
    }
    json.entry("base_url").or_insert_with(|| "\"\"".to_owned());
    for kept in ["managed", "simulated"] {
        if let Some(text) = draft.get(kept) {
            let value = if kept == "managed" { quoted(text) } else { text.clone() };
            json.insert(kept, value);
        }
    }
    if let Some(rules) = draft_rules::read(draft, &mut problems) {
        json.insert("rules", rules);
    }
    match serde_json::from_str::<UpstreamConfig>(&nested(&json)) {
        Ok(config) => {
            let unread: Vec<_> = problems.iter().map(|p| p.field.clone()).collect();
            // What could not be read has its own fault; that it is missing is no second one.
            let limits = unread.iter().any(|field| field.starts_with("quota."));
            let told = |p: &FieldProblem| {
                unread.contains(&p.field)
                    || (limits && p.field == "quota")
                    || unread.iter().any(|field| rule_of(field).is_some() && rule_of(field) == rule_of(&p.field))
            };
            problems.extend(config.problems().into_iter().filter(|p| !told(p)));
            Checked { config, problems }
        }
        Err(error) => {
            problems.push(FieldProblem::new("", "unreadable", error.to_string()));
            Checked { config: UpstreamConfig::blank(), problems }
        }
    }
}

/// The rule that a field belongs to: `rules.0`.
fn rule_of(field: &str) -> Option<&str> {
    field.strip_prefix("rules.")?;
    field.rsplit_once('.').map(|(rule, _)| rule)
}

/// The JSON of what is typed; nothing for an empty field; a fault's code for what can't be read.
pub(super) fn read(input: Input, typed: &str) -> Result<Option<String>, &'static str> {
    if typed.is_empty() {
        return Ok(None);
    }
    let number = |n: Option<f64>| n.map(|n| Some(number::show(n))).ok_or("not_a_number");
    let whole = |most: u64| {
        let n = number::parse(typed).ok_or("not_a_number")?;
        match number::whole(n) {
            Some(n) if n <= most => Ok(Some(n.to_string())),
            Some(_) => Err("out_of_range"),
            None => Err(if n < 0.0 { "out_of_range" } else { "not_whole" }),
        }
    };
    match input {
        Input::Text | Input::Choice(_) | Input::MayChoice(_) => Ok(Some(quoted(typed))),
        Input::Number => number(number::parse(typed)),
        Input::Share => number(number::parse_percent(typed)),
        Input::Whole(most) => whole(most),
        Input::Auto if typed.eq_ignore_ascii_case("auto") || typed == "自动" => Ok(Some("\"auto\"".to_owned())),
        Input::Auto => whole(u32::MAX.into()),
        Input::Switch => Ok(Some((typed == "true").to_string())),
    }
}

pub(super) fn quoted(text: &str) -> String {
    serde_json::to_string(text).unwrap_or_else(|_| "\"\"".to_owned())
}

/// One object for each first part of a path. The paths are in order, so those of one object stand together.
fn nested(json: &BTreeMap<&str, String>) -> String {
    let mut objects = BTreeMap::<&str, String>::from([("quota", String::new())]);
    let mut out = String::new();
    for (path, value) in json {
        let (into, name) = match path.split_once('.') {
            Some((object, name)) => (objects.entry(object).or_default(), name),
            None => (&mut out, *path),
        };
        let comma = if into.is_empty() { "" } else { "," };
        let _ = write!(into, "{comma}\"{name}\":{value}");
    }
    for (name, fields) in objects {
        let comma = if out.is_empty() { "" } else { "," };
        let _ = write!(out, "{comma}\"{name}\":{{{fields}}}");
    }
    format!("{{{out}}}")
}

/// What differs, by path: the text before and after, of a rule its JSON. A field that is left empty and its default are the same.
pub(super) fn differences(before: &Draft, after: &Draft) -> Vec<Change> {
    let mut paths: Vec<&String> =
        before.keys().chain(after.keys().filter(|path| !before.contains_key(*path))).collect();
    paths.retain(|path| rule_of(path).is_none());
    let place = |path: &str| fields::all().position(|f| f.path == path).unwrap_or(usize::MAX);
    paths.sort_by_key(|path| place(path));
    paths
        .into_iter()
        .filter_map(|path| {
            let (old, new) = (before.get(path), after.get(path));
            (old != new).then(|| (path.clone(), old.cloned(), new.cloned()))
        })
        .chain(draft_rules::differences(before, after))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn good() -> UpstreamConfig {
        let mut config = UpstreamConfig::blank();
        config.base_url = "https://api.example.com".into();
        config.quota.requests_per_minute = Some(600.0);
        config.quota.tokens_per_minute = Some(300_000);
        config.retry.max_retries = Some(5);
        config.simulated = true;
        config
    }

    /// With rules of all kinds: some say little, one asks for the empty text.
    fn with_rules() -> UpstreamConfig {
        let rules = serde_json::json!([
            { "status": 400, "pointer": "/error/code", "value": "content_filter_down", "class": "server_error", "action": "retry_later" },
            { "status": 404, "class": "timeout" },
            { "pointer": "/a~1b/ c ", "value": " \"x\" ", "class": "content_violation", "action": "park" },
            { "pointer": "/error", "class": "rate_limited" },
            { "pointer": "/error", "value": "", "class": "client_error" },
        ]);
        UpstreamConfig { rules: serde_json::from_value(rules).unwrap(), ..good() }
    }

    #[test]
    fn a_configuration_comes_back_from_the_form_as_it_went_in() {
        let checked = check(&of(&good()));
        assert_eq!(checked, Checked { config: good(), problems: vec![] });
    }

    #[test]
    fn rules_come_back_from_the_form_as_they_went_in() {
        let checked = check(&of(&with_rules()));
        assert_eq!(checked, Checked { config: with_rules(), problems: vec![] });
        assert_eq!(differences(&of(&with_rules()), &of(&checked.config)), []);
    }

    #[test]
    fn a_rules_empty_field_says_nothing() {
        let mut draft = of(&with_rules());
        for path in ["rules.0.value", "rules.0.action", "rules.0.status", "rules.4.value"] {
            draft_rules::set(&mut draft, path, " ");
        }
        let rules = check(&draft).config.rules;
        assert_eq!((rules[0].status, rules[0].action), (None, None));
        assert_eq!((&rules[0].value, &rules[4].value), (&None, &None));
    }

    #[test]
    fn a_status_that_cant_be_read_is_one_fault_at_its_rule() {
        let mut draft = of(&with_rules());
        draft_rules::set(&mut draft, "rules.1.status", "4xx");
        let faults: Vec<_> = check(&draft).problems.into_iter().map(|p| (p.field, p.code)).collect();
        assert_eq!(faults, [("rules.1.status".to_owned(), "not_a_number".to_owned())]);
        for (typed, code) in [("99", "out_of_range"), ("70000", "out_of_range"), ("400.5", "not_whole")] {
            draft_rules::set(&mut draft, "rules.1.status", typed);
            let faults: Vec<_> = check(&draft).problems.into_iter().map(|p| (p.field, p.code)).collect();
            assert_eq!(faults, [("rules.1.status".to_owned(), code.to_owned())], "{typed}");
        }
    }

    #[test]
    fn the_servers_faults_of_rules_stand_at_their_fields() {
        let mut draft = of(&with_rules());
        draft_rules::set(&mut draft, "rules.0.pointer", "error");
        draft_rules::set(&mut draft, "rules.1.status", "");
        let faults: Vec<_> = check(&draft).problems.into_iter().map(|p| (p.field, p.code)).collect();
        let fault = |field: &str, code: &str| (field.to_owned(), code.to_owned());
        assert_eq!(faults, [fault("rules.0.pointer", "bad_pointer"), fault("rules.1.pointer", "required")]);
    }

    #[test]
    fn moving_a_rule_is_a_change() {
        let mut draft = of(&with_rules());
        draft_rules::swap(&mut draft, 1, 2);
        let moved = check(&draft);
        assert_eq!(moved.problems, []);
        let differ = differences(&of(&with_rules()), &of(&moved.config));
        assert_eq!(differ.iter().map(|(path, ..)| path.as_str()).collect::<Vec<_>>(), ["rules.1", "rules.2"]);
        assert_eq!((&differ[0].1, &differ[0].2), (&differ[1].2, &differ[1].1));
    }

    #[test]
    fn shares_are_shown_in_per_cent() {
        assert_eq!(of(&good()).get("quota.safety").map(String::as_str), Some("87"));
    }

    #[test]
    fn an_empty_field_is_its_default() {
        let mut draft = of(&good());
        draft.insert("quota.safety".into(), String::new());
        draft.insert("quota.burst".into(), " ".into());
        assert_eq!(check(&draft).config, good());
    }

    #[test]
    fn what_cant_be_read_is_one_fault_at_its_field() {
        let mut draft = of(&good());
        draft.insert("quota.requests_per_minute".into(), "0,5".into());
        draft.insert("quota.tokens_per_minute".into(), String::new());
        let faults: Vec<_> = check(&draft).problems.into_iter().map(|p| (p.field, p.code)).collect();
        assert_eq!(faults, [("quota.requests_per_minute".to_owned(), "not_a_number".to_owned())]);
    }

    #[test]
    fn half_a_credential_is_a_fault() {
        let mut draft = of(&good());
        draft.insert("auth.value".into(), "Bearer ${KEY}".into());
        let faults: Vec<_> = check(&draft).problems.into_iter().map(|p| p.field).collect();
        assert_eq!(faults, ["auth.header"]);
    }

    #[test]
    fn too_large_for_its_type_is_out_of_range() {
        let mut draft = of(&good());
        draft.insert("quota.concurrency".into(), "5,000,000,000".into());
        draft.insert("quota.burst".into(), "1.5".into());
        let faults: Vec<_> = check(&draft).problems.into_iter().map(|p| p.code).collect();
        assert_eq!(faults, ["out_of_range", "not_whole"]);
    }

    #[test]
    fn the_difference_is_what_was_changed() {
        let mut other = good();
        other.quota.safety = 0.8;
        other.retry.max_retries = None;
        let differ = differences(&of(&good()), &of(&other));
        assert_eq!(
            differ,
            [
                ("quota.safety".into(), Some("87".into()), Some("80".into())),
                ("retry.max_retries".into(), Some("5".into()), None),
            ]
        );
    }
}
