//! Rules of DashScope, Zhipu, Qianfan, Ark.

/// 简体中文.
pub(super) fn zh(rule: &str) -> Option<&'static str> {
    Some(match rule {
        "a limit that the account's owner set is reached: waiting does not help" => {
            "达到账户所有者设定的上限：等待无济于事"
        }
        "by its code: credentials refused" => "按错误码：凭据被拒",
        "by its code: rate limited" => "按错误码：被限流",
        "by its code: the content policy refuses it" => "按错误码：内容策略拒绝",
        "by its code: the request itself is refused" => "按错误码：请求本身被拒",
        "by its code: the upstream failed" => "按错误码：上游出错",
        "by its code: the upstream timed out" => "按错误码：上游超时",
        "finish_reason: network_error" => "finish_reason 为 network_error",
        "finish_reason: sensitive" => "finish_reason 为 sensitive",
        "need_clear_history: the content policy refuses the conversation" => {
            "need_clear_history：内容策略拒绝了这段对话"
        }
        "the account is closed: only the provider can open it" => "账户被停用或锁定：只有服务商能解除",
        "the content checker failed, may pass" => "内容审核服务出错，可能会自行恢复",
        "the free quota is used up: waiting does not help" => "免费额度已用尽：等待无济于事",
        "the limit of a day or a plan is used up: it comes back by itself, but not soon" => {
            "当日或套餐的额度已用尽：会自行恢复，但需较久"
        }
        "the load grew too fast: it passes if the load grows slowly" => "负载增长过快：放缓增长即可恢复",
        _ => return None,
    })
}
