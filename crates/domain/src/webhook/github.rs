//! From a verified body to a [`Delivery`].

use super::payload::{
    CheckEvent, CommentPart, Event, InstallationEvent, InstallationPart, IssueCommentEvent,
    LineCommentEvent, MergeGroupEvent, PullRequestEvent, RepositoryPart, SenderPart, Shape,
    SuiteEvent, read,
};
use super::{FieldProblem, IgnoreReason, MAX_BODY_BYTES, WebhookError, find_command, form};
use crate::ids::{Account, BranchName, DeliveryId, Forge, PrNumber, sha256};
use crate::merge_queue::QueueBranch;
use crate::request::{CommentPlace, Delivery, Origin, Repository, Request, Trigger, Verb};

/// The longest `external_id` that is kept; ours are 32 characters.
const MAX_EXTERNAL_ID_CHARS: usize = 64;
/// Pull requests of one commit whose checks are run again at once.
const MAX_SUITE_PULLS: usize = 5;

/// The headers that say what a body is. They are not signed.
#[derive(Debug, Clone, Copy, Default)]
pub struct GithubHeaders<'a> {
    /// `X-GitHub-Event`.
    pub event: Option<&'a str>,
    /// `X-GitHub-Delivery`.
    pub delivery: Option<&'a str>,
    /// `Content-Type`.
    pub content_type: Option<&'a str>,
}

/// What a body asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Parsed {
    /// Something to act on.
    Delivery(Box<Delivery>),
    /// Nothing.
    Ignored(IgnoreReason),
}

/// Reads a verified body.
///
/// Unknown events and actions are ignored, because the forge keeps adding some; a known event whose
/// body lacks what is needed, or is another event's, is an error that names the field.
pub fn parse_github(headers: GithubHeaders<'_>, body: &[u8]) -> Result<Parsed, WebhookError> {
    if body.len() > MAX_BODY_BYTES {
        return Err(WebhookError::TooLarge {
            limit: MAX_BODY_BYTES,
        });
    }
    let name = headers
        .event
        .ok_or(header("X-GitHub-Event", FieldProblem::Missing))?;
    let id = headers
        .delivery
        .ok_or(header("X-GitHub-Delivery", FieldProblem::Missing))?;
    let id = DeliveryId::parse(id)
        .map_err(|_error| header("X-GitHub-Delivery", FieldProblem::Malformed))?;
    let Some(event) = Event::parse(name) else {
        return Ok(Parsed::Ignored(IgnoreReason::Event));
    };
    let json = form::json_bytes(headers.content_type, body)?;
    let shape: Shape = read(&json)?;
    shape.must_fit(event)?;
    let action = shape.action.unwrap_or_default();
    let asked = match event {
        Event::Ping => Err(IgnoreReason::Ping),
        Event::PullRequest => pull_request(&action, &json)?,
        Event::IssueComment => issue_comment(&action, &json)?,
        Event::CheckRun => check(&action, &json)?,
        Event::CheckSuite => suite(&action, &json)?,
        Event::MergeGroup => merge_group(&action, &json)?,
        Event::Installation => installation(&action, &json)?,
        Event::PullRequestReviewComment => line_comment(&action, &json)?,
        Event::PullRequestReview | Event::PullRequestReviewThread => Err(IgnoreReason::Event),
    };
    Ok(match asked {
        Ok((origin, request)) => Parsed::Delivery(Box::new(Delivery {
            id,
            body: sha256(body),
            origin,
            event: event.as_str().to_owned(),
            action,
            request,
        })),
        Err(reason) => Parsed::Ignored(reason),
    })
}

/// What an event asks for, or why nothing.
type Asked = Result<Result<(Origin, Request), IgnoreReason>, WebhookError>;

fn pull_request(action: &str, json: &[u8]) -> Asked {
    let trigger = match action {
        "opened" => Some(Trigger::Opened),
        "synchronize" => Some(Trigger::Pushed),
        "reopened" => Some(Trigger::Reopened),
        "ready_for_review" => Some(Trigger::Ready),
        "edited" => Some(Trigger::Retargeted),
        "closed" => None,
        _ => return Ok(Err(IgnoreReason::Action)),
    };
    let event: PullRequestEvent = read(json)?;
    // Title and text may be edited at will; only another base is another diff.
    let retargeted = event.changes.is_some_and(|changes| changes.base.is_some());
    if trigger == Some(Trigger::Retargeted) && !retargeted {
        return Ok(Err(IgnoreReason::Action));
    }
    let pr = event.number;
    let request = match trigger {
        None => Request::Closed { pr },
        // A draft is recorded too: that is a hint like everything else, and the collector asks.
        Some(trigger) => Request::Review {
            pr,
            head: event.pull_request.head.sha,
            base_ref: event.pull_request.base.branch,
            trigger,
        },
    };
    Ok(Ok((origin(event.repository, event.installation)?, request)))
}

fn issue_comment(action: &str, json: &[u8]) -> Asked {
    // Edits and deletions give no command: its text was another one when people saw it.
    if action != "created" {
        return Ok(Err(IgnoreReason::Action));
    }
    let event: IssueCommentEvent = read(json)?;
    if event.issue.pull_request.is_none() {
        return Ok(Err(IgnoreReason::NotAPullRequest));
    }
    let said = said(event.sender.as_ref(), &event.comment);
    match said.map(|verb| {
        command(
            event.issue.number,
            &event.comment,
            verb,
            CommentPlace::Conversation,
        )
    }) {
        Ok(request) => Ok(Ok((origin(event.repository, event.installation)?, request))),
        Err(reason) => Ok(Err(reason)),
    }
}

