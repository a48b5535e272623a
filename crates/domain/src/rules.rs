//! Which review rules a repository has, and which of them a change is read by.
//!
//! Rules are read at a trusted commit, never from the pull request. They are prose for the model:
//! a rule can add to what is reported or narrow it, and can do nothing else.
//!
//! **Invariant:** a rule is sent only if it matches a changed file, and all rules of a question together
//! stay within [`MAX_RULES_BYTES`], whatever the repository holds.

mod front_matter;

use serde::{Deserialize, Serialize};

use crate::settings::{Ignore, InlineRule, Level, Problem, SETTINGS_FILE};
use crate::snapshot::RepoFile;

/// Longest text of one rule file that is sent; what is past it is cut at a line break.
pub const MAX_RULE_BYTES: usize = 8 * 1024;
/// Most bytes of all rules of a question.
pub const MAX_RULES_BYTES: usize = 16 * 1024;

/// Where rules may stand, most specific first: that order decides what is left out when there are too
/// many.
const PLACES: &[Place] = &[
    Place::Folder(".mirilla/rules/", ".md"),
    Place::File("REVIEW.md"),
    Place::File(".github/copilot-instructions.md"),
    Place::Folder(".github/instructions/", ".instructions.md"),
    Place::File("AGENTS.md"),
    Place::File("CLAUDE.md"),
];

enum Place {
    File(&'static str),
    Folder(&'static str, &'static str),
}

impl Place {
    fn holds(&self, path: &str) -> bool {
        match self {
            Self::File(name) => path == *name,
            Self::Folder(folder, ending) => path.strip_prefix(folder).is_some_and(|file| {
                !file.contains('/') && file.len() > ending.len() && file.ends_with(ending)
            }),
        }
    }
}

/// Returns whether a path is one of those that may hold rules.
pub fn is_rule_file(path: &str) -> bool {
    PLACES.iter().any(|place| place.holds(path))
}

/// A rule as it is sent to the model.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rule {
    /// The file it stands in.
    pub path: String,
    /// The files it is about, in gitignore notation; all if empty.
    pub globs: Vec<String>,
    /// Its text, without front matter.
    pub text: String,
    /// Whether the text was cut.
    pub cut: bool,
}

/// The rules for a change.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Selection {
    /// Those that are sent, in the order in which they are sent.
    pub rules: Vec<Rule>,
    /// Files with rules that match but are past the bound; named in the review.
    pub left_out: Vec<String>,
    /// What could not be read in front matter; such a rule applies to all files.
    pub problems: Vec<Problem>,
}

/// Selects the rules for a change.
///
/// `files` are the repository's at the trusted commit (others than rule files are passed over),
/// `inline` the rules of its settings, `changed` the paths of the change. A text that stands twice
/// (`CLAUDE.md` is often `AGENTS.md` again) is sent once.
pub fn select(files: &[RepoFile], inline: &[InlineRule], changed: &[&str]) -> Selection {
    let mut selection = Selection::default();
    let mut candidates: Vec<Rule> = inline
        .iter()
        .map(|rule| Rule {
            path: SETTINGS_FILE.to_owned(),
            globs: rule.globs.clone(),
            text: rule.text.trim().to_owned(),
            cut: false,
        })
        .collect();
    for place in PLACES {
        let mut here: Vec<&RepoFile> = files
            .iter()
            .filter(|file| place.holds(&file.path))
            .collect();
        here.sort_by(|a, b| a.path.cmp(&b.path));
        for file in here {
            let read = front_matter::read(&file.text);
            selection
                .problems
                .extend(read.problems.into_iter().map(|(offset, message)| {
                    Problem::at(&file.path, &file.text, offset, Level::Warning, message)
                }));
            candidates.push(Rule {
                path: file.path.clone(),
                globs: read.globs,
                text: read.body.trim().to_owned(),
                cut: false,
            });
        }
    }
    let mut bytes = 0_usize;
    for mut rule in candidates {
        if rule.text.is_empty() || selection.rules.iter().any(|other| other.text == rule.text) {
            continue;
        }
        if !applies(&rule.globs, changed) {
            continue;
        }
        cut(&mut rule);
        let after = bytes.saturating_add(rule.text.len());
        if after > MAX_RULES_BYTES {
            selection.left_out.push(rule.path);
            continue;
        }
        bytes = after;
        selection.rules.push(rule);
    }
    selection
}

/// Returns whether a rule with these globs is about one of the changed files.
fn applies(globs: &[String], changed: &[&str]) -> bool {
    if globs.is_empty() {
        return true;
    }
    match Ignore::new(globs.iter().map(String::as_str)) {
        Ok(matcher) => changed.iter().any(|path| matcher.matches(path)),
        // Guidance that nobody asked to narrow correctly is still guidance.
        Err(_) => true,
    }
}

/// Cuts a rule's text at the last line break within bounds.
fn cut(rule: &mut Rule) {
    if rule.text.len() <= MAX_RULE_BYTES {
        return;
    }
    let end = rule.text.floor_char_boundary(MAX_RULE_BYTES);
    let kept = rule.text.get(..end).unwrap_or_default();
    let kept = kept.rsplit_once('\n').map_or(kept, |(before, _)| before);
    rule.text = kept.trim_end().to_owned();
    rule.cut = true;
}
