//! What can be chosen about the simulated GitLab.

use super::versions::GitlabVersion;

/// How the simulated GitLab is set up.
#[derive(Debug, Clone)]
pub struct GitlabOptions {
    /// Which GitLab it plays.
    pub version: GitlabVersion,
    /// Where the instance lies below its host, as in `/gitlab`; empty for the root.
    pub prefix: String,
    /// Limits of diffs and rates.
    pub limits: GitlabLimits,
    /// How a limited caller is told to wait; versions before 13.8 tell nothing.
    pub rate_headers: RateHeaders,
    /// What becomes of a draft whose position is not in the diff when it is published.
    pub misplaced_drafts: MisplacedDrafts,
    /// Whether repeated failures switch hooks off, where the version can do that.
    pub auto_disable_hooks: bool,
    /// How times are written in webhooks.
    pub hook_times: HookTimes,
}

impl Default for GitlabOptions {
    fn default() -> Self {
        Self {
            version: GitlabVersion::CURRENT,
            prefix: String::new(),
            limits: GitlabLimits::default(),
            rate_headers: RateHeaders::Full,
            misplaced_drafts: MisplacedDrafts::FailPublish,
            auto_disable_hooks: true,
            hook_times: HookTimes::Utc,
        }
    }
}

impl GitlabOptions {
    /// Returns the usual set-up of a version.
    pub fn of(version: GitlabVersion) -> Self {
        Self {
            version,
            ..Self::default()
        }
    }
}

/// What an instance's administrator sets; `u32::MAX` is no limit for a rate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GitlabLimits {
    /// A file with a longer patch is too large to be shown, in bytes.
    pub max_patch_bytes: usize,
    /// A file with a longer patch is collapsed, in bytes.
    pub collapse_patch_bytes: usize,
    /// Most files of a merge request that are kept.
    pub max_files: usize,
    /// Most lines of a merge request that are kept.
    pub max_lines: usize,
    /// Requests of one user in a minute; text answers beyond it.
    pub requests_per_minute: u32,
    /// Notes that one user creates in a minute; a JSON answer beyond it.
    pub notes_per_minute: u32,
    /// Archives that one user downloads in a minute.
    pub archives_per_minute: u32,
}

impl Default for GitlabLimits {
    fn default() -> Self {
        Self {
            max_patch_bytes: 204_800,
            collapse_patch_bytes: 20_480,
            max_files: 1_000,
            max_lines: 50_000,
            requests_per_minute: u32::MAX,
            notes_per_minute: u32::MAX,
            archives_per_minute: u32::MAX,
        }
    }
}

/// The headers that come with a rate limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RateHeaders {
    /// `RateLimit-*` on every answer, and `Retry-After` on a refusal.
    Full,
    /// `RateLimit-*` alone: the caller has to work out the wait from `RateLimit-Reset`.
    ResetOnly,
    /// None at all.
    Absent,
}

/// What happens to a draft whose position is not in the diff. Nobody documents it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MisplacedDrafts {
    /// Publishing fails and nothing is published.
    FailPublish,
    /// The others are published; this one vanishes.
    Vanish,
}

/// How times are written in webhooks; both forms occur.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HookTimes {
    /// `2026-11-01 10:00:00 UTC`
    Utc,
    /// `2026-11-01T10:00:00Z`
    Iso8601,
}