fn line_comment(action: &str, json: &[u8]) -> Asked {
    if action != "created" {
        return Ok(Err(IgnoreReason::Action));
    }
    let event: LineCommentEvent = read(json)?;
    let said = said(event.sender.as_ref(), &event.comment);
    match said.map(|verb| {
        command(
            event.pull_request.number,
            &event.comment,
            verb,
            CommentPlace::Line,
        )
    }) {
        Ok(request) => Ok(Ok((origin(event.repository, event.installation)?, request))),
        Err(reason) => Ok(Err(reason)),
    }
}

/// Returns the command that a person gave, or why there is none.
fn said(sender: Option<&SenderPart>, comment: &CommentPart) -> Result<Verb, IgnoreReason> {
    if is_bot(sender) || is_bot(comment.user.as_ref()) {
        return Err(IgnoreReason::Bot);
    }
    match find_command(&comment.body) {
        Some(verb) if verb.starts_something() => Ok(verb),
        _ => Err(IgnoreReason::NoCommand),
    }
}

fn command(pr: PrNumber, comment: &CommentPart, verb: Verb, place: CommentPlace) -> Request {
    Request::Command {
        pr,
        comment: comment.id,
        place,
        verb,
        author: comment.user.as_ref().and_then(|user| user.id),
    }
}

/// "Re-run" arrives as `check_run`, "re-run all" as `check_suite` only; both go to the owning App.
fn suite(action: &str, json: &[u8]) -> Asked {
    if action != "rerequested" {
        return Ok(Err(IgnoreReason::Action));
    }
    let event: SuiteEvent = read(json)?;
    if is_bot(event.sender.as_ref()) {
        return Ok(Err(IgnoreReason::Bot));
    }
    let here = event.repository.id;
    let suite = event.check_suite;
    let named = suite.pull_requests.into_iter();
    let request = Request::SuiteRerun {
        sha: suite.head_sha,
        prs: named
            .filter(|pull| pull.base.repo.id == here)
            .map(|pull| pull.number)
            .take(MAX_SUITE_PULLS)
            .collect(),
    };
    Ok(Ok((origin(event.repository, event.installation)?, request)))
}

fn check(action: &str, json: &[u8]) -> Asked {
    if action != "rerequested" {
        return Ok(Err(IgnoreReason::Action));
    }
    let event: CheckEvent = read(json)?;
    if is_bot(event.sender.as_ref()) {
        return Ok(Err(IgnoreReason::Bot));
    }
    let external_id = event.check_run.external_id.unwrap_or_default();
    let request = Request::CheckRerun {
        sha: event.check_run.head_sha,
        external_id: external_id.chars().take(MAX_EXTERNAL_ID_CHARS).collect(),
    };
    Ok(Ok((origin(event.repository, event.installation)?, request)))
}

fn merge_group(action: &str, json: &[u8]) -> Asked {
    if action != "checks_requested" {
        return Ok(Err(IgnoreReason::Action));
    }
    let event: MergeGroupEvent = read(json)?;
    let group = event.merge_group;
    let Some((branch, pr)) = queue_branch(&group.head_ref, &group.base_ref) else {
        return Ok(Err(IgnoreReason::NotAPullRequest));
    };
    let request = Request::MergeGroup {
        sha: group.head_sha,
        branch,
        pr,
    };
    Ok(Ok((origin(event.repository, event.installation)?, request)))
}

/// Returns a queue's branch and the pull request in its name, if its base is the one that the event names.
fn queue_branch(head_ref: &str, base_ref: &str) -> Option<(BranchName, PrNumber)> {
    let branch = BranchName::parse(head_ref.strip_prefix("refs/heads/")?).ok()?;
    let said = QueueBranch::parse(&branch)?;
    let base = base_ref.strip_prefix("refs/heads/")?;
    (said.base.as_str() == base).then_some((branch, said.pr))
}

fn installation(action: &str, json: &[u8]) -> Asked {
    if !matches!(action, "deleted" | "suspend") {
        return Ok(Err(IgnoreReason::Action));
    }
    let event: InstallationEvent = read(json)?;
    let origin = Origin {
        forge: Forge::Github,
        account: event.installation.account.login,
        installation: Some(event.installation.id),
        repository: None,
    };
    Ok(Ok((origin, Request::Uninstalled)))
}

fn origin(
    repository: RepositoryPart,
    installation: Option<InstallationPart>,
) -> Result<Origin, WebhookError> {
    let account =
        Account::parse(repository.full_name.owner()).map_err(|_error| WebhookError::Field {
            path: "repository.full_name".to_owned(),
            problem: FieldProblem::Malformed,
        })?;
    Ok(Origin {
        forge: Forge::Github,
        account,
        installation: installation.map(|it| it.id),
        repository: Some(Repository {
            id: repository.id,
            name: repository.full_name,
        }),
    })
}

fn is_bot(who: Option<&SenderPart>) -> bool {
    who.is_some_and(SenderPart::is_bot)
}

const fn header(name: &'static str, problem: FieldProblem) -> WebhookError {
    WebhookError::Header { name, problem }
}
