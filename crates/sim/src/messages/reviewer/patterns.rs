//! The patterns, and the walk over a file's lines that looks for them.

use std::sync::LazyLock;

use regex::Regex;

use super::super::finding::SimFinding;
use super::language::Language;
use super::shown::{Kind, Shown, ShownFile};

mod data;
mod failures;
mod loops;
mod secrets;
mod state;

/// A regular expression that is compiled on first use.
pub(super) struct Rx(LazyLock<Option<Regex>>);

impl Rx {
    pub(super) const fn new(compile: fn() -> Option<Regex>) -> Self {
        Self(LazyLock::new(compile))
    }

    pub(super) fn hits(&self, text: &str) -> bool {
        self.0.as_ref().is_some_and(|rx| rx.is_match(text))
    }

    /// Returns the text without what is matched.
    pub(super) fn without(&self, text: &str) -> String {
        let rx = self.0.as_ref();
        rx.map_or_else(
            || text.to_owned(),
            |rx| rx.replace_all(text, "").into_owned(),
        )
    }

    /// Returns the first group that took part.
    pub(super) fn group<'t>(&self, text: &'t str) -> Option<&'t str> {
        let found = self.0.as_ref()?.captures(text)?;
        found
            .iter()
            .skip(1)
            .flatten()
            .next()
            .map(|group| group.as_str())
    }
}

/// Declares a [`Rx`]; a test compiles them all.
macro_rules! rx {
    ($($name:ident = $pattern:expr;)*) => {
        $(static $name: $crate::messages::reviewer::patterns::Rx =
            $crate::messages::reviewer::patterns::Rx::new(|| regex::Regex::new($pattern).ok());)*

        #[cfg(test)]
        pub(super) const ALL_RX: &[(&str, &str)] = &[$((stringify!($name), $pattern)),*];
    };
}
pub(super) use rx;

/// What a pattern sees: a line, and the lines around it.
#[derive(Clone, Copy)]
pub(super) struct View<'f> {
    pub(super) language: Language,
    pub(super) is_test: bool,
    file: &'f ShownFile,
    at: usize,
    line: &'f Shown,
}

impl<'f> View<'f> {
    /// Returns the line's code.
    pub(super) fn code(&self) -> &'f str {
        &self.line.text
    }

    /// Returns the file's path.
    pub(super) fn path(&self) -> &'f str {
        &self.file.path
    }

    pub(super) fn is(&self, languages: &[Language]) -> bool {
        languages.contains(&self.language)
    }

    /// Returns the next lines of the new file, without those after a gap.
    pub(super) fn following(&self) -> impl Iterator<Item = &'f Shown> + use<'f> {
        let rest = self.file.lines.iter().skip(self.at.saturating_add(1));
        rest.take_while(|line| !line.gap)
            .filter(|line| line.kind != Kind::Removed)
    }

    /// Returns the lines of the new file before this one, nearest first, without those before a gap.
    pub(super) fn preceding(&self) -> impl Iterator<Item = &'f Shown> + use<'f> {
        let before = self.file.lines.get(..=self.at).unwrap_or_default();
        let mut over = false;
        let until_gap = before.iter().rev().take_while(move |line| {
            let keep = !over;
            over = line.gap;
            keep
        });
        until_gap.skip(1).filter(|line| line.kind != Kind::Removed)
    }

    /// Returns whether any shown line of the new file holds this.
    pub(super) fn shows(&self, needle: &str) -> bool {
        let mut new = self
            .file
            .lines
            .iter()
            .filter(|line| line.kind != Kind::Removed);
        new.any(|line| line.text.contains(needle))
    }

    /// Returns all shown lines of the new file.
    pub(super) fn all(&self) -> impl Iterator<Item = &'f str> + use<'f> {
        let new = self
            .file
            .lines
            .iter()
            .filter(|line| line.kind != Kind::Removed);
        new.map(|line| line.text.as_str())
    }
}

/// Where a pattern was found.
#[derive(Debug, Clone, Default)]
pub(super) struct Hit {
    /// How many lines of the new file after the first belong to it.
    pub(super) more_lines: u32,
    /// What the title's `{}` stands for.
    pub(super) subject: String,
    /// What should stand in place of the line.
    pub(super) suggestion: Option<String>,
}

impl Hit {
    pub(super) fn here() -> Self {
        Self::default()
    }

    pub(super) fn about(subject: impl Into<String>) -> Self {
        Self {
            subject: subject.into(),
            ..Self::default()
        }
    }
}

/// One kind of defect.
pub(super) struct Pattern {
    pub(super) severity: &'static str,
    pub(super) category: &'static str,
    pub(super) title: &'static str,
    pub(super) message: &'static str,
    pub(super) confidence: u8,
    /// Which lines are looked at: added ones, or removed ones.
    pub(super) on: Kind,
    pub(super) find: fn(&View<'_>) -> Option<Hit>,
}

/// Lines before a finding in which its function is looked for.
const SYMBOL_LINES: usize = 60;

rx! {
    FUNCTION = r"\b(?:fn|func|def|function|sub)\s+(?:\([^)]*\)\s*)?([A-Za-z_]\w*)";
    METHOD = r"^\s*(?:(?:public|private|protected|internal|static|final|async|override|virtual)\s+)+[\w<>\[\], ?]*?\b([A-Za-z_]\w*)\s*\(";
}

/// Returns what is found in one file, in the order of its lines.
pub(super) fn scan(file: &ShownFile) -> Vec<SimFinding> {
    let language = Language::of(&file.path);
    if language == Language::Other {
        return Vec::new();
    }
    let is_test = Language::is_test(&file.path);
    let mut found: Vec<SimFinding> = Vec::new();
    for (at, line) in file.lines.iter().enumerate() {
        if language.is_comment(&line.text) {
            continue;
        }
        let view = View {
            language,
            is_test,
            file,
            at,
            line,
        };
        let hits = all()
            .filter(|pattern| pattern.on == line.kind)
            .filter_map(|pattern| {
                let hit = (pattern.find)(&view)?;
                finding(&view, pattern, hit)
            });
        for new in hits {
            let known = |old: &SimFinding| old.line == new.line && old.category == new.category;
            if !found.iter().any(known) {
                found.push(new);
            }
        }
    }
    found
}

fn all() -> impl Iterator<Item = &'static Pattern> {
    [
        failures::ALL,
        data::ALL,
        secrets::ALL,
        state::ALL,
        loops::ALL,
    ]
    .into_iter()
    .flatten()
}

fn finding(view: &View<'_>, pattern: &Pattern, hit: Hit) -> Option<SimFinding> {
    // A removed line cannot be commented on in the new file; the next line there can.
    let anchor = match view.line.kind {
        Kind::Removed => view.following().next()?,
        Kind::Added | Kind::Context => view.line,
    };
    let symbol = view.preceding().take(SYMBOL_LINES).find_map(|line| {
        let name = FUNCTION.group(&line.text);
        name.or_else(|| METHOD.group(&line.text))
    });
    Some(SimFinding {
        path: view.file.path.clone(),
        line: anchor.number,
        end_line: anchor.number.saturating_add(hit.more_lines),
        severity: pattern.severity,
        category: pattern.category,
        title: pattern.title.replace("{}", &hit.subject),
        message: pattern.message.replace("{}", &hit.subject),
        confidence: pattern.confidence,
        quote: anchor.text.trim().to_owned(),
        symbol: symbol.unwrap_or_default().to_owned(),
        rule: String::new(),
        suggestion: hit.suggestion,
    })
}

#[cfg(test)]
mod tests;
