//! The text about what retries bring.

/// See the module.
#[derive(Debug)]
pub struct RetriesText {
    pub title: &'static str,
    pub why: &'static str,
    pub list: &'static str,
    pub none: &'static str,
    pub after: &'static str,
    pub retry: &'static str,
    pub nth: fn(n: u32) -> String,
    pub made: &'static str,
    pub succeeded: &'static str,
    pub finding: &'static str,
    pub never: &'static str,
    pub advice: fn(retries: &str) -> String,
}

pub(super) const EN: RetriesText = RetriesText {
    title: "What retries bring",
    why: "The last seven days, by the failure before and the number of the retry.",
    list: "Retries by class and number",
    none: "No retry was made in the last seven days.",
    after: "After",
    retry: "Retry",
    nth: |n| format!("no. {n}"),
    made: "Made",
    succeeded: "Succeeded",
    finding: "Finding",
    never: "hardly helps",
    advice: |n| format!("A retry that succeeds in fewer than 5 of 100 costs more than it brings. Set Retries to {n}."),
};

pub(super) const ZH: RetriesText = RetriesText {
    title: "重试的效果",
    why: "最近七天，按之前的失败类别和第几次重试统计。",
    list: "重试，按类别和次数",
    none: "最近七天没有重试。",
    after: "之前的失败",
    retry: "重试",
    nth: |n| format!("第 {n} 次"),
    made: "次数",
    succeeded: "成功",
    finding: "结论",
    never: "几乎无效",
    advice: |n| format!("成功率低于 5% 的重试得不偿失。请把重试次数设为 {n}。"),
};
