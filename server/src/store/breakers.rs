//! What people set over breakers, and every change of their state.

use app::model::breaker::{BreakerCause, BreakerChange, Forced};
use sqlx::{FromRow, Row, sqlite::SqliteRow};

use super::{
    Store, StoreError,
    audit::{self, Deed},
};
use crate::clock::Millis;

/// A change to be kept.
#[derive(Debug, Clone)]
pub struct NewChange {
    /// When.
    pub at: Millis,
    /// The new state.
    pub became: String,
    /// The rule.
    pub cause: Option<BreakerCause>,
    /// The operator's words.
    pub reason: Option<String>,
    /// The operator.
    pub who: Option<String>,
}

struct StoredChange(BreakerChange);

impl FromRow<'_, SqliteRow> for StoredChange {
    fn from_row(row: &SqliteRow) -> Result<Self, sqlx::Error> {
        let cause: Option<String> = row.try_get("cause")?;
        Ok(Self(BreakerChange {
            at: Millis(row.try_get("at")?).to_utc(),
            to: row.try_get("became")?,
            cause: cause.and_then(|c| serde_json::from_str(&c).ok()),
            reason: row.try_get("reason")?,
            who: row.try_get("who")?,
        }))
    }
}

/// A forced state as stored.
#[derive(Debug, Clone, sqlx::FromRow)]
pub struct StoredForced {
    /// Whose.
    pub upstream: String,
    mode: String,
    until: Option<i64>,
    reason: Option<String>,
    who: String,
}

impl StoredForced {
    /// As the API tells it.
    pub fn forced(&self) -> Forced {
        let who = self.who.clone();
        match self.mode.as_str() {
            "disabled" => Forced::Disabled { who },
            "metrics_only" => Forced::MetricsOnly { who },
            _ => Forced::Open {
                until: Millis(self.until.unwrap_or(0)).to_utc(),
                reason: self.reason.clone().unwrap_or_default(),
                who,
            },
        }
    }
}

impl Store {
    /// Sets or takes back a forced state, and keeps the change. Without a deed nobody did it: a trip's time was over.
    pub async fn force_breaker(
        &self,
        upstream: String,
        forced: Option<Forced>,
        change: NewChange,
        deed: Option<Deed>,
    ) -> Result<(), StoreError> {
        self.write(move |tx| {
            Box::pin(async move {
                if let Some(deed) = deed {
                    let before: Option<StoredForced> = sqlx::query_as(
                        "select upstream, mode, until, reason, who from breaker_forced where upstream = ?",
                    )
                    .bind(&upstream)
                    .fetch_optional(&mut *tx)
                    .await?;
                    let deed = before.iter().fold(deed, |deed, was| deed.before(&was.forced()));
                    audit::write(tx, change.at, &forced.iter().fold(deed, Deed::after)).await?;
                }
                sqlx::query("delete from breaker_forced where upstream = ?").bind(&upstream).execute(&mut *tx).await?;
                if let Some(forced) = forced {
                    let (mode, until, reason, who) = match forced {
                        Forced::Open { until, reason, who } => ("open", Some(Millis::from(until).0), Some(reason), who),
                        Forced::Disabled { who } => ("disabled", None, None, who),
                        Forced::MetricsOnly { who } => ("metrics_only", None, None, who),
                    };
                    sqlx::query(
                        "insert into breaker_forced (upstream, mode, until, reason, who, at) values (?, ?, ?, ?, ?, ?)",
                    )
                    .bind(&upstream)
                    .bind(mode)
                    .bind(until)
                    .bind(reason)
                    .bind(who)
                    .bind(change.at.0)
                    .execute(&mut *tx)
                    .await?;
                }
                insert_change(tx, &upstream, &change).await
            })
        })
        .await
    }

    /// Keeps a change that the calls brought about.
    pub async fn breaker_changed(&self, upstream: String, change: NewChange) -> Result<(), StoreError> {
        self.write(move |tx| Box::pin(async move { insert_change(tx, &upstream, &change).await })).await
    }

    /// All forced states.
    pub async fn forced_breakers(&self) -> Result<Vec<StoredForced>, StoreError> {
        Ok(sqlx::query_as("select upstream, mode, until, reason, who from breaker_forced")
            .fetch_all(self.readers())
            .await?)
    }

    /// A breaker's last changes, newest first.
    pub async fn breaker_history(&self, upstream: &str, most: u32) -> Result<Vec<BreakerChange>, StoreError> {
        let rows: Vec<StoredChange> = sqlx::query_as(
            "select at, became, cause, reason, who from breaker_event where upstream = ? order by at desc, id desc limit ?",
        )
        .bind(upstream)
        .bind(most)
        .fetch_all(self.readers())
        .await?;
        Ok(rows.into_iter().map(|c| c.0).collect())
    }

    /// A breaker's changes within a range, oldest first, for the chart.
    pub async fn breaker_marks(&self, upstream: &str, from: Millis) -> Result<Vec<BreakerChange>, StoreError> {
        let rows: Vec<StoredChange> = sqlx::query_as(
            "select at, became, cause, reason, who from breaker_event where upstream = ? and at >= ? order by at limit 200",
        )
        .bind(upstream)
        .bind(from.0)
        .fetch_all(self.readers())
        .await?;
        Ok(rows.into_iter().map(|c| c.0).collect())
    }
}

async fn insert_change(tx: &mut super::Tx, upstream: &str, change: &NewChange) -> Result<(), sqlx::Error> {
    let cause = change.cause.as_ref().and_then(|c| serde_json::to_string(c).ok());
    sqlx::query("insert into breaker_event (upstream, at, became, cause, reason, who) values (?, ?, ?, ?, ?, ?)")
        .bind(upstream)
        .bind(change.at.0)
        .bind(&change.became)
        .bind(cause)
        .bind(&change.reason)
        .bind(&change.who)
        .execute(tx)
        .await?;
    Ok(())
}
