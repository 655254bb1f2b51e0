//! What a page has asked for: written into the page by the server, asked for anew when it changed.

use std::future::Future;

use leptos::prelude::*;
use serde::{Serialize, de::DeserializeOwned};

use crate::{
    api::SharedApi,
    components::notice::problem_view,
    live::use_live,
    model::{Problem, Revisions},
};

/// What can be an answer.
pub(crate) trait Answer: Clone + Serialize + DeserializeOwned + Send + Sync + 'static {}
impl<T: Clone + Serialize + DeserializeOwned + Send + Sync + 'static> Answer for T {}

/// An answer that renews itself.
pub(crate) struct Query<T: Answer> {
    resource: Resource<Result<T, Problem>>,
    busy: RwSignal<bool>,
    last: StoredValue<Option<T>>,
}

#[expect(clippy::expl_impl_clone_on_copy, reason = "derived, it would ask for a Copy answer")]
impl<T: Answer> Clone for Query<T> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<T: Answer> Copy for Query<T> {}

/// The operator's API, wherever this runs.
#[expect(clippy::result_large_err, reason = "the same error as the API's, made once for a page")]
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
    let resource = Resource::new(key, move |key| {
        let asked = api.clone().map(|api| ask(api, key));
        async move {
            busy.try_set(true);
            let answer = match asked {
                Ok(asked) => asked.await,
                Err(problem) => Err(problem),
            };
            busy.try_set(false);
            answer
        }
    });
    Query { resource, busy, last: StoredValue::new(None) }
}

impl<T: Answer> Query<T> {
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
        let part = move || {
            let view = view.clone();
            Suspend::new(async move {
                match self.resource.await {
                    Ok(answer) => {
                        self.last.set_value(Some(answer.clone()));
                        (None, Some(view(answer)))
                    }
                    Err(problem) => (loud.then(|| problem_view(problem)), self.last.get_value().map(view)),
                }
            })
        };
        view! { <Transition fallback=waiting>{part}</Transition> }.into_any()
    }
}

fn waiting() -> AnyView {
    view! { <div class="waiting" aria-busy="true"></div> }.into_any()
}
