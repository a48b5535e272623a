//! The routes: what each needs, and who handles it.

use super::http::{Answer, Cx};
use super::world::Level;
use crate::path::variables;

mod app;
mod archives;
mod checks;
mod comments;
mod contents;
mod issues;
mod misc;
mod pulls;
mod reviews;

pub(crate) use issues::REACTIONS;

/// What a route wants to see before it answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Need {
    /// No credential.
    Nothing,
    /// The App's JWT.
    App,
    /// The App's JWT, for a repository where it is installed.
    AppOfRepo,
    /// An installation token.
    Installation,
    /// Any token.
    Token,
    /// A token with one of these permissions at this level, for a repository it reaches.
    Repo(&'static [&'static str], Level),
}

/// One route.
pub(crate) struct Route {
    pub(crate) method: &'static str,
    /// The path; `{x+}` takes one segment or more.
    pub(crate) template: &'static str,
    pub(crate) need: Need,
    /// Whether it creates content that people are notified of.
    pub(crate) content: bool,
    pub(crate) handler: fn(&mut Cx<'_>) -> Answer,
}

impl Route {
    /// Returns the route's name: method and template.
    pub(crate) fn name(&self) -> String {
        format!("{} {}", self.method, self.template.replace('+', ""))
    }
}

const fn route(
    method: &'static str,
    template: &'static str,
    need: Need,
    handler: fn(&mut Cx<'_>) -> Answer,
) -> Route {
    Route {
        method,
        template,
        need,
        content: false,
        handler,
    }
}

const fn creates(template: &'static str, need: Need, handler: fn(&mut Cx<'_>) -> Answer) -> Route {
    Route {
        method: "POST",
        template,
        need,
        content: true,
        handler,
    }
}

const METADATA: Need = Need::Repo(&["metadata"], Level::Read);
const CONTENTS: Need = Need::Repo(&["contents"], Level::Read);
const PULLS: Need = Need::Repo(&["pull_requests"], Level::Read);
const PULLS_WRITE: Need = Need::Repo(&["pull_requests"], Level::Write);
const TALK: Need = Need::Repo(&["issues", "pull_requests"], Level::Read);
const TALK_WRITE: Need = Need::Repo(&["issues", "pull_requests"], Level::Write);
const CHECKS: Need = Need::Repo(&["checks"], Level::Read);
const CHECKS_WRITE: Need = Need::Repo(&["checks"], Level::Write);
const STATUSES: Need = Need::Repo(&["statuses"], Level::Read);
const STATUSES_WRITE: Need = Need::Repo(&["statuses"], Level::Write);

/// All routes.
pub(crate) static ROUTES: &[Route] = &[
    route("GET", "/app", Need::App, app::get_app),
    route(
        "GET",
        "/app/installations",
        Need::App,
        app::list_installations,
    ),
    route(
        "GET",
        "/app/installations/{id}",
        Need::App,
        app::get_installation,
    ),
    route(
        "POST",
        "/app/installations/{id}/access_tokens",
        Need::App,
        app::create_token,
    ),
    route(
        "POST",
        "/app-manifests/{code}/conversions",
        Need::Nothing,
        app::convert_manifest,
    ),
    route("GET", "/app/hook/config", Need::App, app::get_hook_config),
    route(
        "PATCH",
        "/app/hook/config",
        Need::App,
        app::update_hook_config,
    ),
    route(
        "GET",
        "/app/hook/deliveries",
        Need::App,
        app::list_deliveries,
    ),
    route(
        "GET",
        "/app/hook/deliveries/{id}",
        Need::App,
        app::get_delivery,
    ),
    route(
        "POST",
        "/app/hook/deliveries/{id}/attempts",
        Need::App,
        app::redeliver,
    ),
    route(
        "GET",
        "/repos/{o}/{r}/installation",
        Need::AppOfRepo,
        app::repo_installation,
    ),
    route(
        "GET",
        "/installation/repositories",
        Need::Installation,
        app::list_repositories,
    ),
    route(
        "DELETE",
        "/installation/token",
        Need::Installation,
        app::revoke_token,
    ),
    route("GET", "/rate_limit", Need::Token, misc::rate_limit),
    route("POST", "/graphql", Need::Token, super::graphql::answer),
    route("GET", "/meta", Need::Nothing, misc::meta),
    route("GET", "/user", Need::Token, misc::user),
    route("GET", "/repos/{o}/{r}", METADATA, misc::get_repo),
    route(
        "GET",
        "/repos/{o}/{r}/collaborators/{user}/permission",
        METADATA,
        misc::permission,
    ),
    route("GET", "/repos/{o}/{r}/pulls", PULLS, pulls::list),
    route("GET", "/repos/{o}/{r}/pulls/{n}", PULLS, pulls::get),
    route("GET", "/repos/{o}/{r}/pulls/{n}/files", PULLS, pulls::files),
    route(
        "GET",
        "/repos/{o}/{r}/pulls/{n}/commits",
        PULLS,
        pulls::commits,
    ),
    route(
        "GET",
        "/repos/{o}/{r}/compare/{basehead+}",
        CONTENTS,
        pulls::compare,
    ),
    route(
        "GET",
        "/repos/{o}/{r}/contents/{path+}",
        CONTENTS,
        contents::get,
    ),
    route(
        "GET",
        "/repos/{o}/{r}/git/blobs/{sha}",
        CONTENTS,
        contents::blob,
    ),
    route(
        "GET",
        "/repos/{o}/{r}/git/trees/{sha+}",
        CONTENTS,
        contents::tree,
    ),
    route(
        "GET",
        "/repos/{o}/{r}/zipball/{ref+}",
        CONTENTS,
        archives::zipball,
    ),
    route(
        "GET",
        "/repos/{o}/{r}/tarball/{ref+}",
        CONTENTS,
        archives::tarball,
    ),
    route(
        "GET",
        "/repos/{o}/{r}/pulls/{n}/reviews",
        PULLS,
        reviews::list,
    ),
    creates(
        "/repos/{o}/{r}/pulls/{n}/reviews",
        PULLS_WRITE,
        reviews::create,
    ),
    route(
        "GET",
        "/repos/{o}/{r}/pulls/{n}/reviews/{id}",
        PULLS,
        reviews::get,
    ),
    route(
        "PUT",
        "/repos/{o}/{r}/pulls/{n}/reviews/{id}",
        PULLS_WRITE,
        reviews::update,
    ),
    route(
        "DELETE",
        "/repos/{o}/{r}/pulls/{n}/reviews/{id}",
        PULLS_WRITE,
        reviews::delete,
    ),
    route(
        "GET",
        "/repos/{o}/{r}/pulls/{n}/reviews/{id}/comments",
        PULLS,
        reviews::comments,
    ),
    creates(
        "/repos/{o}/{r}/pulls/{n}/reviews/{id}/events",
        PULLS_WRITE,
        reviews::submit,
    ),
    route(
        "PUT",
        "/repos/{o}/{r}/pulls/{n}/reviews/{id}/dismissals",
        PULLS_WRITE,
        reviews::dismiss,
    ),
    route(
        "GET",
        "/repos/{o}/{r}/pulls/{n}/comments",
        PULLS,
        comments::list,
    ),
    creates(
        "/repos/{o}/{r}/pulls/{n}/comments",
        PULLS_WRITE,
        comments::create,
    ),
    route(
        "GET",
        "/repos/{o}/{r}/pulls/comments/{id}",
        PULLS,
        comments::get,
    ),
    route(
        "PATCH",
        "/repos/{o}/{r}/pulls/comments/{id}",
        PULLS_WRITE,
        comments::update,
    ),
    route(
        "DELETE",
        "/repos/{o}/{r}/pulls/comments/{id}",
        PULLS_WRITE,
        comments::delete,
    ),
    creates(
        "/repos/{o}/{r}/pulls/comments/{id}/reactions",
        PULLS_WRITE,
        comments::react,
    ),
    route(
        "GET",
        "/repos/{o}/{r}/issues/{n}/comments",
        TALK,
        issues::list,
    ),
    creates(
        "/repos/{o}/{r}/issues/{n}/comments",
        TALK_WRITE,
        issues::create,
    ),
    route(
        "GET",
        "/repos/{o}/{r}/issues/comments/{id}",
        TALK,
        issues::get,
    ),
    route(
        "PATCH",
        "/repos/{o}/{r}/issues/comments/{id}",
        TALK_WRITE,
        issues::update,
    ),
    route(
        "DELETE",
        "/repos/{o}/{r}/issues/comments/{id}",
        TALK_WRITE,
        issues::delete,
    ),
    creates(
        "/repos/{o}/{r}/issues/comments/{id}/reactions",
        TALK_WRITE,
        issues::react,
    ),
    route(
        "POST",
        "/repos/{o}/{r}/check-runs",
        CHECKS_WRITE,
        checks::create,
    ),
    route("GET", "/repos/{o}/{r}/check-runs/{id}", CHECKS, checks::get),
    route(
        "PATCH",
        "/repos/{o}/{r}/check-runs/{id}",
        CHECKS_WRITE,
        checks::update,
    ),
    route(
        "GET",
        "/repos/{o}/{r}/commits/{ref+}/check-runs",
        CHECKS,
        checks::list,
    ),
    route(
        "POST",
        "/repos/{o}/{r}/statuses/{sha}",
        STATUSES_WRITE,
        checks::create_status,
    ),
    route(
        "GET",
        "/repos/{o}/{r}/commits/{ref+}/status",
        STATUSES,
        checks::combined_status,
    ),
];

/// Finds the route for a path, without its prefix, and the decoded variables.
pub(crate) fn find(method: &str, path: &str) -> Option<(&'static Route, Vec<String>)> {
    ROUTES
        .iter()
        .filter(|route| route.method == method)
        .find_map(|route| Some((route, variables(route.template, path)?)))
}
