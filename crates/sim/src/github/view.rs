//! Reading back what a person would see.
//!
//! Reading marks what was posted as read; [`crate::Sim::finish`] reports what nobody read.

use super::Github;
use super::anchors::current;
use super::render::{lossy, node_id};
use super::world::{Pull, Repo, ReviewComment, ReviewState};
use crate::diff::{Diff, FileDiff, Side};
use crate::state::StateError;

/// A review as people see it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReviewView {
    /// Its number.
    pub id: u64,
    /// Who wrote it.
    pub author: String,
    /// `COMMENTED`, `APPROVED`, `CHANGES_REQUESTED`, `DISMISSED` or `PENDING`.
    pub state: &'static str,
    /// Its text.
    pub body: String,
    /// The commit it is about.
    pub commit: String,
    /// Why it is hidden, if it is.
    pub minimized: Option<String>,
    /// Its comments on the diff.
    pub comments: Vec<CommentView>,
}

/// A comment on the diff as people see it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommentView {
    /// Its number.
    pub id: u64,
    /// The number of the review it belongs to.
    pub review: Option<u64>,
    /// The first comment of its thread, if it is an answer.
    pub in_reply_to: Option<u64>,
    /// Who wrote it.
    pub author: String,
    /// Its text.
    pub body: String,
    /// The file.
    pub path: String,
    /// The side of the diff it was written on.
    pub side: Side,
    /// The line it stands on now; `None` once it is outdated, or for a comment on a file.
    pub line: Option<u64>,
    /// The line it was written on.
    pub original_line: Option<u64>,
    /// The first of several lines it was written on.
    pub original_start_line: Option<u64>,
    /// The commit it was written on.
    pub original_commit: String,
    /// Whether its lines have changed since.
    pub outdated: bool,
    /// Why it is hidden, if it is.
    pub minimized: Option<String>,
}

/// A conversation on a place in the diff.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ThreadView {
    /// Its GraphQL id.
    pub node_id: String,
    /// Whether somebody resolved it.
    pub resolved: bool,
    /// Who resolved it.
    pub resolved_by: Option<String>,
    /// Its comments, oldest first.
    pub comments: Vec<CommentView>,
}

/// A comment on a pull request as a whole.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IssueCommentView {
    /// Its number.
    pub id: u64,
    /// Who wrote it.
    pub author: String,
    /// Its text.
    pub body: String,
    /// Why it is hidden, if it is.
    pub minimized: Option<String>,
    /// Reactions: who, and what.
    pub reactions: Vec<(String, String)>,
}

/// A check run as people see it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckView {
    /// Its number.
    pub id: u64,
    /// Its name.
    pub name: String,
    /// The commit it is about.
    pub head: String,
    /// `queued`, `in_progress` or `completed`.
    pub status: String,
    /// Its result, once completed.
    pub conclusion: Option<String>,
    /// What the App calls it.
    pub external_id: String,
    /// Title of its page.
    pub title: Option<String>,
    /// Summary on its page.
    pub summary: Option<String>,
    /// Text on its page.
    pub text: Option<String>,
    /// Where "Details" leads.
    pub details_url: Option<String>,
    /// Number of annotations.
    pub annotations: usize,
}

/// A pull request's page, as plain data.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PullRequestPage {
    /// `owner/name`.
    pub repo: String,
    /// Its number.
    pub number: u64,
    /// Its title.
    pub title: String,
    /// Its description.
    pub body: Option<String>,
    /// Who opened it.
    pub author: String,
    /// The branch it goes into.
    pub base: String,
    /// The head commit.
    pub head: String,
    /// Whether it is open.
    pub open: bool,
    /// Comments on the whole, oldest first.
    pub comments: Vec<IssueCommentView>,
    /// Reviews, oldest first.
    pub reviews: Vec<ReviewView>,
    /// Threads that stand nowhere in the diff any more.
    pub outdated: Vec<ThreadView>,
    /// Checks of the head commit, newest first.
    pub checks: Vec<CheckView>,
    /// The diff with the threads in it.
    pub files: Vec<FileView>,
}

/// One file of the page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileView {
    /// The path.
    pub path: String,
    /// The path before, if it was renamed.
    pub old_path: Option<String>,
    /// Added lines.
    pub additions: u64,
    /// Removed lines.
    pub deletions: u64,
    /// Hunk headers and lines in order.
    pub lines: Vec<LineView>,
}

/// One line of the page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LineView {
    /// `@`, ` `, `+`, `-` or `\`.
    pub sign: char,
    /// Line number on the old side.
    pub old: Option<u64>,
    /// Line number on the new side.
    pub new: Option<u64>,
    /// The text, without its sign.
    pub text: String,
    /// The threads below this line.
    pub threads: Vec<ThreadView>,
}

