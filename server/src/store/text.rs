//! Full-text search over pending records. SQLite's tokenizers don't find Chinese words: each CJK character is indexed as
//! a word of its own, and a run of them is asked for as a phrase.

use app::model::RecordId;
use sqlx::{QueryBuilder, Row, Sqlite};

use super::Tx;

/// How much of a payload is searchable.
const PAYLOAD: usize = 16 * 1024;

const fn is_cjk(c: char) -> bool {
    matches!(c, '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}' | '\u{ac00}'..='\u{d7af}' | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{3134f}')
}

/// The text as it is indexed.
pub(super) fn spaced(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + text.len() / 4);
    for c in text.chars() {
        if is_cjk(c) {
            out.extend([' ', c, ' ']);
        } else {
            out.push(c);
        }
    }
    out
}

/// What a person typed, as an FTS5 query: every word must occur, the last one as a prefix. Nothing typed is syntax.
/// None where there is no word in it.
pub(super) fn query(typed: &str) -> Option<String> {
    let mut phrases: Vec<String> = typed
        .split_whitespace()
        .map(|word| spaced(&word.replace('"', " ")))
        .filter(|word| word.chars().any(char::is_alphanumeric))
        .map(|word| format!("\"{}\"", word.trim()))
        .collect();
    if let Some(last) = phrases.last_mut() {
        last.push('*');
    }
    if phrases.is_empty() { None } else { Some(phrases.join(" ")) }
}

/// (Re)indexes a record, as part of the transaction that parks it.
pub(super) async fn index(tx: &mut Tx, id: RecordId) -> Result<(), sqlx::Error> {
    let row = sqlx::query(
        "select message, code, path, idempotency_key, (select substr(body, 1, ?) from payload where record_id = record.id) as body \
         from record where id = ?",
    )
    .bind(i64::try_from(PAYLOAD).unwrap_or(0))
    .bind(id.as_i64())
    .fetch_one(&mut *tx)
    .await?;
    let mut said: Vec<String> = Vec::new();
    for column in ["message", "code", "path", "idempotency_key"] {
        said.extend(row.try_get::<Option<String>, _>(column)?);
    }
    let body: Option<Vec<u8>> = row.try_get("body")?;
    let words = words(said.iter().map(String::as_str), body.as_deref());
    sqlx::query("delete from record_text where rowid = ?").bind(id.as_i64()).execute(&mut *tx).await?;
    insert(tx, std::iter::once((id.as_i64(), words))).await
}

/// What is searchable of a record: what was said of it, and the beginning of its payload.
pub(super) fn words<'a>(said: impl Iterator<Item = &'a str>, body: Option<&[u8]>) -> String {
    let mut words = String::new();
    for text in said {
        words.push_str(&spaced(text));
        words.push(' ');
    }
    if let Some(body) = body {
        let beginning = String::from_utf8_lossy(body.get(..PAYLOAD).unwrap_or(body));
        words.push_str(&spaced(&without_base64(&beginning)));
    }
    words
}

/// Embedded images and files (`data:…;base64,…`) are no words, and would be most of the index.
fn without_base64(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once(";base64,") {
        out.push_str(before);
        rest =
            after.trim_start_matches(|c: char| c.is_ascii_alphanumeric() || matches!(c, '+' | '/' | '=' | '-' | '_'));
    }
    out.push_str(rest);
    out
}

/// Indexes records that were not indexed before.
pub(super) async fn insert(tx: &mut Tx, rows: impl Iterator<Item = (i64, String)>) -> Result<(), sqlx::Error> {
    let rows: Vec<_> = rows.collect();
    if rows.is_empty() {
        return Ok(());
    }
    let mut sql: QueryBuilder<Sqlite> = QueryBuilder::new("insert into record_text (rowid, words) ");
    sql.push_values(rows, |mut row, (id, words)| {
        row.push_bind(id).push_bind(words);
    });
    sql.build().execute(tx).await?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chinese_is_asked_for_as_a_phrase() {
        assert_eq!(query("瓦片 timeout").as_deref(), Some("\"瓦  片\" \"timeout\"*"));
    }

    #[test]
    fn embedded_files_are_not_indexed() {
        let body = br#"{"image":"data:image/png;base64,iVBORw0KGgo+/=","say":"roof"}"#;
        assert_eq!(words(["slow"].into_iter(), Some(body)), r#"slow {"image":"data:image/png","say":"roof"}"#);
    }

    #[test]
    fn nothing_typed_is_syntax() {
        assert_eq!(query("a\" OR b*").as_deref(), Some("\"a\" \"OR\" \"b*\"*"));
        assert_eq!(query("  \" ** "), None);
    }
}
