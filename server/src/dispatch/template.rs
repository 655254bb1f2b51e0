//! The request that people set for a source, put in where a record came without method and path (C5).

use app::model::RequestTemplate;

use crate::store::StoredHeaders;

/// Content types that a payload gets that was told without one.
const MADE_UP: [&str; 2] = ["application/json", "text/plain; charset=utf-8"];

/// A request's method, path and headers, filled in from what is set for its source. The record's own headers win, but for a
/// content type that was made up for want of one.
pub fn filled(own: StoredHeaders, set: RequestTemplate) -> (String, String, StoredHeaders) {
    let sets_type = set.headers.keys().any(|name| name.eq_ignore_ascii_case("content-type"));
    let made_up = |(name, value): &(String, String)| name == "content-type" && MADE_UP.contains(&&**value);
    let mut headers: StoredHeaders = own.into_iter().filter(|header| !(sets_type && made_up(header))).collect();
    let new = |name: &str| !headers.iter().any(|(own, _)| own.eq_ignore_ascii_case(name));
    let added: Vec<_> = set.headers.into_iter().filter(|(name, _)| new(name)).collect();
    headers.extend(added);
    (set.method, set.path, headers)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_record_tells_itself_wins_but_for_a_type_that_was_made_up() {
        let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        let set = RequestTemplate {
            method: "PUT".into(),
            path: "/x".into(),
            headers: [pair("X-Model", "set"), pair("Content-Type", "application/x-tiles")].into(),
        };
        let (method, path, headers) =
            filled(vec![pair("content-type", "application/json"), pair("x-model", "own")], set);
        assert_eq!((&*method, &*path), ("PUT", "/x"));
        assert_eq!(headers, [pair("x-model", "own"), pair("Content-Type", "application/x-tiles")]);
    }
}
