//! Rules of Anthropic, Gemini, Bedrock.

/// 简体中文.
pub(super) fn zh(rule: &str) -> Option<&'static str> {
    Some(match rule {
        "200 without candidates" => "状态 200，没有 candidates",
        "429: the quota is 0, waiting does not help" => "429：配额为 0，等待无济于事",
        "429: the quota of a day is used up, worth one retry" => "429：当日配额已用尽，只值得重试一次",
        "API_KEY_INVALID: credentials refused" => "API_KEY_INVALID：凭据被拒",
        "finishReason: the answer is blocked" => "finishReason：应答被拦截",
        "promptFeedback: the request is blocked" => "promptFeedback：请求被拦截",
        "stopReason: a guardrail or a filter intervened" => "stopReason：护栏或过滤器介入",
        "the error's type: credentials refused" => "错误类型：凭据被拒",
        "the error's type: the model or the service failed" => "错误类型：模型或服务出错",
        "the error's type: the model took too long" => "错误类型：模型用时过长",
        "the error's type: the request itself is refused" => "错误类型：请求本身被拒",
        "the error's type: throttled, not ready or over a quota" => "错误类型：被限流、未就绪或超出配额",
        _ => return None,
    })
}