impl Github {
    /// Returns the reviews of a pull request with their comments, oldest first, and marks both as
    /// read.
    pub fn reviews(&self, repo: &str, number: u64) -> Result<Vec<ReviewView>, StateError> {
        self.read(repo, number, |repo, pull| {
            let mut views = Vec::new();
            for review in &pull.reviews {
                let mut comments = Vec::new();
                for comment in &pull.review_comments {
                    if comment.review == Some(review.id) {
                        comments.push(comment_view(repo, pull, comment)?);
                    }
                }
                views.push(ReviewView {
                    id: review.id,
                    author: review.author.clone(),
                    state: review.state.as_str(),
                    body: review.body.clone(),
                    commit: review.commit.clone(),
                    minimized: review.minimized.clone(),
                    comments,
                });
            }
            Ok(views)
        })
        .inspect(|_| {
            self.mark(repo, number, |pull| {
                pull.reviews.iter_mut().for_each(|r| r.unread = false);
                pull.review_comments
                    .iter_mut()
                    .for_each(|c| c.unread = false);
            });
        })
    }

    /// Returns the threads of a pull request and marks their comments as read.
    pub fn threads(&self, repo: &str, number: u64) -> Result<Vec<ThreadView>, StateError> {
        self.read(repo, number, threads).inspect(|_| {
            self.mark(repo, number, |pull| {
                pull.review_comments
                    .iter_mut()
                    .for_each(|c| c.unread = false);
            });
        })
    }

    /// Returns the comments on a pull request as a whole and marks them as read.
    pub fn comments(&self, repo: &str, number: u64) -> Result<Vec<IssueCommentView>, StateError> {
        self.read(repo, number, |_, pull| Ok(issue_comments(pull)))
            .inspect(|_| {
                self.mark(repo, number, |pull| {
                    pull.comments.iter_mut().for_each(|c| c.unread = false);
                });
            })
    }

    /// Returns the reactions to a comment of either kind, oldest first: who, and what.
    pub fn reactions(&self, repo: &str, comment: u64) -> Result<Vec<(String, String)>, StateError> {
        let world = self.world();
        let repo = world.repo_named(repo)?;
        let whole = repo.issue_comment(comment).map(|(_, one)| &one.reactions);
        let inline = || repo.review_comment(comment).map(|(_, one)| &one.reactions);
        let reactions = whole.or_else(inline);
        let reactions =
            reactions.ok_or_else(|| StateError::missing(format!("comment {comment}")))?;
        Ok(reactions
            .iter()
            .map(|one| (one.author.clone(), one.content.clone()))
            .collect())
    }

    /// Returns the check runs of a commit, oldest first.
    pub fn check_runs(&self, repo: &str, sha: &str) -> Result<Vec<CheckView>, StateError> {
        let world = self.world();
        Ok(checks(world.repo_named(repo)?, sha))
    }

    /// Returns the commit statuses of a commit, oldest first: context, state, description.
    pub fn statuses(
        &self,
        repo: &str,
        sha: &str,
    ) -> Result<Vec<(String, String, Option<String>)>, StateError> {
        let world = self.world();
        let repo = world.repo_named(repo)?;
        let of_sha = repo.statuses.iter().filter(|s| s.sha == sha);
        Ok(of_sha
            .map(|s| (s.context.clone(), s.state.clone(), s.description.clone()))
            .collect())
    }

    /// Returns what was posted through the API and not read back yet, as text.
    pub fn unread(&self) -> Vec<String> {
        let world = self.world();
        let mut unread = Vec::new();
        for repo in world.repos.values() {
            for pull in repo.pulls.values() {
                let at = format!("{}#{}", repo.full_name(), pull.number);
                let reviews = pull.reviews.iter().filter(|r| r.unread);
                unread.extend(
                    reviews.map(|r| format!("review {} on {at}: {}", r.id, start(&r.body))),
                );
                let inline = pull.review_comments.iter().filter(|c| c.unread);
                unread.extend(inline.map(|c| {
                    format!(
                        "comment {} on {at} {}: {}",
                        c.id,
                        lossy(&c.anchor.path),
                        start(&c.body)
                    )
                }));
                let whole = pull.comments.iter().filter(|c| c.unread);
                unread
                    .extend(whole.map(|c| format!("comment {} on {at}: {}", c.id, start(&c.body))));
            }
        }
        unread
    }

    /// Returns a pull request's page and marks everything on it as read.
    pub fn pull_request_page(
        &self,
        repo: &str,
        number: u64,
    ) -> Result<PullRequestPage, StateError> {
        let reviews = self.reviews(repo, number)?;
        let comments = self.comments(repo, number)?;
        self.read(repo, number, |repo, pull| {
            let diff = repo.git.diff(&repo.base_sha(pull), &pull.head)?;
            let (outdated, standing): (Vec<_>, Vec<_>) =
                threads(repo, pull)?.into_iter().partition(|thread| {
                    thread
                        .comments
                        .first()
                        .is_none_or(|comment| comment.line.is_none())
                });
            Ok(PullRequestPage {
                repo: repo.full_name(),
                number,
                title: pull.title.clone(),
                body: pull.body.clone(),
                author: pull.author.clone(),
                base: pull.base_ref.clone(),
                head: pull.head.clone(),
                open: pull.open,
                comments,
                reviews: reviews
                    .into_iter()
                    .filter(|r| r.state != ReviewState::Pending.as_str())
                    .collect(),
                outdated,
                checks: checks(repo, &pull.head).into_iter().rev().collect(),
                files: diff
                    .files
                    .iter()
                    .map(|file| file_view(&diff, file, &standing))
                    .collect(),
            })
        })
    }

