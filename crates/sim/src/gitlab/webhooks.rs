//! Webhook deliveries: with the headers of each version, kept until somebody takes them.
//!
//! <https://docs.gitlab.com/user/project/integrations/webhooks/>

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use chrono::{DateTime, Utc};
use hmac::{Hmac, KeyInit as _, Mac as _};
use serde_json::{Value, json};
use sha2::Sha256;

use super::Gitlab;
use super::render::hook_labels;
use super::versions::GitlabFeature;
use super::world::World;
use crate::json::merged;
use crate::state::StateError;

/// Failures in a row that switch a hook off.
const MOST_FAILURES: u32 = 4;

/// How a project's webhook is set up.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HookOptions {
    /// The secret token, which is sent as it is.
    pub token: Option<String>,
    /// The signing token, `whsec_…`; versions without it ignore it.
    pub signing_token: Option<String>,
}

/// A project's webhook.
#[derive(Debug, Clone)]
pub(crate) struct Hook {
    pub(crate) id: u64,
    pub(crate) options: HookOptions,
    failures: u32,
    /// Whether failures switched it off for good.
    pub(crate) disabled: bool,
    /// Until when failures switched it off.
    paused_until: Option<DateTime<Utc>>,
}

impl Hook {
    pub(crate) fn new(id: u64, options: HookOptions) -> Self {
        Self {
            id,
            options,
            failures: 0,
            disabled: false,
            paused_until: None,
        }
    }
}

/// One delivery as it goes over the wire: `POST` these headers and this body.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GitlabDelivery {
    /// The delivery's number.
    pub id: u64,
    /// `X-Gitlab-Event`.
    pub event: String,
    /// The action of the payload's object, if it has one.
    pub action: Option<String>,
    /// All headers.
    pub headers: Vec<(String, String)>,
    /// The body, byte for byte as it was signed.
    pub body: Vec<u8>,
}

impl GitlabDelivery {
    /// Returns a header.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers
            .iter()
            .find(|(own, _)| own.eq_ignore_ascii_case(name))
            .map(|(_, value)| value.as_str())
    }
}

/// A delivery as it is kept.
#[derive(Debug, Clone)]
pub(crate) struct Delivery {
    id: u64,
    project: u64,
    hook: Hook,
    event: &'static str,
    payload: Value,
    /// The same for every attempt.
    key: String,
    event_uuid: String,
    at: DateTime<Utc>,
}

/// Returns the `webhook-signature` of a body, or nothing if the token is not one.
pub fn gitlab_signature(token: &str, id: &str, timestamp: &str, body: &[u8]) -> Option<String> {
    let key = STANDARD.decode(token.strip_prefix("whsec_")?).ok()?;
    let mut mac = Hmac::<Sha256>::new_from_slice(&key).ok()?;
    mac.update(format!("{id}.{timestamp}.").as_bytes());
    mac.update(body);
    let digest = STANDARD.encode(mac.finalize().into_bytes());
    Some(format!("v1,{digest}"))
}

fn uuid(seed: u64, kind: u16) -> String {
    format!(
        "{:08x}-{kind:04x}-4111-8222-{seed:012x}",
        seed & 0xffff_ffff
    )
}

impl Gitlab {
    /// Takes the deliveries that nobody took yet, oldest first.
    pub fn take_deliveries(&self) -> Vec<GitlabDelivery> {
        let mut world = self.world();
        let taken = std::mem::take(&mut world.outbox);
        taken
            .into_iter()
            .filter_map(|index| world.deliveries.get(index))
            .map(|delivery| self.wire(delivery))
            .collect()
    }

    /// Sends a delivery again, as the button of that name does: the key stays, other ids change.
    pub fn resend(&self, delivery: u64) -> Result<(), StateError> {
        let mut world = self.world();
        let id = world.next_id();
        let found = world.deliveries.iter().find(|d| d.id == delivery);
        let mut again = found
            .cloned()
            .ok_or_else(|| StateError::missing(format!("delivery {delivery}")))?;
        again.id = id;
        again.event_uuid = uuid(id, 0xe);
        again.at = self.now();
        let index = world.deliveries.len();
        world.outbox.push(index);
        world.deliveries.push(again);
        Ok(())
    }

    /// Lets all further events share one `X-Gitlab-Event-UUID`, as those do that webhooks cause,
    /// or ends that.
    pub fn share_event_uuid(&self, share: bool) {
        let mut world = self.world();
        let id = world.next_id();
        world.shared_uuid = share.then(|| uuid(id, 0xe));
    }

