//! A record as its submitter sees it: flat, so that tools that read top-level keys alone can use it.

use app::model::{RecordId, RecordState, RecordView};

use crate::{
    classify::readable,
    clock::Millis,
    dispatch::headers,
    state::App,
    store::{StoreError, results::StoredResult},
};

fn content_type(result: &StoredResult) -> Option<String> {
    result.headers.iter().find(|(name, _)| name == "content-type").map(|(_, value)| value.clone())
}

/// Reads one; none if there is none (any more).
pub async fn view(app: &App, id: RecordId) -> Result<Option<RecordView>, StoreError> {
    let Some(record) = app.store.record(id).await? else { return Ok(None) };
    let result = match record.state {
        RecordState::Succeeded => app.store.result(id).await?,
        _ => None,
    };
    let result_content_type = result.as_ref().and_then(content_type);
    Ok(Some(RecordView {
        id,
        upstream: record.upstream,
        source: record.source,
        state: record.state,
        idempotency_key: record.idempotency_key,
        created_at: record.created_at.to_utc(),
        attempts: record.attempts,
        next_attempt_at: record.next_attempt_at.filter(|_| record.state == RecordState::Waiting).map(Millis::to_utc),
        error_class: record.error_class.filter(|_| record.state != RecordState::Succeeded),
        error_message: record.message.filter(|_| record.state != RecordState::Succeeded),
        status: record.status,
        result: result
            .and_then(|r| String::from_utf8(readable(&headers::from_store(&r.headers), &r.body, usize::MAX)).ok()),
        result_content_type,
    }))
}
