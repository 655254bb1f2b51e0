//! Rules of Azure, Mistral, Cohere, DeepSeek, Moonshot, GitHub, IETF.

/// 简体中文.
pub(super) fn zh(rule: &str) -> Option<&'static str> {
    Some(match rule {
        "403: a quota is used up" => "403：配额已用尽",
        "429 with a limit of 0: waiting does not help" => "429，且限额为 0：等待无济于事",
        "a secondary rate limit: wait at least a minute" => "次级限流：至少等待一分钟",
        "finish_reason: the content is refused" => "finish_reason 表明内容被拒",
        "finish_reason: the upstream failed" => "finish_reason 表明上游出错",
        "finish_reason: the upstream took too long" => "finish_reason 表明上游超时",
        "the quota of the day or month is used up: a short wait does not help" => {
            "当日或当月的配额已用尽：短暂等待无济于事"
        }
        "x-ratelimit-remaining: 0, the quota is used up until its reset" => {
            "x-ratelimit-remaining 为 0，配额在重置之前已用尽"
        }
        _ => return None,
    })
}
