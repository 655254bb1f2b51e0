//! What an upstream's retries brought (F10).

use app::model::{Problem, RetryStat};

use crate::{rest::problem, state::App};

/// Days that are summed up.
const DAYS: u32 = 7;

pub(super) async fn read(app: &App, upstream: &str) -> Result<Vec<RetryStat>, Problem> {
    if app.upstreams.get(upstream).is_none() {
        return Err(problem::unknown_upstream(app, upstream));
    }
    app.store.retries(upstream, DAYS, app.clock.wall()).await.map_err(|e| problem::store(&e))
}
