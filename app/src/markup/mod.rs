//! One type for all markup.
//!
//! Leptos makes a type of every piece of markup, and with it code of its own to build, change, hydrate and remove it: for
//! this console more than half a megabyte of WebAssembly. Here every element is an [`El`]: a tag, a list of attributes, a
//! list of children. What changes by itself (closures as attributes or children) runs in effects as in Leptos. The
//! `view!` macro writes it in Leptos' syntax.

mod attr;
mod child;
mod el;
mod held;

pub(crate) use child::{child, fragment};
pub(crate) use el::El;
pub(crate) use penstock_markup::view;
