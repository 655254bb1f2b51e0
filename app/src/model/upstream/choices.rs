//! The words of a configuration.

use serde::{Deserialize, Serialize};

use crate::model::failure::words;

words!(
    /// What kind of work the upstream does; decides which signals its breaker counts (B3).
    Kind {
        /// A model that answers: 429, 5xx and timeouts count.
        Inference = "inference",
        /// A query: errors and timeouts count, 429 does not.
        Query = "query",
    }
);

words!(
    /// How the upstream's answers are read.
    Profile {
        /// Plain HTTP: status and Retry-After.
        Generic = "generic",
        /// OpenAI and what speaks its protocol.
        Openai = "openai",
        /// Azure OpenAI.
        Azure = "azure",
        /// Anthropic.
        Anthropic = "anthropic",
        /// Gemini, and Vertex AI.
        Gemini = "gemini",
        /// Amazon Bedrock.
        Bedrock = "bedrock",
        /// Mistral.
        Mistral = "mistral",
        /// Cohere.
        Cohere = "cohere",
        /// DeepSeek.
        Deepseek = "deepseek",
        /// Alibaba Cloud's DashScope, in both of its protocols.
        Dashscope = "dashscope",
        /// Zhipu.
        Zhipu = "zhipu",
        /// Baidu Qianfan, V1 and V2.
        Qianfan = "qianfan",
        /// Volcengine Ark.
        Ark = "ark",
        /// Moonshot.
        Moonshot = "moonshot",
        /// GitHub's APIs.
        Github = "github",
        /// What tells its limits as the IETF draft says.
        Ietf = "ietf",
    }
);

words!(
    /// A set of timeouts and retry parameters (F3); each can be overridden.
    Preset {
        /// Somebody waits: 8 s, 3 retries, 90 s in all.
        Webhook = "webhook",
        /// Batches of pure reads: 30 s, 6 retries, 300 s in all.
        Tiles = "tiles",
    }
);

words!(
    /// What the upstream does with an idempotency key (F5).
    Idempotency {
        /// It answers a repeated key from the first call.
        Honoured = "honoured",
        /// It does the work again.
        Ignored = "ignored",
    }
);

words!(
    /// What happens after a call whose outcome is unknown (F5).
    OnUnknown {
        /// Send it again; possibly billed twice.
        Retry = "retry",
        /// A person decides.
        Park = "park",
    }
);

words!(
    /// What becomes of a call that its caller gave up.
    Cancel {
        /// The upstream stops; its slot is free at once.
        Frees = "frees",
        /// The upstream goes on; its slot stays taken until the call's time is over.
        RunsOn = "runs_on",
    }
);

words!(
    /// How the wait grows from retry to retry (F4).
    BackoffKind {
        /// 1, 2, 4, 8.
        Exponential = "exponential",
        /// 1, 2, 3, 4.
        Linear = "linear",
        /// 1, 1, 2, 3, 5.
        Fibonacci = "fibonacci",
    }
);

words!(
    /// How waits are spread (F4).
    JitterKind {
        /// Up to a fifth more or less.
        #[serde(rename = "plus_minus_20")]
        PlusMinus20 = "plus_minus_20",
        /// Anything from nothing to the whole wait.
        Full = "full",
        /// Half the wait, and up to half on top.
        Equal = "equal",
        /// From the base to three times the last wait.
        Decorrelated = "decorrelated",
        /// None.
        None = "none",
    }
);

words!(
    /// Who may change the configuration.
    Managed {
        /// The console and the API.
        Database = "database",
        /// The configuration file alone; editing is locked.
        File = "file",
    }
);

words!(
    /// What becomes of a failed call (F2).
    Action {
        /// Sent again later, unless it may have been done already.
        RetryLater = "retry_later",
        /// Sent again under the same idempotency key, also where it may have been done; possibly billed twice.
        RetrySameKey = "retry_same_key",
        /// A person decides.
        Park = "park",
    }
);
