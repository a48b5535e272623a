//! What each GitLab has: one table of features by version.
//!
//! The simulator asks nothing but this table, so that a version is a row of it and never a branch
//! somewhere else.

use std::fmt;

/// A version of GitLab, as in 13.12.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct GitlabVersion {
    /// The first number.
    pub major: u16,
    /// The second number.
    pub minor: u16,
}

impl GitlabVersion {
    /// 12.10, the last of 2020's old line: no project tokens, no lists of changed files.
    pub const V12_10: Self = Self::new(12, 10);
    /// 13.12, the last before drafts lost their old prefix.
    pub const V13_12: Self = Self::new(13, 12);
    /// 15.11, the last before token expiry was mandatory.
    pub const V15_11: Self = Self::new(15, 11);
    /// 17.5, the first line with an idempotency key in its webhooks.
    pub const V17_5: Self = Self::new(17, 5);
    /// The current one.
    pub const CURRENT: Self = Self::new(19, 6);
    /// The versions that tests run against, oldest first.
    pub const PLAYED: [Self; 5] = [
        Self::V12_10,
        Self::V13_12,
        Self::V15_11,
        Self::V17_5,
        Self::CURRENT,
    ];

    /// Names a version.
    pub const fn new(major: u16, minor: u16) -> Self {
        Self { major, minor }
    }

    /// Returns whether this version has a feature.
    pub fn has(self, feature: GitlabFeature) -> bool {
        let row = feature.row();
        self >= row.since && row.until.is_none_or(|until| self < until)
    }
}

impl fmt::Display for GitlabVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}

/// Something that not every GitLab has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum GitlabFeature {
    /// `WIP:` in a title makes a draft.
    WipPrefix,
    /// Project access tokens.
    ProjectTokens,
    /// `Draft:` in a title makes a draft, and the field `draft`.
    DraftPrefix,
    /// `position.line_range` with `start` and `end`.
    LineRange,
    /// `position.line_range` with `start_line_code` and `end_line_code`.
    EarlyLineRange,
    /// `overflow` and `access_raw_diffs` of `/changes`.
    ChangesOverflow,
    /// The headers that say how much of a rate limit is left.
    RateLimitHeaders,
    /// Errors read `400 Bad request - …` instead of `400 (Bad request) "…" not given`.
    ModernBadRequest,
    /// Ruby prints the keys of a hash as `key: value`.
    ModernInspect,
    /// Marks instead of numbered pages for `/repository/tree`.
    TreeKeyset,
    /// `GET /metadata`.
    Metadata,
    /// `GET /personal_access_tokens/self`.
    TokenSelf,
    /// `detailed_merge_status`.
    DetailedMergeStatus,
    /// `GET …/merge_requests/:iid/diffs`.
    Diffs,
    /// The hook is switched off after repeated failures.
    AutoDisabledHooks,
    /// `POST …/draft_notes` and their publishing.
    DraftNotes,
    /// `prepared_at`.
    PreparedAt,
    /// Emoji events in webhooks.
    EmojiEvents,
    /// Positions of the type `file`.
    FilePositions,
    /// `unidiff` of `/diffs`.
    Unidiff,
    /// `generated_file` of changed files.
    GeneratedFile,
    /// Webhooks tell of edited notes, and notes have an `action`.
    NoteUpdates,
    /// `GET …/merge_requests/:iid/raw_diffs`.
    RawDiffs,
    /// `collapsed` and `too_large` of changed files.
    CollapsedFlags,
    /// `X-Gitlab-Event-UUID`.
    EventUuid,
    /// `X-Gitlab-Instance`.
    InstanceHeader,
    /// `X-Gitlab-Webhook-UUID`.
    WebhookUuid,
    /// `Idempotency-Key`.
    IdempotencyKey,
    /// `webhook-id`, `webhook-timestamp`, and a signature if there is a signing token.
    SigningToken,
    /// Payloads say `event_type`, `state_id` and the number of the user.
    ModernPayloads,
}

/// What the table says of a feature.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Row {
    /// What it is in the API's own words.
    name: &'static str,
    /// The first version with it.
    since: GitlabVersion,
    /// The first version without it again.
    until: Option<GitlabVersion>,
}

