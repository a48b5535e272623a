//! What a version of GitLab has.

/// What not every GitLab has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Features {
    /// Drafts and their publishing, all routes of it.
    pub(crate) draft_notes: bool,
    /// `position.line_range` in its present shape.
    pub(crate) line_range: bool,
}

impl Features {
    /// Returns what a version has, as `GET /version` says it: `13.12.15-ee`. One that cannot be read has nothing.
    pub(crate) fn of(version: &str) -> Self {
        let mut numbers = version.split(['.', '-']).map(str::parse::<u32>);
        let mut next = || numbers.next().and_then(Result::ok).unwrap_or_default();
        let version = (next(), next());
        Self {
            draft_notes: version >= (16, 3),
            line_range: version >= (13, 6),
        }
    }
}
