//! Who must approve what.

use mirilla_diff::LineKind;

use super::source::Source;
use super::{Check, Found, Hits, path};
use crate::review::Severity;

/// Reports the first effective change of a code owners file.
pub(super) fn check(source: &Source<'_>, out: &mut Hits<'_>) {
    const PLACES: &[&str] = &[
        "codeowners",
        ".github/codeowners",
        ".gitlab/codeowners",
        "docs/codeowners",
    ];
    if !path::both(source.file)
        .iter()
        .any(|path| PLACES.contains(&path.as_str()))
    {
        return;
    }
    let is_rule = |text: &[u8]| !matches!(text.trim_ascii(), [] | [b'#', ..]);
    let changed = |kind: LineKind| source.first(kind, is_rule);
    let added = changed(LineKind::Added);
    if added.is_none() && changed(LineKind::Deleted).is_none() && !source.hunks.is_empty() {
        return;
    }
    out.push(Found::at(
        Check::CodeOwners,
        added.and_then(|line| line.new).unwrap_or(0),
        Severity::Medium,
        "Code owners were changed",
        "This decides whose approval later changes need. It should be approved by someone who may decide that.",
    ));
}
