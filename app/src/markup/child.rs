//! What can stand in an element.

use leptos::{prelude::*, tachys::view::any_view::AnyView};

use super::El;

/// Becomes a view of one of a few types, so that each type's code exists once.
pub(crate) trait IntoChild {
    fn into_child(self) -> AnyView;
}

/// A child.
pub(crate) fn child(child: impl IntoChild) -> AnyView {
    child.into_child()
}

/// Several views in a row.
pub(crate) fn fragment(children: Vec<AnyView>) -> AnyView {
    children.into_any()
}

impl IntoChild for AnyView {
    fn into_child(self) -> AnyView {
        self
    }
}

impl IntoChild for El {
    fn into_child(self) -> AnyView {
        self.into_any()
    }
}

impl IntoChild for String {
    fn into_child(self) -> AnyView {
        self.into_any()
    }
}

impl IntoChild for &'static str {
    fn into_child(self) -> AnyView {
        self.into_any()
    }
}

macro_rules! numbers {
    ($($name:ty),+) => {
        $(impl IntoChild for $name {
            fn into_child(self) -> AnyView {
                self.to_string().into_any()
            }
        })+
    };
}
numbers!(u16, u32, u64, usize);

impl IntoChild for () {
    fn into_child(self) -> AnyView {
        fragment(Vec::new())
    }
}

impl<T: IntoChild> IntoChild for Option<T> {
    fn into_child(self) -> AnyView {
        self.map(IntoChild::into_child).into_any()
    }
}

impl<T: IntoChild> IntoChild for Vec<T> {
    fn into_child(self) -> AnyView {
        fragment(self.into_iter().map(IntoChild::into_child).collect())
    }
}

impl<T: IntoChild> IntoChild for View<T> {
    fn into_child(self) -> AnyView {
        self.into_inner().into_child()
    }
}

macro_rules! tuples {
    ($($name:ident),+) => {
        impl<$($name: IntoChild),+> IntoChild for ($($name,)+) {
            #[expect(non_snake_case, reason = "type and value share a name")]
            fn into_child(self) -> AnyView {
                let ($($name,)+) = self;
                fragment(vec![$($name.into_child()),+])
            }
        }
    };
}
tuples!(A, B);
tuples!(A, B, C);

/// A child that stays live: what it reads makes it new.
impl<F, R> IntoChild for F
where
    F: Fn() -> R + Send + 'static,
    R: IntoChild,
{
    fn into_child(self) -> AnyView {
        fn live(child: Box<dyn Fn() -> AnyView + Send>) -> AnyView {
            (move || child()).into_any()
        }
        live(Box::new(move || self().into_child()))
    }
}
