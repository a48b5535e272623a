//! The App: itself, its installations, its tokens, its deliveries.
//!
//! <https://docs.github.com/rest/apps/apps>

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use chrono::{DateTime, Utc};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::clock::rfc3339;
use crate::github::Github;
use crate::github::auth::{Caller, token_text};
use crate::github::errors::{DOCS, basic, invalid_field, not_found};
use crate::github::http::{Answer, Cx};
use crate::github::registering::secrets;
use crate::github::render::{merged, time};
use crate::github::webhooks::{Delivery, hook_config};
use crate::github::world::{Holder, Level, Token, World};
use crate::server::Reply;
use crate::state::StateError;

/// How long an installation token lasts.
const TOKEN_LIFE: Duration = Duration::from_secs(3600);
/// How long a delivery is kept for redelivery on github.com, and on a GHES.
const DELIVERY_LIFE: Duration = Duration::from_secs(3 * 24 * 3600);
const DELIVERY_LIFE_ON_GHES: Duration = Duration::from_secs(7 * 24 * 3600);
/// Most repositories one token may be narrowed to.
const MAX_TOKEN_REPOS: usize = 500;

#[expect(clippy::unnecessary_wraps, reason = "a handler")]
pub(crate) fn get_app(cx: &mut Cx<'_>) -> Answer {
    let installations = cx.world.installations.len();
    let mut app = cx.show().app();
    if let Some(app) = app.as_object_mut() {
        app.insert("installations_count".to_owned(), json!(installations));
    }
    Ok(Reply::json(200, &app))
}

/// Exchanges the code of a registration for the App and its secrets; it works once.
pub(crate) fn convert_manifest(cx: &mut Cx<'_>) -> Answer {
    let code = cx.var(0).to_owned();
    let found = cx
        .world
        .manifest_codes
        .remove(&code)
        .ok_or_else(not_found)?;
    if found.expires <= cx.github.now() {
        return Err(not_found());
    }
    let app = cx.show().app();
    Ok(Reply::json(201, &merged(app, secrets(cx.github))))
}

pub(crate) fn list_installations(cx: &mut Cx<'_>) -> Answer {
    let cx = &*cx;
    let all: Vec<_> = cx.world.installations.values().collect();
    cx.page(all.len(), |range| {
        let shown = all.get(range).unwrap_or_default();
        Ok(shown.iter().map(|i| cx.show().installation(i)).collect())
    })
}

pub(crate) fn get_installation(cx: &mut Cx<'_>) -> Answer {
    let id = cx.number(0)?;
    let installation = cx.world.installations.get(&id).ok_or_else(not_found)?;
    Ok(Reply::json(200, &cx.show().installation(installation)))
}

