//! What the collector keeps of a pull request: one commit pair, read once, never re-read.
//!
//! **Invariant:** a snapshot is complete only when `meta.json` exists, which is written last.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::code::SkipReason;
use crate::ids::{
    Account, BranchName, CommitSha, JobId, PullRequestRef, RepoName, Sha256Hex, Timestamp,
};

/// Where a job's objects live in the artifact store.
#[derive(Debug, Clone, Copy)]
pub struct Keys;

impl Keys {
    /// Returns the prefix of everything in a job's snapshot.
    pub fn snapshot(job: &JobId) -> String {
        format!("snapshots/{job}/")
    }

    /// Returns the key of the diff.
    pub fn diff(job: &JobId) -> String {
        format!("snapshots/{job}/diff.patch")
    }

    /// Returns the key of the rules and settings that apply.
    pub fn rules(job: &JobId) -> String {
        format!("snapshots/{job}/rules.json")
    }

    /// Returns the key of what the last accepted review found.
    pub fn prior(job: &JobId) -> String {
        format!("snapshots/{job}/prior.json")
    }

    /// Returns the key of the description of the snapshot, written last.
    pub fn meta(job: &JobId) -> String {
        format!("snapshots/{job}/meta.json")
    }

    /// Returns the key of a commit's archive, shared by all jobs of that commit.
    pub fn archive(pull_request: &PullRequestRef, head: &CommitSha) -> String {
        format!(
            "archives/{}-{}/{head}.zip",
            pull_request.forge, pull_request.repo
        )
    }

    /// Returns the prefix of everything the reviewer keeps for itself about a job.
    pub fn work(job: &JobId) -> String {
        format!("work/{job}/")
    }

    /// Returns the key of the reviewer's own checkpoint.
    pub fn progress(job: &JobId) -> String {
        format!("work/{job}/progress.json")
    }

    /// Returns the key of the record of an attempt's run. Unlike the checkpoint it stays when the job ends.
    pub fn run(job: &JobId, attempt: crate::ids::AttemptNo) -> String {
        format!("work/{job}/run-{attempt}.json")
    }

    /// Returns the prefix of what is kept of a job's attempts where the host keeps whole runs.
    pub fn runs(job: &JobId) -> String {
        format!("runs/{job}/")
    }

    /// Returns the key of a file of an attempt's run where the host keeps whole runs.
    pub fn kept(job: &JobId, attempt: crate::ids::AttemptNo, file: &str) -> String {
        format!("runs/{job}/{attempt}/{file}")
    }

    /// Returns the prefix of findings files.
    pub const fn findings_prefix() -> &'static str {
        "findings/"
    }

    /// Returns the key of an attempt's findings file.
    pub fn findings(job: &JobId, attempt: crate::ids::AttemptNo) -> String {
        format!("findings/{job}/{attempt}.json")
    }

    /// Reads job and attempt from a findings key; `None` if it is not one.
    pub fn parse_findings(key: &str) -> Option<(JobId, crate::ids::AttemptNo)> {
        let rest = key.strip_prefix("findings/")?;
        let (job, file) = rest.split_once('/')?;
        let attempt: u32 = file.strip_suffix(".json")?.parse().ok()?;
        Some((JobId::parse(job).ok()?, crate::ids::AttemptNo::new(attempt)))
    }
}

/// A pull request as the forge describes it now.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PullRequest {
    /// Which one.
    pub id: PullRequestRef,
    /// The repository's present name.
    pub repo_name: RepoName,
    /// The commit on top.
    pub head: CommitSha,
    /// The branch it is to be merged into.
    pub base_ref: BranchName,
    /// The tip of that branch.
    pub base: CommitSha,
    /// The repository's default branch.
    pub default_branch: BranchName,
    /// Whether it is open.
    pub open: bool,
    /// Whether it is a draft.
    pub draft: bool,
    /// Whether the head lives in another repository, or in one that is gone.
    pub from_fork: bool,
    /// Title. Untrusted text.
    pub title: String,
    /// Description. Untrusted text.
    pub description: String,
    /// Who opened it; `None` for a deleted account.
    pub author: Option<Account>,
    /// Whether the author is a bot account.
    pub author_is_bot: bool,
    /// Whether the author has no role in the repository or its organisation and no earlier contribution
    /// was merged, as far as the forge tells. A snapshot from before this was told says no.
    #[serde(default)]
    pub author_is_outsider: bool,
    /// Label names. Untrusted text.
    pub labels: Vec<String>,
    /// Changed files, as the forge counts them.
    pub changed_files: u64,
}

impl PullRequest {
    /// Returns whether it goes into a base whose own settings and rules count: the default branch, or one of
    /// those that the operator names.
    pub fn is_into_trusted(&self, trusted_bases: &[String]) -> bool {
        let named = trusted_bases
            .iter()
            .any(|base| base == self.base_ref.as_str());
        self.base_ref == self.default_branch || named
    }
}

/// One file of the repository at a trusted commit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RepoFile {
    /// Its path.
    pub path: String,
    /// Its text.
    pub text: String,
}

/// Settings and rules as they stand at a trusted commit; stored as `rules.json`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TrustedFiles {
    /// The commit they were read at.
    pub commit: CommitSha,
    /// Those that exist.
    pub files: Vec<RepoFile>,
}

/// What a collector asks for at the trusted commit: the settings, then everything that may hold
/// rules. A trailing `/` names a folder.
pub const TRUSTED_PATHS: &[&str] = &[
    ".mirilla.toml",
    ".mirilla/rules/",
    "REVIEW.md",
    "AGENTS.md",
    "CLAUDE.md",
    ".github/copilot-instructions.md",
    ".github/instructions/",
];

/// A file whose changes the forge did not give.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MissingFile {
    /// The file.
    pub path: String,
    /// Why.
    pub reason: SkipReason,
}

/// One stored object of a snapshot.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoredObject {
    /// Its key.
    pub key: String,
    /// The store's tag for exactly these bytes.
    pub etag: String,
    /// Its size in bytes.
    pub size_bytes: u64,
}

/// `meta.json`: what a snapshot holds, written last.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SnapshotMeta {
    /// `mirilla.snapshot.v1`.
    pub schema: String,
    /// The job it was taken for.
    pub job: JobId,
    /// The pull request when its last byte had been read.
    pub pull_request: PullRequest,
    /// The commit the diff was taken against.
    pub merge_base: CommitSha,
    /// The diff.
    pub diff: StoredObject,
    /// SHA-256 of the diff's bytes.
    pub diff_sha256: Sha256Hex,
    /// Settings and rules at the trusted commit.
    pub rules: StoredObject,
    /// The commit they were read at.
    pub rules_commit: CommitSha,
    /// Findings and digests of the last accepted review, if there is one.
    pub prior: Option<StoredObject>,
    /// The head's archive, if it is within bounds.
    pub archive: Option<StoredObject>,
    /// Files whose changes are not in the diff.
    pub missing: Vec<MissingFile>,
    /// When it was taken.
    pub taken_at: Timestamp,
}
