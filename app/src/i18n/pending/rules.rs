//! The rules by which failures were classified. The server names each in English; a rule that is not known here is shown so.

mod anthropic_gemini_bedrock;
mod chinese_providers;
mod openai_like;

use std::borrow::Cow;

/// English: as the server says it.
pub(super) fn en(_: &str) -> Option<Cow<'static, str>> {
    None
}

/// 简体中文.
pub(super) fn zh(rule: &str) -> Option<Cow<'static, str>> {
    let own = rule.strip_prefix("the upstream's own rule ").and_then(|n| n.parse::<u32>().ok());
    match own {
        Some(n) => Some(Cow::Owned(format!("上游自定义规则 {n}"))),
        None => known(rule).map(Cow::Borrowed),
    }
}

fn known(rule: &str) -> Option<&'static str> {
    Some(match rule {
        "200 that calls itself JSON and is not" => "状态 200，自称 JSON 却不是",
        "200 with JSON that ends in the middle" => "状态 200，JSON 中途断开",
        "200 with an error" => "状态 200，内容却是错误",
        "200 with an error: credentials refused" => "状态 200，内容是错误：凭据被拒",
        "200 with an error: rate limited" => "状态 200，内容是错误：被限流",
        "200 with an error: the content policy refuses the request" => "状态 200，内容是错误：内容策略拒绝了请求",
        "200 with an error: the request itself is refused" => "状态 200，内容是错误：请求本身被拒",
        "200 with an error: timeout" => "状态 200，内容是错误：超时",
        "200 with an empty body" => "状态 200，内容为空",
        "200 with empty choices" => "状态 200，choices 为空",
        "200 with empty data" => "状态 200，data 为空",
        "401: credentials refused" => "401：凭据被拒",
        "402: the account must be paid" => "402：账户需要付费",
        "403: not allowed with these credentials" => "403：这些凭据无权访问",
        "407: the proxy refuses the credentials" => "407：代理拒绝了凭据",
        "408: the upstream did not get the request in time" => "408：上游没有及时收到请求",
        "409: a conflict with another request, may pass (the common SDKs retry it)" => {
            "409：与另一个请求冲突，可能会自行消失（常用 SDK 会重试）"
        }
        "425: too early, may pass" => "425：过早，可能会自行消失",
        "429: too many requests" => "429：请求过多",
        "499: a proxy in between saw its client go, may pass" => "499：中间的代理认为客户端已离开，可能会自行消失",
        "4xx: the content policy refuses the request" => "4xx：内容策略拒绝了请求",
        "4xx: the request itself is refused" => "4xx：请求本身被拒",
        "504: a gateway got no answer in time" => "504：网关没有及时得到应答",
        "520, 521, 523: a proxy got no good answer from the upstream" => "520、521、523：代理没有从上游得到正常应答",
        "522: a proxy got no connection to the upstream in time" => "522：代理没有及时连上上游",
        "524: a proxy got no answer from the upstream in time" => "524：代理没有及时得到上游的应答",
        "529: the upstream is overloaded" => "529：上游过载",
        "5xx: the upstream failed" => "5xx：上游出错",
        "DNS, connect or TLS failed: nothing was sent" => "DNS、连接或 TLS 失败：没有发出任何内容",
        "a page of HTML in place of an answer" => "应答是一张 HTML 页面",
        "an event stream without an event" => "事件流中没有事件",
        "connection lost after sending: outcome unknown" => "发出后连接中断：结果不明",
        "event stream: finish_reason content_filter" => "事件流：finish_reason 为 content_filter",
        "event stream: the model refuses" => "事件流：模型拒绝回答",
        "finish_reason: content_filter" => "finish_reason 为 content_filter",
        "incomplete_details.reason: content_filter" => "incomplete_details.reason 为 content_filter",
        "no connection in time: nothing was sent" => "没有及时建立连接：没有发出任何内容",
        "not an HTTP status" => "不是 HTTP 状态",
        "redirect: redirects are switched off, the upstream's address must be right" => {
            "重定向：不跟随重定向，上游地址必须正确"
        }
        "response.failed, without an error" => "response.failed，没有说明错误",
        "sent, no answer in time: outcome unknown" => "已发出，没有及时应答：结果不明",
        "sent, no answer within the caller's own time: outcome unknown" => {
            "已发出，在调用方自己的时限内没有应答：结果不明"
        }
        "sent, not done in time: outcome unknown" => "已发出，没有及时完成：结果不明",
        "status: failed, without an error" => "status 为 failed，没有说明错误",
        "the account's quota or credit is used up: waiting does not help" => "账户的额度或余额已用尽：等待无济于事",
        "the answer stalled: outcome unknown" => "应答中途停住：结果不明",
        "the answer was cut off: outcome unknown" => "应答被切断：结果不明",
        "the call is larger than the quota's burst: no waiting will help" => "调用超过配额的突发上限：等待无济于事",
        "the caller's body broke off on its way: never whole" => "调用方的内容中途断开：从未完整",
        "the event stream stopped before its end" => "事件流在结束前停止",
        "the model refuses" => "模型拒绝回答",
        "the program ended while the call was under way: outcome unknown" => "调用进行中程序结束：结果不明",
        "the request could not be built: nothing was sent" => "无法构成请求：没有发出任何内容",
        "the caller told the class" => "调用方告知了类别",
        _ => {
            return openai_like::zh(rule)
                .or_else(|| anthropic_gemini_bedrock::zh(rule))
                .or_else(|| chinese_providers::zh(rule));
        }
    })
}

#[cfg(test)]
mod tests {
    use super::zh;

    #[test]
    fn an_upstreams_own_rule_is_named_by_its_place() {
        assert_eq!(zh("the upstream's own rule 12").as_deref(), Some("上游自定义规则 12"));
        assert_eq!(zh("the upstream's own rule").as_deref(), None);
        assert_eq!(zh("429: too many requests").as_deref(), Some("429：请求过多"));
    }
}