    /// Records how the receiver answered a delivery: enough failures switch the hook off.
    pub fn record_answer(&self, delivery: u64, code: u16) -> Result<(), StateError> {
        let mut world = self.world();
        let disables =
            self.options().auto_disable_hooks && self.has(GitlabFeature::AutoDisabledHooks);
        let now = self.now();
        let project = world
            .deliveries
            .iter()
            .find(|d| d.id == delivery)
            .map(|d| d.project)
            .ok_or_else(|| StateError::missing(format!("delivery {delivery}")))?;
        let hook = world
            .projects
            .get_mut(&project)
            .and_then(|project| project.hook.as_mut())
            .ok_or_else(|| StateError::missing("hook"))?;
        if code < 400 {
            hook.failures = 0;
            hook.paused_until = None;
            return Ok(());
        }
        hook.failures = hook.failures.saturating_add(1);
        if disables && hook.failures >= MOST_FAILURES {
            if code < 500 {
                hook.disabled = true;
            } else {
                hook.paused_until = Some(now + chrono::TimeDelta::minutes(1));
            }
        }
        Ok(())
    }

    /// Returns whether a project's hook still delivers.
    pub fn hook_works(&self, project: &str) -> Result<bool, StateError> {
        let world = self.world();
        let project = world.project(project)?;
        Ok(project.hook.as_ref().is_some_and(|hook| {
            !hook.disabled && hook.paused_until.is_none_or(|until| until <= self.now())
        }))
    }

    /// Delivers an event of a merge request.
    pub(crate) fn merge_event(
        &self,
        world: &mut World,
        (project, iid): (u64, u64),
        action: &str,
        by: &str,
        oldrev: Option<&str>,
        changes: &Value,
    ) -> Result<(), StateError> {
        world.user(by);
        let payload = {
            let show = self.show(world);
            let (found, merge) = world.merge(project, iid)?;
            if found.hook.is_none() {
                return Ok(());
            }
            let mut attributes = show.merge_attributes(found, merge)?;
            if let Some(fields) = attributes.as_object_mut() {
                fields.insert("action".to_owned(), json!(action));
                if let Some(oldrev) = oldrev {
                    fields.insert("oldrev".to_owned(), json!(oldrev));
                }
            }
            let payload = json!({
                "object_kind": "merge_request",
                "user": show.hook_user(by),
                "project": show.hook_project(found),
                "repository": repository(&show.hook_project(found)),
                "object_attributes": attributes,
                "labels": hook_labels(found, merge),
                "changes": changes,
            });
            if self.has(GitlabFeature::ModernPayloads) {
                let more = json!({
                    "event_type": "merge_request", "assignees": [], "reviewers": [],
                });
                merged(payload, more)
            } else {
                payload
            }
        };
        self.queue(world, project, "Merge Request Hook", payload);
        Ok(())
    }

    /// Delivers an event of a note, if the hook hears of it.
    pub(crate) fn note_event(
        &self,
        world: &mut World,
        (project, iid): (u64, u64),
        note: u64,
        action: &str,
        by: &str,
    ) {
        if action != "create" && !self.has(GitlabFeature::NoteUpdates) {
            return;
        }
        let payload = (|| {
            let show = self.show(world);
            let found = world.projects.get(&project)?;
            found.hook.as_ref()?;
            let (merge, discussion, note) = found.note(iid, note)?;
            let mut attributes = show.note_attributes(found, merge, discussion, note);
            if self.has(GitlabFeature::NoteUpdates)
                && let Some(fields) = attributes.as_object_mut()
            {
                fields.insert("action".to_owned(), json!(action));
                fields.insert("internal".to_owned(), json!(false));
            }
            let payload = json!({
                "object_kind": "note",
                "user": show.hook_user(by),
                "project_id": project,
                "project": show.hook_project(found),
                "repository": repository(&show.hook_project(found)),
                "object_attributes": attributes,
                "merge_request": show.merge_attributes(found, merge).ok()?,
            });
            Some(if self.has(GitlabFeature::ModernPayloads) {
                merged(payload, json!({ "event_type": "note" }))
            } else {
                payload
            })
        })();
        if let Some(payload) = payload {
            self.queue(world, project, "Note Hook", payload);
        }
    }

