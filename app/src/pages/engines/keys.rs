//! Keys for workers on other hosts: listed, made, revoked.

use leptos::prelude::*;

use crate::{
    components::{
        actions::Doing,
        copy::{Command, as_curl, curl},
        dialog::Dialog,
        notice::use_toasts,
        state::{Tone, state},
        time::{Show, time},
    },
    i18n::Catalogue,
    markup::view,
    model::{KeyView, NewKey},
    query::{Query, use_api, use_query},
};

/// What the dialogs are about.
#[derive(Clone, Copy)]
struct Keys {
    text: &'static Catalogue,
    list: Query<Vec<KeyView>>,
    making: RwSignal<bool>,
    name: RwSignal<String>,
    /// The key that was just made.
    made: RwSignal<Option<String>>,
    revoking: RwSignal<bool>,
    target: RwSignal<Option<KeyView>>,
    doing: Doing,
}

/// The section.
pub(super) fn section(text: &'static Catalogue) -> AnyView {
    let list = use_query(|| (), |api, ()| async move { api.keys().await });
    let keys = Keys {
        text,
        list,
        making: RwSignal::new(false),
        name: RwSignal::new(String::new()),
        made: RwSignal::new(None),
        revoking: RwSignal::new(false),
        target: RwSignal::new(None),
        doing: Doing::new(),
    };
    let t = &text.engines;
    let ask = move |_| {
        keys.doing.problem.set(None);
        keys.made.set(None);
        keys.name.set(String::new());
        keys.making.set(true);
    };
    view! {
        <section class="panel worker-keys" aria-labelledby="keys-of-workers">
            <header>
                <h2 id="keys-of-workers">{t.keys}</h2>
                <small>{t.keys_why}</small>
                <button class="needs-js" type="button" on:click=ask>{t.make}</button>
            </header>
            {list.view(move |found| table(keys, &found))}
            {as_curl(vec![(t.make, curl("POST", "/keys", Some(r#"{"name":"flow-engines"}"#)))])}
        </section>
        {make_dialog(keys)}
        {revoke_dialog(keys)}
    }
    .into_any()
}

fn table(keys: Keys, found: &[KeyView]) -> AnyView {
    let t = &keys.text.engines;
    if found.is_empty() {
        return view! { <p class="muted nothing">{t.no_keys}</p> }.into_any();
    }
    let rows = found.iter().map(|key| row(keys, key)).collect_view();
    view! {
        <div class="scroll" tabindex="0" role="region" aria-label=t.keys_list>
            <table>
                <thead>
                    <tr>
                        <th scope="col">{t.key_name}</th>
                        <th scope="col">{keys.text.replays.state}</th>
                        <th scope="col">{t.hint}</th>
                        <th class="r" scope="col">{t.created}</th>
                        <th class="r" scope="col">{t.used}</th>
                        <th scope="col"><span class="hidden">{t.revoke}</span></th>
                    </tr>
                </thead>
                <tbody>{rows}</tbody>
            </table>
        </div>
    }
    .into_any()
}

fn row(keys: Keys, key: &KeyView) -> AnyView {
    let t = &keys.text.engines;
    let stands = match &key.revoked {
        None => state(Tone::Good, t.in_force),
        Some((_, who)) => {
            let title = (t.revoked_by)((keys.text.words.who)(who));
            view! { <span title=title>{state(Tone::Quiet, t.revoked)}</span> }.into_any()
        }
    };
    let target = key.clone();
    let ask = move |_| {
        keys.doing.problem.set(None);
        keys.target.set(Some(target.clone()));
        keys.revoking.set(true);
    };
    let label = format!("{} {}", t.revoke, key.name);
    view! {
        <tr>
            <th scope="row"><span class="name">{key.name.clone()}</span></th>
            <td>{stands}</td>
            <td><code>"…" {key.hint.clone()}</code></td>
            <td class="r nowrap">{time(key.created_at, Show::DayMinute)}</td>
            <td class="r nowrap">
                {match key.last_used_at {
                    Some(at) => time(at, Show::DayMinute),
                    None => t.never.into_any(),
                }}
            </td>
            <td class="r">
                {key.revoked.is_none().then(|| view! {
                    <button class="small bad needs-js" type="button" aria-label=label on:click=ask>{t.revoke}</button>
                })}
            </td>
        </tr>
    }
    .into_any()
}

fn make_dialog(keys: Keys) -> AnyView {
    let api = use_api();
    let t = &keys.text.engines;
    let make = move |event: leptos::ev::SubmitEvent| {
        event.prevent_default();
        let (api, new) = (api.clone(), NewKey { name: keys.name.get_untracked() });
        keys.doing.run(async move { api?.make_key(new).await }, move |made| {
            keys.made.set(Some(made.secret));
            keys.list.refetch();
        });
    };
    let title = Signal::derive(move || if keys.made.with(Option::is_some) { t.made } else { t.make }.to_owned());
    view! {
        <Dialog open=keys.making id="make-key-title" title=title>
            {
                let make = make.clone();
                move || match keys.made.get() {
                    Some(secret) => made(keys, secret),
                    None => form(keys, make.clone()),
                }
            }
        </Dialog>
    }
    .into_any()
}

fn form(keys: Keys, make: impl FnMut(leptos::ev::SubmitEvent) + 'static) -> AnyView {
    let t = &keys.text.engines;
    view! {
        <form class="stack" on:submit=make>
            <div class="field">
                <label for="key-name">{t.key_name}</label>
                <input
                    id="key-name"
                    type="text"
                    maxlength="64"
                    autocomplete="off"
                    aria-describedby="key-name-hint"
                    prop:value=move || keys.name.get()
                    on:input=move |event| keys.name.set(event_target_value(&event))
                />
                <small class="hint" id="key-name-hint">{t.key_name_hint}</small>
            </div>
            {keys.doing.problem_view()}
            <div class="actions">
                <button type="button" on:click=move |_| keys.making.set(false)>{keys.text.common.cancel}</button>
                <button
                    class="go"
                    type="submit"
                    disabled=move || keys.doing.busy.get() || keys.name.with(|name| name.trim().is_empty())
                >
                    {t.make_go}
                </button>
            </div>
        </form>
    }
    .into_any()
}

fn made(keys: Keys, secret: String) -> AnyView {
    let t = &keys.text.engines;
    view! {
        <div class="stack">
            <p>{t.made_why}</p>
            <Command text=Signal::derive(move || secret.clone()) label=t.made />
            <div class="actions">
                <button class="go" type="button" on:click=move |_| keys.making.set(false)>{keys.text.common.close}</button>
            </div>
        </div>
    }
    .into_any()
}

fn revoke_dialog(keys: Keys) -> AnyView {
    let (api, toasts) = (use_api(), use_toasts());
    let t = &keys.text.engines;
    let title = Signal::derive(move || keys.target.get().map_or_else(String::new, |key| (t.revoke_title)(&key.name)));
    let revoke = move |_| {
        let Some(key) = keys.target.get_untracked() else { return };
        let (api, note) = (api.clone(), (t.revoked_note)(&key.name));
        keys.doing.run(async move { api?.revoke_key(key.id).await }, move |()| {
            keys.revoking.set(false);
            toasts.say(note);
            keys.list.refetch();
        });
    };
    view! {
        <Dialog open=keys.revoking id="revoke-key-title" title=title>
            {
                let revoke = revoke.clone();
                view! {
                    <div class="stack">
                        <p>{t.revoke_why}</p>
                        {keys.doing.problem_view()}
                        <div class="actions">
                            <button type="button" on:click=move |_| keys.revoking.set(false)>{keys.text.common.cancel}</button>
                            <button class="go bad" type="button" disabled=move || keys.doing.busy.get() on:click=revoke>
                                {t.revoke_go}
                            </button>
                        </div>
                    </div>
                }
            }
        </Dialog>
    }
    .into_any()
}
