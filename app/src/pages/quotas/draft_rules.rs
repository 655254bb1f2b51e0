//! The rules' part of a draft: texts by place, such as `rules.0.pointer`. A field that says nothing is absent. A value that
//! is there without characters is the empty text: only a configuration can say that, nobody can type it.

use super::{
    changes::Change,
    draft::{self, Draft},
    fields::Input,
};
use crate::model::upstream::FieldProblem;

/// A rule's fields.
const FIELDS: [&str; 5] = ["status", "pointer", "value", "class", "action"];

/// A field's path.
pub(super) fn path(index: usize, field: &str) -> String {
    format!("rules.{index}.{field}")
}

/// How many there are. Each has a class.
pub(super) fn count(draft: &Draft) -> usize {
    let field = |path: &str| path.strip_prefix("rules.")?.split_once('.').map(|(_, field)| field == "class");
    draft.keys().filter(|path| field(path) == Some(true)).count()
}

/// All fields of all rules.
pub(super) fn paths(draft: &Draft) -> Vec<String> {
    (0..count(draft)).flat_map(|index| FIELDS.map(|field| path(index, field))).collect()
}

/// One more, at the end.
pub(super) fn add(draft: &mut Draft) {
    draft.insert(path(count(draft), "class"), "server_error".to_owned());
}

/// Sets what a field says. Nothing typed is nothing said.
pub(super) fn set(draft: &mut Draft, path: &str, typed: &str) {
    match typed.trim() {
        "" => draft.remove(path),
        typed => draft.insert(path.to_owned(), typed.to_owned()),
    };
}

/// One takes the other's place.
pub(super) fn swap(draft: &mut Draft, one: usize, other: usize) {
    for field in FIELDS {
        let (one, other) = (path(one, field), path(other, field));
        let (first, second) = (draft.remove(&one), draft.remove(&other));
        draft.extend(first.map(|text| (other, text)));
        draft.extend(second.map(|text| (one, text)));
    }
}

/// Takes one out; those below it move up.
pub(super) fn remove(draft: &mut Draft, index: usize) {
    let last = count(draft).saturating_sub(1);
    for index in index..last {
        swap(draft, index, index + 1);
    }
    for field in FIELDS {
        draft.remove(&path(last, field));
    }
}

/// The rules as a JSON array; none without any. What can't be read is left out, and told.
pub(super) fn read(draft: &Draft, problems: &mut Vec<FieldProblem>) -> Option<String> {
    let rules = texts(draft, problems);
    (!rules.is_empty()).then(|| format!("[{}]", rules.join(",")))
}

/// Each rule as JSON.
pub(super) fn texts(draft: &Draft, problems: &mut Vec<FieldProblem>) -> Vec<String> {
    (0..count(draft)).map(|index| text(draft, index, problems)).collect()
}

fn text(draft: &Draft, index: usize, problems: &mut Vec<FieldProblem>) -> String {
    let mut said = Vec::new();
    for field in FIELDS {
        let path = path(index, field);
        let Some(typed) = draft.get(&path) else { continue };
        let value = match field {
            "status" => draft::read(Input::Whole(u16::MAX.into()), typed.trim()).unwrap_or_else(|code| {
                problems.push(FieldProblem::new(&path, code, "from 100 to 599"));
                None
            }),
            _ => Some(draft::quoted(typed)),
        };
        said.extend(value.map(|value| format!("\"{field}\":{value}")));
    }
    format!("{{{}}}", said.join(","))
}

/// What differs, a rule as one text. Rules that are the same at the beginning and the end of both are left out, so that one
/// that comes or goes is one change, wherever it stands.
pub(super) fn differences(before: &Draft, after: &Draft) -> Vec<Change> {
    let (old, new) = (texts(before, &mut Vec::new()), texts(after, &mut Vec::new()));
    let start = old.iter().zip(&new).take_while(|(old, new)| old == new).count();
    let rest = old.len().min(new.len()) - start;
    let end = old.iter().rev().zip(new.iter().rev()).take(rest).take_while(|(old, new)| old == new).count();
    let within = |rules: &[String], index: usize| rules.get(index).filter(|_| index + end < rules.len()).cloned();
    (start..old.len().max(new.len()) - end)
        .map(|index| (format!("rules.{index}"), within(&old, index), within(&new, index)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::upstream::{AnswerRule, UpstreamConfig};

    /// A configuration whose rules are about these statuses.
    fn about(statuses: &[u16]) -> Draft {
        let rule = |status: &u16| {
            let json = serde_json::json!({ "status": status, "class": "timeout" });
            serde_json::from_value::<AnswerRule>(json).unwrap()
        };
        draft::of(&UpstreamConfig { rules: statuses.iter().map(rule).collect(), ..UpstreamConfig::blank() })
    }

    fn changed(before: &[u16], after: &[u16]) -> Vec<(String, bool, bool)> {
        let found = differences(&about(before), &about(after));
        found.into_iter().map(|(path, old, new)| (path, old.is_some(), new.is_some())).collect()
    }

    #[test]
    fn a_rule_that_comes_or_goes_is_one_change() {
        let one = |path: &str, old, new| vec![(path.to_owned(), old, new)];
        assert_eq!(changed(&[400, 401, 402], &[400, 401, 402]), []);
        assert_eq!(changed(&[400, 401, 402], &[401, 402]), one("rules.0", true, false));
        assert_eq!(changed(&[401, 402], &[400, 401, 402]), one("rules.0", false, true));
        assert_eq!(changed(&[400, 400], &[400]), one("rules.1", true, false));
        assert_eq!(changed(&[400, 401, 402], &[400, 409, 402]), one("rules.1", true, true));
        assert_eq!(changed(&[], &[400]), one("rules.0", false, true));
    }

    #[test]
    fn rules_are_moved_and_taken_out_with_all_their_fields() {
        let mut draft = about(&[400, 401, 402]);
        set(&mut draft, "rules.2.pointer", " /error ");
        swap(&mut draft, 1, 2);
        remove(&mut draft, 0);
        let mut wanted = about(&[402, 401]);
        set(&mut wanted, "rules.0.pointer", "/error");
        assert_eq!(draft, wanted);
        add(&mut draft);
        assert_eq!(count(&draft), 3);
        for _ in 0..4 {
            remove(&mut draft, 0);
        }
        assert_eq!(draft, about(&[]));
    }
}