    /// Delivers an event of an emoji on a note.
    pub(crate) fn emoji_event(
        &self,
        world: &mut World,
        (project, iid): (u64, u64),
        (note, award): (u64, &super::world::Award),
        action: &str,
    ) {
        if !self.has(GitlabFeature::EmojiEvents) {
            return;
        }
        let payload = (|| {
            let show = self.show(world);
            let found = world.projects.get(&project)?;
            found.hook.as_ref()?;
            let (merge, discussion, note) = found.note(iid, note)?;
            let note = show.note_attributes(found, merge, discussion, note);
            Some(json!({
                "object_kind": "emoji",
                "event_type": action,
                "user": show.hook_user(&award.author),
                "project_id": project,
                "project": show.hook_project(found),
                "object_attributes": {
                    "user_id": world.users.get(&award.author).map(|user| user.id),
                    "created_at": show.hook_time(award.at),
                    "id": award.id,
                    "name": award.name,
                    "awardable_type": "Note",
                    "awardable_id": note.get("id"),
                    "updated_at": show.hook_time(award.at),
                    "action": action,
                    "awarded_on_url": note.get("url"),
                },
                "note": note,
                "merge_request": show.merge_attributes(found, merge).ok()?,
            }))
        })();
        if let Some(payload) = payload {
            self.queue(world, project, "Emoji Hook", payload);
        }
    }

    fn queue(&self, world: &mut World, project: u64, event: &'static str, payload: Value) {
        let id = world.next_id();
        let now = self.now();
        let Some(hook) = world.projects.get(&project).and_then(|p| p.hook.clone()) else {
            return;
        };
        if hook.disabled || hook.paused_until.is_some_and(|until| until > now) {
            return;
        }
        let event_uuid = world.shared_uuid.clone().unwrap_or_else(|| uuid(id, 0xe));
        let index = world.deliveries.len();
        world.outbox.push(index);
        world.deliveries.push(Delivery {
            id,
            project,
            hook,
            event,
            payload,
            key: uuid(id, 0xd),
            event_uuid,
            at: now,
        });
    }

    /// Returns a delivery as it goes over the wire.
    fn wire(&self, delivery: &Delivery) -> GitlabDelivery {
        let body = delivery.payload.to_string().into_bytes();
        let version = self.version();
        let timestamp = delivery.at.timestamp().to_string();
        let mut headers = vec![
            ("Content-Type", "application/json".to_owned()),
            ("X-Gitlab-Event", delivery.event.to_owned()),
        ];
        let mut since = |feature, name, value: &str| {
            if self.has(feature) {
                headers.push((name, value.to_owned()));
            }
        };
        since(
            GitlabFeature::EventUuid,
            "X-Gitlab-Event-UUID",
            &delivery.event_uuid,
        );
        since(
            GitlabFeature::InstanceHeader,
            "X-Gitlab-Instance",
            &self.url(),
        );
        since(
            GitlabFeature::WebhookUuid,
            "X-Gitlab-Webhook-UUID",
            &uuid(delivery.hook.id, 0xf),
        );
        since(
            GitlabFeature::IdempotencyKey,
            "Idempotency-Key",
            &delivery.key,
        );
        since(GitlabFeature::SigningToken, "webhook-id", &delivery.key);
        since(GitlabFeature::SigningToken, "webhook-timestamp", &timestamp);
        let token = delivery.hook.options.signing_token.as_deref();
        let signature =
            token.and_then(|token| gitlab_signature(token, &delivery.key, &timestamp, &body));
        if let Some(signature) = signature {
            since(GitlabFeature::SigningToken, "webhook-signature", &signature);
        }
        if self.has(GitlabFeature::EventUuid) {
            headers.push(("User-Agent", format!("GitLab/{version}.0")));
        }
        if let Some(token) = &delivery.hook.options.token {
            headers.push(("X-Gitlab-Token", token.clone()));
        }
        let action = delivery
            .payload
            .pointer("/object_attributes/action")
            .and_then(Value::as_str);
        GitlabDelivery {
            id: delivery.id,
            event: delivery.event.to_owned(),
            action: action.map(str::to_owned),
            headers: headers
                .into_iter()
                .map(|(name, value)| (name.to_owned(), value))
                .collect(),
            body,
        }
    }
}

/// Returns the older form of a project that payloads carry beside it.
fn repository(project: &Value) -> Value {
    json!({
        "name": project.get("name"),
        "url": project.get("url"),
        "homepage": project.get("homepage"),
    })
}
