//! The text about what an upstream says of its quota.

/// See the module.
#[derive(Debug)]
pub struct DriftText {
    pub title: &'static str,
    pub why: &'static str,
    pub none: &'static str,
    pub none_why: &'static str,
    /// The largest correction, as a percentage.
    pub corrected: fn(most: &str) -> String,
    pub not_corrected: &'static str,
    pub others: fn(n: &str, one: bool) -> String,
    pub no_others: &'static str,
    pub drift: &'static str,
    pub drift_chart: &'static str,
    pub foreign: &'static str,
    pub foreign_chart: &'static str,
    /// The same as a table.
    pub list: &'static str,
    /// A share that is there, and rounds to nothing.
    pub below_one: &'static str,
}

pub(super) const EN: DriftText = DriftText {
    title: "What the upstream says of the quota",
    why: "The last six hours. Where its headers say that less is left than was counted here, its word is taken.",
    none: "Nothing was corrected.",
    none_why: "What is counted here and what the upstream says agree, or it says nothing. When somebody else spends the same quota, it shows here first.",
    corrected: |most| format!("What was thought to be left was lowered, by up to {most} of a minute's quota at once."),
    not_corrected: "What was thought to be left was never lowered.",
    others: |n, one| {
        if one {
            "At least 1 request was sent by others.".to_owned()
        } else {
            format!("At least {n} requests were sent by others.")
        }
    },
    no_others: "No request of others was seen.",
    drift: "Lowered by, of a minute's quota",
    drift_chart: "By how much the upstream's word lowered what was thought to be left, over the last six hours",
    foreign: "Requests sent by others, at least",
    foreign_chart: "Requests that the upstream counted and that were not sent from here, over the last six hours",
    list: "Corrections and requests of others, as a table",
    below_one: "under 1\u{a0}%",
};

pub(super) const ZH: DriftText = DriftText {
    title: "上游对配额的说法",
    why: "最近六小时。如果响应头所说的剩余少于这里的计数，就以上游为准。",
    none: "没有需要修正的。",
    none_why: "这里的计数与上游的说法一致，或者上游没有说明。如果有他人消耗同一配额，会最先显示在这里。",
    corrected: |most| format!("对剩余配额的估计曾被调低，一次最多调低每分钟配额的 {most}。"),
    not_corrected: "对剩余配额的估计从未被调低。",
    others: |n, _| format!("他人至少发送了 {n} 个请求。"),
    no_others: "没有发现他人的请求。",
    drift: "调低幅度（占每分钟配额）",
    drift_chart: "最近六小时内，上游的说法把剩余配额的估计调低了多少",
    foreign: "他人发送的请求（至少）",
    foreign_chart: "最近六小时内，上游计入、却不是从这里发出的请求",
    list: "修正与他人的请求，以表格显示",
    below_one: "不到 1%",
};
