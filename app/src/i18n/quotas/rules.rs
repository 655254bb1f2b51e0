//! The text about an upstream's own rules.

use crate::model::upstream::AnswerRule;

/// See the module.
#[derive(Debug)]
pub struct RulesText {
    pub title: &'static str,
    pub why: &'static str,
    pub example: &'static str,
    pub none: &'static str,
    pub nth: fn(n: usize) -> String,
    pub status: &'static str,
    pub any_status: &'static str,
    pub pointer: &'static str,
    pub some_pointer: &'static str,
    pub value: &'static str,
    pub any_value: &'static str,
    /// Shown where a configuration asks for a text without characters.
    pub empty_value: &'static str,
    pub class: &'static str,
    pub action: &'static str,
    pub as_table: fn(action: &str) -> String,
    pub add: &'static str,
    pub full: fn(most: &str) -> String,
    pub remove: &'static str,
    pub remove_nth: fn(n: usize) -> String,
    pub up_nth: fn(n: usize) -> String,
    pub down_nth: fn(n: usize) -> String,
    /// Read aloud after a move.
    pub moved: fn(n: usize) -> String,
    pub removed: fn(n: usize) -> String,
    pub added: fn(n: usize) -> String,
    /// A rule in a line: what it looks for, its class, and its action where it has one.
    pub words: fn(rule: &AnswerRule, class: &str, action: Option<&str>) -> String,
}

pub(super) const EN: RulesText = RulesText {
    title: "Rules of its own",
    why: "They decide what an answer means before the profile does, and the first that matches wins. Rules come from top to bottom.",
    example: "For example: where status 400 with content_filter_down at /error/code is a fault of theirs that passes, make it a server error, and it is sent again.",
    none: "No rule yet: the profile decides alone. Add one for an answer that it takes for something else, and try it out below.",
    nth: |n| format!("Rule {n}"),
    status: "Status",
    any_status: "any",
    pointer: "Place in the JSON",
    some_pointer: "e.g. /error/code",
    value: "What stands there",
    any_value: "anything",
    empty_value: "the empty text",
    class: "Is a failure of class",
    action: "Then",
    as_table: |action| format!("As the table says: {action}"),
    add: "Add a rule",
    full: |most| format!("{most} rules are the most."),
    remove: "Remove",
    remove_nth: |n| format!("Remove rule {n}"),
    up_nth: |n| format!("Move rule {n} up"),
    down_nth: |n| format!("Move rule {n} down"),
    moved: |n| format!("It is rule {n} now."),
    removed: |n| format!("Rule {n} was removed."),
    added: |n| format!("Rule {n} was added."),
    words: |rule, class, action| {
        let status = rule.status.map(|status| format!("status {status}"));
        let place = rule.pointer.as_ref().map(|pointer| match rule.value.as_deref() {
            None => format!("{pointer} is there"),
            Some("") => format!("{pointer} is empty"),
            Some(value) => format!("{pointer} is {value}"),
        });
        let looks_for: Vec<_> = [status, place].into_iter().flatten().collect();
        let action = action.map(|action| format!(". {action}")).unwrap_or_default();
        format!("{}: {class}{action}", looks_for.join(", "))
    },
};

pub(super) const ZH: RulesText = RulesText {
    title: "自定义规则",
    why: "在协议之前决定应答的含义，从上到下，以第一条匹配的为准。",
    example: "例如：状态码 400、/error/code 为 content_filter_down 时，如果是上游的暂时故障，就归为服务端错误，这样会再次发送。",
    none: "还没有规则：完全由协议判断。如果协议误判了某种应答，请为它添加一条规则，并在下面试一试。",
    nth: |n| format!("规则 {n}"),
    status: "状态码",
    any_status: "任意",
    pointer: "JSON 中的位置",
    some_pointer: "例如 /error/code",
    value: "该处的值",
    any_value: "任意内容",
    empty_value: "空文本",
    class: "归为哪类失败",
    action: "之后",
    as_table: |action| format!("按上表：{action}"),
    add: "添加规则",
    full: |most| format!("最多 {most} 条规则。"),
    remove: "删除",
    remove_nth: |n| format!("删除规则 {n}"),
    up_nth: |n| format!("上移规则 {n}"),
    down_nth: |n| format!("下移规则 {n}"),
    moved: |n| format!("现在是规则 {n}。"),
    removed: |n| format!("已删除规则 {n}。"),
    added: |n| format!("已添加规则 {n}。"),
    words: |rule, class, action| {
        let status = rule.status.map(|status| format!("状态码 {status}"));
        let place = rule.pointer.as_ref().map(|pointer| match rule.value.as_deref() {
            None => format!("有 {pointer}"),
            Some("") => format!("{pointer} 为空"),
            Some(value) => format!("{pointer} 为 {value}"),
        });
        let looks_for: Vec<_> = [status, place].into_iter().flatten().collect();
        let action = action.map(|action| format!("。{action}")).unwrap_or_default();
        format!("{}：{class}{action}", looks_for.join("，"))
    },
};
