//! The upstream's own rules: an ordered list, edited in place.

use leptos::prelude::*;

use super::{changes, draft_rules, form::Form, inputs, rule_fields};
use crate::{markup::view, model::upstream::MOST_RULES};

/// The list with what a person does to it.
#[derive(Clone, Copy)]
struct Rules {
    form: Form,
    /// What was done last, read aloud.
    said: RwSignal<String>,
}

/// The panel.
pub(super) fn panel(form: Form) -> AnyView {
    let t = &form.text.quotas.rules;
    let rules = Rules { form, said: RwSignal::new(String::new()) };
    // The list is made anew when a rule comes or goes alone: typing and moving change it in place.
    let count = Memo::new(move |_| form.draft.with(draft_rules::count));
    let list = move || {
        let n = count.get();
        if form.is_locked() && n > 0 {
            return in_words(form);
        }
        if n == 0 {
            return view! { <p class="muted why">{t.none}</p> }.into_any();
        }
        let items = (0..n).map(|index| rule(rules, index, n)).collect_view();
        view! { <ol class="rules">{items}</ol> }.into_any()
    };
    let full_now = move || count.get() >= MOST_RULES;
    let full = (t.full)(&form.text.number(MOST_RULES as u64));
    view! {
        <fieldset class="panel pad group-rules" aria-labelledby="group-rules" disabled=form.is_locked()>
            <div>
                <h2 id="group-rules">{t.title}</h2>
                <p class="muted why">{t.why} " " {t.example}</p>
                {inputs::fault(form, "rules")}
            </div>
            {list}
            {(!form.is_locked()).then(|| view! {
                <div class="bar needs-js">
                    <button
                        id=inputs::id("rules")
                        class="small"
                        type="button"
                        disabled=full_now
                        on:click=move |_| rules.add()
                    >
                        {t.add}
                    </button>
                    {move || full_now().then(|| view! { <span class="muted">{full.clone()}</span> })}
                </div>
            })}
            <p class="hidden" role="status">{move || rules.said.get()}</p>
        </fieldset>
    }
    .into_any()
}

/// What nobody can change here is read, not typed.
fn in_words(form: Form) -> AnyView {
    let lines = form.base.with_value(|(_, base)| draft_rules::texts(base, &mut Vec::new()));
    let lines = lines.iter().map(|json| view! { <li>{changes::rule(form.text, json)}</li> }).collect_view();
    view! { <ol class="rules-told">{lines}</ol> }.into_any()
}

impl Rules {
    fn add(self) {
        let index = self.form.draft.with_untracked(draft_rules::count);
        self.form.draft.update(draft_rules::add);
        self.said.set((self.form.text.quotas.rules.added)(index + 1));
        inputs::focus_soon(vec![inputs::id(&draft_rules::path(index, "status"))]);
    }

    /// The focus goes along, so that a rule can be moved on by the same key.
    fn shift(self, from: usize, to: usize) {
        self.form.rearrange(|draft| draft_rules::swap(draft, from, to));
        self.said.set((self.form.text.quotas.rules.moved)(to + 1));
        let (first, second) = if to < from { ("up", "down") } else { ("down", "up") };
        inputs::focus_soon(vec![button_id(to, first), button_id(to, second)]);
    }

    fn remove(self, index: usize) {
        self.form.rearrange(|draft| draft_rules::remove(draft, index));
        self.said.set((self.form.text.quotas.rules.removed)(index + 1));
        let before = index.saturating_sub(1);
        inputs::focus_soon(vec![button_id(index, "remove"), button_id(before, "remove"), inputs::id("rules")]);
    }
}

fn button_id(index: usize, what: &str) -> String {
    inputs::id(&draft_rules::path(index, what))
}

fn rule(rules: Rules, index: usize, of: usize) -> AnyView {
    let form = rules.form;
    let t = &form.text.quotas.rules;
    let title = format!("rule-{index}");
    view! {
        <li>
            <div class="rule" role="group" aria-labelledby=title>
                <div class="bar">
                    <h3 id=title.clone()>{(t.nth)(index + 1)}</h3>
                    <span class="spring"></span>
                    {buttons(rules, index, of)}
                </div>
                <div class="rule-fields">
                    {rule_fields::text(form, index, "status", t.status)}
                    {rule_fields::text(form, index, "pointer", t.pointer)}
                    {rule_fields::text(form, index, "value", t.value)}
                    {rule_fields::class(form, index)}
                    {rule_fields::action(form, index)}
                </div>
            </div>
        </li>
    }
    .into_any()
}

fn buttons(rules: Rules, index: usize, of: usize) -> AnyView {
    let t = &rules.form.text.quotas.rules;
    let last = index + 1 == of;
    let (up, down, remove) = ((t.up_nth)(index + 1), (t.down_nth)(index + 1), (t.remove_nth)(index + 1));
    view! {
        <div class="bar needs-js">
            <button
                id=button_id(index, "up")
                class="plain"
                type="button"
                title=up.clone()
                aria-label=up
                disabled=index == 0
                on:click=move |_| rules.shift(index, index.saturating_sub(1))
            >
                <span aria-hidden="true">"↑"</span>
            </button>
            <button
                id=button_id(index, "down")
                class="plain"
                type="button"
                title=down.clone()
                aria-label=down
                disabled=last
                on:click=move |_| rules.shift(index, index + 1)
            >
                <span aria-hidden="true">"↓"</span>
            </button>
            <button id=button_id(index, "remove") class="small" type="button" aria-label=remove on:click=move |_| rules.remove(index)>
                {t.remove}
            </button>
        </div>
    }
    .into_any()
}
