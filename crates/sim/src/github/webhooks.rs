//! Webhook deliveries: signed like GitHub's, kept until somebody takes them, logged for the App.
//!
//! <https://docs.github.com/webhooks/using-webhooks/validating-webhook-deliveries>

use chrono::{DateTime, Utc};
use hmac::{Hmac, KeyInit as _, Mac as _};
use serde_json::{Map, Value, json};
use sha2::Sha256;

use super::Github;
use super::options::HookEncoding;
use super::render::{Show, merged, node_id};
use super::world::{AccountKind, HookConfig, World};
use crate::state::StateError;

/// One delivery as it goes over the wire: `POST` these headers and this body.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WebhookDelivery {
    /// The delivery's number, which redelivery requests name.
    pub id: u64,
    /// `X-GitHub-Delivery`; a redelivery has the guid of the first attempt.
    pub guid: String,
    /// `X-GitHub-Event`.
    pub event: String,
    /// The payload's `action`, if it has one.
    pub action: Option<String>,
    /// Whether this is a redelivery.
    pub redelivery: bool,
    /// All headers, the signature included.
    pub headers: Vec<(String, String)>,
    /// The body, byte for byte as it was signed.
    pub body: Vec<u8>,
}

/// A delivery as the log keeps it.
#[derive(Debug, Clone)]
pub(crate) struct Delivery {
    pub(crate) id: u64,
    pub(crate) guid: String,
    pub(crate) event: String,
    pub(crate) action: Option<String>,
    pub(crate) redelivery: bool,
    /// The hook's settings when it was sent.
    pub(crate) hook: HookConfig,
    pub(crate) at: DateTime<Utc>,
    pub(crate) payload: Value,
    pub(crate) installation: Option<u64>,
    pub(crate) repository: Option<u64>,
    /// What became of it; `None` until somebody says.
    pub(crate) outcome: Option<Outcome>,
}

/// How the receiver answered.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Outcome {
    /// GitHub's word: `OK`, `timed out`, `Internal Server Error`, …
    pub(crate) status: String,
    pub(crate) code: u16,
    pub(crate) seconds: f64,
}

/// Returns the `X-Hub-Signature-256` of a body.
pub fn hook_signature(secret: &str, body: &[u8]) -> String {
    let digest = Hmac::<Sha256>::new_from_slice(secret.as_bytes()).map(|mut mac| {
        mac.update(body);
        mac.finalize().into_bytes()
    });
    // HMAC takes keys of any length, so there always is a digest.
    digest.map_or_else(
        |_| String::new(),
        |digest| format!("sha256={}", hex::encode(digest)),
    )
}

impl Github {
    /// Takes the deliveries that nobody took yet, oldest first.
    pub fn take_deliveries(&self) -> Vec<WebhookDelivery> {
        let mut world = self.world();
        let taken = std::mem::take(&mut world.outbox);
        taken
            .into_iter()
            .filter_map(|index| world.deliveries.get(index))
            .map(|delivery| delivery.wire(self))
            .collect()
    }

    /// Records how the receiver answered a delivery; the App sees it in its delivery log.
    pub fn record_answer(&self, delivery: u64, code: u16) -> Result<(), StateError> {
        let status = match code {
            200..=399 => "OK".to_owned(),
            _ => format!("Invalid HTTP Response: {code}"),
        };
        self.record_outcome(
            delivery,
            Outcome {
                status,
                code,
                seconds: 0.2,
            },
        )
    }

    /// Records that the receiver did not answer a delivery in time.
    pub fn record_timeout(&self, delivery: u64) -> Result<(), StateError> {
        let status = "timed out".to_owned();
        self.record_outcome(
            delivery,
            Outcome {
                status,
                code: 0,
                seconds: 10.0,
            },
        )
    }

    fn record_outcome(&self, delivery: u64, outcome: Outcome) -> Result<(), StateError> {
        let mut world = self.world();
        let found = world.deliveries.iter_mut().find(|d| d.id == delivery);
        let found = found.ok_or_else(|| StateError::missing(format!("delivery {delivery}")))?;
        found.outcome = Some(outcome);
        Ok(())
    }

    /// Sends the `ping` that GitHub sends when the hook is created.
    pub fn ping(&self) {
        let mut world = self.world();
        let now = self.now();
        let id = world.next_id();
        let app = &self.options().app;
        let payload = json!({
            "zen": "Anything added dilutes everything else.",
            "hook_id": id,
            "hook": {
                "type": "App",
                "id": id,
                "name": "web",
                "active": true,
                "app_id": app.id,
                "events": app.events,
                "config": hook_config(&world),
                "updated_at": crate::clock::rfc3339(now),
                "created_at": crate::clock::rfc3339(now),
                "deliveries_url": format!("{}/app/hook/deliveries", self.urls().api),
            },
        });
        self.queue(&mut world, "ping", payload, None, None);
    }

    /// Queues the delivery of an event in a repository, if the App is installed there and wants it.
    ///
    /// `body` holds what this event adds to the usual fields.
    pub(crate) fn emit(
        &self,
        world: &mut World,
        repo: u64,
        event: &str,
        sender: &str,
        body: Value,
    ) {
        world.account(sender);
        let show = self.show(world);
        let Some(repository) = world.repos.get(&repo) else {
            return;
        };
        let Some(installation) = world.installation_for(repository) else {
            return;
        };
        let wanted = self
            .options()
            .app
            .events
            .iter()
            .any(|wanted| wanted == event);
        // An installation from before the App asked for it hears of no queue.
        let granted =
            event != "merge_group" || installation.permissions.contains_key("merge_queues");
        if !wanted || !granted || installation.suspended {
            return;
        }
        let installation = installation.id;
        let mut common = json!({
            "repository": show.repo(repository),
            "sender": show.user(sender),
            "installation": { "id": installation, "node_id": node_id("Installation", installation) },
        });
        if let (Some(organization), Some(common)) = (
            organization(&show, &repository.owner),
            common.as_object_mut(),
        ) {
            common.insert("organization".to_owned(), organization);
        }
        let payload = merged(body, common);
        self.queue(world, event, payload, Some(installation), Some(repo));
    }

