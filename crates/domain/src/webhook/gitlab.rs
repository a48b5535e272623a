//! GitLab's webhooks, from version 12 on: believed by a token or a signature, and reduced to a [`Delivery`].
//!
//! <https://docs.gitlab.com/user/project/integrations/webhooks/>
//!
//! **Invariant:** what may be ignored is never an error: GitLab switches a webhook off that answers `4xx`.

mod payload;
mod verify;

pub use verify::{
    GitlabSecrets, MAX_CLOCK_SKEW, NoGitlabSecret, SigningTokenError, sign_gitlab, verify_gitlab,
};

use super::payload::read;
use super::{FieldProblem, IgnoreReason, MAX_BODY_BYTES, Parsed, WebhookError, find_command};
use crate::ids::{Account, DeliveryId, Forge, sha256};
use crate::request::{CommentPlace, Delivery, Origin, Repository, Request, Trigger};
use payload::{Kind, MergeRequestEvent, NoteEvent, ProjectPart};

/// The headers of a request. All but those of the signature are what anybody could write.
#[derive(Debug, Clone, Copy, Default)]
pub struct GitlabHeaders<'a> {
    /// `X-Gitlab-Token`: the secret token in clear.
    pub token: Option<&'a str>,
    /// `webhook-id`, part of what is signed.
    pub webhook_id: Option<&'a str>,
    /// `webhook-timestamp`, in Unix seconds.
    pub webhook_timestamp: Option<&'a str>,
    /// `webhook-signature`: one or more of `v1,` and base64, apart by spaces.
    pub webhook_signature: Option<&'a str>,
    /// `Idempotency-Key`, from 17.4 on: the same when GitLab sends an event again.
    pub idempotency_key: Option<&'a str>,
    /// `X-Gitlab-Event-UUID`, from 14.8 on: shared by events that one request caused.
    pub event_uuid: Option<&'a str>,
}

/// Reads a verified body.
///
/// What it is stands in its `object_kind`; the header `X-Gitlab-Event` says `System Hook` of some. Kinds and
/// actions that are unknown are ignored, because GitLab keeps adding some; an event that is known and lacks what
/// is needed is an error that names the field.
pub fn parse_gitlab(headers: GitlabHeaders<'_>, body: &[u8]) -> Result<Parsed, WebhookError> {
    if body.len() > MAX_BODY_BYTES {
        return Err(WebhookError::TooLarge {
            limit: MAX_BODY_BYTES,
        });
    }
    let kind: Kind = read(body)?;
    let asked = match kind.object_kind.as_str() {
        "merge_request" => merge_request(body)?,
        "note" => note(body)?,
        // Reactions to our comments are read with the comments, by the run that looks at them.
        _ => Err(IgnoreReason::Event),
    };
    Ok(match asked {
        Ok(asked) => Parsed::Delivery(Box::new(Delivery {
            id: delivery_id(headers, &asked.identity),
            body: sha256(body),
            origin: asked.origin,
            event: kind.object_kind,
            action: asked.action,
            request: asked.request,
        })),
        Err(reason) => Parsed::Ignored(reason),
    })
}

/// What an event asks for, and what makes it this event.
struct Wanted {
    origin: Origin,
    action: String,
    request: Request,
    identity: Vec<String>,
}

type Asked = Result<Result<Wanted, IgnoreReason>, WebhookError>;

fn merge_request(body: &[u8]) -> Asked {
    let event: MergeRequestEvent = read(body)?;
    let Some(due) = event.due() else {
        return Ok(Err(IgnoreReason::Action));
    };
    let attributes = event.object_attributes;
    let pr = attributes.iid;
    let head = attributes.last_commit.id;
    let action = attributes.action.unwrap_or_default();
    let identity = vec![
        event.project.id.to_string(),
        pr.to_string(),
        head.as_str().to_owned(),
        action.clone(),
        attributes.updated_at.unwrap_or_default(),
    ];
    let request = match due {
        Due::End => Request::Closed { pr },
        Due::Review(trigger) => Request::Review {
            pr,
            head,
            base_ref: attributes.target_branch,
            trigger,
        },
    };
    Ok(Ok(Wanted {
        origin: origin(event.project)?,
        action,
        request,
        identity,
    }))
}

fn note(body: &[u8]) -> Asked {
    let event: NoteEvent = read(body)?;
    let note = event.object_attributes;
    if note.noteable_type != "MergeRequest" {
        return Ok(Err(IgnoreReason::NotAPullRequest));
    }
    // Its text was another one when people saw it; old versions do not say which it is.
    if note
        .action
        .as_deref()
        .is_some_and(|action| action != "create")
    {
        return Ok(Err(IgnoreReason::Action));
    }
    // GitLab itself speaks in notes: "added 1 commit".
    if note.system.unwrap_or(false) {
        return Ok(Err(IgnoreReason::Bot));
    }
    let said = find_command(&note.note).filter(|verb| verb.starts_something());
    let (Some(verb), Some(merge_request)) = (said, event.merge_request) else {
        return Ok(Err(IgnoreReason::NoCommand));
    };
    let is_on_line = note.position.is_some() || note.kind.as_deref() == Some("DiffNote");
    let identity = vec![event.project.id.to_string(), note.id.to_string()];
    Ok(Ok(Wanted {
        origin: origin(event.project)?,
        action: note.action.unwrap_or_default(),
        request: Request::Command {
            pr: merge_request.iid,
            comment: note.id,
            place: if is_on_line {
                CommentPlace::Line
            } else {
                CommentPlace::Conversation
            },
            verb,
            author: note.author_id,
        },
        identity,
    }))
}

/// The numbers decide; the name is for people.
fn origin(project: ProjectPart) -> Result<Origin, WebhookError> {
    let name = project.path_with_namespace;
    let account = Account::parse(name.owner()).map_err(|_error| WebhookError::Field {
        path: "project.path_with_namespace".to_owned(),
        problem: FieldProblem::Malformed,
    })?;
    Ok(Origin {
        forge: Forge::Gitlab,
        account,
        installation: None,
        repository: Some(Repository {
            id: project.id,
            name,
        }),
    })
}

/// Returns what an event is called: by GitLab where it says so, else by a hash of what makes it this event.
///
/// The event's UUID alone does not: one request that causes several events gives all of them the same.
fn delivery_id(headers: GitlabHeaders<'_>, identity: &[String]) -> DeliveryId {
    let named = headers.idempotency_key.or(headers.webhook_id);
    let named = named.and_then(|key| DeliveryId::parse(key).ok());
    named.unwrap_or_else(|| {
        let uuid = headers.event_uuid.unwrap_or_default().as_bytes();
        let fields: Vec<&[u8]> = std::iter::once(uuid)
            .chain(identity.iter().map(String::as_bytes))
            .collect();
        DeliveryId::of_fields(&fields)
    })
}

/// What follows from an event of a merge request.
enum Due {
    Review(Trigger),
    End,
}

impl MergeRequestEvent {
    /// Returns what is due, if anything.
    fn due(&self) -> Option<Due> {
        Some(match self.object_attributes.action.as_deref()? {
            "open" => Due::Review(Trigger::Opened),
            "reopen" => Due::Review(Trigger::Reopened),
            "close" | "merge" => Due::End,
            // Labels and titles are edited with the same action: new commits have the head before them.
            "update" if self.object_attributes.oldrev.is_some() => Due::Review(Trigger::Pushed),
            "update" if self.changes.retargeted() => Due::Review(Trigger::Retargeted),
            "update" if self.changes.is_ready_now() => Due::Review(Trigger::Ready),
            _ => return None,
        })
    }
}
