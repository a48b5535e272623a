//! The parts of GitHub's payloads that hold ids, and which keys make a body that of an event.

use serde::Deserialize;
use serde::de::{DeserializeOwned, IgnoredAny};

use super::{FieldProblem, WebhookError};
use crate::ids::{
    Account, AccountId, BranchName, CommentId, CommitSha, InstallationId, PrNumber, RepoId,
    RepoName,
};

/// A repository.
#[derive(Debug, Deserialize)]
pub(super) struct RepositoryPart {
    pub(super) id: RepoId,
    pub(super) full_name: RepoName,
}

/// An App installation, as events of a repository name it.
#[derive(Debug, Deserialize)]
pub(super) struct InstallationPart {
    pub(super) id: InstallationId,
}

/// Who caused the event; absent for deleted accounts.
#[derive(Debug, Deserialize)]
pub(super) struct SenderPart {
    pub(super) id: Option<AccountId>,
    #[serde(rename = "type")]
    kind: Option<String>,
}

impl SenderPart {
    pub(super) fn is_bot(&self) -> bool {
        self.kind.as_deref() == Some("Bot")
    }
}

/// `pull_request`.
#[derive(Debug, Deserialize)]
pub(super) struct PullRequestEvent {
    pub(super) number: PrNumber,
    pub(super) pull_request: PullRequestPart,
    pub(super) repository: RepositoryPart,
    pub(super) installation: Option<InstallationPart>,
    pub(super) changes: Option<Changes>,
}

/// A pull request. Its head's repository may be null (a deleted fork) and is not looked at.
#[derive(Debug, Deserialize)]
pub(super) struct PullRequestPart {
    pub(super) head: HeadPart,
    pub(super) base: BasePart,
}

#[derive(Debug, Deserialize)]
pub(super) struct HeadPart {
    pub(super) sha: CommitSha,
}

#[derive(Debug, Deserialize)]
pub(super) struct BasePart {
    #[serde(rename = "ref")]
    pub(super) branch: BranchName,
}

/// What an edit changed; only changed things are there.
#[derive(Debug, Deserialize)]
pub(super) struct Changes {
    pub(super) base: Option<IgnoredAny>,
}

/// `issue_comment`, for issues and pull requests alike.
#[derive(Debug, Deserialize)]
pub(super) struct IssueCommentEvent {
    pub(super) issue: IssuePart,
    pub(super) comment: CommentPart,
    pub(super) repository: RepositoryPart,
    pub(super) installation: Option<InstallationPart>,
    pub(super) sender: Option<SenderPart>,
}

/// `pull_request_review_comment`: on a line, or in a thread.
#[derive(Debug, Deserialize)]
pub(super) struct LineCommentEvent {
    pub(super) pull_request: NumberPart,
    pub(super) comment: CommentPart,
    pub(super) repository: RepositoryPart,
    pub(super) installation: Option<InstallationPart>,
    pub(super) sender: Option<SenderPart>,
}

#[derive(Debug, Deserialize)]
pub(super) struct NumberPart {
    pub(super) number: PrNumber,
}

#[derive(Debug, Deserialize)]
pub(super) struct IssuePart {
    pub(super) number: PrNumber,
    /// There for pull requests only.
    pub(super) pull_request: Option<IgnoredAny>,
}

#[derive(Debug, Deserialize)]
pub(super) struct CommentPart {
    pub(super) id: CommentId,
    pub(super) body: String,
    pub(super) user: Option<SenderPart>,
}

/// `check_run`.
#[derive(Debug, Deserialize)]
pub(super) struct CheckEvent {
    pub(super) check_run: CheckPart,
    pub(super) repository: RepositoryPart,
    pub(super) installation: Option<InstallationPart>,
    pub(super) sender: Option<SenderPart>,
}

#[derive(Debug, Deserialize)]
pub(super) struct CheckPart {
    pub(super) head_sha: CommitSha,
    pub(super) external_id: Option<String>,
}

/// `check_suite`.
#[derive(Debug, Deserialize)]
pub(super) struct SuiteEvent {
    pub(super) check_suite: SuitePart,
    pub(super) repository: RepositoryPart,
    pub(super) installation: Option<InstallationPart>,
    pub(super) sender: Option<SenderPart>,
}

#[derive(Debug, Deserialize)]
pub(super) struct SuitePart {
    pub(super) head_sha: CommitSha,
    #[serde(default)]
    pub(super) pull_requests: Vec<SuitePull>,
}

/// A pull request with the suite's commit as its head, perhaps one of another repository.
#[derive(Debug, Deserialize)]
pub(super) struct SuitePull {
    pub(super) number: PrNumber,
    pub(super) base: SuiteBase,
}

#[derive(Debug, Deserialize)]
pub(super) struct SuiteBase {
    pub(super) repo: IdPart,
}

#[derive(Debug, Deserialize)]
pub(super) struct IdPart {
    pub(super) id: RepoId,
}

/// `merge_group`.
#[derive(Debug, Deserialize)]
pub(super) struct MergeGroupEvent {
    pub(super) merge_group: MergeGroupPart,
    pub(super) repository: RepositoryPart,
    pub(super) installation: Option<InstallationPart>,
}

#[derive(Debug, Deserialize)]
pub(super) struct MergeGroupPart {
    pub(super) head_sha: CommitSha,
    pub(super) head_ref: String,
    pub(super) base_ref: String,
}

/// `installation`.
#[derive(Debug, Deserialize)]
pub(super) struct InstallationEvent {
    pub(super) installation: WholeInstallationPart,
}

#[derive(Debug, Deserialize)]
pub(super) struct WholeInstallationPart {
    pub(super) id: InstallationId,
    pub(super) account: AccountPart,
}

