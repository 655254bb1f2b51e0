//! The order in which an arrival is decided.
//!
//! 1. An episode that is on turns it away: not judged, not charged.
//! 2. The judge accepts or refuses it, on the clock read under the same lock that orders arrivals.
//! 3. A path rule, else the next line of the script, answers it.
//! 4. A body that is no request is refused with 400.
//! 5. The fault of its input, else a passing fault, else the dropped connection of its latency, befalls it.
//! 6. It is answered as usual.
//!
//! Refusals, 400 and 413 come at once; what a model would have worked on comes after the drawn latency.

use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, to_bytes};
use axum::extract::State;
use axum::response::{IntoResponse as _, Response};
use http::{Request, StatusCode};

use super::answer::{Answer, What, nothing};
use super::echo::echo;
use super::faults::Fault;
use super::incoming::{Incoming, Route};
use super::judge::Ruling;
use super::latency::Timing;
use super::ledger::{Call, End, InFlight, Verdict};
use super::reply::Reply;
use super::{Core, Shared, anthropic, openai};
use crate::lock::locked;

/// The largest body that is read.
const MAX_BODY: usize = 256 << 20;

/// What was decided about a call.
struct Decision {
    verdict: Verdict,
    answer: Answer,
    /// A usual answer is one that the content filter ate.
    filtered: bool,
    rate: Vec<(&'static str, String)>,
}

/// Takes one call from arrival to answer.
pub(crate) async fn arrive(State(shared): State<Arc<Shared>>, request: Request<Body>) -> Response {
    let (parts, body) = request.into_parts();
    let Ok(body) = to_bytes(body, MAX_BODY).await else {
        return StatusCode::PAYLOAD_TOO_LARGE.into_response();
    };
    let incoming = Incoming::read(parts, body);
    let (decision, number) = shared.decide(&incoming);
    let mut call = InFlight::new(Arc::clone(&shared), number);

    if !decision.answer.delay.is_zero() {
        tokio::time::sleep(decision.answer.delay).await;
    }
    let answer = match decision.answer.what {
        What::Usual => shared.usual(&incoming, number, decision.filtered).what,
        what => what,
    };
    let What::Given(given) = answer else {
        call.end(End::Cut);
        return nothing();
    };
    let told = decision
        .rate
        .iter()
        .fold(Answer { delay: Duration::ZERO, what: What::Given(given) }, |a, (name, value)| a.header(name, value));
    match told.header("x-request-id", &format!("req_sim_{number}")).what {
        What::Given(given) => given.into_response(call),
        What::Usual | What::Nothing => nothing(),
    }
}

impl Shared {
    /// Decides a call and writes it down, in one step.
    fn decide(&self, incoming: &Incoming) -> (Decision, u64) {
        let (api, episodes) = (incoming.api(), self.episodes.state());
        let tokens = incoming.tokens(self.spec.answer_words);
        let path = incoming.parts.uri.path();
        let input_fault = self.spec.faults.of_input(self.spec.seed, path, &incoming.body);
        let (key, engine) = (incoming.header("idempotency-key"), incoming.header("penstock-engine"));

        let mut core = locked(&self.core);
        let now = self.clock.now();
        let decision = if episodes.outage {
            turned_away(api.outage())
        } else if episodes.insufficient_quota {
            turned_away(api.used_up())
        } else {
            let Core { judge, .. } = &mut *core;
            let ruling = judge.as_mut().map(|judge| (judge.arrive(now, tokens), *judge.spec()));
            let rate = match &ruling {
                Some((ruling, spec)) if spec.headers => api.rate_headers(ruling),
                _ => Vec::new(),
            };
            if let Some((Ruling { refused: Some((dimension, wait)), .. }, spec)) = ruling {
                let answer = api.refusal(&spec, dimension, wait);
                Decision { verdict: Verdict::Refused, answer, filtered: false, rate }
            } else {
                let (answer, filtered) = self.work(&mut core, incoming, input_fault, episodes.slow);
                Decision { verdict: Verdict::Accepted, answer, filtered, rate }
            }
        };
        let status = match &decision.answer.what {
            What::Usual => Some(200),
            What::Given(given) => Some(given.status.as_u16()),
            What::Nothing => None,
        };
        let number = core.ledger.open(Call {
            at: now,
            method: incoming.parts.method.clone(),
            path: path.into(),
            key,
            id: incoming.id.clone(),
            engine,
            status,
            verdict: decision.verdict,
            end: End::Open,
            ended_at: None,
        });
        (decision, number)
    }

    /// What becomes of a call that was let in, and whether the content filter ate its answer.
    fn work(&self, core: &mut Core, incoming: &Incoming, input_fault: Option<Fault>, slow: f64) -> (Answer, bool) {
        let timing = self.spec.latency.map_or(Timing::NONE, |latency| latency.draw(&mut core.rng));
        let passing = self.spec.faults.draw(&mut core.rng);
        let wait = crate::noise::seconds(timing.wait.as_secs_f64() * slow);

        if let Some(answer) = core.rules.take(incoming.parts.uri.path()) {
            return (answer, false);
        }
        let api = incoming.api();
        if let Route::Chat(Err(problem)) | Route::Messages(Err(problem)) = &incoming.route {
            return (api.invalid(problem), false);
        }
        match input_fault.or(passing) {
            Some(Fault::Hang(time)) => (Answer::drop_connection().after(time), false),
            Some(fault @ Fault::TooLarge) => (api.fault(fault).unwrap_or_else(Answer::usual), false),
            _ if timing.dropped => (Answer::drop_connection().after(wait), false),
            Some(fault) => {
                let filtered = fault == Fault::Content200;
                (api.fault(fault).unwrap_or_else(Answer::usual).after(wait), filtered)
            }
            None => (Answer::usual().after(wait), false),
        }
    }

    /// The answer when nothing goes wrong.
    fn usual(&self, incoming: &Incoming, number: u64, filtered: bool) -> Answer {
        let reply = Reply {
            number,
            created: crate::clock::unix_seconds(),
            words: self.spec.answer_words,
            word_delay: self.spec.word_delay,
            filtered,
        };
        match &incoming.route {
            Route::Chat(Ok(prompt)) => openai::completion(prompt, reply),
            Route::Messages(Ok(prompt)) => anthropic::message(prompt, reply),
            Route::Chat(Err(problem)) | Route::Messages(Err(problem)) => incoming.api().invalid(problem),
            Route::Embeddings(inputs) => openai::embeddings(*inputs, incoming.body.len()),
            Route::Models => openai::models(&self.spec.models),
            Route::Echo => echo(incoming),
        }
    }
}

fn turned_away(answer: Answer) -> Decision {
    Decision { verdict: Verdict::TurnedAway, answer, filtered: false, rate: Vec::new() }
}
