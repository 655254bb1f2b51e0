//! The audit, as it is read.

use app::model::{AuditPage, AuditQuery, Problem};

use crate::{rest::problem, state::App};

pub(super) async fn page(app: &App, query: AuditQuery) -> Result<AuditPage, Problem> {
    let (items, next) = app.store.audit(&query).await.map_err(|e| problem::store(&e))?;
    Ok(AuditPage { items, next, now: app.clock.wall().to_utc() })
}
