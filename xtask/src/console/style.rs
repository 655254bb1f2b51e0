//! Plain CSS into one file, and the static files beside it.
//!
//! style/main.css, if there is one, gives the order by its `@import "file.css" layer(name);` lines. Otherwise tokens.css
//! comes first, because the others use its variables, and the rest by name.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use super::{Files, bindgen::read_tree};

/// app.css and everything in style/static/.
pub fn collect(folder: &Path) -> Result<Files> {
    let mut files = Files::new();
    let main = folder.join("main.css");
    let css = if main.exists() { follow(&main, 0)? } else { concatenate(folder)? };
    files.insert("app.css".to_owned(), without_comments(&css).into_bytes());
    let fixed = folder.join("static");
    if fixed.exists() {
        read_tree(&fixed, "", &mut files)?;
    }
    Ok(files)
}

fn read(path: &Path) -> Result<String> {
    fs::read_to_string(path).with_context(|| format!("the style {} could not be read", path.display()))
}

fn concatenate(folder: &Path) -> Result<String> {
    let mut paths: Vec<PathBuf> = Vec::new();
    if folder.exists() {
        for entry in fs::read_dir(folder)? {
            paths.push(entry?.path());
        }
    }
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "css"));
    paths.sort_by_key(|path| (!path.ends_with("tokens.css"), path.clone()));
    let sheets: Result<Vec<_>> = paths.iter().map(|path| read(path)).collect();
    Ok(sheets?.join("\n"))
}

/// A sheet with its imports in their places. An import stands on a line of its own.
fn follow(path: &Path, depth: usize) -> Result<String> {
    if depth > 8 {
        bail!("the style {} imports itself", path.display());
    }
    let mut out = String::new();
    for line in read(path)?.lines() {
        if let Some((file, layer)) = import(line) {
            let sheet = follow(&path.with_file_name(file), depth + 1)?;
            match layer {
                Some(layer) => out.push_str(&format!("@layer {layer} {{\n{sheet}}}\n")),
                None => out.push_str(&sheet),
            }
        } else {
            out.push_str(line);
            out.push('\n');
        }
    }
    Ok(out)
}

/// `@import "file.css";` or `@import "file.css" layer(name);`
fn import(line: &str) -> Option<(&str, Option<&str>)> {
    let rest = line.trim().strip_prefix("@import")?.trim().strip_suffix(';')?.trim_end();
    let rest = rest.strip_prefix("url(").map_or(rest, |inner| inner.trim_start());
    let quote = rest.chars().next().filter(|c| matches!(c, '"' | '\''))?;
    let (file, rest) = rest[1..].split_once(quote)?;
    let rest = rest.trim_start().trim_start_matches(')').trim();
    let layer = rest.strip_prefix("layer(").and_then(|rest| rest.strip_suffix(')'));
    Some((file, layer))
}

/// The lightest minification there is: no comments, no indentation, no empty lines. Brotli does the rest, and nothing
/// that a rule means can change.
fn without_comments(css: &str) -> String {
    let mut out = String::with_capacity(css.len());
    let mut chars = css.chars().peekable();
    let mut quote = None;
    while let Some(c) = chars.next() {
        match (quote, c) {
            (None, '/') if chars.peek() == Some(&'*') => {
                let mut before = ' ';
                chars.next();
                for c in chars.by_ref() {
                    if before == '*' && c == '/' {
                        break;
                    }
                    before = c;
                }
                out.push(' ');
                continue;
            }
            (None, '"' | '\'') => quote = Some(c),
            (Some(open), _) if c == open => quote = None,
            (Some(_), '\\') => {
                out.push(c);
                out.extend(chars.next());
                continue;
            }
            _ => {}
        }
        out.push(c);
    }
    let lines: Vec<_> = out.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    lines.join("\n") + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_go_and_strings_stay() {
        assert_eq!(without_comments("/* a */ a { b: \"/* c */\" } /**/\n\n  d{}"), "a { b: \"/* c */\" }\nd{}\n");
        assert_eq!(without_comments(r#"a::before { content: "\"/*"; }"#), "a::before { content: \"\\\"/*\"; }\n");
        assert_eq!(without_comments("a{} /* never closed"), "a{}\n");
    }

    #[test]
    fn imports_are_recognised() {
        assert_eq!(import("@import \"tokens.css\";"), Some(("tokens.css", None)));
        assert_eq!(import("@import 'a.css' layer(base);"), Some(("a.css", Some("base"))));
        assert_eq!(import("@import url(\"a.css\") layer(base);"), Some(("a.css", Some("base"))));
        assert_eq!(import("a { color: red; }"), None);
    }
}
