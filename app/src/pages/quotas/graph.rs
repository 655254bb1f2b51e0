//! What the limits in the form permit, in words and as a picture.

use leptos::prelude::*;

use super::{
    form::Form,
    number,
    permitted::{self, Permitted},
};
use crate::{
    i18n::{Catalogue, whole},
    markup::view,
};

pub(super) fn panel(form: Form) -> AnyView {
    let t = &form.text.quotas;
    let shown = move || {
        // What can't be read must not be shown as if it were the default.
        if form.checked.with(|c| c.problems.iter().any(|p| p.field.starts_with("quota."))) {
            return view! { <p class="muted">{t.preview_faulty}</p> }.into_any();
        }
        let found = form.checked.with(|c| permitted::of(&c.config));
        if found.is_empty() {
            return view! { <p class="muted">{t.preview_none}</p> }.into_any();
        }
        found.iter().map(|p| one(form.text, p)).collect_view().into_any()
    };
    view! {
        <section class="panel pad permitted" aria-labelledby="permitted-title">
            <h2 id="permitted-title">{t.preview}</h2>
            {shown}
        </section>
    }
    .into_any()
}

/// `522/min permitted, bursts of 6; any 6 s see at most 59 of 60`
fn one(text: &'static Catalogue, p: &Permitted) -> AnyView {
    let t = &text.quotas;
    let figure = |x: f64| if x < 100.0 { text.decimal(x) } else { text.number(whole(x)) };
    let rate = (t.preview_rate)(&figure(p.rate), (text.words.quota_unit)(p.dimension));
    let window = format!("{}\u{a0}{}", number::show(p.window_s), (t.fields.unit)("breaker.window_s"));
    let burst = (t.preview_burst)(&text.number(whole(p.burst)));
    let most = (t.preview_window)(&window, &text.number(whole(p.most)), &text.number(whole(p.allowed)));
    view! {
        <div class="permit" class:over=p.is_over()>
            <p><b>{rate}</b></p>
            <p class="muted">{burst} "; " {most} "."</p>
            {picture(text, p, &window)}
            {p.is_over().then(|| view! { <p class="notice warn">{t.preview_over}</p> })}
        </div>
    }
    .into_any()
}

/// Calls let through from a quiet time on: the burst at once, then the rate, up to the window's end; and the quota.
fn picture(text: &Catalogue, p: &Permitted, window: &str) -> AnyView {
    const HEIGHT: f64 = 72.0;
    const TOP: f64 = 10.0;
    let t = &text.quotas;
    let full = p.allowed.max(p.most).max(1.0);
    let y = |n: f64| HEIGHT - (HEIGHT - TOP) * (n / full).clamp(0.0, 1.0);
    let (start, end, quota) = (y(p.burst), y(p.most), y(p.allowed));
    let line = format!("M0 {HEIGHT:.1}V{start:.1}L300 {end:.1}");
    let area = format!("{line}V{HEIGHT:.1}Z");
    view! {
        <figure>
            <svg viewBox="0 0 300 72" preserveAspectRatio="none" width="100%" height="72" role="img" aria-label=(t.preview_graph)(window)>
                <path class="area" d=area />
                <path class="line" d=line />
                <path class="limit" d=format!("M0 {quota:.1}H300") />
            </svg>
            <figcaption>
                <span class="key-limit">{t.preview_quota} " " {text.number(whole(p.allowed))}</span>
                <span class="key-line">{t.preview_permitted} " " {text.number(whole(p.most))}</span>
                <span>{window.to_owned()}</span>
            </figcaption>
        </figure>
    }
    .into_any()
}
