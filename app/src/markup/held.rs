//! An attribute that an element has: what was set, or the effect or listener that keeps it.

use std::borrow::Cow;

use leptos::{
    prelude::Owner,
    reactive::effect::RenderEffect,
    wasm_bindgen::{JsCast, JsValue, closure::Closure},
};
use web_sys::Element;

use super::attr::{Attr, Value};

/// See the module.
pub(super) enum Held {
    /// Set once. `None`: not there.
    Fixed(Option<Cow<'static, str>>),
    /// Kept by an effect.
    Live(#[expect(dead_code, reason = "lives as long as this")] RenderEffect<()>),
    /// Kept by a listener.
    Listens(#[expect(dead_code, reason = "lives as long as this")] Listener),
    /// Nothing to keep.
    Done,
}

impl Held {
    /// Puts an attribute on an element. The server's page has it already: then only effects and listeners begin.
    pub(super) fn new(el: &Element, attr: Attr, hydrating: bool) -> Self {
        match attr {
            Attr::Named(name, value) => keep(el, value, hydrating, move |el, now| put(el, name, now)),
            Attr::Class(name, value) => keep(el, value, hydrating, move |el, now| {
                let classes = el.class_list();
                let _ = if now.is_some() { classes.add_1(name) } else { classes.remove_1(name) };
            }),
            // A property is never in the page, and a person may have changed it meanwhile.
            Attr::Prop(name, value) => keep(el, value, false, move |el, now| {
                let now = match now {
                    None => JsValue::FALSE,
                    Some("") if matches!(name, "checked" | "disabled" | "open" | "selected") => JsValue::TRUE,
                    Some(text) => JsValue::from_str(text),
                };
                set_property(el, name, &now);
            }),
            Attr::On(name, listener) => Self::Listens(Listener::new(el, name, listener.take())),
            Attr::Refer(tell) => {
                tell(el);
                Self::Done
            }
        }
    }

    /// Puts another in its place.
    pub(super) fn change(&mut self, el: &Element, attr: Attr) {
        match (&mut *self, attr) {
            (Self::Fixed(before), Attr::Named(name, value)) if !matches!(value, Value::Live(_)) => {
                let now = value.now();
                if *before != now {
                    put(el, name, now.as_deref());
                    *before = now;
                }
            }
            // Whoever made the view anew has a reference of its own, which knows no element yet.
            (Self::Done, Attr::Refer(tell)) => tell(el),
            (held, attr) => *held = Self::new(el, attr, false),
        }
    }
}

fn keep(el: &Element, value: Value, hydrating: bool, set: impl Fn(&Element, Option<&str>) + 'static) -> Held {
    match value {
        Value::Live(value) => Held::Live(effect(el.clone(), value, hydrating, Box::new(set))),
        fixed => {
            let now = fixed.now();
            if !hydrating && now.is_some() {
                set(el, now.as_deref());
            }
            Held::Fixed(now)
        }
    }
}

type Set = Box<dyn Fn(&Element, Option<&str>)>;

fn effect(el: Element, value: Box<dyn Fn() -> Value + Send>, hydrating: bool, set: Set) -> RenderEffect<()> {
    let mut set_before: Option<Option<Cow<'static, str>>> = None;
    RenderEffect::new(move |_| {
        let now = value().now();
        let first = set_before.is_none();
        if set_before.as_ref() != Some(&now) && !(first && hydrating) {
            set(&el, now.as_deref());
        }
        set_before = Some(now);
    })
}

fn put(el: &Element, name: &str, value: Option<&str>) {
    let _ = match value {
        Some(value) => el.set_attribute(name, value),
        None => el.remove_attribute(name),
    };
}

#[cfg(feature = "hydrate")]
fn set_property(el: &Element, name: &str, value: &JsValue) {
    let _ = js_sys::Reflect::set(el, &JsValue::from_str(name), value);
}

#[cfg(not(feature = "hydrate"))]
fn set_property(_: &Element, _: &str, _: &JsValue) {}

/// A listener; it ends with this.
pub(super) struct Listener {
    el: Element,
    name: Cow<'static, str>,
    callback: Closure<dyn FnMut(web_sys::Event)>,
}

impl Listener {
    fn new(el: &Element, name: Cow<'static, str>, mut listener: Box<dyn FnMut(web_sys::Event)>) -> Self {
        // What a listener makes belongs to whoever made the element, and it finds the same contexts.
        let owner = Owner::current().unwrap_or_default();
        let callback = Closure::new(move |event| owner.with(|| listener(event)));
        let _ = el.add_event_listener_with_callback(&name, callback.as_ref().unchecked_ref());
        Self { el: el.clone(), name, callback }
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        let callback = self.callback.as_ref().unchecked_ref();
        let _ = self.el.remove_event_listener_with_callback(&self.name, callback);
    }
}