    fn read<T>(
        &self,
        repo: &str,
        number: u64,
        view: impl FnOnce(&Repo, &Pull) -> Result<T, StateError>,
    ) -> Result<T, StateError> {
        let world = self.world();
        let repo = world.repo_named(repo)?;
        let pull = repo.pulls.get(&number);
        view(
            repo,
            pull.ok_or_else(|| StateError::missing(format!("pull request {number}")))?,
        )
    }

    fn mark(&self, repo: &str, number: u64, mark: impl FnOnce(&mut Pull)) {
        let mut world = self.world();
        if let Ok(repo) = world.repo_named_mut(repo)
            && let Some(pull) = repo.pulls.get_mut(&number)
        {
            mark(pull);
        }
    }
}

fn start(text: &str) -> String {
    text.chars().take(60).collect::<String>().replace('\n', " ")
}

fn threads(repo: &Repo, pull: &Pull) -> Result<Vec<ThreadView>, StateError> {
    let mut views = Vec::new();
    for thread in &pull.threads {
        let mut comments = Vec::new();
        for comment in pull
            .review_comments
            .iter()
            .filter(|c| c.thread == thread.id)
        {
            comments.push(comment_view(repo, pull, comment)?);
        }
        views.push(ThreadView {
            node_id: node_id("PullRequestReviewThread", thread.id),
            resolved: thread.resolved_by.is_some(),
            resolved_by: thread.resolved_by.clone(),
            comments,
        });
    }
    Ok(views)
}

fn issue_comments(pull: &Pull) -> Vec<IssueCommentView> {
    pull.comments
        .iter()
        .map(|comment| IssueCommentView {
            id: comment.id,
            author: comment.author.clone(),
            body: comment.body.clone(),
            minimized: comment.minimized.clone(),
            reactions: comment
                .reactions
                .iter()
                .map(|r| (r.author.clone(), r.content.clone()))
                .collect(),
        })
        .collect()
}

fn comment_view(
    repo: &Repo,
    pull: &Pull,
    comment: &ReviewComment,
) -> Result<CommentView, StateError> {
    let place = current(repo, pull, comment)?;
    let anchor = &comment.anchor;
    Ok(CommentView {
        id: comment.id,
        review: comment.review,
        in_reply_to: comment.in_reply_to,
        author: comment.author.clone(),
        body: comment.body.clone(),
        path: lossy(&anchor.path),
        side: anchor.line.map_or(Side::Right, |place| place.side),
        line: place.line.map(|place| place.line),
        original_line: anchor.line.map(|place| place.line),
        original_start_line: anchor.start.map(|place| place.line),
        original_commit: comment.commit.clone(),
        outdated: place.outdated,
        minimized: comment.minimized.clone(),
    })
}

fn checks(repo: &Repo, sha: &str) -> Vec<CheckView> {
    repo.checks
        .iter()
        .filter(|run| run.head == sha)
        .map(|run| CheckView {
            id: run.id,
            name: run.name.clone(),
            head: run.head.clone(),
            status: run.status.clone(),
            conclusion: run.conclusion.clone(),
            external_id: run.external_id.clone(),
            title: run.title.clone(),
            summary: run.summary.clone(),
            text: run.text.clone(),
            details_url: run.details_url.clone(),
            annotations: run.annotations.len(),
        })
        .collect()
}

fn file_view(diff: &Diff, file: &FileDiff, threads: &[ThreadView]) -> FileView {
    let path = lossy(&file.path);
    let mut lines = Vec::new();
    for hunk in &file.hunks {
        lines.push(LineView {
            sign: '@',
            old: None,
            new: None,
            text: diff.header(hunk),
            threads: Vec::new(),
        });
        for line in &hunk.lines {
            let below = |thread: &&ThreadView| {
                thread.comments.first().is_some_and(|first| {
                    let number = match first.side {
                        Side::Left => line.old,
                        Side::Right => line.new,
                    };
                    first.path == path && number.is_some() && first.line == number
                })
            };
            lines.push(LineView {
                sign: match (line.old, line.new) {
                    (Some(_), Some(_)) => ' ',
                    (Some(_), None) => '-',
                    (None, Some(_)) => '+',
                    (None, None) => '\\',
                },
                old: line.old,
                new: line.new,
                text: diff.line_text(line),
                threads: threads.iter().filter(below).cloned().collect(),
            });
        }
    }
    FileView {
        path,
        old_path: file.old_path.as_ref().map(|old| lossy(old)),
        additions: file.additions,
        deletions: file.deletions,
        lines,
    }
}
