//! One upstream's form. What is typed is kept until it is saved: no refresh and no error takes it away.

use std::collections::BTreeSet;

use leptos::prelude::*;
use leptos_router::hooks::use_params_map;

use super::{
    draft::{self, Checked, Draft},
    draft_rules, drift, extra, fields, graph, inputs, retries, rules, save, try_answer, versions,
};
use crate::{
    components::{
        actions::Doing,
        header::PageHeader,
        state::{Tone, state},
    },
    i18n::{Catalogue, use_text},
    markup::view,
    model::{
        Problem, UpstreamView,
        upstream::{FieldProblem, Managed, UpstreamConfig, name_is_good},
    },
    paths,
    query::{Query, use_query},
};

/// The upstream that the form is about; none for a new one.
pub(super) type Loaded = Option<UpstreamView>;

/// The form's state.
#[derive(Clone, Copy)]
pub(super) struct Form {
    pub(super) text: &'static Catalogue,
    pub(super) draft: RwSignal<Draft>,
    /// The name of a new upstream.
    pub(super) name: RwSignal<String>,
    pub(super) reason: RwSignal<String>,
    pub(super) checked: Memo<Checked>,
    pub(super) doing: Doing,
    /// Fields that were typed in, by path: before that, no fault is shown at them.
    touched: RwSignal<BTreeSet<String>>,
    /// Saving was tried: all faults are shown.
    pub(super) tried: RwSignal<bool>,
    /// What was loaded, and how the form showed it.
    pub(super) base: StoredValue<(Loaded, Draft)>,
}

impl Form {
    fn new(text: &'static Catalogue, loaded: Loaded) -> Self {
        let config = loaded.as_ref().map_or_else(UpstreamConfig::blank, |view| view.config.clone());
        let base = draft::of(&config);
        let draft = RwSignal::new(base.clone());
        Self {
            text,
            draft,
            name: RwSignal::new(String::new()),
            reason: RwSignal::new(String::new()),
            checked: Memo::new(move |_| draft.with(draft::check)),
            doing: Doing::new(),
            touched: RwSignal::new(BTreeSet::new()),
            tried: RwSignal::new(false),
            base: StoredValue::new((loaded, base)),
        }
    }

    pub(super) fn is_new(self) -> bool {
        self.base.with_value(|(loaded, _)| loaded.is_none())
    }

    /// Whether the configuration file alone may change it.
    pub(super) fn is_locked(self) -> bool {
        self.base.with_value(|(loaded, _)| loaded.as_ref().is_some_and(|v| v.config.managed == Managed::File))
    }

    pub(super) fn typed(self, path: &str) -> String {
        self.draft.with(|draft| draft.get(path).cloned().unwrap_or_default())
    }

    pub(super) fn edit(self, path: &'static str, text: String) {
        self.draft.update(|draft| {
            draft.insert(path.to_owned(), text);
        });
        self.touch(path);
    }

    /// The same for a rule's field.
    pub(super) fn edit_rule(self, path: &str, typed: &str) {
        self.draft.update(|draft| draft_rules::set(draft, path, typed));
        self.touch(path);
    }

    /// Rules change places. Their faults are shown from now on, wherever they are then.
    pub(super) fn rearrange(self, change: impl FnOnce(&mut Draft)) {
        self.draft.update(change);
        let paths = self.draft.with_untracked(draft_rules::paths);
        self.touched.update(|touched| touched.extend(paths));
        self.forget(|field| field.starts_with("rules"));
    }

    /// From now on this field's faults are shown; what the server said about its old value is over.
    pub(super) fn touch(self, path: &str) {
        self.touched.update(|touched| {
            touched.insert(path.to_owned());
        });
        self.forget(|field| field == path);
    }

    /// What the server said about these fields is over.
    fn forget(self, which: impl Fn(&str) -> bool) {
        let told = |p: &Option<Problem>| p.as_ref().is_some_and(|p| p.fields.iter().any(|f| which(&f.field)));
        if self.doing.problem.with_untracked(told) {
            self.doing.problem.update(|problem| {
                if let Some(problem) = problem {
                    problem.fields.retain(|f| !which(&f.field));
                }
            });
        }
    }

    /// All faults, whether shown or not.
    pub(super) fn faults(self) -> Vec<FieldProblem> {
        let mut faults = self.checked.with(|checked| checked.problems.clone());
        if self.is_new() && !self.name.with(|name| name_is_good(name)) {
            faults.insert(0, FieldProblem::new("name", "bad_name", ""));
        }
        faults
    }

    /// The fault that is shown at a field, in words.
    pub(super) fn fault_at(self, path: &str) -> Option<String> {
        let shown = self.tried.get() || self.touched.with(|touched| touched.contains(path));
        let fault = shown.then(|| self.faults().into_iter().find(|f| f.field == path)).flatten();
        let fault =
            fault.or_else(|| self.doing.problem.with(|p| p.as_ref()?.fields.iter().find(|f| f.field == path).cloned()));
        fault.map(|fault| inputs::fault_words(self.text, &fault))
    }
}

/// `/quotas/new` and `/quotas/:name`.
#[component]
pub(crate) fn QuotaPage() -> impl IntoView {
    let t = &use_text().quotas;
    let params = use_params_map();
    let name = Memo::new(move |_| params.with(|p| p.get("name")).unwrap_or_default());
    let is_new = move || name.with(|name| name == "new");
    let loaded: Query<Loaded> = use_query(
        move || name.get(),
        |api, name| async move { if name == "new" { Ok(None) } else { api.upstream(name).await.map(Some) } },
    );
    view! {
        <a class="back" href=paths::QUOTAS>
            <span aria-hidden="true">"←"</span>
            {t.back}
        </a>
        {move || {
            let title = if is_new() { t.new_title.to_owned() } else { name.get() };
            view! { <PageHeader title live=false /> }
        }}
        {loaded.view(move |found| page(loaded, found))}
        {retries::section(name, loaded)}
        {drift::section(name, loaded)}
        {versions::section(name, loaded)}
    }
}

fn page(query: Query<Loaded>, loaded: Loaded) -> AnyView {
    let text = use_text();
    let form = Form::new(text, loaded.clone());
    let groups = fields::GROUPS.iter().map(|(key, fields)| inputs::group(form, key, fields)).collect_view();
    view! {
        {loaded.as_ref().map(|view| facts(text, view))}
        <div class="quota">
            <form class="quota-form" novalidate on:submit=move |event| event.prevent_default()>
                {form.is_new().then(|| inputs::name(form))}
                {groups}
                {rules::panel(form)}
                {try_answer::panel(form)}
            </form>
            <div class="quota-side">
                {graph::panel(form)}
                {save::panel(form, query)}
                {loaded.map(|view| extra::panel(text, view))}
            </div>
        </div>
    }
    .into_any()
}

/// What is in force, and what is remarkable about it.
pub(super) fn facts(text: &'static Catalogue, view: &UpstreamView) -> AnyView {
    let t = &text.quotas;
    view! {
        <div class="quota-facts">
            <div class="bar">
                <span class="chip">{(t.version)(view.version)}</span>
                {super::list::credential(text, view)}
                {view.config.simulated.then(|| view! { <span class="chip" title=text.common.simulated_why>{text.common.simulated}</span> })}
                {(view.config.managed == Managed::File).then(|| state(Tone::Quiet, t.managed))}
            </div>
            {super::list::notes(text, view)}
            {(view.config.managed == Managed::File).then(|| view! { <p class="notice">{t.managed_why}</p> })}
        </div>
    }
    .into_any()
}
