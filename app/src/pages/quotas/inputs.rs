//! The form's groups and inputs. Each has a label, its unit beside it, and its fault under it.

use leptos::prelude::*;

use super::{
    fields::{Field, Input},
    form::Form,
    number, preset,
};
use crate::{i18n::Catalogue, markup::view, model::upstream::FieldProblem};

/// A field's id on the page.
pub(super) fn id(path: &str) -> String {
    format!("field-{}", path.replace('.', "-"))
}

/// A fault in words. Its range is said in the field's own unit.
pub(super) fn fault_words(text: &Catalogue, fault: &FieldProblem) -> String {
    let share = matches!(super::fields::input_of(&fault.field), Some(Input::Share));
    let edge = |edge: &str| {
        let edge = edge.replace(',', "");
        match edge.parse::<f64>() {
            Ok(n) if share => format!("{}\u{a0}%", number::show_percent(n)),
            Ok(n) if n.fract() == 0.0 => text.number(crate::i18n::whole(n)),
            Ok(n) => number::show(n),
            Err(_) => edge,
        }
    };
    let range = fault.message.strip_prefix("from ").and_then(|range| range.split_once(" to "));
    let range = range.map(|(low, high)| (edge(low), edge(high)));
    (text.quotas.fields.fault)(&fault.code, range.as_ref().map(|(a, b)| (a.as_str(), b.as_str())), &fault.message)
}

/// A group of fields.
pub(super) fn group(form: Form, key: &'static str, fields: &'static [Field]) -> AnyView {
    let f = &form.text.quotas.fields;
    let title = format!("group-{key}");
    let inputs = fields.iter().map(|field| input(form, *field)).collect_view();
    let of_all = (key == "quota").then(|| fault(form, "quota"));
    view! {
        <fieldset class=format!("panel pad group-{key}") aria-labelledby=title disabled=form.is_locked()>
            <div>
                <h2 id=title.clone()>{(f.group)(key)}</h2>
                <p class="muted why">{(f.group_why)(key)}</p>
                {of_all}
            </div>
            <div class="fields">{inputs}</div>
        </fieldset>
    }
    .into_any()
}

/// The place of a field's fault. It is there from the start, so that what comes into it is read aloud.
pub(super) fn fault(form: Form, path: &str) -> AnyView {
    let of = path.to_owned();
    view! { <p class="fault" id=format!("{}-fault", id(path)) role="status">{move || form.fault_at(&of)}</p> }
        .into_any()
}

/// Gives the focus to the first of these elements that can have it.
pub(super) fn focus(ids: &[String]) {
    use leptos::wasm_bindgen::JsCast as _;
    let element = ids
        .iter()
        .filter_map(|id| document().get_element_by_id(id))
        .find(|element| !element.has_attribute("disabled"))
        .and_then(|element| element.dyn_into::<web_sys::HtmlElement>().ok());
    if let Some(element) = element {
        let _ = element.focus();
    }
}

/// The same once the page shows what was changed just now.
pub(super) fn focus_soon(ids: Vec<String>) {
    request_animation_frame(move || focus(&ids));
}

fn around(form: Form, path: &'static str, control: AnyView) -> AnyView {
    let f = &form.text.quotas.fields;
    let (unit, hint) = ((f.unit)(path), (f.hint)(path));
    let wide = matches!(path, "base_url" | "auth.value");
    view! {
        <div class="field" class:wide=wide>
            <label for=id(path)>{(f.label)(path)}</label>
            <div class="with-unit">
                {control}
                {(!unit.is_empty()).then(|| view! { <span class="unit" id=format!("{}-unit", id(path))>{unit}</span> })}
            </div>
            {(!hint.is_empty()).then(|| view! { <small class="hint" id=format!("{}-hint", id(path))>{hint}</small> })}
            {fault(form, path)}
        </div>
    }
    .into_any()
}

