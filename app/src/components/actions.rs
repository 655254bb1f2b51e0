//! Something that a person does: one at a time, with its problem shown where it was done.

use std::future::Future;

use leptos::{prelude::*, task::spawn_local};

use crate::model::Problem;

/// An action's state.
#[derive(Clone, Copy)]
pub(crate) struct Doing {
    /// Whether it is under way; its buttons are off meanwhile, so a double click does it once.
    pub(crate) busy: RwSignal<bool>,
    /// Why it failed.
    pub(crate) problem: RwSignal<Option<Problem>>,
}

impl Doing {
    pub(crate) fn new() -> Self {
        Self { busy: RwSignal::new(false), problem: RwSignal::new(None) }
    }

    /// Does it, unless it is being done.
    pub(crate) fn run<T: 'static>(
        self,
        what: impl Future<Output = Result<T, Problem>> + 'static,
        done: impl FnOnce(T) + 'static,
    ) {
        if self.busy.get_untracked() {
            return;
        }
        self.busy.set(true);
        self.problem.set(None);
        spawn_local(async move {
            let answer = what.await;
            self.busy.try_set(false);
            match answer {
                Ok(answer) => done(answer),
                Err(problem) => {
                    self.problem.try_set(Some(problem));
                }
            }
        });
    }

    /// Its problem, where it happened.
    pub(crate) fn problem_view(self) -> AnyView {
        (move || self.problem.get().map(super::notice::problem_view)).into_any()
    }
}