impl GitlabFeature {
    /// All features, in the order of the table.
    pub const ALL: [Self; 30] = [
        Self::WipPrefix,
        Self::ProjectTokens,
        Self::DraftPrefix,
        Self::EarlyLineRange,
        Self::LineRange,
        Self::ChangesOverflow,
        Self::RateLimitHeaders,
        Self::ModernBadRequest,
        Self::ModernInspect,
        Self::TreeKeyset,
        Self::Metadata,
        Self::TokenSelf,
        Self::DetailedMergeStatus,
        Self::Diffs,
        Self::AutoDisabledHooks,
        Self::DraftNotes,
        Self::PreparedAt,
        Self::EmojiEvents,
        Self::FilePositions,
        Self::Unidiff,
        Self::GeneratedFile,
        Self::NoteUpdates,
        Self::RawDiffs,
        Self::CollapsedFlags,
        Self::EventUuid,
        Self::InstanceHeader,
        Self::WebhookUuid,
        Self::IdempotencyKey,
        Self::SigningToken,
        Self::ModernPayloads,
    ];

    /// Returns what the feature is in the API's own words.
    pub fn name(self) -> &'static str {
        self.row().name
    }

    /// Returns the first version that has it.
    pub fn since(self) -> GitlabVersion {
        self.row().since
    }

    fn row(self) -> Row {
        let row = |name, major, minor| Row {
            name,
            since: GitlabVersion::new(major, minor),
            until: None,
        };
        let until = |row: Row, major, minor| Row {
            until: Some(GitlabVersion::new(major, minor)),
            ..row
        };
        match self {
            Self::WipPrefix => until(row("titles: WIP:", 8, 0), 14, 0),
            Self::ProjectTokens => row("project access tokens", 13, 0),
            Self::DraftPrefix => row("titles: Draft:, field draft", 13, 2),
            Self::EarlyLineRange => until(row("position: start_line_code", 13, 2), 13, 6),
            Self::LineRange => row("position: line_range", 13, 6),
            Self::ChangesOverflow => row("/changes: overflow, access_raw_diffs", 13, 0),
            Self::RateLimitHeaders => row("headers: RateLimit-*", 13, 8),
            Self::ModernBadRequest => row("errors: 400 Bad request - …", 14, 0),
            Self::ModernInspect => row("errors: {key: [\"…\"]}", 19, 0),
            Self::TreeKeyset => row("/repository/tree: keyset", 15, 0),
            Self::Metadata => row("GET /metadata", 15, 2),
            Self::TokenSelf => row("GET /personal_access_tokens/self", 15, 5),
            Self::DetailedMergeStatus => row("field detailed_merge_status", 15, 6),
            Self::Diffs => row("GET …/diffs", 15, 7),
            Self::AutoDisabledHooks => row("hooks: switched off after failures", 15, 7),
            // Its routes came one by one from 15.9 on; before 16.3 none can be relied upon.
            Self::DraftNotes => row("/draft_notes, bulk_publish", 16, 3),
            Self::PreparedAt => row("field prepared_at", 16, 1),
            Self::EmojiEvents => row("hooks: emoji events", 16, 2),
            Self::FilePositions => row("position: type file", 16, 4),
            Self::Unidiff => row("/diffs: unidiff", 16, 5),
            Self::GeneratedFile => row("field generated_file", 16, 9),
            Self::NoteUpdates => row("hooks: edited notes, action", 16, 11),
            Self::RawDiffs => row("GET …/raw_diffs", 17, 9),
            Self::CollapsedFlags => row("fields collapsed, too_large", 18, 4),
            Self::EventUuid => row("X-Gitlab-Event-UUID", 14, 8),
            Self::InstanceHeader => row("X-Gitlab-Instance", 15, 5),
            Self::WebhookUuid => row("X-Gitlab-Webhook-UUID", 16, 2),
            Self::IdempotencyKey => row("Idempotency-Key", 17, 4),
            Self::SigningToken => row("webhook-id, webhook-signature", 19, 0),
            Self::ModernPayloads => row("hooks: event_type, user.id", 14, 0),
        }
    }
}

/// Returns the table of features by played version, as text for people.
pub fn gitlab_feature_table() -> String {
    let mut out = format!("{:<38}", "");
    for version in GitlabVersion::PLAYED {
        out.push_str(&format_cell(&version.to_string()));
    }
    for feature in GitlabFeature::ALL {
        out.push('\n');
        let name = feature.name();
        out.push_str(name);
        let width = name.chars().count();
        out.extend(std::iter::repeat_n(' ', 38_usize.saturating_sub(width)));
        for version in GitlabVersion::PLAYED {
            out.push_str(&format_cell(if version.has(feature) {
                "yes"
            } else {
                "–"
            }));
        }
    }
    let trimmed: Vec<&str> = out.lines().map(str::trim_end).collect();
    trimmed.join("\n")
}

fn format_cell(text: &str) -> String {
    format!(" {text:<6}")
}
