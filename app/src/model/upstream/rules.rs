//! Operators' own rules about an upstream's answers: where they match they decide, before the provider's profile does.

use serde::{Deserialize, Serialize};

use super::{check::FieldProblem, choices::Action};
use crate::model::ErrorClass;

/// The most rules that an upstream may have.
pub const MOST_RULES: usize = 50;
/// The longest pointer or value, in bytes.
const LONGEST: usize = 500;

/// One rule: an answer with this status whose JSON holds this value at this place is a failure of this class. What is absent of
/// status and value is any. The first rule that matches decides.
///
/// ```
/// # use app::model::{ErrorClass, upstream::AnswerRule};
/// let rule: AnswerRule = serde_json::from_str(
///     r#"{"status": 400, "pointer": "/error/code", "value": "content_filter_down", "class": "server_error"}"#,
/// ).unwrap();
/// let body = serde_json::json!({"error": {"code": "content_filter_down"}});
/// assert!(rule.matches(400, Some(&body)) && !rule.matches(500, Some(&body)) && !rule.matches(400, None));
/// assert_eq!(rule.class, ErrorClass::ServerError);
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "ssr", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct AnswerRule {
    /// The HTTP status; absent: any. A rule without a pointer needs one of 300 or above: else it would condemn every answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
    /// A place in the body's JSON (RFC 6901), e.g. `/error/code`; in an event stream, in any of its events. Absent: the status
    /// decides alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pointer: Option<String>,
    /// What stands there: a text, or a number or truth value as JSON writes it. Absent: anything but null, false and nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<String>,
    /// The class of the failure.
    pub class: ErrorClass,
    /// What becomes of it; absent: what the table of actions says of the class.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub action: Option<Action>,
}

impl AnswerRule {
    /// Whether an answer is what the rule is about. `body`: its JSON, or one event's; none where it is none.
    pub fn matches(&self, status: u16, body: Option<&serde_json::Value>) -> bool {
        if self.status.is_some_and(|wanted| wanted != status) {
            return false;
        }
        let Some(pointer) = &self.pointer else { return self.status.is_some() };
        let Some(found) = body.and_then(|body| body.pointer(pointer)) else { return false };
        match (&self.value, found) {
            (None, serde_json::Value::Null | serde_json::Value::Bool(false)) => false,
            (None, _) => true,
            (Some(wanted), serde_json::Value::String(text)) => wanted == text,
            (Some(wanted), serde_json::Value::Number(n)) => {
                // `1.50` and `1e3` are the numbers that they are, however they are written.
                n.to_string().as_str() == wanted
                    || (n.is_f64() && wanted.parse::<f64>().is_ok_and(|wanted| n.as_f64() == Some(wanted)))
            }
            (Some(wanted), serde_json::Value::Bool(is)) => is.to_string().as_str() == wanted,
            (Some(_), _) => false,
        }
    }

    fn problem(&self) -> Option<(&'static str, &'static str, &'static str)> {
        if self.status.is_some_and(|status| !(100..=599).contains(&status)) {
            return Some(("status", "out_of_range", "from 100 to 599"));
        }
        let Some(pointer) = &self.pointer else {
            if self.value.is_some() {
                return Some(("pointer", "required", "a value needs the place where it stands, e.g. /error/code"));
            }
            let fails = self.status.is_some_and(|status| status >= 300);
            return (!fails).then_some((
                "pointer",
                "required",
                "a place is needed, e.g. /error/code, or a status of 300 or above",
            ));
        };
        if !pointer_is_good(pointer) {
            return Some(("pointer", "bad_pointer", "a JSON pointer (RFC 6901), e.g. /error/code or /errors/0/type"));
        }
        let too_long = |text: &str| text.len() > LONGEST;
        let field = if too_long(pointer) {
            Some("pointer")
        } else {
            self.value.as_deref().filter(|v| too_long(v)).map(|_| "value")
        };
        field.map(|field| (field, "out_of_range", "at most 500 bytes"))
    }
}

