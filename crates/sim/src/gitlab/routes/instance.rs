//! The instance, users, tokens, projects and their members.

use serde_json::{Value, json};

use crate::gitlab::errors::{no_record, not_found, unauthorized};
use crate::gitlab::http::{Answer, Cx};
use crate::gitlab::render::{maybe_time, time};
use crate::gitlab::world::Project;
use crate::server::Reply;

/// What `GET /version` answers as the revision.
const REVISION: &str = "5ca1ab1e000";

fn version_text(cx: &Cx<'_>) -> String {
    format!("{}.0-ee", cx.version())
}

#[expect(clippy::unnecessary_wraps, reason = "a handler")]
pub(crate) fn version(cx: &mut Cx<'_>) -> Answer {
    let shown = json!({ "version": version_text(cx), "revision": REVISION });
    Ok(Reply::json(200, &shown))
}

#[expect(clippy::unnecessary_wraps, reason = "a handler")]
pub(crate) fn metadata(cx: &mut Cx<'_>) -> Answer {
    Ok(Reply::json(
        200,
        &json!({
            "version": version_text(cx),
            "revision": REVISION,
            "kas": { "enabled": false, "externalUrl": null, "version": null },
            "enterprise": true,
        }),
    ))
}

#[expect(clippy::unnecessary_wraps, reason = "a handler")]
pub(crate) fn user(cx: &mut Cx<'_>) -> Answer {
    let actor = cx.actor();
    let bot = cx.world.users.get(&actor).is_some_and(|user| user.bot);
    let mut shown = cx.show().user(&actor);
    if let Some(fields) = shown.as_object_mut() {
        fields.insert("bot".to_owned(), json!(bot));
    }
    Ok(Reply::json(200, &shown))
}

pub(crate) fn token_self(cx: &mut Cx<'_>) -> Answer {
    let token = cx.caller.token.as_ref().ok_or_else(unauthorized)?;
    let scopes: Vec<&str> = token.scopes.iter().map(|scope| scope.as_str()).collect();
    Ok(Reply::json(
        200,
        &json!({
            "id": token.id,
            "name": token.name,
            "revoked": token.revoked,
            "created_at": time(token.created),
            "scopes": scopes,
            "user_id": cx.world.users.get(&token.user).map(|user| user.id),
            "active": true,
            "expires_at": token.expires.map(|at| at.format("%Y-%m-%d").to_string()),
        }),
    ))
}

pub(crate) fn project(cx: &mut Cx<'_>) -> Answer {
    let shown = cx.show().project(cx.project()?);
    Ok(Reply::json(200, &shown))
}

fn shown_member(cx: &Cx<'_>, project: &Project, username: &str) -> Option<Value> {
    let access = project.access(username)?;
    let mut shown = cx.show().user(username);
    if let Some(fields) = shown.as_object_mut() {
        fields.insert("access_level".to_owned(), json!(access.level()));
        fields.insert("created_at".to_owned(), time(project.created));
        fields.insert("expires_at".to_owned(), maybe_time(None));
    }
    Some(shown)
}

pub(crate) fn members(cx: &mut Cx<'_>) -> Answer {
    let query = cx.params.text("query")?.map(|text| text.to_lowercase());
    let project = cx.project()?;
    let shown: Vec<Value> = project
        .members
        .keys()
        .filter(|name| {
            query
                .as_ref()
                .is_none_or(|text| name.to_lowercase().contains(text))
        })
        .filter_map(|username| shown_member(cx, project, username))
        .collect();
    cx.page(shown.len(), |range| {
        Ok(json!(shown.get(range).unwrap_or_default()))
    })
}

pub(crate) fn member(cx: &mut Cx<'_>) -> Answer {
    let id = cx.number(1, "user_id")?;
    let project = cx.project()?;
    let user = cx.world.users.values().find(|user| user.id == id);
    let user = user.ok_or_else(|| not_found("User"))?;
    let shown = shown_member(cx, project, &user.username);
    let shown = shown.ok_or_else(no_record)?;
    Ok(Reply::json(200, &shown))
}