/// The ids of what belongs to a field, in the order in which it is read.
fn described(form: Form, path: &str) -> String {
    let f = &form.text.quotas.fields;
    let (unit, hint) = ((f.unit)(path), (f.hint)(path));
    let parts = [("unit", !unit.is_empty()), ("hint", !hint.is_empty()), ("fault", true)];
    let ids: Vec<_> = parts.iter().filter(|(_, is)| *is).map(|(part, _)| format!("{}-{part}", id(path))).collect();
    ids.join(" ")
}

fn input(form: Form, field: Field) -> AnyView {
    let path = field.path;
    let control = match field.input {
        Input::Choice(words) => choice(form, path, words(), false),
        Input::MayChoice(words) => choice(form, path, words(), true),
        Input::Switch => switch(form, path),
        Input::Text => text(form, path, "url"),
        Input::Number | Input::Share | Input::Whole(_) | Input::Auto => text(form, path, "decimal"),
    };
    around(form, path, control)
}

fn text(form: Form, path: &'static str, mode: &'static str) -> AnyView {
    let long = matches!(path, "base_url" | "auth.header" | "auth.value");
    let mode = if long { "text" } else { mode };
    view! {
        <input
            id=id(path)
            class:mono=long
            type="text"
            name=path
            inputmode=mode
            autocomplete="off"
            spellcheck="false"
            autocapitalize="off"
            placeholder=move || form.draft.with(|draft| preset::placeholder(form.text, path, draft))
            aria-describedby=described(form, path)
            aria-invalid=move || form.fault_at(path).map(|_| "true")
            value=untrack(|| form.typed(path))
            prop:value=move || form.typed(path)
            on:input=move |event| form.edit(path, event_target_value(&event))
        />
    }
    .into_any()
}

fn choice(form: Form, path: &'static str, words: Vec<&'static str>, empty: bool) -> AnyView {
    let f = &form.text.quotas.fields;
    let now = untrack(|| form.typed(path));
    let unset = empty.then(|| {
        let words = move || (f.as_preset)((f.choice)(form.draft.with(|draft| preset::preset_choice(path, draft))));
        view! { <option value="" selected=now.is_empty()>{words}</option> }
    });
    let options = words
        .into_iter()
        .map(|word| view! { <option value=word selected=word == now>{(f.choice)(word)}</option> })
        .collect_view();
    view! {
        <select
            id=id(path)
            name=path
            aria-describedby=described(form, path)
            prop:value=move || form.typed(path)
            on:change=move |event| form.edit(path, event_target_value(&event))
        >
            {unset}
            {options}
        </select>
    }
    .into_any()
}

fn switch(form: Form, path: &'static str) -> AnyView {
    let on = move || form.typed(path) == "true";
    view! {
        <input
            id=id(path)
            type="checkbox"
            name=path
            aria-describedby=described(form, path)
            checked=untrack(on)
            prop:checked=on
            on:change=move |event| form.edit(path, event_target_checked(&event).to_string())
        />
    }
    .into_any()
}

/// The name of a new upstream.
pub(super) fn name(form: Form) -> AnyView {
    let t = &form.text.quotas;
    view! {
        <div class="panel pad">
            <div class="field">
                <label for=id("name")>{t.name}</label>
                <div class="with-unit">
                    <input
                        id=id("name")
                        class="mono"
                        type="text"
                        name="name"
                        autocomplete="off"
                        autocapitalize="off"
                        spellcheck="false"
                        maxlength="64"
                        placeholder="vision-api"
                        aria-describedby=format!("{} field-name-hint", "field-name-fault")
                        aria-invalid=move || form.fault_at("name").map(|_| "true")
                        prop:value=move || form.name.get()
                        on:input=move |event| {
                            form.name.set(event_target_value(&event).trim().to_owned());
                            form.touch("name");
                        }
                    />
                </div>
                <small class="hint" id="field-name-hint">{t.name_hint}</small>
                {fault(form, "name")}
            </div>
        </div>
    }
    .into_any()
}
