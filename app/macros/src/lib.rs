//! `view!`: the syntax of Leptos' macro of that name, for the console's own `markup::El`.
//!
//! Leptos gives each piece of markup a type of its own, with code of its own to build, change, hydrate and remove it.
//! For a console of some hundred elements that is most of the WebAssembly. This macro makes every element a value of one
//! type; components are still Leptos' and are written as before.
//!
//! Known here: elements, attributes (also as closures, which then stay live), `on:`, `class:`, `prop:`, `node_ref`,
//! text, blocks, components, several roots.

use proc_macro2::{Ident, Span, TokenStream};
use quote::{quote, quote_spanned};
use rstml::node::{KVAttributeValue, KeyedAttribute, Node, NodeAttribute, NodeBlock, NodeElement};

/// Markup. One element becomes an `El`, anything else an `AnyView`.
#[proc_macro]
pub fn view(tokens: proc_macro::TokenStream) -> proc_macro::TokenStream {
    let parser = rstml::Parser::new(rstml::ParserConfig::default().recover_block(true));
    let (nodes, errors) = parser.parse_recoverable(proc_macro2::TokenStream::from(tokens)).split_vec();
    let mut faults = Vec::with_capacity(errors.len());
    for error in errors {
        faults.push(error.emit_as_expr_tokens());
    }
    let body = match nodes.as_slice() {
        [one] => node(one, false),
        many => {
            let children = children(many, false);
            quote!(crate::markup::fragment(::std::vec![#(#children),*]))
        }
    };
    quote!({ #[allow(unused_braces)] { #(#faults;)* #body } }).into()
}

/// Elements of SVG that the console uses, for markup whose root is one of them.
const SVG: &[&str] = &["svg", "g", "path", "rect", "line", "circle", "text", "polyline", "polygon"];

fn children(nodes: &[Node], svg: bool) -> Vec<TokenStream> {
    nodes
        .iter()
        .filter(|n| !matches!(n, Node::Comment(_)))
        .map(|n| {
            let n = node(n, svg);
            quote!(crate::markup::child(#n))
        })
        .collect()
}

fn node(node: &Node, svg: bool) -> TokenStream {
    match node {
        Node::Element(e) if is_component(e) => component(e),
        Node::Element(e) => element(e, svg),
        Node::Fragment(f) => {
            let children = children(&f.children, svg);
            quote!(crate::markup::fragment(::std::vec![#(#children),*]))
        }
        Node::Block(NodeBlock::ValidBlock(block)) => quote!(#block),
        Node::Block(block @ NodeBlock::Invalid(_)) => quote!(#block),
        Node::Text(text) => {
            let value = &text.value;
            quote!(crate::markup::child(#value))
        }
        other => {
            let span = Span::call_site();
            let _ = other;
            quote_spanned!(span=> compile_error!("this kind of markup is not known here"))
        }
    }
}

fn is_component(element: &NodeElement<rstml::Infallible>) -> bool {
    element.open_tag.name.to_string().starts_with(char::is_uppercase)
}

/// A component goes to Leptos' own macro, its children as one block.
fn component(element: &NodeElement<rstml::Infallible>) -> TokenStream {
    let name = &element.open_tag.name;
    let attributes = &element.open_tag.attributes;
    if element.close_tag.is_none() {
        return quote!(::leptos::prelude::IntoAny::into_any(::leptos::prelude::view! { <#name #(#attributes)* /> }));
    }
    // One block alone stays as it is: components with a typed child take it as it is written.
    let inner = match element.children.as_slice() {
        [Node::Block(block)] => quote!(#block),
        many => {
            let children = children(many, false);
            quote!({ crate::markup::fragment(::std::vec![#(#children),*]) })
        }
    };
    quote! {
        ::leptos::prelude::IntoAny::into_any(::leptos::prelude::view! { <#name #(#attributes)*>#inner</#name> })
    }
}

/// An element: what is fixed about it as one text in the program's data, the rest as calls.
fn element(element: &NodeElement<rstml::Infallible>, svg: bool) -> TokenStream {
    let tag = element.open_tag.name.to_string();
    let svg = svg || SVG.contains(&tag.as_str());
    // The namespace, the tag, then names and values of attributes, as `El::new` reads them.
    let mut fixed = format!("{}{tag}", if svg { 's' } else { 'h' });
    let mut calls = Vec::new();
    for attribute in &element.open_tag.attributes {
        match attribute {
            NodeAttribute::Attribute(a) => match literal(a) {
                Some((key, value)) => {
                    for part in [key, value] {
                        fixed.push('\u{1}');
                        fixed.push_str(&part);
                    }
                }
                None => calls.push(call(a)),
            },
            NodeAttribute::Block(_) => calls.push(quote!(.spreading_is_not_known_here())),
        }
    }
    let children = element.children.iter().filter(|n| !matches!(n, Node::Comment(_))).map(|n| match n {
        Node::Text(text) => {
            let value = &text.value;
            quote!(el.add_text(#value))
        }
        n => {
            let n = node(n, svg);
            quote!(el.add(#n))
        }
    });
    // Children first, as in Leptos' macro: what an attribute may borrow, a child must not have taken, in both alike.
    quote!({
        let mut el = crate::markup::El::new(#fixed);
        #(#children;)*
        #(el #calls;)*
        el
    })
}

fn key(attribute: &KeyedAttribute) -> String {
    attribute.key.to_string().replace(' ', "").trim_start_matches("r#").to_owned()
}

/// An attribute that is known here and now.
fn literal(attribute: &KeyedAttribute) -> Option<(String, String)> {
    let key = key(attribute);
    if key.contains(':') || key == "node_ref" {
        return None;
    }
    match attribute.possible_value.to_value() {
        None => Some((key, String::new())),
        Some(value) => match &value.value {
            KVAttributeValue::Expr(_) => value.value_literal_string().filter(|_| is_text(value)).map(|v| (key, v)),
            KVAttributeValue::InvalidBraced(_) => None,
        },
    }
}

/// A string literal: `true` and `false` are not text.
fn is_text(value: &rstml::node::AttributeValueExpr) -> bool {
    let tokens = quote!(#value).to_string();
    tokens.trim_start_matches(['=', ' ']).starts_with(['"', 'r'])
}

fn call(attribute: &KeyedAttribute) -> TokenStream {
    let key = key(attribute);
    let value = attribute.possible_value.to_value().map(|v| match &v.value {
        KVAttributeValue::Expr(e) => quote!(#e),
        KVAttributeValue::InvalidBraced(b) => quote!(#b),
    });
    let value = value.unwrap_or_else(|| quote!(true));
    match key.split_once(':') {
        Some(("on", event)) => {
            let event = Ident::new(event, Span::call_site());
            quote!(.listen(::leptos::ev::#event, #value))
        }
        Some(("class", name)) => quote!(.set_class(#name, #value)),
        Some(("prop", name)) => quote!(.set_prop(#name, #value)),
        _ if key == "node_ref" => quote!(.set_reference(#value)),
        _ => quote!(.set_attr(#key, #value)),
    }
}
