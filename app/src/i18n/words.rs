//! The words for values that come from the API: classes, states, verdicts, causes.

use crate::model::{
    BreakerCause, BreakerState, Disposition, ErrorClass, RecordState, ReplayState, Suggestion, Verdict,
};

/// See the module. Each is a function of the value, so that a new value does not compile without its word.
#[derive(Debug)]
pub struct Words {
    /// `rate limited`
    pub class: fn(ErrorClass) -> &'static str,
    /// For legends: `429`
    pub class_short: fn(ErrorClass) -> &'static str,
    /// What the class means, in a sentence.
    pub class_why: fn(ErrorClass) -> &'static str,
    pub suggestion: fn(Suggestion) -> &'static str,
    pub disposition: fn(Disposition) -> &'static str,
    pub record_state: fn(RecordState) -> &'static str,
    pub replay_state: fn(ReplayState) -> &'static str,
    pub verdict: fn(Verdict) -> &'static str,
    pub breaker_state: fn(BreakerState) -> &'static str,
    /// What a breaker's history calls a change: the states, and what people do.
    pub breaker_change: fn(&str) -> &'static str,
    /// Why a breaker is in its state, in a sentence.
    pub cause: fn(&BreakerCause) -> String,
    /// The unit of a quota: `requests/min`
    pub quota_unit: fn(&str) -> &'static str,
    /// The kind of a mark on the time axis.
    pub mark: fn(&str) -> &'static str,
    /// Who did something: people by their own names, parts of the program by a word.
    pub who: fn(&str) -> &str,
}

fn share(failures: u64, samples: u64) -> u64 {
    (failures * 100).checked_div(samples).unwrap_or(0)
}

pub(super) const EN: Words = Words {
    class: |class| match class {
        ErrorClass::RateLimited => "rate limited",
        ErrorClass::Timeout => "timeout",
        ErrorClass::ServerError => "server error",
        ErrorClass::ContentViolation => "content refused",
        ErrorClass::ClientError => "client error",
    },
    class_short: |class| match class {
        ErrorClass::RateLimited => "429",
        ErrorClass::Timeout => "timeout",
        ErrorClass::ServerError => "5xx",
        ErrorClass::ContentViolation => "content",
        ErrorClass::ClientError => "client",
    },
    class_why: |class| match class {
        ErrorClass::RateLimited => "The upstream said “not now”: its quota was used up.",
        ErrorClass::Timeout => "No answer in time. Whether the work was done is unknown.",
        ErrorClass::ServerError => "The upstream, or the way to it, is broken.",
        ErrorClass::ContentViolation => {
            "The upstream's policy refuses this content. The same content is refused again."
        }
        ErrorClass::ClientError => "The request or its credentials are wrong. The same request fails again.",
    },
    suggestion: |s| match s {
        Suggestion::Wait => "Wait",
        Suggestion::Replay => "Replay",
        Suggestion::Edit => "Edit first",
        Suggestion::FixCredentials => "Fix credentials",
        Suggestion::Discard => "Discard",
    },
    disposition: |d| match d {
        Disposition::Open => "open",
        Disposition::Snoozed => "snoozed",
        Disposition::Replaying => "replaying",
        Disposition::Resolved => "resolved",
        Disposition::Discarded => "discarded",
    },
    record_state: |s| match s {
        RecordState::Waiting => "waiting",
        RecordState::InFlight => "in flight",
        RecordState::Succeeded => "succeeded",
        RecordState::Pending => "pending",
        RecordState::Discarded => "discarded",
    },
    replay_state: |s| match s {
        ReplayState::Running => "running",
        ReplayState::Paused => "paused",
        ReplayState::Done => "done",
        ReplayState::Cancelled => "cancelled",
    },
    verdict: |v| match v {
        Verdict::InBand => "in band",
        Verdict::Idle => "under, nothing waits",
        Verdict::Under => "under while work waits",
        Verdict::Over => "over the band",
    },
    breaker_state: |s| match s {
        BreakerState::Closed => "closed",
        BreakerState::Open => "open",
        BreakerState::HalfOpen => "half-open",
    },
    breaker_change: |to| match to {
        "closed" => "closed",
        "open" => "opened",
        "half_open" => "half-open",
        "forced_open" => "tripped by hand",
        "disabled" => "disabled",
        "metrics_only" => "metrics only",
        "reset" => "reset",
        _ => "changed",
    },
    cause: |cause| match cause {
        BreakerCause::WindowRule { failures, samples } => {
            format!("{}\u{a0}% of {samples} calls failed.", share(*failures, *samples))
        }
        BreakerCause::SlowRule { slow, samples } => {
            format!("{}\u{a0}% of {samples} calls were slow.", share(*slow, *samples))
        }
        BreakerCause::QuickRule { failures, samples } => {
            format!(
                "{failures} of {samples} calls in a row failed, before there were samples enough to judge a window."
            )
        }
        BreakerCause::QuickTimeouts => "More than three timeouts in a row, on two records.".to_owned(),
        BreakerCause::ProbeFailed => "A probe failed.".to_owned(),
        BreakerCause::ProbeTimedOut => "The probes brought no decision in time.".to_owned(),
        BreakerCause::ByHand => "By hand.".to_owned(),
    },
    quota_unit: |dimension| match dimension {
        "requests_per_second" => "requests/s",
        "requests_per_minute" => "requests/min",
        "tokens_per_minute" => "tokens/min",
        "concurrency" => "calls in flight",
        _ => "units",
    },
    mark: |kind| match kind {
        "quota" => "quota",
        "breaker_open" => "breaker opened",
        "breaker_closed" => "breaker closed",
        "breaker_half_open" => "breaker half-open",
        "trip" => "tripped",
        "reset" => "reset",
        "replay" => "replay",
        _ => "event",
    },
    who: |who| who,
};

