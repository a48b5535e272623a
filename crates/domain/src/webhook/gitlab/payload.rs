//! The parts of GitLab's payloads that hold ids, old and new versions alike.

use serde::Deserialize;
use serde::de::IgnoredAny;

use crate::ids::{AccountId, BranchName, CommentId, CommitSha, PrNumber, RepoId, RepoName};

/// How the title of a draft begins, in lower case; what did before 13.2 and until 14.0 is the last three.
const DRAFT_PREFIXES: [&str; 6] = ["draft:", "[draft]", "(draft)", "wip:", "[wip]", "(wip)"];

/// What every payload says of itself.
#[derive(Debug, Deserialize)]
pub(super) struct Kind {
    pub(super) object_kind: String,
}

/// The project that is merged into.
#[derive(Debug, Deserialize)]
pub(super) struct ProjectPart {
    pub(super) id: RepoId,
    pub(super) path_with_namespace: RepoName,
}

/// `merge_request`.
#[derive(Debug, Deserialize)]
pub(super) struct MergeRequestEvent {
    pub(super) project: ProjectPart,
    pub(super) object_attributes: MergeRequestPart,
    #[serde(default)]
    pub(super) changes: Changes,
}

/// The merge request. Its source may be null (a deleted fork) and is not looked at.
#[derive(Debug, Deserialize)]
pub(super) struct MergeRequestPart {
    pub(super) iid: PrNumber,
    pub(super) action: Option<String>,
    /// The head before a push; only pushes have it.
    pub(super) oldrev: Option<IgnoredAny>,
    pub(super) last_commit: CommitPart,
    pub(super) target_branch: BranchName,
    pub(super) updated_at: Option<String>,
}

#[derive(Debug, Deserialize)]
pub(super) struct CommitPart {
    pub(super) id: CommitSha,
}

/// What an update changed; only changed things are there.
#[derive(Debug, Default, Deserialize)]
pub(super) struct Changes {
    target_branch: Option<IgnoredAny>,
    draft: Option<Change<bool>>,
    work_in_progress: Option<Change<bool>>,
    title: Option<Change<String>>,
}

#[derive(Debug, Deserialize)]
struct Change<T> {
    previous: Option<T>,
    current: Option<T>,
}

impl Changes {
    pub(super) const fn retargeted(&self) -> bool {
        self.target_branch.is_some()
    }

    /// Returns whether it was a draft until now. Old versions only tell that its title changed.
    pub(super) fn is_ready_now(&self) -> bool {
        let flag = self.draft.as_ref().or(self.work_in_progress.as_ref());
        match (flag, &self.title) {
            (Some(flag), _) => flag.previous == Some(true) && flag.current == Some(false),
            (None, Some(title)) => {
                let was = title.previous.as_deref().is_some_and(is_draft_title);
                was && !title.current.as_deref().is_some_and(is_draft_title)
            }
            (None, None) => false,
        }
    }
}

fn is_draft_title(title: &str) -> bool {
    let title = title.trim_start().to_ascii_lowercase();
    DRAFT_PREFIXES
        .iter()
        .any(|prefix| title.starts_with(prefix))
}

/// `note`: a comment on a merge request, an issue, a commit or a snippet.
#[derive(Debug, Deserialize)]
pub(super) struct NoteEvent {
    pub(super) project: ProjectPart,
    pub(super) object_attributes: NotePart,
    /// There for merge requests only.
    pub(super) merge_request: Option<IidPart>,
}

#[derive(Debug, Deserialize)]
pub(super) struct NotePart {
    pub(super) id: CommentId,
    pub(super) note: String,
    pub(super) noteable_type: String,
    pub(super) author_id: Option<AccountId>,
    pub(super) system: Option<bool>,
    pub(super) action: Option<String>,
    pub(super) position: Option<IgnoredAny>,
    #[serde(rename = "type")]
    pub(super) kind: Option<String>,
}

#[derive(Debug, Deserialize)]
pub(super) struct IidPart {
    pub(super) iid: PrNumber,
}
