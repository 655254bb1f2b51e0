//! Answers given by hand: rules for paths, and a script for everything else.

use std::collections::{HashMap, VecDeque};

use super::answer::Answer;

/// Path rules stay until they are taken away; the script is used up from its beginning.
#[derive(Debug, Default)]
pub(crate) struct Rules {
    paths: HashMap<String, Answer>,
    script: VecDeque<Answer>,
}

impl Rules {
    pub(crate) fn on_path(&mut self, path: String, answer: Answer) {
        self.paths.insert(path, answer);
    }

    pub(crate) fn off_path(&mut self, path: &str) {
        self.paths.remove(path);
    }

    pub(crate) fn script(&mut self, answers: impl IntoIterator<Item = Answer>) {
        self.script.extend(answers);
    }

    pub(crate) fn script_left(&self) -> usize {
        self.script.len()
    }

    /// The answer for a call to `path`, if one was given by hand. A path rule leaves the script untouched.
    pub(crate) fn take(&mut self, path: &str) -> Option<Answer> {
        self.paths.get(path).cloned().or_else(|| self.script.pop_front())
    }
}