pub(super) const ZH: Words = Words {
    class: |class| match class {
        ErrorClass::RateLimited => "限流",
        ErrorClass::Timeout => "超时",
        ErrorClass::ServerError => "服务端错误",
        ErrorClass::ContentViolation => "内容违规",
        ErrorClass::ClientError => "请求错误",
    },
    class_short: |class| match class {
        ErrorClass::RateLimited => "429",
        ErrorClass::Timeout => "超时",
        ErrorClass::ServerError => "5xx",
        ErrorClass::ContentViolation => "内容",
        ErrorClass::ClientError => "请求",
    },
    class_why: |class| match class {
        ErrorClass::RateLimited => "上游表示“现在不行”：配额已用完。",
        ErrorClass::Timeout => "没有及时得到应答，不知道工作是否已完成。",
        ErrorClass::ServerError => "上游或通往上游的线路出了故障。",
        ErrorClass::ContentViolation => "上游的策略拒绝了该内容；同样的内容还会被拒绝。",
        ErrorClass::ClientError => "请求或凭据有误；同样的请求还会失败。",
    },
    suggestion: |s| match s {
        Suggestion::Wait => "等待",
        Suggestion::Replay => "重放",
        Suggestion::Edit => "先修改",
        Suggestion::FixCredentials => "修复凭据",
        Suggestion::Discard => "丢弃",
    },
    disposition: |d| match d {
        Disposition::Open => "未决",
        Disposition::Snoozed => "已推迟",
        Disposition::Replaying => "重放中",
        Disposition::Resolved => "已解决",
        Disposition::Discarded => "已丢弃",
    },
    record_state: |s| match s {
        RecordState::Waiting => "等待中",
        RecordState::InFlight => "发送中",
        RecordState::Succeeded => "成功",
        RecordState::Pending => "待处理",
        RecordState::Discarded => "已丢弃",
    },
    replay_state: |s| match s {
        ReplayState::Running => "进行中",
        ReplayState::Paused => "已暂停",
        ReplayState::Done => "已完成",
        ReplayState::Cancelled => "已取消",
    },
    verdict: |v| match v {
        Verdict::InBand => "在目标区间",
        Verdict::Idle => "低于区间，无等待",
        Verdict::Under => "低于区间，仍有等待",
        Verdict::Over => "高于区间",
    },
    breaker_state: |s| match s {
        BreakerState::Closed => "闭合",
        BreakerState::Open => "打开",
        BreakerState::HalfOpen => "半开",
    },
    breaker_change: |to| match to {
        "closed" => "闭合",
        "open" => "打开",
        "half_open" => "半开",
        "forced_open" => "手动断开",
        "disabled" => "停用",
        "metrics_only" => "仅统计",
        "reset" => "复位",
        _ => "变更",
    },
    cause: |cause| match cause {
        BreakerCause::WindowRule { failures, samples } => {
            format!("{samples} 次调用中有 {}% 失败。", share(*failures, *samples))
        }
        BreakerCause::SlowRule { slow, samples } => {
            format!("{samples} 次调用中有 {}% 过慢。", share(*slow, *samples))
        }
        BreakerCause::QuickRule { failures, samples } => {
            format!("样本还不足以判断整个窗口时，连续 {samples} 次调用中有 {failures} 次失败。")
        }
        BreakerCause::QuickTimeouts => "两条记录上连续超时三次以上。".to_owned(),
        BreakerCause::ProbeFailed => "一次探测失败。".to_owned(),
        BreakerCause::ProbeTimedOut => "探测未能及时得出结论。".to_owned(),
        BreakerCause::ByHand => "手动操作。".to_owned(),
    },
    quota_unit: |dimension| match dimension {
        "requests_per_second" => "请求/秒",
        "requests_per_minute" => "请求/分钟",
        "tokens_per_minute" => "token/分钟",
        "concurrency" => "个并发调用",
        _ => "单位",
    },
    mark: |kind| match kind {
        "quota" => "配额",
        "breaker_open" => "熔断器打开",
        "breaker_closed" => "熔断器闭合",
        "breaker_half_open" => "熔断器半开",
        "trip" => "手动断开",
        "reset" => "复位",
        "replay" => "重放",
        _ => "事件",
    },
    who: |who| match who {
        "local operator" => "本机操作员",
        "operator" => "操作员",
        "operator (API)" => "操作员（API）",
        "file" => "配置文件",
        "demo" => "演示",
        name => name,
    },
};
