//! The audit: who changed what. An entry is written in the transaction of the change that it tells of, so that neither is there
//! without the other.

use app::model::{Action, AuditChange, AuditEntry, AuditQuery, Cursor, Via};
use serde::Serialize;
use serde_json::Value;
use sqlx::{FromRow, QueryBuilder, Row, Sqlite, sqlite::SqliteRow};

use super::{Store, StoreError, Tx, rows::word};
use crate::clock::Millis;

/// Entries on a page.
pub const PAGE: usize = 50;

/// Something that somebody does, to be written down with it.
#[derive(Debug, Clone)]
pub struct Deed {
    /// By whom.
    pub who: String,
    /// Through which door.
    pub via: Via,
    /// What.
    pub action: Action,
    /// To what.
    pub subject: String,
    before: Option<Value>,
    after: Option<Value>,
    reason: Option<String>,
}

impl Deed {
    /// Without before, after and reason.
    pub fn new(who: impl Into<String>, via: Via, action: Action, subject: impl Into<String>) -> Self {
        Self { who: who.into(), via, action, subject: subject.into(), before: None, after: None, reason: None }
    }

    /// The same, done to this.
    #[must_use]
    pub fn to(mut self, subject: impl Into<String>) -> Self {
        self.subject = subject.into();
        self
    }

    /// What stood there. Whatever can't be written as JSON is left out.
    #[must_use]
    pub fn before(mut self, what: &impl Serialize) -> Self {
        self.before = serde_json::to_value(what).ok();
        self
    }

    /// What stands there now.
    #[must_use]
    pub fn after(mut self, what: &impl Serialize) -> Self {
        self.after = serde_json::to_value(what).ok();
        self
    }

    /// Why, if that was said.
    pub fn reason(&self) -> Option<&str> {
        self.reason.as_deref()
    }

    /// The same, with its reason.
    #[must_use]
    pub fn because(mut self, reason: Option<String>) -> Self {
        self.reason = reason;
        self
    }
}

/// Part of the transaction that makes the change.
pub(super) async fn write(tx: &mut Tx, now: Millis, deed: &Deed) -> Result<(), sqlx::Error> {
    sqlx::query(
        "insert into audit (at, who, via, action, subject, before, after, reason) values (?, ?, ?, ?, ?, ?, ?, ?)",
    )
    .bind(now.0)
    .bind(&deed.who)
    .bind(deed.via.as_str())
    .bind(deed.action.as_str())
    .bind(&deed.subject)
    .bind(deed.before.as_ref().map(Value::to_string))
    .bind(deed.after.as_ref().map(Value::to_string))
    .bind(&deed.reason)
    .execute(tx)
    .await?;
    Ok(())
}

struct StoredEntry(AuditEntry);

impl FromRow<'_, SqliteRow> for StoredEntry {
    fn from_row(row: &SqliteRow) -> Result<Self, sqlx::Error> {
        let json = |column: &str| -> Result<Value, sqlx::Error> {
            let text: Option<String> = row.try_get(column)?;
            Ok(text.and_then(|text| serde_json::from_str(&text).ok()).unwrap_or(Value::Null))
        };
        let missing = || sqlx::Error::Decode("an audit entry without action or door".into());
        Ok(Self(AuditEntry {
            id: u64::try_from(row.try_get::<i64, _>("id")?).unwrap_or_default(),
            at: Millis(row.try_get("at")?).to_utc(),
            who: row.try_get("who")?,
            via: word(row, "via")?.ok_or_else(missing)?,
            action: word(row, "action")?.ok_or_else(missing)?,
            subject: row.try_get("subject")?,
            changes: changes(&json("before")?, &json("after")?),
            reason: row.try_get("reason")?,
        }))
    }
}

/// The leaves in which two values differ, by dotted path.
fn changes(before: &Value, after: &Value) -> Vec<AuditChange> {
    let mut found = Vec::new();
    compare("", before, after, &mut found);
    found
}

fn compare(path: &str, before: &Value, after: &Value, found: &mut Vec<AuditChange>) {
    let objects = (before.as_object(), after.as_object());
    if objects.0.is_none() && objects.1.is_none() {
        if before != after {
            found.push(AuditChange { field: path.to_owned(), before: told(before), after: told(after) });
        }
        return;
    }
    let empty = serde_json::Map::new();
    let (old, new) = (objects.0.unwrap_or(&empty), objects.1.unwrap_or(&empty));
    let mut names: Vec<&String> = old.keys().chain(new.keys().filter(|k| !old.contains_key(*k))).collect();
    names.sort();
    for name in names {
        let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
        compare(&path, old.get(name).unwrap_or(&Value::Null), new.get(name).unwrap_or(&Value::Null), found);
    }
}

fn told(value: &Value) -> Option<String> {
    match value {
        Value::Null => None,
        Value::String(text) => Some(text.clone()),
        other => Some(other.to_string()),
    }
}

impl Store {
    /// A page of entries, newest first, and where the next begins.
    pub async fn audit(&self, query: &AuditQuery) -> Result<(Vec<AuditEntry>, Option<Cursor>), StoreError> {
        let mut sql: QueryBuilder<Sqlite> =
            QueryBuilder::new("select id, at, who, via, action, subject, before, after, reason from audit where 1");
        if let Some(subject) = &query.subject {
            sql.push(" and subject = ").push_bind(subject.clone());
        }
        if let Some(action) = query.action {
            sql.push(" and action = ").push_bind(action.as_str());
        }
        if let Some(id) = query.after.as_ref().and_then(|c| c.0.parse::<i64>().ok()) {
            sql.push(" and id < ").push_bind(id);
        }
        sql.push(" order by id desc limit ").push_bind(i64::try_from(PAGE + 1).unwrap_or(i64::MAX));
        let mut rows: Vec<StoredEntry> = sql.build_query_as().fetch_all(self.readers()).await?;
        let more = rows.len() > PAGE;
        rows.truncate(PAGE);
        let next = rows.last().filter(|_| more).map(|row| Cursor(row.0.id.to_string()));
        Ok((rows.into_iter().map(|row| row.0).collect(), next))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn told_as(before: &Value, after: &Value) -> Vec<(String, Option<String>, Option<String>)> {
        changes(before, after).into_iter().map(|c| (c.field, c.before, c.after)).collect()
    }

    #[test]
    fn what_differs_is_told_by_its_path() {
        let before = json!({"quota": {"safety": 0.87, "burst": "auto"}, "auth": null, "base_url": "http://a"});
        let after = json!({"quota": {"safety": 0.8, "burst": "auto"}, "auth": {"header": "X"}, "base_url": "http://a"});
        let some = |text: &str| Some(text.to_owned());
        assert_eq!(
            told_as(&before, &after),
            [("auth.header".into(), None, some("X")), ("quota.safety".into(), some("0.87"), some("0.8"))]
        );
        assert_eq!(told_as(&Value::Null, &json!({"n": 3})), [("n".into(), None, some("3"))]);
        assert_eq!(told_as(&json!({"a": {"b": 1}}), &Value::Null), [("a.b".into(), some("1"), None)]);
        assert_eq!(told_as(&before, &before), []);
    }
}