/// RFC 6901: parts that begin with `/`, in which `~` stands only as `~0` or `~1`.
fn pointer_is_good(pointer: &str) -> bool {
    pointer.starts_with('/') && pointer.split('~').skip(1).all(|after| after.starts_with('0') || after.starts_with('1'))
}

/// What is wrong with rules, each named by its place: `rules.0.pointer`.
pub(super) fn check(rules: &[AnswerRule], found: &mut Vec<FieldProblem>) {
    if rules.len() > MOST_RULES {
        found.push(FieldProblem::new("rules", "out_of_range", format!("at most {MOST_RULES} rules")));
    }
    for (index, rule) in rules.iter().enumerate() {
        if let Some((field, code, message)) = rule.problem() {
            found.push(FieldProblem::new(&format!("rules.{index}.{field}"), code, message));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn rule(json: serde_json::Value) -> AnswerRule {
        serde_json::from_value(json).unwrap()
    }

    #[test]
    fn a_value_is_compared_as_json_writes_it() {
        let at = |value: &str| rule(json!({"pointer": "/code", "value": value, "class": "rate_limited"}));
        for (value, body, fits) in [
            ("1302", json!({"code": "1302"}), true),
            ("1302", json!({"code": 1302}), true),
            ("1302", json!({"code": 13020}), false),
            ("true", json!({"code": true}), true),
            ("", json!({"code": ""}), true),
            ("1302", json!({"code": ["1302"]}), false),
            ("1302", json!({"codes": "1302"}), false),
            ("null", json!({"code": null}), false),
            ("1.50", json!({"code": 1.5}), true),
            ("1e3", json!({"code": 1000.0}), true),
            ("one", json!({"code": 1.5}), false),
        ] {
            assert_eq!(at(value).matches(200, Some(&body)), fits, "{value} {body}");
        }
    }

    #[test]
    fn without_a_value_anything_that_is_there_counts() {
        let any = rule(json!({"pointer": "/error", "class": "server_error"}));
        assert!(any.matches(200, Some(&json!({"error": {}}))) && any.matches(200, Some(&json!({"error": "x"}))));
        for absent in [json!({"error": null}), json!({"error": false}), json!({}), json!([])] {
            assert!(!any.matches(200, Some(&absent)), "{absent}");
        }
    }

    #[test]
    fn a_status_alone_needs_no_body_and_a_pointer_reaches_into_lists() {
        assert!(rule(json!({"status": 404, "class": "timeout"})).matches(404, None));
        let deep = rule(json!({"pointer": "/errors/0/a~1b", "value": "x", "class": "timeout"}));
        assert!(deep.matches(200, Some(&json!({"errors": [{"a/b": "x"}]}))));
    }

    #[test]
    fn a_rule_that_would_condemn_everything_or_nothing_is_refused() {
        let codes = |json: serde_json::Value| {
            let mut found = Vec::new();
            check(&[rule(json)], &mut found);
            found.into_iter().map(|p| (p.field, p.code)).collect::<Vec<_>>()
        };
        let fault = |field: &str, code: &str| vec![(format!("rules.0.{field}"), code.to_owned())];
        assert_eq!(codes(json!({"class": "timeout"})), fault("pointer", "required"));
        assert_eq!(codes(json!({"class": "timeout", "status": 200})), fault("pointer", "required"));
        assert_eq!(codes(json!({"class": "timeout", "status": 404, "value": "x"})), fault("pointer", "required"));
        assert_eq!(codes(json!({"class": "timeout", "status": 99, "pointer": "/a"})), fault("status", "out_of_range"));
        for bad in ["", "error", "/a~", "/a~2b"] {
            assert_eq!(codes(json!({"class": "timeout", "pointer": bad})), fault("pointer", "bad_pointer"), "{bad}");
        }
        assert_eq!(codes(json!({"class": "timeout", "status": 404})), []);
        assert_eq!(codes(json!({"class": "timeout", "pointer": "/a~0b/~1"})), []);
    }
}
