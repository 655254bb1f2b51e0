//! How a worker is connected: three ways, with commands to copy.

/// See the module.
#[derive(Debug)]
pub struct ConnectText {
    pub title: &'static str,
    pub why: &'static str,
    pub first_title: &'static str,
    pub first_why: &'static str,
    pub add_upstream: &'static str,
    pub then: &'static str,
    pub curl: &'static str,
    pub curl_why: &'static str,
    pub openai: &'static str,
    pub openai_why: &'static str,
    pub fme: &'static str,
    pub fme_why: &'static str,
}

pub(super) const EN: ConnectText = ConnectText {
    title: "Nothing flows yet",
    why: "Penstock stands between your workers and an AI API that limits them. Tell it about the API, then point a worker at it.",
    first_title: "1. Add an upstream",
    first_why: "An upstream is one AI API with one quota: its address, and what it allows.",
    add_upstream: "Add an upstream",
    then: "2. Connect a worker",
    curl: "curl",
    curl_why: "Swap the base URL, nothing else. “vision” is the upstream's name.",
    openai: "openai-python",
    openai_why: "The same for any SDK with a base URL. Your own key goes through untouched, unless the upstream has one.",
    fme: "FME HTTPCaller",
    fme_why: "Set the request URL and leave retries to Penstock. The engine's name is shown with what fails.",
};

pub(super) const ZH: ConnectText = ConnectText {
    title: "还没有流量",
    why: "Penstock 位于您的工作进程和有限额的 AI API 之间。先告诉它 API 是哪个，再把工作进程指向它。",
    first_title: "1. 添加上游",
    first_why: "一个上游就是一个有配额的 AI API：它的地址，以及它允许的用量。",
    add_upstream: "添加上游",
    then: "2. 接入工作进程",
    curl: "curl",
    curl_why: "只需替换基础地址，其余不变。“vision”是上游的名称。",
    openai: "openai-python",
    openai_why: "任何可设置基础地址的 SDK 都一样。除非上游配置了密钥，否则您自己的密钥会原样转发。",
    fme: "FME HTTPCaller",
    fme_why: "设置请求 URL，把重试交给 Penstock。填写引擎名称后，失败的调用会显示来自哪个引擎。",
};
