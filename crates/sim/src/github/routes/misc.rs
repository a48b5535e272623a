//! Repositories, people, limits and GitHub itself.

use serde_json::{Value, json};

use crate::github::auth::Caller;
use crate::github::errors::{not_accessible, not_found};
use crate::github::http::{Answer, Cx};
use crate::github::limits::Balance;
use crate::github::render::merged;
use crate::github::world::{Role, World};
use crate::server::Reply;

pub(crate) fn get_repo(cx: &mut Cx<'_>) -> Answer {
    Ok(Reply::json(200, &cx.show().full_repo(cx.repo()?)))
}

/// <https://docs.github.com/rest/collaborators/collaborators#get-repository-permissions-for-a-user>
pub(crate) fn permission(cx: &mut Cx<'_>) -> Answer {
    let login = cx.var(2).to_owned();
    let account = cx.world.accounts.get(&login).ok_or_else(not_found)?;
    let login = account.login.clone();
    let role = World::role(cx.repo()?, &login);
    // The old word knows four levels only.
    let (permission, role_name) = match role {
        Role::None => ("none", "none"),
        Role::Read => ("read", "read"),
        Role::Triage => ("read", "triage"),
        Role::Write => ("write", "write"),
        Role::Maintain => ("write", "maintain"),
        Role::Admin => ("admin", "admin"),
    };
    let user = merged(
        cx.show().user(&login),
        json!({
            "permissions": {
                "admin": role >= Role::Admin,
                "maintain": role >= Role::Maintain,
                "push": role >= Role::Write,
                "triage": role >= Role::Triage,
                "pull": role >= Role::Read,
            },
            "role_name": role_name,
        }),
    );
    Ok(Reply::json(
        200,
        &json!({ "permission": permission, "role_name": role_name, "user": user }),
    ))
}

#[expect(clippy::unnecessary_wraps, reason = "a handler")]
pub(crate) fn rate_limit(cx: &mut Cx<'_>) -> Answer {
    let shown = |balance: Balance| {
        json!({
            "limit": balance.limit,
            "used": balance.used,
            "remaining": balance.remaining(),
            "reset": balance.reset,
        })
    };
    let core = shown(cx.github.balance(&cx.caller, false));
    let graphql = shown(cx.github.balance(&cx.caller, true));
    let mut body = json!({
        "resources": { "core": core, "graphql": graphql, "search": core },
    });
    let newer = cx.request.header("x-github-api-version") == Some("2026-03-10");
    if let Some(body) = body.as_object_mut().filter(|_| !newer) {
        body.insert("rate".to_owned(), core);
    }
    Ok(Reply::json(200, &body))
}

#[expect(clippy::unnecessary_wraps, reason = "a handler")]
pub(crate) fn meta(_cx: &mut Cx<'_>) -> Answer {
    // Documentation addresses (RFC 5737): nothing is reachable there.
    let hooks: Vec<&str> = vec!["192.0.2.0/24", "198.51.100.0/24"];
    Ok(Reply::json(
        200,
        &json!({ "verifiable_password_authentication": false, "hooks": hooks }),
    ))
}

pub(crate) fn user(cx: &mut Cx<'_>) -> Answer {
    let Caller::User { login, .. } = &cx.caller else {
        return Err(not_accessible("integration"));
    };
    let user = merged(
        cx.show().user(login),
        json!({
            "name": login, "company": null, "blog": null, "location": null, "email": null,
            "hireable": null, "bio": null, "public_repos": 0, "public_gists": 0, "followers": 0,
            "following": 0, "created_at": "2020-01-01T00:00:00Z",
            "updated_at": "2020-01-01T00:00:00Z",
        }),
    );
    Ok(Reply::json(200, &Value::clone(&user)))
}
