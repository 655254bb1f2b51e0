//! An answer tried out: classified as it would be at the wire, with nothing sent and nothing counted.

use std::{sync::Arc, time::Duration};

use app::model::{
    Again, CountedUnit, FieldProblem, JudgedFailure, Judgement, Problem, ToldLimit, TriedAnswer, UpstreamConfig,
};
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};

use super::upstreams::invalid;
use crate::{
    classify::{self, Answer, Counted, Failure, Limit, Reading, Retryable},
    dispatch::inflight::millis,
    rest::problem,
    retry::{History, Policy, Work, next_step},
    state::App,
};

/// More than any server sends.
const MOST_HEADERS: usize = 200;

/// How an answer would be classified, under what is in force or under what is to be.
pub(super) fn classify(app: &Arc<App>, name: &str, tried: TriedAnswer) -> Result<Judgement, Problem> {
    let config = match tried.config {
        Some(config) => *config,
        None => app.upstreams.get(name).ok_or_else(|| problem::unknown_upstream(app, name))?.settings().config.clone(),
    };
    // What else is wrong with a configuration in the making does not matter here.
    let faults: Vec<FieldProblem> =
        config.problems().into_iter().filter(|fault| fault.field.starts_with("rules")).collect();
    if !faults.is_empty() {
        return Err(invalid(faults));
    }
    let status = StatusCode::from_u16(tried.status)
        .map_err(|_| bad("status", "out_of_range", "an HTTP status has three digits, from 100 to 999"))?;
    let headers = headers(&tried.headers)?;
    let at = app.clock.wall().to_utc().into();
    let answer = Answer { status, headers: &headers, body: tried.body.as_bytes(), complete: true, at };
    let verdict = classify::classify(Reading::from(&config), &answer);
    let told = classify::limits(config.profile, &headers, at);
    Ok(Judgement {
        failure: verdict.failure().map(|failure| judged(&config, failure)),
        tokens: verdict.usage().map(|usage| usage.total),
        limits: told.0.iter().map(limit).collect(),
    })
}

fn bad(field: &str, code: &str, message: &str) -> Problem {
    let mut problem = Problem::new(422, "bad-answer", "No such answer can come", message.to_owned())
        .kept("nothing was sent, and nothing counts")
        .hint("give a status, headers as [name, value] and a body");
    problem.fields = vec![FieldProblem::new(field, code, message)];
    problem
}

fn headers(told: &[(String, String)]) -> Result<HeaderMap, Problem> {
    if told.len() > MOST_HEADERS {
        return Err(bad("headers", "out_of_range", "an answer has at most 200 headers"));
    }
    let mut headers = HeaderMap::new();
    for (name, value) in told {
        let name = HeaderName::from_bytes(name.trim().as_bytes()).ok();
        let value = HeaderValue::from_bytes(value.trim().as_bytes()).ok();
        let pair = name.zip(value).ok_or_else(|| bad("headers", "bad_header", "one of them is no HTTP header"))?;
        headers.append(pair.0, pair.1);
    }
    Ok(headers)
}

fn judged(config: &UpstreamConfig, failure: &Failure) -> JudgedFailure {
    let policy = Policy::resolve(config);
    let history = History {
        attempts_made: 1,
        counted_elapsed: Duration::ZERO,
        deferred_so_far: Duration::ZERO,
        work: Work::Batch,
    };
    // In the middle of the jitter.
    let then = next_step(&policy, &history, failure, 0.5).then(failure);
    JudgedFailure {
        class: failure.class,
        rule: failure.rule.to_string(),
        own_rule: failure.own_rule,
        again: match failure.retryable {
            Retryable::Yes => Again::Yes,
            Retryable::No => Again::No,
            Retryable::UnknownOutcome => Again::Unknown,
        },
        then,
        provider_type: failure.provider_type.clone(),
        code: failure.code.clone(),
        message: failure.message.clone(),
        retry_after_ms: failure.retry_after.map(millis),
        reset_ms: failure.reset.map(millis),
        authentication: failure.authentication,
        suggestion: failure.suggestion,
    }
}

fn limit(told: &Limit) -> ToldLimit {
    ToldLimit {
        counted: match told.counted {
            Counted::Requests => CountedUnit::Requests,
            Counted::Tokens => CountedUnit::Tokens,
            Counted::InputTokens => CountedUnit::InputTokens,
            Counted::OutputTokens => CountedUnit::OutputTokens,
        },
        limit: told.limit,
        remaining: told.remaining,
        reset_ms: told.reset.map(millis),
    }
}
