//! How the state looks in GitHub's JSON.
//!
//! Shapes follow GitHub's published OpenAPI description; the tests validate every answer with it.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use chrono::{DateTime, Utc};
use serde_json::{Value, json};

use super::options::GithubOptions;
use super::world::{AccountKind, Installation, Repo, World};
use crate::clock::rfc3339;
pub(crate) use crate::json::{lossy, merged};

mod checks;
mod comments;
mod commits;
mod pulls;
mod repos;

/// Where the simulated GitHub says it is.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Urls {
    /// REST, without a slash at the end.
    pub(crate) api: String,
    /// GraphQL.
    pub(crate) graphql: String,
    /// Archives.
    pub(crate) codeload: String,
    /// What people open in a browser.
    pub(crate) html: String,
    /// The part of it that is served: where Apps are registered.
    pub(crate) website: String,
}

/// Everything a rendering needs.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Show<'a> {
    pub(crate) world: &'a World,
    pub(crate) urls: &'a Urls,
    pub(crate) options: &'a GithubOptions,
}

/// Returns an opaque GraphQL id.
pub(crate) fn node_id(kind: &str, id: u64) -> String {
    STANDARD_NO_PAD.encode(format!("{kind}:{id}"))
}

/// Reads an opaque GraphQL id back.
pub(crate) fn parse_node_id(node: &str) -> Option<(String, u64)> {
    let bytes = STANDARD_NO_PAD.decode(node).ok()?;
    let text = String::from_utf8(bytes).ok()?;
    let (kind, id) = text.split_once(':')?;
    Some((kind.to_owned(), id.parse().ok()?))
}

pub(crate) fn time(at: DateTime<Utc>) -> Value {
    Value::String(rfc3339(at))
}

pub(crate) fn maybe_time(at: Option<DateTime<Utc>>) -> Value {
    at.map_or(Value::Null, time)
}

impl Show<'_> {
    /// Returns a `simple-user`, or null if the account is gone.
    pub(crate) fn user(&self, login: &str) -> Value {
        let Some(account) = self.world.accounts.get(login) else {
            return Value::Null;
        };
        let (api, html) = (&self.urls.api, &self.urls.html);
        let encoded = login.replace('[', "%5B").replace(']', "%5D");
        let url = format!("{api}/users/{encoded}");
        let page = match account.kind {
            AccountKind::Bot => {
                format!("{html}/apps/{}", account.login.trim_end_matches("[bot]"))
            }
            _ => format!("{html}/{login}"),
        };
        json!({
            "login": account.login,
            "id": account.id,
            "node_id": node_id("User", account.id),
            "avatar_url": format!("{html}/avatars/u/{}", account.id),
            "gravatar_id": "",
            "url": url,
            "html_url": page,
            "followers_url": format!("{url}/followers"),
            "following_url": format!("{url}/following{{/other_user}}"),
            "gists_url": format!("{url}/gists{{/gist_id}}"),
            "starred_url": format!("{url}/starred{{/owner}}{{/repo}}"),
            "subscriptions_url": format!("{url}/subscriptions"),
            "organizations_url": format!("{url}/orgs"),
            "repos_url": format!("{url}/repos"),
            "events_url": format!("{url}/events{{/privacy}}"),
            "received_events_url": format!("{url}/received_events"),
            "type": match account.kind {
                AccountKind::User => "User",
                AccountKind::Organization => "Organization",
                AccountKind::Bot => "Bot",
            },
            "user_view_type": "public",
            "site_admin": false,
        })
    }

    /// Returns the App.
    pub(crate) fn app(&self) -> Value {
        let app = &self.options.app;
        let registered = self.world.registered.as_ref();
        let owner = registered.map_or_else(|| format!("{}[bot]", app.slug), |r| r.owner.clone());
        let permissions: Value = registered
            .map_or(&app.permissions, |r| &r.permissions)
            .iter()
            .map(|(k, v)| (k.clone(), json!(v)))
            .collect::<serde_json::Map<_, _>>()
            .into();
        json!({
            "id": app.id,
            "slug": app.slug,
            "client_id": app.client_id,
            "node_id": node_id("App", app.id),
            "owner": self.user(&owner),
            "name": registered.map_or(&app.slug, |r| &r.name),
            "description": "",
            "external_url": self.urls.html,
            "html_url": format!("{}/apps/{}", self.urls.html, app.slug),
            "created_at": "2026-01-01T00:00:00Z",
            "updated_at": "2026-01-01T00:00:00Z",
            "permissions": permissions,
            "events": registered.map_or(&app.events, |r| &r.events),
        })
    }

    /// Returns an installation.
    pub(crate) fn installation(&self, installation: &Installation) -> Value {
        let api = &self.urls.api;
        let app = &self.options.app;
        let id = installation.id;
        let target = self.world.accounts.get(&installation.owner);
        let permissions: serde_json::Map<String, Value> = installation
            .permissions
            .iter()
            .map(|(k, v)| (k.clone(), json!(v.as_str())))
            .collect();
        json!({
            "id": id,
            "client_id": app.client_id,
            "account": self.user(&installation.owner),
            "repository_selection": if installation.selected.is_some() { "selected" } else { "all" },
            "access_tokens_url": format!("{api}/app/installations/{id}/access_tokens"),
            "repositories_url": format!("{api}/installation/repositories"),
            "html_url": format!("{}/settings/installations/{id}", self.urls.html),
            "app_id": app.id,
            "app_slug": app.slug,
            "target_id": target.map_or(0, |account| account.id),
            "target_type": match target.map(|account| account.kind) {
                Some(AccountKind::Organization) => "Organization",
                _ => "User",
            },
            "permissions": permissions,
            "events": app.events,
            "created_at": time(installation.created),
            "updated_at": time(installation.created),
            "single_file_name": null,
            "has_multiple_single_files": false,
            "single_file_paths": [],
            "suspended_by": null,
            "suspended_at": if installation.suspended { time(installation.created) } else { Value::Null },
        })
    }

    /// Returns an installation as most of its webhooks show it: times as seconds since 1970.
    pub(crate) fn installation_in_seconds(&self, installation: &Installation) -> Value {
        let seconds = installation.created.timestamp();
        let times = json!({ "created_at": seconds, "updated_at": seconds });
        merged(self.installation(installation), times)
    }

    /// Returns the address of a repository in the API.
    pub(crate) fn repo_url(&self, repo: &Repo) -> String {
        format!("{}/repos/{}", self.urls.api, repo.full_name())
    }

    /// Returns the address of a repository's page.
    pub(crate) fn repo_page(&self, repo: &Repo) -> String {
        format!("{}/{}", self.urls.html, repo.full_name())
    }
}
