//! Upstreams' configurations and their versions.

use app::model::upstream::{UpstreamConfig, UpstreamVersion};
use sqlx::{FromRow, Row, sqlite::SqliteRow};

use super::{
    Store, StoreError,
    audit::{self, Deed},
    rows::unsigned,
};
use crate::clock::Millis;

/// A configuration in force.
#[derive(Debug, Clone)]
pub struct StoredUpstream {
    /// Its name.
    pub name: String,
    /// Its version.
    pub version: u32,
    /// The configuration.
    pub config: UpstreamConfig,
    /// When it came in force.
    pub updated_at: Millis,
}

fn config_of(row: &SqliteRow) -> Result<UpstreamConfig, sqlx::Error> {
    serde_json::from_str(row.try_get("config")?).map_err(|e| sqlx::Error::Decode(e.into()))
}

impl FromRow<'_, SqliteRow> for StoredUpstream {
    fn from_row(row: &SqliteRow) -> Result<Self, sqlx::Error> {
        Ok(Self {
            name: row.try_get("name")?,
            version: unsigned(row, "version")?,
            config: config_of(row)?,
            updated_at: Millis(row.try_get("updated_at")?),
        })
    }
}

struct StoredVersion(UpstreamVersion);

impl FromRow<'_, SqliteRow> for StoredVersion {
    fn from_row(row: &SqliteRow) -> Result<Self, sqlx::Error> {
        Ok(Self(UpstreamVersion {
            version: unsigned(row, "version")?,
            config: config_of(row)?,
            at: Millis(row.try_get("at")?).to_utc(),
            who: row.try_get("who")?,
            reason: row.try_get("reason")?,
        }))
    }
}

/// What became of a change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Saved {
    /// In force, under this version.
    As(u32),
    /// Somebody was faster: this is the version now, none if it is gone.
    Conflict(Option<u32>),
}

impl Store {
    /// All upstreams by name.
    pub async fn stored_upstreams(&self) -> Result<Vec<StoredUpstream>, StoreError> {
        Ok(sqlx::query_as("select name, version, config, updated_at from upstream order by name")
            .fetch_all(self.readers())
            .await?)
    }

    /// Puts a configuration in force if the one before is still `expected`.
    pub async fn save_upstream(
        &self,
        name: String,
        config: UpstreamConfig,
        expected: Option<u32>,
        deed: Deed,
        now: Millis,
    ) -> Result<Saved, StoreError> {
        self.write(move |tx| {
            Box::pin(async move {
                let current: Option<StoredUpstream> =
                    sqlx::query_as("select name, version, config, updated_at from upstream where name = ?")
                        .bind(&name)
                        .fetch_optional(&mut *tx)
                        .await?;
                let version = current.as_ref().map(|u| u.version);
                if version != expected {
                    return Ok(Saved::Conflict(version));
                }
                let deed = current.iter().fold(deed, |deed, u| deed.before(&u.config)).after(&config);
                // Versions go on counting when a name is used again.
                let last: u32 =
                    sqlx::query_scalar("select coalesce(max(version), 0) from upstream_version where name = ?")
                        .bind(&name)
                        .fetch_one(&mut *tx)
                        .await?;
                let version = last.saturating_add(1);
                let json = serde_json::to_string(&config).map_err(|e| sqlx::Error::Encode(e.into()))?;
                sqlx::query("insert or replace into upstream (name, version, config, updated_at) values (?, ?, ?, ?)")
                    .bind(&name)
                    .bind(version)
                    .bind(&json)
                    .bind(now.0)
                    .execute(&mut *tx)
                    .await?;
                sqlx::query(
                    "insert into upstream_version (name, version, config, at, who, reason) values (?, ?, ?, ?, ?, ?)",
                )
                .bind(&name)
                .bind(version)
                .bind(&json)
                .bind(now.0)
                .bind(&deed.who)
                .bind(deed.reason())
                .execute(&mut *tx)
                .await?;
                audit::write(tx, now, &deed).await?;
                Ok(Saved::As(version))
            })
        })
        .await
    }

    /// Takes an upstream out of force; its versions stay.
    pub async fn delete_upstream(&self, name: String, deed: Deed, now: Millis) -> Result<bool, StoreError> {
        self.write(move |tx| {
            Box::pin(async move {
                sqlx::query("delete from breaker_forced where upstream = ?").bind(&name).execute(&mut *tx).await?;
                let done = sqlx::query("delete from upstream where name = ?").bind(&name).execute(&mut *tx).await?;
                let deleted = done.rows_affected() == 1;
                if deleted {
                    audit::write(tx, now, &deed).await?;
                }
                Ok(deleted)
            })
        })
        .await
    }

    /// Versions, newest first.
    pub async fn upstream_versions(
        &self,
        name: &str,
        from: Option<Millis>,
    ) -> Result<Vec<UpstreamVersion>, StoreError> {
        let rows: Vec<StoredVersion> = sqlx::query_as(
            "select version, config, at, who, reason from upstream_version where name = ? and at >= ? order by version desc limit 200",
        )
        .bind(name)
        .bind(from.map_or(0, |m| m.0))
        .fetch_all(self.readers())
        .await?;
        Ok(rows.into_iter().map(|v| v.0).collect())
    }
}
