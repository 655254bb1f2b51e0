//! The configuration reference, made from the types: `docs/configuration.md`. A test keeps it so; `cargo xtask docs` writes it anew.

use std::fmt::Write as _;

use app::model::{UpstreamConfig, upstream::UpstreamConfig as Upstream};
use schemars::{JsonSchema, schema_for};
use serde_json::{Value, json};

use super::File;

/// The whole reference.
pub(super) fn text() -> String {
    let mut out = String::from(
        "# Configuration\n\nMade from the program's types by `cargo xtask docs`; [operating.md](operating.md) explains how the keys work \
         together. All keys are optional but a `base_url` and one limit for each upstream; unknown keys are errors.\n",
    );
    section(&mut out, "penstock.toml", &schema::<File>(), &json!({}));
    section(&mut out, "Upstreams", &schema::<Upstream>(), &defaults());
    out
}

fn schema<T: JsonSchema>() -> Value {
    schema_for!(T).into()
}

/// What stands in a configuration that says nothing.
fn defaults() -> Value {
    serde_json::to_value(UpstreamConfig::blank()).unwrap_or_default()
}

fn section(out: &mut String, title: &str, schema: &Value, defaults: &Value) {
    // Writing to a String can't fail.
    let _ = write!(out, "\n## {title}\n\n| Key | Takes | Default | Meaning |\n|---|---|---|---|\n");
    rows(out, "", schema, schema, defaults);
}

fn rows(out: &mut String, prefix: &str, of: &Value, root: &Value, defaults: &Value) {
    for (name, field) in of.get("properties").and_then(Value::as_object).into_iter().flatten() {
        let path = if prefix.is_empty() { name.clone() } else { format!("{prefix}.{name}") };
        let target = resolved(field, root);
        let default = defaults.get(name).unwrap_or(&Value::Null);
        if target.get("properties").is_some() {
            rows(out, &path, target, root, default);
            continue;
        }
        let meaning = field.get("description").or_else(|| target.get("description")).and_then(Value::as_str);
        let default = default_of(field, default).map(|value| format!("`{value}`")).unwrap_or_default();
        let meaning = meaning.unwrap_or_default().replace('\n', " ").replace('|', "\\|");
        let _ = writeln!(out, "| `{path}` | {} | {default} | {meaning} |", takes(target, root));
    }
}

fn default_of(field: &Value, from_type: &Value) -> Option<String> {
    let value = field.get("default").filter(|d| !d.is_null()).unwrap_or(from_type);
    match value {
        Value::Null => None,
        Value::String(text) if text.is_empty() => Some("required".to_owned()),
        Value::String(text) => Some(format!("\"{text}\"")),
        other => Some(other.to_string()),
    }
}

/// The schema behind a reference, or behind "this or null".
fn resolved<'a>(field: &'a Value, root: &'a Value) -> &'a Value {
    let referred = |schema: &Value| {
        let name = schema.get("$ref")?.as_str()?.rsplit('/').next()?;
        root.get("$defs")?.get(name)
    };
    if let Some(found) = referred(field) {
        return found;
    }
    let options = field.get("anyOf").and_then(Value::as_array);
    options.into_iter().flatten().find_map(referred).unwrap_or(field)
}

/// What may stand there, in words.
fn takes(schema: &Value, root: &Value) -> String {
    let words = |values: Vec<&Value>| {
        let all = values.into_iter().map(|v| format!("`{v}`"));
        all.collect::<Vec<_>>().join(", ")
    };
    if let Some(choices) = schema.get("oneOf").and_then(Value::as_array) {
        return words(choices.iter().filter_map(|choice| choice.get("const")).collect());
    }
    if let Some(choices) = schema.get("enum").and_then(Value::as_array) {
        return words(choices.iter().filter(|v| !v.is_null()).collect());
    }
    if let Some(options) = schema.get("anyOf").and_then(Value::as_array) {
        let all = options.iter().filter(|o| o.get("type").is_none_or(|t| t != "null")).map(|o| match o.get("const") {
            Some(word) => format!("`{word}`"),
            None => takes(resolved(o, root), root),
        });
        return all.collect::<Vec<_>>().join(" or ");
    }
    let kind = match schema.get("type") {
        Some(Value::String(kind)) => kind.as_str(),
        Some(Value::Array(kinds)) => kinds.iter().filter_map(Value::as_str).find(|k| *k != "null").unwrap_or_default(),
        _ => "table",
    };
    match kind {
        "integer" => "whole number",
        "boolean" => "`true`, `false`",
        "string" => "text",
        "array" => "list",
        "object" => "table",
        other => other,
    }
    .to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_reference_is_what_the_types_say() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/configuration.md");
        let made = text();
        if std::env::var_os("UPDATE_DOCS").is_some() {
            std::fs::write(path, &made).expect("the docs folder");
        }
        let written = std::fs::read_to_string(path).unwrap_or_default();
        assert!(written == made, "docs/configuration.md is not what the types say: run `cargo xtask docs`");
        for key in ["`listen`", "`retention.results_h`", "`quota.safety`", "`actions.timeout`", "`breaker.min_samples`"]
        {
            assert!(made.contains(key), "{key}");
        }
    }
}
