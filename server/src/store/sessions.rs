//! Signed-in operators. The cookie is a random token; only its hash is kept.

use super::{Store, StoreError};
use crate::clock::Millis;

impl Store {
    /// Keeps a session.
    pub async fn add_session(&self, token_hash: Vec<u8>, now: Millis, until: Millis) -> Result<(), StoreError> {
        self.write(move |tx| {
            Box::pin(async move {
                sqlx::query("insert into session (token_hash, created_at, expires_at) values (?, ?, ?)")
                    .bind(token_hash)
                    .bind(now.0)
                    .bind(until.0)
                    .execute(tx)
                    .await?;
                Ok(())
            })
        })
        .await
    }

    /// Whether it is one, and not over.
    pub async fn session_holds(&self, token_hash: &[u8], now: Millis) -> Result<bool, StoreError> {
        Ok(sqlx::query_scalar("select exists (select 1 from session where token_hash = ? and expires_at > ?)")
            .bind(token_hash)
            .bind(now.0)
            .fetch_one(self.readers())
            .await?)
    }

    /// Signs out.
    pub async fn end_session(&self, token_hash: Vec<u8>) -> Result<(), StoreError> {
        self.write(move |tx| {
            Box::pin(async move {
                sqlx::query("delete from session where token_hash = ?").bind(token_hash).execute(tx).await?;
                Ok(())
            })
        })
        .await
    }
}
