//! What a page has asked for: written into the page by the server, asked for anew when it changed.

use std::{future::Future, marker::PhantomData, pin::Pin, sync::Arc};

use leptos::prelude::*;
use serde::{Serialize, de::DeserializeOwned};

use crate::{
    api::SharedApi,
    components::notice::problem_view,
    i18n::use_text,
    live::use_live,
    markup::{child, fragment},
    model::{Problem, Revisions},
};

/// What can be an answer.
pub(crate) trait Answer: Clone + Serialize + DeserializeOwned + Send + Sync + 'static {}
impl<T: Clone + Serialize + DeserializeOwned + Send + Sync + 'static> Answer for T {}

/// An answer that renews itself. It is kept as JSON: one resource for all kinds of answers is one resource's code in the
/// WebAssembly, and the page carries it as JSON anyway.
pub(crate) struct Query<T: Answer> {
    resource: Resource<Result<String, Problem>>,
    busy: RwSignal<bool>,
    last: StoredValue<Option<String>>,
    kind: PhantomData<fn() -> T>,
}

#[expect(clippy::expl_impl_clone_on_copy, reason = "derived, it would ask for a Copy answer")]
impl<T: Answer> Clone for Query<T> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<T: Answer> Copy for Query<T> {}

/// The operator's API, wherever this runs.
pub(crate) fn use_api() -> Result<SharedApi, Problem> {
    use_context::<SharedApi>()
        .ok_or_else(|| Problem::new(500, "no-api", "The console is not connected", "No API was provided to this page."))
}

/// Asks when the page is made, and again whenever the key changes.
pub(crate) fn use_query<K, T, F>(
    key: impl Fn() -> K + Send + Sync + 'static,
    ask: impl Fn(SharedApi, K) -> F + Send + Sync + 'static,
) -> Query<T>
where
    K: PartialEq + Clone + Send + Sync + 'static,
    T: Answer,
    F: Future<Output = Result<T, Problem>> + Send + 'static,
{
    let api = use_api();
    let busy = RwSignal::new(false);
    let key = Memo::new(move |_| key());
    // The resource depends on a count of the keys, whatever their type.
    let turn = Memo::new(move |turn: Option<&u64>| {
        key.track();
        turn.map_or(0, |turn| turn + 1)
    });
    let asked: Arc<dyn Fn() -> Asked + Send + Sync> = Arc::new(move || {
        // A page that is gone while its question is being asked, as when the server lists the routes, asks nothing.
        let Some(key) = key.try_get_untracked() else {
            return Box::pin(async {
                Err(Problem::new(499, "page-gone", "The page is gone", "Nobody waits for this answer."))
            });
        };
        match &api {
            Ok(api) => {
                let asked = ask(Arc::clone(api), key);
                Box::pin(async move { asked.await.map(|answer| write(&answer)) })
            }
            Err(problem) => {
                let problem = problem.clone();
                Box::pin(async move { Err(problem) })
            }
        }
    });
    Query { resource: resource(turn, asked, busy), busy, last: StoredValue::new(None), kind: PhantomData }
}

type Asked = Pin<Box<dyn Future<Output = Result<String, Problem>> + Send>>;

fn resource(
    turn: Memo<u64>,
    asked: Arc<dyn Fn() -> Asked + Send + Sync>,
    busy: RwSignal<bool>,
) -> Resource<Result<String, Problem>> {
    Resource::new(
        move || turn.try_get().unwrap_or_default(),
        move |_| {
            let asked = asked();
            async move {
                busy.try_set(true);
                let answer = asked.await;
                busy.try_set(false);
                answer
            }
        },
    )
}

fn write<T: Serialize>(answer: &T) -> String {
    // Data of this crate is JSON by construction; should it not be, the page says that the answer can't be read.
    serde_json::to_string(answer).unwrap_or_default()
}

fn read<T: DeserializeOwned>(json: &str) -> Result<T, Problem> {
    serde_json::from_str(json).map_err(|e| {
        let text = &use_text().common;
        Problem::new(0, "unreadable", text.unreadable_title, e.to_string()).hint(text.unreadable_hint)
    })
}

impl<T: Answer> Query<T> {
    /// The answer, once there is one. Tracked.
    pub(crate) fn get(self) -> Option<Result<T, Problem>> {
        self.resource.get().map(|answer| answer.and_then(|json| read(&json)))
    }

    /// The answer, awaited.
    pub(crate) async fn answer(self) -> Result<T, Problem> {
        self.resource.await.and_then(|json| read(&json))
    }

    /// Asks again now, for instance after an action.
    pub(crate) fn refetch(self) {
        self.resource.refetch();
    }

    /// Asks again when a counter of [`Revisions`] went up. One question at a time: while an answer is awaited, the
    /// next question waits for it.
    pub(crate) fn refetch_on(self, counter: fn(&Revisions) -> u64) -> Self {
        let live = use_live();
        self.refetch_when(move || live.overview.with(|o| o.as_ref().map(|o| counter(&o.revisions))))
    }

    /// Asks again when a value changed. `None` is "not known yet", and changes nothing.
    pub(crate) fn refetch_when<V: PartialEq + Copy + Send + Sync + 'static>(
        self,
        value: impl Fn() -> Option<V> + Send + Sync + 'static,
    ) -> Self {
        Effect::new(move |seen: Option<Option<V>>| {
            let value = value();
            let busy = self.busy.get();
            match (seen.flatten(), value) {
                (None, value) => value,
                (Some(seen), Some(value)) if seen != value && !busy => {
                    self.resource.refetch();
                    Some(value)
                }
                (seen, _) => seen,
            }
        });
        self
    }

    /// The answer's view. It is written into the page by the server. Later answers change it in place; when one fails,
    /// the last good one stays, under a notice.
    pub(crate) fn view(self, view: impl Fn(T) -> AnyView + Clone + Send + Sync + 'static) -> AnyView {
        self.shown(true, view)
    }

    /// The same for a second view of one answer: a problem was told in the first.
    pub(crate) fn view_quietly(self, view: impl Fn(T) -> AnyView + Clone + Send + Sync + 'static) -> AnyView {
        self.shown(false, view)
    }

    fn shown(self, loud: bool, view: impl Fn(T) -> AnyView + Clone + Send + Sync + 'static) -> AnyView {
        boundary(move || {
            let view = view.clone();
            Box::pin(async move {
                let answer = match self.resource.await {
                    Ok(json) => read(&json).inspect(|_: &T| self.last.set_value(Some(json))),
                    Err(problem) => Err(problem),
                };
                match answer {
                    Ok(answer) => view(answer),
                    Err(problem) => {
                        let told = loud.then(|| problem_view(problem));
                        let kept = self.last.get_value().and_then(|json| read(&json).ok()).map(view);
                        fragment(vec![child(told), child(kept)])
                    }
                }
            })
        })
    }
}

/// What a part of a page waits for.
type Part = Pin<Box<dyn Future<Output = AnyView> + Send>>;

/// A part of a page that waits for an answer, and is replaced in place by the next one. Not generic: Leptos' boundary is
/// a lot of code, and so is in the WebAssembly once.
pub(crate) fn boundary(part: impl Fn() -> Part + Send + Sync + 'static) -> AnyView {
    fn shared(part: Arc<dyn Fn() -> Part + Send + Sync>) -> AnyView {
        view! { <Transition fallback=waiting>{move || Suspend::new(part())}</Transition> }.into_any()
    }
    shared(Arc::new(part))
}

fn waiting() -> AnyView {
    view! { <div class="waiting" aria-busy="true"></div> }.into_any()
}
