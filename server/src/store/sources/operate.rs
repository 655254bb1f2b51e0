//! What people set for a source.

use std::collections::BTreeMap;

use app::model::{RequestTemplate, SourcePut};
use sqlx::Row;

use super::super::{
    Store, StoreError, Tx,
    audit::{self, Deed},
};
use crate::clock::Millis;

impl Store {
    /// Sets how a source's records are sent and where their outcomes are told; false if there is no such source.
    pub async fn put_source(&self, name: String, put: SourcePut, deed: Deed, now: Millis) -> Result<bool, StoreError> {
        self.write(move |tx| {
            Box::pin(async move {
                let Some(before) = set_for(tx, &name).await? else { return Ok(false) };
                sqlx::query("update source set callback_url = ? where name = ?")
                    .bind(&put.callback_url)
                    .bind(&name)
                    .execute(&mut *tx)
                    .await?;
                sqlx::query("delete from source_request where source = ?").bind(&name).execute(&mut *tx).await?;
                for (upstream, request) in &put.requests {
                    sqlx::query("insert into source_request values (?, ?, ?, ?, ?)")
                        .bind(&name)
                        .bind(upstream)
                        .bind(&request.method)
                        .bind(&request.path)
                        .bind(serde_json::to_string(&request.headers).unwrap_or_default())
                        .execute(&mut *tx)
                        .await?;
                }
                audit::write(tx, now, &deed.before(&before).after(&put)).await?;
                Ok(true)
            })
        })
        .await
    }

    /// How records of a source are sent to an upstream, if that was set.
    pub async fn request_of(&self, source: &str, upstream: &str) -> Result<Option<RequestTemplate>, StoreError> {
        let row = sqlx::query("select method, path, headers from source_request where source = ? and upstream = ?")
            .bind(source)
            .bind(upstream)
            .fetch_optional(self.readers())
            .await?;
        Ok(row.as_ref().map(template).transpose()?)
    }
}

pub(super) fn template(row: &sqlx::sqlite::SqliteRow) -> Result<RequestTemplate, sqlx::Error> {
    let headers: BTreeMap<String, String> =
        serde_json::from_str(row.try_get("headers")?).map_err(|e| sqlx::Error::Decode(e.into()))?;
    Ok(RequestTemplate { method: row.try_get("method")?, path: row.try_get("path")?, headers })
}

async fn set_for(tx: &mut Tx, name: &str) -> Result<Option<SourcePut>, sqlx::Error> {
    let url: Option<Option<String>> = sqlx::query_scalar("select callback_url from source where name = ?")
        .bind(name)
        .fetch_optional(&mut *tx)
        .await?;
    let Some(callback_url) = url else { return Ok(None) };
    let rows = sqlx::query("select upstream, method, path, headers from source_request where source = ?")
        .bind(name)
        .fetch_all(tx)
        .await?;
    let requests =
        rows.iter().map(|row| Ok((row.try_get("upstream")?, template(row)?))).collect::<Result<_, sqlx::Error>>()?;
    Ok(Some(SourcePut { requests, callback_url }))
}
