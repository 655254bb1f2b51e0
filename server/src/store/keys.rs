//! Worker keys: hashes, who made and revoked them, and when they were last used.

use app::model::{KeyId, KeyView};
use sqlx::{FromRow, Row, sqlite::SqliteRow};

use super::{
    Store, StoreError,
    audit::{self, Deed},
    rows::optional_millis,
};
use crate::clock::Millis;

/// A key to be kept.
#[derive(Debug, Clone)]
pub struct NewStoredKey {
    /// Its id.
    pub id: KeyId,
    /// Whose it is.
    pub name: String,
    /// SHA-256 of the key; it has 256 random bits, so a slow hash would add nothing.
    pub hash: [u8; 32],
    /// Its last characters.
    pub hint: String,
}

/// A key as it is kept.
#[derive(Debug, Clone)]
pub struct StoredKey {
    /// As it is listed.
    pub view: KeyView,
    /// Its hash.
    pub hash: [u8; 32],
}

impl FromRow<'_, SqliteRow> for StoredKey {
    fn from_row(row: &SqliteRow) -> Result<Self, sqlx::Error> {
        let revoked_by: Option<String> = row.try_get("revoked_by")?;
        let hash: Vec<u8> = row.try_get("hash")?;
        Ok(Self {
            view: KeyView {
                id: KeyId::from_i64(row.try_get("id")?),
                name: row.try_get("name")?,
                hint: row.try_get("hint")?,
                created_at: Millis(row.try_get("created_at")?).to_utc(),
                created_by: row.try_get("created_by")?,
                last_used_at: optional_millis(row, "last_used_at")?.map(Millis::to_utc),
                revoked: optional_millis(row, "revoked_at")?.map(Millis::to_utc).zip(revoked_by),
            },
            hash: hash.try_into().map_err(|_| sqlx::Error::Decode("a key's hash has 32 bytes".into()))?,
        })
    }
}

impl Store {
    /// All keys, those in force first, newest first.
    pub async fn keys(&self) -> Result<Vec<StoredKey>, StoreError> {
        Ok(sqlx::query_as("select * from worker_key order by revoked_at is not null, id desc limit 500")
            .fetch_all(self.readers())
            .await?)
    }

    /// Keeps a key.
    pub async fn make_key(&self, key: NewStoredKey, deed: Deed, now: Millis) -> Result<(), StoreError> {
        self.write(move |tx| {
            Box::pin(async move {
                sqlx::query(
                    "insert into worker_key (id, name, hash, hint, created_at, created_by) values (?, ?, ?, ?, ?, ?)",
                )
                .bind(key.id.as_i64())
                .bind(&key.name)
                .bind(key.hash.to_vec())
                .bind(&key.hint)
                .bind(now.0)
                .bind(&deed.who)
                .execute(&mut *tx)
                .await?;
                let after = serde_json::json!({ "name": key.name, "hint": key.hint });
                audit::write(tx, now, &deed.after(&after)).await
            })
        })
        .await
    }

    /// Revokes a key; false if it was not in force.
    pub async fn revoke_key(&self, id: KeyId, deed: Deed, now: Millis) -> Result<bool, StoreError> {
        self.write(move |tx| {
            Box::pin(async move {
                let name: Option<String> = sqlx::query_scalar(
                    "update worker_key set revoked_at = ?, revoked_by = ? where id = ? and revoked_at is null returning name",
                )
                .bind(now.0)
                .bind(&deed.who)
                .bind(id.as_i64())
                .fetch_optional(&mut *tx)
                .await?;
                let Some(name) = name else { return Ok(false) };
                audit::write(tx, now, &deed.before(&serde_json::json!({ "name": name }))).await?;
                Ok(true)
            })
        })
        .await
    }

    /// Writes down when keys were last used.
    pub async fn keys_used(&self, used: Vec<(KeyId, Millis)>) -> Result<(), StoreError> {
        self.write(move |tx| {
            Box::pin(async move {
                for (id, at) in used {
                    sqlx::query("update worker_key set last_used_at = max(coalesce(last_used_at, 0), ?) where id = ?")
                        .bind(at.0)
                        .bind(id.as_i64())
                        .execute(&mut *tx)
                        .await?;
                }
                Ok(())
            })
        })
        .await
    }
}
