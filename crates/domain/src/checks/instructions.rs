//! What reviewers are told to do.

use mirilla_diff::LineKind;

use super::source::Source;
use super::{Check, Found, Hits, path};
use crate::review::Severity;

/// Reports an edit of a file that reviewers, this one or others, take their instructions from.
pub(super) fn check(source: &Source<'_>, out: &mut Hits<'_>) {
    if !path::both(source.file)
        .iter()
        .any(|path| is_instructions(path))
    {
        return;
    }
    let first = source
        .first(LineKind::Added, |_| true)
        .and_then(|line| line.new);
    out.push(Found::at(
        Check::ReviewerInstructions,
        first.unwrap_or(0),
        Severity::Medium,
        "Instructions for reviewers were edited",
        "This review was done under the instructions of the base branch. The edit changes what later reviews look at.",
    ));
}

/// The files that steer this reviewer and its kind; the path is lower-case.
fn is_instructions(path: &str) -> bool {
    const NAMES: &[&str] = &[
        "review.md",
        "agents.md",
        "claude.md",
        "gemini.md",
        ".mirilla.toml",
    ];
    NAMES.contains(&path::name(path))
        || path.starts_with(".mirilla/")
        || path == ".github/copilot-instructions.md"
        || path.starts_with(".github/instructions/")
}
