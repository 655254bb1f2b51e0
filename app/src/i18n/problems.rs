//! What is said of the server's problems: the server says it in English, by a stable `type`.

use crate::model::Problem;

/// See the module. Each answers none where the server's own words are shown.
#[derive(Debug)]
pub struct ProblemsText {
    /// What went wrong, in a few words.
    pub title: fn(&Problem) -> Option<&'static str>,
    /// What was kept.
    pub kept: fn(&Problem) -> Option<&'static str>,
    /// What to do about it.
    pub advice: fn(&Problem) -> Option<&'static str>,
}

pub(super) const EN: ProblemsText = ProblemsText { title: |_| None, kept: |_| None, advice: |_| None };

pub(super) const ZH: ProblemsText = ProblemsText {
    title: |problem| {
        Some(match problem.kind.as_str() {
            "bad-body" | "bad-query" | "bad-header" | "bad-path" | "bad-id" => "请求有误",
            "bad-config" => "配置无效",
            "bad-record" => "无法接受该记录",
            "bad-trip" => "断开需要原因和期限",
            "body-cut" => "请求内容中断",
            "body-too-large" => "内容过大",
            "credential-missing" => "缺少凭据",
            "disk-full" => "磁盘已满",
            "foreign-origin" => "请求来自其他网站",
            "in-use" => "有记录在等待这个上游",
            "key-reused" => "该幂等键属于另一个请求",
            "managed-by-file" => "由配置文件管理",
            "moved-on" | "version-conflict" => "已被他人改动",
            "no-api" => "控制台未连接",
            "no-such-path" => "这里什么也没有",
            "not-found" | "unknown-record" => "没有这条记录",
            "not-in-future" => "该时间已过",
            "not-pending" => "这条记录不需要处理",
            "not-replayable" => "无法从这里发送",
            "not-signed-in" | "sign-in" => "尚未登录",
            "out-of-time" => "应答时间已用完",
            "stopping" => "Penstock 正在停止",
            "store-failed" => "数据库拒绝了操作",
            "store-read-only" => "数据库无法写入",
            "too-many-tries" => "密码错误次数过多",
            "unknown-breaker" => "没有这个熔断器",
            "unknown-host" => "不能用这个名称访问",
            "unknown-replay" => "没有这次重放",
            "unknown-upstream" => "没有这个上游",
            "upstream-failed" => "上游出错",
            _ => return None,
        })
    },
    kept: |problem| {
        Some(match problem.kind.as_str() {
            "bad-config" | "managed-by-file" | "version-conflict" => "当前生效的配置保持不变。",
            "disk-full" | "store-read-only" => "此前接受的内容都已在磁盘上。",
            "in-use" => "这些记录仍在等待。",
            "key-reused" => "第一个请求不受影响。",
            _ => return None,
        })
    },
    advice: |problem| {
        Some(match problem.kind.as_str() {
            "bad-config" => "请更正所列字段。",
            "body-too-large" => "请减少内容，或用筛选条件代替逐条选择。",
            "credential-missing" => "请在服务器的环境中设置该变量，然后重新启动 Penstock。",
            "disk-full" => "请在数据库所在磁盘上腾出空间，Penstock 会自行继续。",
            "in-use" => "请等它们完成，或断开其熔断器并丢弃这些记录。",
            "managed-by-file" => "请修改 penstock.toml 后重新启动，或从中去掉 managed = \"file\"。",
            "moved-on" => "请重新查看这条记录。",
            "not-in-future" => "请选择以后的时间。",
            "not-signed-in" | "sign-in" => "请重新登录。",
            "refused-quota" => "请稍后再试，或查看熔断器和配额。",
            "stopping" => "请稍后再试。",
            "store-failed" => "原因见服务器日志。",
            "store-read-only" => "请恢复 Penstock 对数据库文件及其目录的写权限，它会自行继续。",
            "too-many-tries" => "请等一分钟。",
            "unknown-record" => "成功的记录默认保留 24 小时。",
            "version-conflict" => "请重新查看后再修改。",
            _ => return None,
        })
    },
};