#[derive(Debug, Deserialize)]
pub(super) struct AccountPart {
    pub(super) login: Account,
}

/// The top-level keys that tell payloads apart, and the action.
#[derive(Debug, Deserialize)]
pub(super) struct Shape {
    pub(super) action: Option<String>,
    zen: Option<IgnoredAny>,
    hook_id: Option<IgnoredAny>,
    repository: Option<IgnoredAny>,
    installation: Option<IgnoredAny>,
    repositories_added: Option<IgnoredAny>,
    number: Option<IgnoredAny>,
    pull_request: Option<IgnoredAny>,
    review: Option<IgnoredAny>,
    thread: Option<IgnoredAny>,
    issue: Option<IgnoredAny>,
    comment: Option<IgnoredAny>,
    check_run: Option<IgnoredAny>,
    check_suite: Option<IgnoredAny>,
    merge_group: Option<IgnoredAny>,
}

/// An event whose payload is looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Event {
    Ping,
    PullRequest,
    PullRequestReview,
    PullRequestReviewComment,
    PullRequestReviewThread,
    IssueComment,
    CheckRun,
    CheckSuite,
    MergeGroup,
    Installation,
}

impl Event {
    pub(super) const ALL: [Self; 10] = [
        Self::Ping,
        Self::PullRequest,
        Self::PullRequestReview,
        Self::PullRequestReviewComment,
        Self::PullRequestReviewThread,
        Self::IssueComment,
        Self::CheckRun,
        Self::CheckSuite,
        Self::MergeGroup,
        Self::Installation,
    ];

    pub(super) const fn as_str(self) -> &'static str {
        match self {
            Self::Ping => "ping",
            Self::PullRequest => "pull_request",
            Self::PullRequestReview => "pull_request_review",
            Self::PullRequestReviewComment => "pull_request_review_comment",
            Self::PullRequestReviewThread => "pull_request_review_thread",
            Self::IssueComment => "issue_comment",
            Self::CheckRun => "check_run",
            Self::CheckSuite => "check_suite",
            Self::MergeGroup => "merge_group",
            Self::Installation => "installation",
        }
    }

    pub(super) fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|event| event.as_str() == name)
    }

    /// Returns the key that every payload of the event has.
    const fn subject(self) -> &'static str {
        match self {
            Self::Ping => "zen",
            Self::PullRequest => "pull_request",
            Self::PullRequestReview => "review",
            Self::PullRequestReviewComment | Self::IssueComment => "comment",
            Self::PullRequestReviewThread => "thread",
            Self::CheckRun => "check_run",
            Self::CheckSuite => "check_suite",
            Self::MergeGroup => "merge_group",
            Self::Installation => "installation",
        }
    }
}

impl Shape {
    /// Checks that the body is that of `event`: its subject is there, and that of no other event.
    pub(super) fn must_fit(&self, event: Event) -> Result<(), WebhookError> {
        let Some(found) = self.event() else {
            return Err(WebhookError::Field {
                path: event.subject().to_owned(),
                problem: FieldProblem::Missing,
            });
        };
        if found == event {
            Ok(())
        } else {
            Err(WebhookError::OtherEvent {
                event: event.as_str(),
            })
        }
    }

    /// Returns the event whose payload this is: the most telling key decides.
    const fn event(&self) -> Option<Event> {
        if self.zen.is_some() || self.hook_id.is_some() {
            Some(Event::Ping)
        } else if self.check_run.is_some() {
            Some(Event::CheckRun)
        } else if self.check_suite.is_some() {
            Some(Event::CheckSuite)
        } else if self.merge_group.is_some() {
            Some(Event::MergeGroup)
        } else if self.review.is_some() {
            Some(Event::PullRequestReview)
        } else if self.thread.is_some() {
            Some(Event::PullRequestReviewThread)
        } else if self.comment.is_some() && self.pull_request.is_some() {
            Some(Event::PullRequestReviewComment)
        } else if self.comment.is_some() && self.issue.is_some() {
            Some(Event::IssueComment)
        } else if self.pull_request.is_some() && self.number.is_some() {
            Some(Event::PullRequest)
        } else if self.installation.is_some()
            && self.repository.is_none()
            && self.repositories_added.is_none()
        {
            Some(Event::Installation)
        } else {
            None
        }
    }
}

/// Reads one part of a payload; the error names the field.
///
/// serde's own text is dropped because it quotes values, and a body's values are nobody's business.
pub(super) fn read<T: DeserializeOwned>(json: &[u8]) -> Result<T, WebhookError> {
    // serde would also take a list for a struct.
    if json.trim_ascii_start().first() != Some(&b'{') {
        return Err(WebhookError::NotJson);
    }
    let mut input = serde_json::Deserializer::from_slice(json);
    let value = serde_path_to_error::deserialize(&mut input).map_err(|error| {
        let path = error.path().to_string();
        let inner = error.into_inner();
        let is_root = path == ".";
        if !inner.is_data() {
            return WebhookError::NotJson;
        }
        match (missing_field(&inner.to_string()), is_root) {
            (Some(name), true) => field(name, FieldProblem::Missing),
            (Some(name), false) => field(format!("{path}.{name}"), FieldProblem::Missing),
            (None, true) => WebhookError::NotJson,
            (None, false) => field(path, FieldProblem::Malformed),
        }
    })?;
    input.end().map_err(|_error| WebhookError::NotJson)?;
    Ok(value)
}

fn field(path: String, problem: FieldProblem) -> WebhookError {
    WebhookError::Field { path, problem }
}

/// Reads the name out of serde's "missing field `name`": there is no other way to learn it, because
/// the path ends at the object that lacks it.
fn missing_field(text: &str) -> Option<String> {
    let name = text.strip_prefix("missing field `")?;
    Some(name.split('`').next()?.to_owned())
}
