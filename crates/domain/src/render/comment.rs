//! The text of one comment on a line.
//!
//! **Invariant:** a suggestion is shown only if the plan checked it against the anchored lines.

use super::words::{self, Words};
use crate::anchor::Anchor;
use crate::ids::Forge;
use crate::plan::{Draft, JobFacts, Source};

/// An explanation longer than this is not read.
const MAX_MESSAGE_CHARS: usize = 6_000;
/// GitLab replaces no more lines above the commented one.
const MAX_LINES_ABOVE: u32 = 100;
/// How many other titles of the same finding are named.
const MAX_ALSO: usize = 5;

/// Returns a comment's text without its marker.
pub(crate) fn comment(
    draft: &Draft<'_>,
    anchor: &Anchor,
    words: &Words<'_>,
    job: &JobFacts,
) -> String {
    let mut parts = vec![headline(draft, words)];
    parts.push(words.prose(draft.message, MAX_MESSAGE_CHARS));
    parts.push(also(draft, words));
    let above = match job.pull_request.forge {
        Forge::Github => None,
        Forge::Gitlab => Some(anchor.line.saturating_sub(anchor.first())),
    };
    if let Some(code) = draft
        .suggestion
        .filter(|_| above.is_none_or(|above| above <= MAX_LINES_ABOVE))
    {
        parts.extend(words.suggestion(code, above));
    }
    parts.push(footer(draft, words));
    parts.retain(|part| !part.is_empty());
    parts.join("\n\n")
}

/// `**High:** the title`
pub(super) fn headline(draft: &Draft<'_>, words: &Words<'_>) -> String {
    format!(
        "**{}:** {}",
        words::severity(draft.severity),
        words.title(draft.title, draft.category)
    )
}

fn also(draft: &Draft<'_>, words: &Words<'_>) -> String {
    if draft.also.is_empty() {
        return String::new();
    }
    let named: Vec<String> = draft
        .also
        .iter()
        .take(MAX_ALSO)
        .map(|title| words.title(title, draft.category))
        .collect();
    let more = match draft.also.len().saturating_sub(MAX_ALSO) {
        0 => String::new(),
        n => format!("; and {n} more"),
    };
    format!("Also reported on these lines: {}{more}", named.join("; "))
}

/// What the finding rests on, in one quiet line.
fn footer(draft: &Draft<'_>, words: &Words<'_>) -> String {
    match draft.source {
        Source::Floor => format!(
            "_Found by a fixed check, not by a model:_ {}",
            words.code(draft.category)
        ),
        Source::Model => {
            let label = words.category(draft.category);
            let rule = draft
                .rule
                .filter(|rule| !rule.trim().is_empty())
                .map(|rule| format!(" · rule {}", words.code(rule)))
                .unwrap_or_default();
            format!("_{label} · {}% sure_{rule}", draft.confidence)
        }
    }
}