    /// Signs a payload and puts it into log and outbox.
    pub(crate) fn queue(
        &self,
        world: &mut World,
        event: &str,
        payload: Value,
        installation: Option<u64>,
        repository: Option<u64>,
    ) {
        let id = world.next_id();
        let guid = format!("{:08x}-51ed-11f0-8c7e-{id:012x}", id & 0xffff_ffff);
        let action = payload
            .get("action")
            .and_then(Value::as_str)
            .map(str::to_owned);
        world.outbox.push(world.deliveries.len());
        world.deliveries.push(Delivery {
            id,
            guid,
            event: event.to_owned(),
            action,
            redelivery: false,
            hook: world.hook.clone(),
            at: self.now(),
            payload,
            installation,
            repository,
            outcome: None,
        });
    }

    /// Queues a logged delivery once more, under its guid; returns whether there is one.
    pub(crate) fn redeliver(&self, world: &mut World, delivery: u64) -> bool {
        let Some(old) = world.deliveries.iter().find(|d| d.id == delivery) else {
            return false;
        };
        let mut again = old.clone();
        again.id = world.next_id();
        again.redelivery = true;
        again.hook = world.hook.clone();
        again.at = self.now();
        again.outcome = None;
        world.outbox.push(world.deliveries.len());
        world.deliveries.push(again);
        true
    }
}

impl Delivery {
    /// Returns the headers of the delivery of a body.
    fn headers(&self, github: &Github, body: &[u8]) -> Vec<(String, String)> {
        let content_type = if self.hook.form {
            "application/x-www-form-urlencoded"
        } else {
            "application/json"
        };
        let mut headers = vec![
            ("Accept", "*/*".to_owned()),
            ("Content-Type", content_type.to_owned()),
            ("User-Agent", "GitHub-Hookshot/5imu1a7".to_owned()),
            ("X-GitHub-Delivery", self.guid.clone()),
            ("X-GitHub-Event", self.event.clone()),
            ("X-GitHub-Hook-ID", "400000001".to_owned()),
            (
                "X-GitHub-Hook-Installation-Target-ID",
                github.options().app.id.to_string(),
            ),
            (
                "X-GitHub-Hook-Installation-Target-Type",
                "integration".to_owned(),
            ),
        ];
        if !github.options().prefix.is_empty() {
            let host = github.urls().html.trim_start_matches("https://").to_owned();
            headers.push(("X-GitHub-Enterprise-Version", "3.17.0".to_owned()));
            headers.push(("X-GitHub-Enterprise-Host", host));
        }
        if !self.hook.secret.is_empty() {
            headers.push((
                "X-Hub-Signature-256",
                hook_signature(&self.hook.secret, body),
            ));
        }
        headers
            .into_iter()
            .map(|(name, value)| (name.to_owned(), value))
            .collect()
    }

    /// Returns the delivery as it goes over the wire of the App's hook.
    pub(crate) fn wire(&self, github: &Github) -> WebhookDelivery {
        let json = self.payload.to_string();
        let body = if self.hook.form {
            let form: String = url::form_urlencoded::byte_serialize(json.as_bytes()).collect();
            format!("payload={form}").into_bytes()
        } else {
            json.into_bytes()
        };
        WebhookDelivery {
            id: self.id,
            guid: self.guid.clone(),
            event: self.event.clone(),
            action: self.action.clone(),
            redelivery: self.redelivery,
            headers: self.headers(github, &body),
            body,
        }
    }
}

/// Returns the hook's settings as the API and the ping show them.
pub(crate) fn hook_config(world: &World) -> Value {
    json!({
        "content_type": if world.hook.form { "form" } else { "json" },
        "insecure_ssl": "0",
        "secret": "********",
        "url": world.hook.url,
    })
}

pub(crate) fn starts_as_form(encoding: HookEncoding) -> bool {
    encoding == HookEncoding::Form
}

fn organization(show: &Show<'_>, login: &str) -> Option<Value> {
    let account = show.world.accounts.get(login)?;
    if account.kind != AccountKind::Organization {
        return None;
    }
    let url = format!("{}/orgs/{login}", show.urls.api);
    let mut shown = Map::new();
    for (field, value) in [
        ("login", login.to_owned()),
        ("node_id", node_id("Organization", account.id)),
        ("url", url.clone()),
        ("repos_url", format!("{url}/repos")),
        ("events_url", format!("{url}/events")),
        ("hooks_url", format!("{url}/hooks")),
        ("issues_url", format!("{url}/issues")),
        ("members_url", format!("{url}/members{{/member}}")),
        (
            "public_members_url",
            format!("{url}/public_members{{/member}}"),
        ),
        (
            "avatar_url",
            format!("{}/avatars/u/{}", show.urls.html, account.id),
        ),
        ("description", String::new()),
    ] {
        shown.insert(field.to_owned(), json!(value));
    }
    shown.insert("id".to_owned(), json!(account.id));
    Some(Value::Object(shown))
}
