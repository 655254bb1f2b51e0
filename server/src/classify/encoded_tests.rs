//! Packed bodies are judged like plain ones, as soon as their bytes come, in bounded memory.

use std::io::Write as _;

use app::model::upstream::Profile;
use flate2::{
    Compression,
    write::{DeflateEncoder, GzEncoder, ZlibEncoder},
};
use http::StatusCode;
use proptest::prelude::*;

use super::*;
use crate::classify::{
    Failure, Inspector, Verdict,
    testing::{headers, now},
};

const ERROR: &str = r#"{"error":{"code":"insufficient_quota","message":"paid out"}}"#;
const DELTA: &str = "data: {\"choices\":[{\"delta\":{\"content\":\"hi\"}}]}\n\n";
/// The same, by another program's brotli.
const ERROR_BR: &str = concat!(
    "1b3b00609c07b60d6bbb332f2c48cf06f9a508dd5ebdd5a50e4b5f8a7c858143",
    "0edcaf59d8164866c1c6d899622b4a93c2c8a1789a4d9780f19e631e"
);

fn packed(coding: &str, text: &[u8]) -> Vec<u8> {
    let level = Compression::default();
    match coding {
        "gzip" | "x-gzip" => {
            let mut to = GzEncoder::new(Vec::new(), level);
            to.write_all(text).unwrap();
            to.finish().unwrap()
        }
        "deflate" => {
            let mut to = ZlibEncoder::new(Vec::new(), level);
            to.write_all(text).unwrap();
            to.finish().unwrap()
        }
        "bare deflate" => {
            let mut to = DeflateEncoder::new(Vec::new(), level);
            to.write_all(text).unwrap();
            to.finish().unwrap()
        }
        other => panic!("{other}"),
    }
}

fn look<'a>(coding: &str, kind: &str, chunks: impl IntoIterator<Item = &'a [u8]>, complete: bool) -> Verdict {
    let coding = coding.trim_start_matches("bare ");
    let of = headers(&[("content-type", kind), ("content-encoding", coding)]);
    let mut inspector = Inspector::new(Profile::Openai, StatusCode::OK, &of, now());
    for chunk in chunks {
        inspector.feed(chunk);
        assert!(inspector.held() < 1024 * 1024);
    }
    inspector.finish(complete)
}

fn code(verdict: &Verdict) -> Option<&str> {
    verdict.failure().and_then(|failure| failure.code.as_deref())
}

proptest! {
    #[test]
    fn an_error_inside_is_found_however_it_is_packed_and_cut(
        coding in prop::sample::select(vec!["gzip", "x-gzip", "deflate", "bare deflate"]),
        size in 1usize..100,
    ) {
        let body = packed(coding, ERROR.as_bytes());
        let verdict = look(coding, "application/json", body.chunks(size), true);
        prop_assert_eq!(code(&verdict), Some("insufficient_quota"), "{:?}", verdict);
    }
}

#[test]
fn brotli_too() {
    let bytes: Vec<u8> =
        (0..ERROR_BR.len() / 2).map(|i| u8::from_str_radix(&ERROR_BR[2 * i..2 * i + 2], 16).unwrap()).collect();
    for size in [1, 7, 1000] {
        assert_eq!(code(&look("br", "application/json", bytes.chunks(size), true)), Some("insufficient_quota"));
    }
}

#[test]
fn an_event_is_seen_when_its_bytes_come_not_with_the_next() {
    let of = headers(&[("content-type", "text/event-stream"), ("content-encoding", "gzip")]);
    let mut inspector = Inspector::new(Profile::Openai, StatusCode::OK, &of, now());
    let mut packer = GzEncoder::new(Vec::new(), Compression::default());
    packer.write_all(b": keep-alive\n\n").unwrap();
    packer.flush().unwrap();
    inspector.feed(&std::mem::take(packer.get_mut()));
    assert!(inspector.is_stream() && !inspector.first_delta_seen());
    packer.write_all(DELTA.as_bytes()).unwrap();
    packer.flush().unwrap();
    inspector.feed(&std::mem::take(packer.get_mut()));
    assert!(inspector.first_delta_seen());
    packer.write_all(b"data: {\"error\":{\"type\":\"overloaded_error\"}}\n\n").unwrap();
    let verdict = {
        inspector.feed(&packer.finish().unwrap());
        inspector.finish(true)
    };
    assert!(verdict.failure().is_some_and(|failure| failure.after_first_delta), "{verdict:?}");
}

#[test]
fn a_little_that_unpacks_to_very_much_is_looked_at_no_further() {
    let bomb = packed("gzip", &vec![b' '; 2 * MOST]);
    assert!(bomb.len() < MOST / 500);
    assert_eq!(look("gzip", "application/json", [bomb.as_slice()], true), Verdict::Success { usage: None });
    assert_eq!(look("gzip", "text/event-stream", bomb.chunks(1000), true), Verdict::Success { usage: None });
}

#[test]
fn what_cant_be_unpacked_is_judged_by_its_status() {
    let whole = packed("gzip", ERROR.as_bytes());
    for body in [&b"no gzip at all"[..], &[0xff; 100], &[0x1f, 0x8b, 8], b""] {
        let verdict = look("gzip", "text/plain", [body], true);
        let of = headers(&[("content-type", "text/event-stream"), ("content-encoding", "gzip")]);
        let mut stream = Inspector::new(Profile::Openai, StatusCode::OK, &of, now());
        stream.feed(b"data: plain\n\n");
        assert!(!stream.sees(), "nothing will come of looking longer");
        assert_eq!(verdict, Verdict::Success { usage: None }, "{body:?}");
    }
    let of = headers(&[("content-type", "application/json"), ("content-encoding", "gzip")]);
    let mut refused = Inspector::new(Profile::Openai, StatusCode::TOO_MANY_REQUESTS, &of, now());
    refused.feed(whole.get(..20).unwrap());
    let verdict = refused.finish(true);
    assert_eq!(verdict.failure().map(|failure: &Failure| &*failure.rule), Some("429: too many requests"));
}

#[test]
fn two_codings_or_one_that_is_unknown_are_not_read() {
    let of = |codings: &[(&'static str, &'static str)]| Coding::of(&headers(codings));
    assert_eq!(of(&[]), Some(Coding::Identity));
    assert_eq!(of(&[("content-encoding", " Identity ")]), Some(Coding::Identity));
    assert_eq!(of(&[("content-encoding", "GZIP")]), Some(Coding::Gzip));
    for unknown in ["gzip, br", "zstd", "br,identity"] {
        assert_eq!(Coding::of(&headers(&[("content-encoding", unknown)])), None, "{unknown}");
    }
    let mut twice = headers(&[("content-encoding", "gzip")]);
    twice.append("content-encoding", "br".parse().unwrap());
    assert_eq!(Coding::of(&twice), None);
}

#[test]
fn people_read_it_unpacked() {
    let of = headers(&[("content-encoding", "gzip")]);
    let body = packed("gzip", ERROR.as_bytes());
    assert_eq!(readable(&of, &body, 1000), ERROR.as_bytes());
    assert_eq!(readable(&of, &body, 7), &ERROR.as_bytes()[..7]);
    assert!(!readable(&of, body.get(..30).unwrap(), 1000).is_empty(), "as far as it goes");
    assert_eq!(readable(&headers(&[]), b"plain", 3), b"pla");
    assert_eq!(readable(&of, b"not packed at all", 3), b"not", "as it came, where it is not what it calls itself");
}
