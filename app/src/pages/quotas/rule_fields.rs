//! The fields of one rule of the upstream's own.

use leptos::prelude::*;

use super::{draft_rules, form::Form, inputs};
use crate::{
    markup::view,
    model::{ErrorClass, upstream::Action},
};

fn around(form: Form, path: &str, label: &'static str, control: AnyView) -> AnyView {
    view! {
        <div class="field">
            <label for=inputs::id(path)>{label}</label>
            {control}
            {inputs::fault(form, path)}
        </div>
    }
    .into_any()
}

/// A text: the status, the place, or what stands there.
pub(super) fn text(form: Form, index: usize, field: &'static str, label: &'static str) -> AnyView {
    let t = &form.text.quotas.rules;
    let path = draft_rules::path(index, field);
    let [of_value, of_hint, of_fault, of_edit] = [(); 4].map(|()| path.clone());
    let hint = move || match field {
        "status" => t.any_status,
        "pointer" => t.some_pointer,
        _ if form.draft.with(|draft| draft.contains_key(&of_hint)) => t.empty_value,
        _ => t.any_value,
    };
    let control = view! {
        <input
            id=inputs::id(&path)
            class:mono=field != "status"
            type="text"
            name=path.clone()
            inputmode=if field == "status" { "numeric" } else { "text" }
            autocomplete="off"
            spellcheck="false"
            autocapitalize="off"
            placeholder=hint
            aria-describedby=format!("{}-fault", inputs::id(&path))
            aria-invalid=move || form.fault_at(&of_fault).map(|_| "true")
            value=untrack(|| form.typed(&path))
            prop:value=move || form.typed(&of_value)
            on:input=move |event| form.edit_rule(&of_edit, &event_target_value(&event))
        />
    };
    around(form, &path, label, control.into_any())
}

/// The class.
pub(super) fn class(form: Form, index: usize) -> AnyView {
    let options = ErrorClass::ALL.iter().map(|class| (class.as_str(), (form.text.words.class)(*class)));
    select(form, &draft_rules::path(index, "class"), form.text.quotas.rules.class, ().into_any(), options.collect())
}

/// The action, or whatever the table says of the class.
pub(super) fn action(form: Form, index: usize) -> AnyView {
    let (t, f) = (&form.text.quotas.rules, &form.text.quotas.fields);
    let of_class = draft_rules::path(index, "class");
    let path = draft_rules::path(index, "action");
    let unset = untrack(|| form.typed(&path)).is_empty();
    let as_table = move || {
        let class = form.typed(&of_class).parse::<ErrorClass>().ok();
        let action = class.map(|class| form.checked.with(|checked| checked.config.action(class)));
        (t.as_table)(action.map_or("", |action| (f.choice)(action.as_str())))
    };
    let first = view! { <option value="" selected=unset>{as_table}</option> };
    let options = Action::ALL.iter().map(|action| (action.as_str(), (f.choice)(action.as_str())));
    select(form, &path, t.action, first.into_any(), options.collect())
}

fn select(
    form: Form,
    path: &str,
    label: &'static str,
    first: AnyView,
    options: Vec<(&'static str, &'static str)>,
) -> AnyView {
    let now = untrack(|| form.typed(path));
    let options = options
        .into_iter()
        .map(|(value, words)| view! { <option value=value selected=value == now>{words}</option> })
        .collect_view();
    let [of_value, of_edit] = [(); 2].map(|()| path.to_owned());
    let control = view! {
        <select
            id=inputs::id(path)
            name=path.to_owned()
            aria-describedby=format!("{}-fault", inputs::id(path))
            prop:value=move || form.typed(&of_value)
            on:change=move |event| form.edit_rule(&of_edit, &event_target_value(&event))
        >
            {first}
            {options}
        </select>
    };
    around(form, path, label, control.into_any())
}
