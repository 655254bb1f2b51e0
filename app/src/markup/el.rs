//! An element, and its life: written by the server, found again by the browser, changed in place, removed.

use leptos::{
    tachys::{
        html::{
            attribute::{Attribute, any_attribute::AnyAttribute},
            element::ElementType,
            event::EventDescriptor,
            node_ref::NodeRefContainer,
        },
        hydration::Cursor,
        renderer::{CastFrom as _, Rndr, types},
        ssr::StreamBuilder,
        view::{
            Mountable, Position, PositionState, Render, RenderHtml,
            add_attr::AddAnyAttr,
            any_view::{AnyView, AnyViewState},
        },
    },
    wasm_bindgen::JsCast,
};
use send_wrapper::SendWrapper;

use super::{
    attr::{self, Attr, IntoAttr},
    child::IntoChild,
    held::Held,
};

/// What never changes about an element, as one text: `s` in SVG or `h`, the tag, then names and values of attributes, each
/// behind a U+0001. One pointer in the program's data, where a table would have four a line.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Fixed(&'static str);

impl Fixed {
    fn is_svg(self) -> bool {
        self.0.starts_with('s')
    }

    fn tag(self) -> &'static str {
        self.0.split('\u{1}').next().and_then(|tag| tag.get(1..)).unwrap_or_default()
    }

    /// The attributes.
    pub(super) fn attrs(self) -> impl Iterator<Item = (&'static str, &'static str)> {
        let mut parts = self.0.split('\u{1}').skip(1);
        std::iter::from_fn(move || Some((parts.next()?, parts.next()?)))
    }
}

const SVG: &str = "http://www.w3.org/2000/svg";

/// Elements that have neither children nor an end.
const VOID: &[&str] = &["br", "hr", "img", "input", "link", "meta"];

/// An element. One pointer wide, because it is passed on a lot.
pub(crate) struct El(Box<Inner>);

struct Inner {
    fixed: Fixed,
    attrs: Vec<Attr>,
    children: Vec<AnyView>,
}

impl El {
    /// With what never changes, as [`Fixed`] says.
    pub(crate) fn new(fixed: &'static str) -> Self {
        Self(Box::new(Inner { fixed: Fixed(fixed), attrs: Vec::new(), children: Vec::new() }))
    }

    /// With a child.
    pub(crate) fn add(&mut self, child: impl IntoChild) {
        self.push(child.into_child());
    }

    /// With a text that never changes.
    pub(crate) fn add_text(&mut self, text: &'static str) {
        self.push(text.into_child());
    }

    #[inline(never)]
    fn push(&mut self, child: AnyView) {
        self.0.children.push(child);
    }

    #[inline(never)]
    fn have(&mut self, attr: Attr) {
        self.0.attrs.push(attr);
    }

    /// With an attribute.
    pub(crate) fn set_attr(&mut self, name: &'static str, value: impl IntoAttr) {
        self.have(Attr::Named(name, value.into_attr()));
    }

    /// With a class that is there while the value is true. Stands after `class=`.
    pub(crate) fn set_class(&mut self, name: &'static str, value: impl IntoAttr) {
        self.have(Attr::Class(name, value.into_attr()));
    }

    /// With a property of its object: text, or true and false.
    pub(crate) fn set_prop(&mut self, name: &'static str, value: impl IntoAttr) {
        if cfg!(feature = "hydrate") {
            self.have(Attr::Prop(name, value.into_attr()));
        }
    }

    /// With a listener. Not even made in the server: it may not cross threads.
    pub(crate) fn listen<E: EventDescriptor>(&mut self, event: E, mut listener: impl FnMut(E::EventType) + 'static)
    where
        E::EventType: JsCast,
    {
        if cfg!(feature = "hydrate") {
            let listener = move |event: web_sys::Event| listener(event.unchecked_into());
            self.have(Attr::On(event.name(), SendWrapper::new(Box::new(listener))));
        }
    }

    /// With a reference that learns of it.
    pub(crate) fn set_reference<E: ElementType>(&mut self, reference: impl NodeRefContainer<E>) {
        if cfg!(feature = "hydrate") {
            self.have(Attr::Refer(Box::new(move |el| reference.load(el))));
        }
    }

    fn is_void(&self) -> bool {
        VOID.contains(&self.0.fixed.tag())
    }
}

/// An element that is there.
pub(crate) struct ElState {
    el: types::Element,
    fixed: Fixed,
    attrs: Vec<Held>,
    children: Vec<AnyViewState>,
}

impl Render for El {
    type State = ElState;

    fn build(self) -> ElState {
        let Inner { fixed, attrs, children } = *self.0;
        let el = Rndr::create_element(fixed.tag(), fixed.is_svg().then_some(SVG));
        for (name, value) in fixed.attrs() {
            Rndr::set_attribute(&el, name, value);
        }
        let attrs = attrs.into_iter().map(|a| Held::new(&el, a, false)).collect();
        let children = children
            .into_iter()
            .map(|child| {
                let mut child = child.build();
                child.mount(&el, None);
                child
            })
            .collect();
        ElState { el, fixed, attrs, children }
    }

