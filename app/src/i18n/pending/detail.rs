//! The text of one pending record.

use std::borrow::Cow;

/// See the module.
#[derive(Debug)]
pub struct DetailText {
    pub label: &'static str,
    pub back: &'static str,
    pub no_message: &'static str,
    pub not_found: &'static str,
    pub suggestion_why: fn(suggestion: crate::model::Suggestion) -> &'static str,
    pub cannot: &'static str,
    /// Why it can't be sent again from here, and what would help.
    pub cannot_why: fn(reason: &str) -> String,
    pub status: &'static str,
    pub provider_type: &'static str,
    pub code: &'static str,
    pub first_failed: &'static str,
    pub record: &'static str,
    pub key: &'static str,
    pub decided: fn(who: &str) -> String,
    pub snoozed_until: &'static str,
    pub in_replay: &'static str,
    pub attempts: &'static str,
    pub no_attempts: &'static str,
    pub attempt: fn(n: u32) -> String,
    pub took: fn(time: &str) -> String,
    pub waited: fn(time: &str) -> String,
    pub not_sent: &'static str,
    pub succeeded: &'static str,
    pub rule: &'static str,
    /// The rule that decided, in words; none where the server's are shown.
    pub rule_words: fn(&str) -> Option<Cow<'static, str>>,
    pub headers: fn(n: usize) -> String,
    pub header: &'static str,
    pub value: &'static str,
    pub headers_why: &'static str,
    pub payload: fn(size: &str) -> String,
    pub source: &'static str,
    pub no_payload: &'static str,
    pub shown: fn(shown: &str, of: &str) -> String,
    pub not_utf8: &'static str,
}

pub(super) const EN: DetailText = DetailText {
    label: "Record",
    back: "Back to the list",
    no_message: "The upstream gave no message",
    not_found: "Record not found",
    suggestion_why: |s| {
        use crate::model::Suggestion;
        match s {
            Suggestion::Wait => "The cause passes by itself. Snooze it, or wait and replay later.",
            Suggestion::Replay => "The cause was of the moment. Sending it again will most likely succeed.",
            Suggestion::Edit => "The same payload fails again. Change it, then send it.",
            Suggestion::FixCredentials => "Key or account are refused. Put that right first, then replay.",
            Suggestion::Discard => "Nothing will make it succeed.",
        }
    },
    cannot: "It can't be sent again from here",
    cannot_why: |reason| {
        match reason {
        "no_credential" => "It came with its caller's own key, which is never stored. Give the upstream a credential of its own under Quotas, or let the caller send it again.".to_owned(),
        "no_request" => "Its source told no method and path. Set a request for it under Sources, and it can be sent.".to_owned(),
        "no_payload" => "Its payload is not kept here any more. Enter one with Edit and replay, or let the caller send it again.".to_owned(),
        "upstream_gone" => "Its upstream is not configured any more. Add it again under Quotas, with the same name.".to_owned(),
        other => format!("The server says: {other}."),
    }
    },
    status: "Status",
    provider_type: "Provider's type",
    code: "Code",
    first_failed: "First failed",
    record: "Record",
    key: "Idempotency key",
    decided: |who| format!("Decided by {who}"),
    snoozed_until: "Snoozed until",
    in_replay: "A replay has it",
    attempts: "Attempts",
    no_attempts: "No call was made for it.",
    attempt: |n| format!("Attempt {n}"),
    took: |time| format!("took {time}"),
    waited: |time| format!("waited {time}"),
    not_sent: "not sent",
    succeeded: "succeeded",
    rule: "Rule",
    rule_words: super::rules::en,
    headers: |n| format!("Headers ({n})"),
    header: "Header",
    value: "Value",
    headers_why: "Secrets were taken out before they were stored.",
    payload: |size| format!("Payload ({size})"),
    source: "Reported by",
    no_payload: "No payload.",
    shown: |shown, of| format!("Shown: the first {shown} of {of}."),
    not_utf8: "Some bytes are no text; they are shown as �. A replay sends the bytes as they came.",
};

pub(super) const ZH: DetailText = DetailText {
    label: "记录",
    back: "返回列表",
    no_message: "上游没有给出说明",
    not_found: "找不到记录",
    suggestion_why: |s| {
        use crate::model::Suggestion;
        match s {
            Suggestion::Wait => "原因会自行消失。可以推迟，或稍后重放。",
            Suggestion::Replay => "原因是暂时的，再次发送很可能成功。",
            Suggestion::Edit => "同样的内容还会失败，请先修改再发送。",
            Suggestion::FixCredentials => "密钥或账户被拒绝，请先修复，再重放。",
            Suggestion::Discard => "无论怎样都不会成功。",
        }
    },
    cannot: "无法从这里再次发送",
    cannot_why: |reason| match reason {
        "no_credential" => {
            "它使用调用方自己的密钥，而密钥从不保存。请在“配额”中为上游设置凭据，或由调用方重新发送。".to_owned()
        }
        "no_request" => "它的来源没有提供方法和路径。在“来源”中设置请求后即可发送。".to_owned(),
        "no_payload" => "它的内容已不在这里。请用“修改并重放”输入内容，或由调用方重新发送。".to_owned(),
        "upstream_gone" => "它的上游已不在配置中。请在“配额”中以同样的名称重新添加。".to_owned(),
        other => format!("服务器说明：{other}。"),
    },
    status: "状态码",
    provider_type: "服务方类型",
    code: "代码",
    first_failed: "首次失败",
    record: "记录",
    key: "幂等键",
    decided: |who| format!("由 {who} 决定"),
    snoozed_until: "推迟到",
    in_replay: "正在重放",
    attempts: "尝试",
    no_attempts: "没有为它发出过调用。",
    attempt: |n| format!("第 {n} 次"),
    took: |time| format!("用时 {time}"),
    waited: |time| format!("等待 {time}"),
    not_sent: "未发出",
    succeeded: "成功",
    rule: "规则",
    rule_words: super::rules::zh,
    headers: |n| format!("请求头（{n}）"),
    header: "名称",
    value: "值",
    headers_why: "机密内容在保存前已去除。",
    payload: |size| format!("内容（{size}）"),
    source: "上报来源",
    no_payload: "没有内容。",
    shown: |shown, of| format!("显示前 {shown}，共 {of}。"),
    not_utf8: "部分字节不是文本，显示为 �。重放时按原样发送。",
};
