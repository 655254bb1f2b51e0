//! Attributes, properties, listeners: what an element has besides its children.

use std::borrow::Cow;

use send_wrapper::SendWrapper;

/// An attribute's value.
pub(crate) enum Value {
    /// Not there.
    Absent,
    /// There, without a value.
    Flag,
    /// There.
    Text(Cow<'static, str>),
    /// Whatever this says, whenever what it reads has changed.
    Live(Box<dyn Fn() -> Value + Send>),
}

impl Value {
    /// What it is now: a value that is not live.
    pub(super) fn now(&self) -> Option<Cow<'static, str>> {
        match self {
            Self::Absent => None,
            Self::Flag => Some(Cow::Borrowed("")),
            Self::Text(text) => Some(text.clone()),
            Self::Live(value) => value().now(),
        }
    }
}

/// Can be an attribute's value.
pub(crate) trait IntoAttr {
    fn into_attr(self) -> Value;
}

impl IntoAttr for &'static str {
    fn into_attr(self) -> Value {
        Value::Text(Cow::Borrowed(self))
    }
}

impl IntoAttr for String {
    fn into_attr(self) -> Value {
        Value::Text(Cow::Owned(self))
    }
}

impl IntoAttr for bool {
    fn into_attr(self) -> Value {
        if self { Value::Flag } else { Value::Absent }
    }
}

impl IntoAttr for u64 {
    fn into_attr(self) -> Value {
        self.to_string().into_attr()
    }
}

impl<T: IntoAttr> IntoAttr for Option<T> {
    fn into_attr(self) -> Value {
        self.map_or(Value::Absent, IntoAttr::into_attr)
    }
}

impl<F, R> IntoAttr for F
where
    F: Fn() -> R + Send + 'static,
    R: IntoAttr,
{
    fn into_attr(self) -> Value {
        Value::Live(Box::new(move || self().into_attr()))
    }
}

/// One thing that an element has.
pub(super) enum Attr {
    /// An attribute.
    Named(&'static str, Value),
    /// A class that is there while its value is.
    Class(&'static str, Value),
    /// A property of the element's object. Nothing in HTML.
    Prop(&'static str, Value),
    /// A listener. In the browser alone.
    On(Cow<'static, str>, SendWrapper<Box<dyn FnMut(web_sys::Event)>>),
    /// Told of the element once it is there.
    Refer(Box<dyn FnOnce(&web_sys::Element) + Send>),
}

/// Writes attributes into an opening tag, the classes as one.
pub(super) fn write(fixed: impl Iterator<Item = (&'static str, &'static str)>, attrs: &[Attr], html: &mut String) {
    let mut class: Option<Cow<'static, str>> = None;
    for (name, value) in fixed {
        if name == "class" {
            class = Some(Cow::Borrowed(value));
        } else {
            write_one(name, value, html);
        }
    }
    for attr in attrs {
        match attr {
            Attr::Named("class", value) => class = value.now().or(class),
            Attr::Named(name, value) => {
                if let Some(value) = value.now() {
                    write_one(name, &value, html);
                }
            }
            Attr::Class(name, value) => {
                if value.now().is_some() {
                    let before = class.take().unwrap_or_default();
                    class = Some(Cow::Owned(if before.is_empty() {
                        (*name).to_owned()
                    } else {
                        format!("{before} {name}")
                    }));
                }
            }
            Attr::Prop(..) | Attr::On(..) | Attr::Refer(_) => {}
        }
    }
    if let Some(class) = class {
        write_one("class", &class, html);
    }
}

fn write_one(name: &str, value: &str, html: &mut String) {
    html.push(' ');
    html.push_str(name);
    html.push_str("=\"");
    for c in value.chars() {
        match c {
            '&' => html.push_str("&amp;"),
            '<' => html.push_str("&lt;"),
            '>' => html.push_str("&gt;"),
            '"' => html.push_str("&quot;"),
            c => html.push(c),
        }
    }
    html.push('"');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_never_leaves_its_quotes() {
        let mut html = String::new();
        write(
            [("id", "a")].into_iter(),
            &[Attr::Named("title", "\"><script>&".into_attr()), Attr::Named("hidden", true.into_attr())],
            &mut html,
        );
        assert_eq!(html, " id=\"a\" title=\"&quot;&gt;&lt;script&gt;&amp;\" hidden=\"\"");
    }

    #[test]
    fn classes_are_one_attribute() {
        let mut html = String::new();
        write(
            std::iter::empty(),
            &[
                Attr::Named("class", "live".into_attr()),
                Attr::Class("down", (|| true).into_attr()),
                Attr::Class("up", false.into_attr()),
                Attr::Class("late", true.into_attr()),
            ],
            &mut html,
        );
        assert_eq!(html, " class=\"live down late\"");
    }
}
