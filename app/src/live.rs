//! What is pushed: the overview about once a second, and whether the stream is up.

use leptos::prelude::*;

use crate::{
    model::{Overview, Problem},
    query::{Query, boundary, use_query},
};

/// The live state of the console, as a context.
#[derive(Clone, Copy)]
pub(crate) struct Live {
    /// The newest overview: the page's own until the stream brings one.
    pub(crate) overview: RwSignal<Option<Overview>>,
    /// Whether the stream is up. True until it is known to be down.
    pub(crate) connected: RwSignal<bool>,
    /// The overview that the page was written with.
    pub(crate) first: Query<Overview>,
    /// Counts seconds after hydration, for countdowns. Stays 0 in the server.
    pub(crate) second: RwSignal<u64>,
    /// Whether the page is hydrated, so that times may be shown in the reader's own zone.
    pub(crate) hydrated: RwSignal<bool>,
}

/// The context. A page outside of [`provide_live`] gets one that never changes.
pub(crate) fn use_live() -> Live {
    use_context::<Live>().unwrap_or_else(provide_live)
}

/// Makes the context and, in a browser, connects.
pub(crate) fn provide_live() -> Live {
    let door = at_the_door();
    let first = use_query(
        || (),
        move |api, ()| async move {
            if door {
                return Err(Problem::new(401, "sign-in", "Sign in", "Sign in first."));
            }
            api.overview().await
        },
    );
    let live = Live {
        overview: RwSignal::new(None),
        connected: RwSignal::new(true),
        first,
        second: RwSignal::new(0),
        hydrated: RwSignal::new(false),
    };
    provide_context(live);
    Effect::new(move || {
        if let Some(Ok(overview)) = live.first.get()
            && live.overview.with_untracked(Option::is_none)
        {
            live.overview.set(Some(overview));
        }
    });
    #[cfg(feature = "hydrate")]
    Effect::new(move || {
        live.hydrated.set(true);
        if !door {
            stream::connect(live);
        }
    });
    live
}

impl Live {
    /// A view of the overview, in the page from the start and live afterwards.
    pub(crate) fn view(
        self,
        view: impl Fn(Result<Overview, Problem>) -> AnyView + Clone + Send + Sync + 'static,
    ) -> AnyView {
        boundary(move || {
            let view = view.clone();
            let newest = self.overview.get();
            Box::pin(async move {
                view(match newest {
                    Some(newest) => Ok(newest),
                    None => self.first.answer().await,
                })
            })
        })
    }

    /// Seconds since this was called, ticking in the browser; for figures that were right when the data was read.
    pub(crate) fn elapsed(self) -> impl Fn() -> u64 + Copy + Send + Sync + 'static {
        let born = self.second.get_untracked();
        move || self.second.get().saturating_sub(born)
    }
}

/// Whether this is the page for signing in. Nothing is asked for there: whoever sees it may not see anything else.
pub(crate) fn at_the_door() -> bool {
    #[cfg(feature = "hydrate")]
    let path = location().pathname().unwrap_or_default();
    #[cfg(not(feature = "hydrate"))]
    let path = crate::shell::requested_path();
    path == crate::paths::LOGIN
}

#[cfg(feature = "hydrate")]
mod stream {
    //! One EventSource. A hidden tab closes it: a browser has six connections per server, and nobody looks.

    use std::{cell::RefCell, rc::Rc, time::Duration};

    use leptos::prelude::*;
    use wasm_bindgen::{JsCast, closure::Closure};
    use web_sys::{EventSource, MessageEvent};

    use super::Live;

    type Slot = Rc<RefCell<Option<EventSource>>>;

    fn hidden() -> bool {
        document().visibility_state() == web_sys::VisibilityState::Hidden
    }

    /// Connects for as long as the page lives.
    pub(super) fn connect(live: Live) {
        let slot: Slot = Rc::default();
        open(live, &slot);
        let on_visibility = Closure::<dyn Fn()>::new(move || {
            if hidden() {
                if let Some(source) = slot.borrow_mut().take() {
                    source.close();
                }
            } else {
                open(live, &slot);
            }
        });
        let _ = document().add_event_listener_with_callback("visibilitychange", on_visibility.as_ref().unchecked_ref());
        on_visibility.forget();
        set_interval(move || live.second.update(|s| *s += 1), Duration::from_secs(1));
    }

    fn open(live: Live, slot: &Slot) {
        if hidden() || slot.borrow().is_some() {
            return;
        }
        let Ok(source) = EventSource::new(&format!("{}/events", crate::paths::API)) else { return };
        let on_overview = Closure::<dyn Fn(MessageEvent)>::new(move |event: MessageEvent| {
            let Some(text) = event.data().as_string() else { return };
            if let Ok(overview) = serde_json::from_str(&text) {
                live.connected.set(true);
                live.overview.set(Some(overview));
            }
        });
        let _ = source.add_event_listener_with_callback("overview", on_overview.as_ref().unchecked_ref());
        on_overview.forget();
        let on_open = Closure::<dyn Fn()>::new(move || live.connected.set(true));
        source.set_onopen(Some(on_open.as_ref().unchecked_ref()));
        on_open.forget();
        // The browser reconnects by itself after a drop; after an HTTP error it gives up, so we try again.
        let again = Rc::clone(slot);
        let on_error = Closure::<dyn Fn()>::new(move || {
            live.connected.set(false);
            let gave_up = again.borrow().as_ref().is_some_and(|s| s.ready_state() == EventSource::CLOSED);
            if gave_up {
                again.borrow_mut().take();
                let again = Rc::clone(&again);
                set_timeout(move || open(live, &again), Duration::from_secs(5));
            }
        });
        source.set_onerror(Some(on_error.as_ref().unchecked_ref()));
        on_error.forget();
        slot.borrow_mut().replace(source);
    }
}