    fn rebuild(self, state: &mut ElState) {
        let new = &self.0;
        if new.fixed != state.fixed
            || new.children.len() != state.children.len()
            || new.attrs.len() != state.attrs.len()
        {
            let mut new = self.build();
            state.insert_before_this(&mut new);
            state.unmount();
            *state = new;
            return;
        }
        let new = *self.0;
        for (attr, held) in new.attrs.into_iter().zip(&mut state.attrs) {
            held.change(&state.el, attr);
        }
        for (child, held) in new.children.into_iter().zip(&mut state.children) {
            child.rebuild(held);
        }
    }
}

impl Mountable for ElState {
    fn unmount(&mut self) {
        Rndr::remove(&self.el);
    }

    fn mount(&mut self, parent: &types::Element, marker: Option<&types::Node>) {
        Rndr::insert_node(parent, &self.el, marker);
    }

    fn try_mount(&mut self, parent: &types::Element, marker: Option<&types::Node>) -> bool {
        Rndr::try_insert_node(parent, &self.el, marker)
    }

    fn insert_before_this(&self, child: &mut dyn Mountable) -> bool {
        let Some(parent) = Rndr::get_parent(&self.el) else { return false };
        let Some(parent) = types::Element::cast_from(parent) else { return false };
        child.mount(&parent, Some(&self.el));
        true
    }

    fn elements(&self) -> Vec<types::Element> {
        vec![self.el.clone()]
    }
}

impl AddAnyAttr for El {
    type Output<New: Attribute> = Self;

    /// Leptos adds attributes to a component's view when somebody writes them on the component. Nobody does here.
    fn add_any_attr<New: Attribute>(self, _: New) -> Self {
        self
    }
}

impl El {
    fn open(&self, html: &mut String) {
        html.push('<');
        html.push_str(self.0.fixed.tag());
        attr::write(self.0.fixed.attrs(), &self.0.attrs, html);
        html.push('>');
    }

    fn close(tag: &str, html: &mut String) {
        html.push_str("</");
        html.push_str(tag);
        html.push('>');
    }
}

impl RenderHtml for El {
    type AsyncOutput = Self;
    type Owned = Self;

    const MIN_LENGTH: usize = 8;

    fn dry_resolve(&mut self) {
        for child in &mut self.0.children {
            child.dry_resolve();
        }
    }

    async fn resolve(mut self) -> Self {
        let mut children = Vec::with_capacity(self.0.children.len());
        // One after the other: what takes time are the answers, and those were all asked for when the page was made.
        for child in std::mem::take(&mut self.0.children) {
            children.push(child.resolve().await);
        }
        self.0.children = children;
        self
    }

    fn html_len(&self) -> usize {
        2 * self.0.fixed.0.len()
            + 24 * self.0.attrs.len()
            + self.0.children.iter().map(RenderHtml::html_len).sum::<usize>()
    }

    fn to_html_with_buf(
        self,
        html: &mut String,
        position: &mut Position,
        _escape: bool,
        mark_branches: bool,
        _extra: Vec<AnyAttribute>,
    ) {
        self.open(html);
        if !self.is_void() {
            *position = Position::FirstChild;
            for child in self.0.children {
                child.to_html_with_buf(html, position, true, mark_branches, Vec::new());
            }
            Self::close(self.0.fixed.tag(), html);
        }
        *position = Position::NextChild;
    }

    fn to_html_async_with_buf<const OUT_OF_ORDER: bool>(
        self,
        stream: &mut StreamBuilder,
        position: &mut Position,
        _escape: bool,
        mark_branches: bool,
        _extra: Vec<AnyAttribute>,
    ) {
        stream.with_buf(|html| self.open(html));
        if !self.is_void() {
            *position = Position::FirstChild;
            for child in self.0.children {
                child.to_html_async_with_buf::<OUT_OF_ORDER>(stream, position, true, mark_branches, Vec::new());
            }
            stream.with_buf(|html| Self::close(self.0.fixed.tag(), html));
        }
        *position = Position::NextChild;
    }

    fn hydrate<const FROM_SERVER: bool>(self, cursor: &Cursor, position: &PositionState) -> ElState {
        match position.get() {
            Position::FirstChild => cursor.child(),
            Position::Current => {}
            _ => cursor.sibling(),
        }
        let Some(el) = types::Element::cast_from(cursor.current()) else {
            // Not the server's page, or changed by something else: this element is made anew, and Leptos says so for the
            // ones around it.
            return self.build();
        };
        let Inner { fixed, attrs, children } = *self.0;
        let attrs = attrs.into_iter().map(|a| Held::new(&el, a, true)).collect();
        position.set(Position::FirstChild);
        let children = children.into_iter().map(|c| c.hydrate::<true>(cursor, position)).collect();
        cursor.set(el.clone().into());
        position.set(Position::NextChild);
        ElState { el, fixed, attrs, children }
    }

    fn into_owned(self) -> Self {
        self
    }
}

#[cfg(test)]
mod tests {
    use super::Fixed;

    #[test]
    fn what_is_fixed_is_read_as_it_was_written() {
        let fixed = Fixed("sline\u{1}class\u{1}grid\u{1}aria-hidden\u{1}");
        assert!(fixed.is_svg());
        assert_eq!(fixed.tag(), "line");
        assert_eq!(fixed.attrs().collect::<Vec<_>>(), [("class", "grid"), ("aria-hidden", "")]);
        assert_eq!(Fixed("hbr").attrs().count(), 0);
    }
}