pub(crate) fn repo_installation(cx: &mut Cx<'_>) -> Answer {
    let installation = cx
        .world
        .installation_for(cx.repo()?)
        .ok_or_else(not_found)?;
    Ok(Reply::json(200, &cx.show().installation(installation)))
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Narrowing {
    #[serde(default)]
    repositories: Option<Vec<String>>,
    #[serde(default)]
    repository_ids: Option<Vec<u64>>,
    #[serde(default)]
    permissions: Option<BTreeMap<String, String>>,
}

pub(crate) fn create_token(cx: &mut Cx<'_>) -> Answer {
    let id = cx.number(0)?;
    let wanted: Narrowing = cx.body()?;
    let body = mint(cx.github, cx.world, id, wanted)?;
    Ok(Reply::json(201, &body))
}

/// Mints a token of an installation, narrowed as wanted.
fn mint(github: &Github, world: &mut World, id: u64, wanted: Narrowing) -> Result<Value, Reply> {
    let installation = world.installations.get(&id).ok_or_else(not_found)?.clone();
    if installation.suspended {
        return Err(basic(403, "This installation has been suspended"));
    }
    let outside = || {
        basic(
            422,
            "There is at least one repository that does not exist or is not accessible to the \
             parent installation.",
        )
    };
    let narrowed = wanted.repositories.is_some() || wanted.repository_ids.is_some();
    let mut chosen = BTreeSet::new();
    for repo_id in wanted.repository_ids.unwrap_or_default() {
        let repo = world.repos.get(&repo_id).ok_or_else(outside)?;
        if repo.owner != installation.owner || !installation.covers(repo_id) {
            return Err(outside());
        }
        chosen.insert(repo_id);
    }
    for name in wanted.repositories.unwrap_or_default() {
        let repo_id = world.repo_id(&format!("{}/{name}", installation.owner));
        let repo_id = repo_id
            .filter(|id| installation.covers(*id))
            .ok_or_else(outside)?;
        chosen.insert(repo_id);
    }
    if chosen.len() > MAX_TOKEN_REPOS {
        return Err(basic(
            422,
            "There can be at most 500 repositories in a token's scope.",
        ));
    }
    if narrowed && chosen.is_empty() {
        return Err(outside());
    }
    let permissions = permissions(&installation.permissions, wanted.permissions)?;
    let number = world.next_id();
    let token = token_text(github.options(), number);
    let expires = github.now() + TOKEN_LIFE;
    let scope = narrowed.then_some(chosen);
    let mut body = json!({
        "token": token,
        "expires_at": rfc3339(expires),
        "permissions": shown(&permissions),
        "repository_selection": if scope.is_some() || installation.selected.is_some() {
            "selected"
        } else {
            "all"
        },
    });
    if let (Some(scope), Some(body)) = (&scope, body.as_object_mut()) {
        let show = github.show(world);
        let repos: Vec<Value> = scope
            .iter()
            .filter_map(|id| world.repos.get(id))
            .map(|r| show.repo(r))
            .collect();
        body.insert("repositories".to_owned(), json!(repos));
    }
    world.tokens.insert(
        token,
        Token {
            holder: Holder::Installation(id),
            permissions,
            repos: scope,
            expires: Some(expires),
        },
    );
    Ok(body)
}

impl Github {
    /// Mints an installation token without a call, for tests of what comes after.
    ///
    /// `permissions` are pairs of name and level, `repos` full names; `None` narrows nothing.
    pub fn mint_token(
        &self,
        installation: u64,
        permissions: Option<&[(&str, &str)]>,
        repos: Option<&[&str]>,
    ) -> Result<String, StateError> {
        let mut world = self.world();
        let mut ids = Vec::new();
        for repo in repos.unwrap_or_default() {
            ids.push(world.repo_named(repo)?.id);
        }
        let owned = |(name, level): &(&str, &str)| ((*name).to_owned(), (*level).to_owned());
        let wanted = Narrowing {
            repositories: None,
            repository_ids: repos.map(|_| ids),
            permissions: permissions.map(|given| given.iter().map(owned).collect()),
        };
        let body = mint(self, &mut world, installation, wanted).map_err(|refused| {
            StateError::conflict(String::from_utf8_lossy(&refused.body).into_owned())
        })?;
        let token = body
            .get("token")
            .and_then(Value::as_str)
            .unwrap_or_default();
        Ok(token.to_owned())
    }
}

/// Narrows an installation's permissions; a token cannot have more than the installation.
fn permissions(
    granted: &BTreeMap<String, Level>,
    wanted: Option<BTreeMap<String, String>>,
) -> Result<BTreeMap<String, Level>, Reply> {
    let Some(wanted) = wanted else {
        return Ok(granted.clone());
    };
    let refused = || {
        basic(
            422,
            "The permissions requested are not granted to this installation.",
        )
    };
    let mut narrowed = BTreeMap::new();
    for (name, level) in wanted {
        let level = Level::parse(&level)
            .ok_or_else(|| invalid_field("Token", "permissions", "invalid", DOCS))?;
        let have = granted.get(&name).ok_or_else(refused)?;
        if level > *have {
            return Err(refused());
        }
        narrowed.insert(name, level);
    }
    // Every token may read metadata.
    narrowed.entry("metadata".to_owned()).or_insert(Level::Read);
    Ok(narrowed)
}

fn shown(permissions: &BTreeMap<String, Level>) -> Value {
    permissions
        .iter()
        .map(|(k, v)| (k.clone(), json!(v.as_str())))
        .collect::<Map<_, _>>()
        .into()
}

pub(crate) fn list_repositories(cx: &mut Cx<'_>) -> Answer {
    let cx = &*cx;
    let visible: Vec<_> = cx
        .world
        .repos
        .values()
        .filter(|r| cx.world.sees(&cx.caller, r))
        .collect();
    cx.page(visible.len(), |range| {
        let shown = visible.get(range).unwrap_or_default();
        let repos: Vec<Value> = shown.iter().map(|r| cx.show().repo(r)).collect();
        Ok(json!({ "total_count": visible.len(), "repositories": repos }))
    })
}

#[expect(clippy::unnecessary_wraps, reason = "a handler")]
pub(crate) fn revoke_token(cx: &mut Cx<'_>) -> Answer {
    if let Caller::Installation { token, .. } = &cx.caller {
        cx.world.tokens.remove(token);
    }
    Ok(Reply::empty(204))
}

#[expect(clippy::unnecessary_wraps, reason = "a handler")]
pub(crate) fn get_hook_config(cx: &mut Cx<'_>) -> Answer {
    Ok(Reply::json(200, &hook_config(cx.world)))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct HookUpdate {
    url: Option<String>,
    content_type: Option<String>,
    secret: Option<String>,
    #[serde(rename = "insecure_ssl")]
    _insecure_ssl: Option<Value>,
}

pub(crate) fn update_hook_config(cx: &mut Cx<'_>) -> Answer {
    let update: HookUpdate = cx.body()?;
    let hook = &mut cx.world.hook;
    if let Some(url) = update.url {
        hook.url = url;
    }
    if let Some(secret) = update.secret {
        hook.secret = secret;
    }
    match update.content_type.as_deref() {
        Some("json") => hook.form = false,
        Some("form") => hook.form = true,
        Some(_) => return Err(invalid_field("Hook", "content_type", "invalid", DOCS)),
        None => {}
    }
    Ok(Reply::json(200, &hook_config(cx.world)))
}

/// Returns the time of the oldest delivery that can still be seen.
fn oldest_delivery(cx: &Cx<'_>) -> DateTime<Utc> {
    let enterprise = !cx.github.options().prefix.is_empty();
    cx.github.now()
        - if enterprise {
            DELIVERY_LIFE_ON_GHES
        } else {
            DELIVERY_LIFE
        }
}

/// Lists deliveries, newest first, by cursor: GitHub has no page numbers here.
pub(crate) fn list_deliveries(cx: &mut Cx<'_>) -> Answer {
    let per_page = cx
        .request
        .param("per_page")
        .and_then(|v| v.parse::<usize>().ok())
        .unwrap_or(30);
    let per_page = per_page.clamp(1, 100);
    let cursor = match cx.request.param("cursor") {
        None => u64::MAX,
        Some(cursor) => cursor
            .strip_prefix("v1_")
            .and_then(|id| id.parse().ok())
            .ok_or_else(|| invalid_field("Hook", "cursor", "invalid", DOCS))?,
    };
    let status = cx.request.param("status");
    if status
        .as_deref()
        .is_some_and(|s| s != "success" && s != "failure")
    {
        return Err(invalid_field("Hook", "status", "invalid", DOCS));
    }
    let oldest = oldest_delivery(cx);
    let mut kept: Vec<&Delivery> = cx
        .world
        .deliveries
        .iter()
        .rev()
        .filter(|d| d.at >= oldest && d.id < cursor)
        .filter(|d| {
            let code = d.outcome.as_ref().map_or(0, |o| o.code);
            match status.as_deref() {
                Some("success") => (200..400).contains(&code),
                // A time-out has no code in this range: the filter misses it, as GitHub's does.
                Some(_) => (400..600).contains(&code),
                None => true,
            }
        })
        .collect();
    let more = kept.len() > per_page;
    kept.truncate(per_page);
    let shown: Vec<Value> = kept.iter().map(|d| item(d)).collect();
    let reply = Reply::json(200, &json!(shown));
    let Some(last) = kept.last().filter(|_| more) else {
        return Ok(reply);
    };
    let mut query = url::form_urlencoded::Serializer::new(String::new());
    let given = url::form_urlencoded::parse(cx.request.query.as_bytes());
    query.extend_pairs(given.filter(|(name, _)| name != "cursor"));
    query.append_pair("cursor", &format!("v1_{}", last.id));
    Ok(reply.with(
        "link",
        format!("<{}?{}>; rel=\"next\"", cx.address(), query.finish()),
    ))
}

fn item(delivery: &Delivery) -> Value {
    let outcome = delivery.outcome.as_ref();
    json!({
        "id": delivery.id,
        "guid": delivery.guid,
        "delivered_at": time(delivery.at),
        "redelivery": delivery.redelivery,
        "duration": outcome.map_or(0.0, |o| o.seconds),
        "status": outcome.map_or("failed to connect to host", |o| o.status.as_str()),
        "status_code": outcome.map_or(0, |o| o.code),
        "event": delivery.event,
        "action": delivery.action,
        "installation_id": delivery.installation,
        "repository_id": delivery.repository,
        "throttled_at": null,
    })
}

pub(crate) fn get_delivery(cx: &mut Cx<'_>) -> Answer {
    let id = cx.number(0)?;
    let found = cx
        .world
        .deliveries
        .iter()
        .find(|d| d.id == id)
        .ok_or_else(not_found)?;
    let wire = found.wire(cx.github);
    let headers: Map<String, Value> = wire
        .headers
        .iter()
        .map(|(k, v)| (k.clone(), json!(v)))
        .collect();
    let mut shown = item(found);
    if let Some(shown) = shown.as_object_mut() {
        shown.insert("url".to_owned(), json!(cx.world.hook.url));
        shown.insert(
            "request".to_owned(),
            json!({ "headers": headers, "payload": found.payload }),
        );
        shown.insert(
            "response".to_owned(),
            json!({ "headers": {}, "payload": null }),
        );
    }
    Ok(Reply::json(200, &shown))
}

pub(crate) fn redeliver(cx: &mut Cx<'_>) -> Answer {
    let id = cx.number(0)?;
    let oldest = oldest_delivery(cx);
    let known = cx
        .world
        .deliveries
        .iter()
        .any(|d| d.id == id && d.at >= oldest);
    if !known || !cx.github.redeliver(cx.world, id) {
        return Err(not_found());
    }
    Ok(Reply::json(202, &json!({})))
}
