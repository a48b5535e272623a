//! The routes: what each needs, since when it exists, what it takes, and who handles it.

use super::http::{Answer, Cx};
use super::versions::GitlabFeature;
use crate::path::variables;

mod discussions;
mod drafts;
mod emoji;
mod instance;
mod merge_requests;
mod notes;
mod repository;
mod statuses;

pub(crate) use emoji::EMOJI;

/// What a route wants to see before it answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Need {
    /// Any token.
    Token,
    /// A token of somebody who sees the project.
    Project,
    /// A token of somebody who may read its code.
    Code,
    /// A token of somebody who may comment.
    Comment,
    /// A token of a developer.
    Developer,
}

/// One route.
#[derive(Clone, Copy)]
pub(crate) struct Route {
    pub(crate) method: &'static str,
    pub(crate) template: &'static str,
    pub(crate) need: Need,
    /// What a version must have for the route to exist; `None` means all have it.
    pub(crate) feature: Option<GitlabFeature>,
    /// The parameters it knows.
    pub(crate) params: &'static [&'static str],
    pub(crate) handler: fn(&mut Cx<'_>) -> Answer,
}

impl Route {
    /// Returns the route's name: method and template.
    pub(crate) fn name(&self) -> String {
        format!("{} {}", self.method, self.template)
    }
}

const fn route(
    method: &'static str,
    template: &'static str,
    need: Need,
    params: &'static [&'static str],
    handler: fn(&mut Cx<'_>) -> Answer,
) -> Route {
    Route {
        method,
        template,
        need,
        feature: None,
        params,
        handler,
    }
}

const fn since(feature: GitlabFeature, route: Route) -> Route {
    Route {
        feature: Some(feature),
        ..route
    }
}

const PAGED: &[&str] = &["page", "per_page"];
const BODY: &[&str] = &["body"];
const NONE: &[&str] = &[];

const MERGE: &str = "/projects/{id}/merge_requests/{iid}";

macro_rules! merge {
    ($rest:literal) => {
        concat!("/projects/{id}/merge_requests/{iid}", $rest)
    };
}

macro_rules! repo {
    ($rest:literal) => {
        concat!("/projects/{id}/repository", $rest)
    };
}

/// All routes.
#[rustfmt::skip]
pub(crate) static ROUTES: &[Route] = &[
    route("GET", "/version", Need::Token, NONE, instance::version),
    since(GitlabFeature::Metadata, route("GET", "/metadata", Need::Token, NONE, instance::metadata)),
    route("GET", "/user", Need::Token, NONE, instance::user),
    since(
        GitlabFeature::TokenSelf,
        route("GET", "/personal_access_tokens/self", Need::Token, NONE, instance::token_self),
    ),
    route("GET", "/projects/{id}", Need::Project, NONE, instance::project),
    route(
        "GET", "/projects/{id}/members/all", Need::Project, &["page", "per_page", "query"],
        instance::members,
    ),
    route("GET", "/projects/{id}/members/all/{user}", Need::Project, NONE, instance::member),
    route("GET", "/projects/{id}/members/{user}", Need::Project, NONE, instance::member),
    route(
        "GET", "/projects/{id}/merge_requests", Need::Project,
        &["page", "per_page", "state", "source_branch", "author_id", "order_by", "sort", "updated_after"],
        merge_requests::list,
    ),
    route("GET", MERGE, Need::Project, NONE, merge_requests::get),
    route("GET", merge!("/versions"), Need::Code, PAGED, merge_requests::versions),
    route("GET", merge!("/versions/{version}"), Need::Code, &["unidiff"], merge_requests::version),
    since(
        GitlabFeature::Diffs,
        route("GET", merge!("/diffs"), Need::Code, &["page", "per_page", "unidiff"], merge_requests::diffs),
    ),
    route("GET", merge!("/changes"), Need::Code, &["access_raw_diffs", "unidiff"], merge_requests::changes),
    since(
        GitlabFeature::RawDiffs,
        route("GET", merge!("/raw_diffs"), Need::Code, NONE, merge_requests::raw_diffs),
    ),
    route("GET", merge!("/commits"), Need::Code, PAGED, merge_requests::commits),
    route("GET", merge!("/discussions"), Need::Project, PAGED, discussions::list),
    route("POST", merge!("/discussions"), Need::Comment, &["body", "position", "commit_id"], discussions::create),
    route("GET", merge!("/discussions/{discussion}"), Need::Project, NONE, discussions::get),
    route("PUT", merge!("/discussions/{discussion}"), Need::Comment, &["resolved"], discussions::resolve),
    route("POST", merge!("/discussions/{discussion}/notes"), Need::Comment, BODY, discussions::reply),
    route(
        "PUT", merge!("/discussions/{discussion}/notes/{note}"), Need::Comment,
        &["body", "resolved"], discussions::update_note,
    ),
    route(
        "DELETE", merge!("/discussions/{discussion}/notes/{note}"), Need::Comment, NONE,
        discussions::delete_note,
    ),
    route(
        "GET", merge!("/notes"), Need::Project, &["page", "per_page", "sort", "order_by"], notes::list,
    ),
    route("POST", merge!("/notes"), Need::Comment, BODY, notes::create),
    route("GET", merge!("/notes/{note}"), Need::Project, NONE, notes::get),
    route("PUT", merge!("/notes/{note}"), Need::Comment, BODY, notes::update),
    route("DELETE", merge!("/notes/{note}"), Need::Comment, NONE, notes::delete),
    route("GET", merge!("/award_emoji"), Need::Project, PAGED, emoji::list_on_merge),
    route("POST", merge!("/award_emoji"), Need::Comment, &["name"], emoji::award_merge),
    route("GET", merge!("/notes/{note}/award_emoji"), Need::Project, PAGED, emoji::list_on_note),
    route("POST", merge!("/notes/{note}/award_emoji"), Need::Comment, &["name"], emoji::award_note),
    route(
        "DELETE", merge!("/notes/{note}/award_emoji/{award}"), Need::Comment, NONE,
        emoji::revoke_from_note,
    ),
    since(
        GitlabFeature::DraftNotes,
        route("GET", merge!("/draft_notes"), Need::Project, PAGED, drafts::list),
    ),
    since(
        GitlabFeature::DraftNotes,
        route(
            "POST", merge!("/draft_notes"), Need::Comment,
            &["note", "position", "in_reply_to_discussion_id", "resolve_discussion", "commit_id"],
            drafts::create,
        ),
    ),
    since(
        GitlabFeature::DraftNotes,
        route("POST", merge!("/draft_notes/bulk_publish"), Need::Comment, NONE, drafts::bulk_publish),
    ),
    since(
        GitlabFeature::DraftNotes,
        route("GET", merge!("/draft_notes/{draft}"), Need::Project, NONE, drafts::get),
    ),
    since(
        GitlabFeature::DraftNotes,
        route("PUT", merge!("/draft_notes/{draft}"), Need::Comment, &["note", "position"], drafts::update),
    ),
    since(
        GitlabFeature::DraftNotes,
        route("DELETE", merge!("/draft_notes/{draft}"), Need::Comment, NONE, drafts::delete),
    ),
    since(
        GitlabFeature::DraftNotes,
        route("PUT", merge!("/draft_notes/{draft}/publish"), Need::Comment, NONE, drafts::publish),
    ),
    route("GET", repo!("/files/{path}/raw"), Need::Code, &["ref"], repository::raw_file),
    route("GET", repo!("/files/{path}"), Need::Code, &["ref"], repository::file),
    route("GET", repo!("/blobs/{sha}"), Need::Code, NONE, repository::blob),
    route("GET", repo!("/blobs/{sha}/raw"), Need::Code, NONE, repository::raw_blob),
    route("GET", repo!("/archive.zip"), Need::Code, &["sha"], repository::zip),
    route("GET", repo!("/archive.tar.gz"), Need::Code, &["sha"], repository::tar_gz),
    route("GET", repo!("/compare"), Need::Code, &["from", "to", "straight"], repository::compare),
    route(
        "GET", repo!("/tree"), Need::Code,
        &["path", "ref", "recursive", "page", "per_page", "pagination", "page_token"],
        repository::tree,
    ),
    route("GET", repo!("/commits/{sha}"), Need::Code, NONE, repository::commit),
    route(
        "GET", repo!("/commits/{sha}/statuses"), Need::Code,
        &["page", "per_page", "ref", "name", "all"], statuses::list,
    ),
    route("GET", repo!("/commits/{sha}/merge_requests"), Need::Code, PAGED, merge_requests::of_commit),
    route(
        "POST", "/projects/{id}/statuses/{sha}", Need::Developer,
        &["state", "ref", "name", "context", "target_url", "description", "coverage", "pipeline_id"],
        statuses::create,
    ),
];

/// What a path leads to.
pub(crate) enum Found {
    /// A route and its decoded variables.
    Route(&'static Route, Vec<String>),
    /// Routes of other methods.
    OtherMethod,
    /// Nothing.
    Nothing,
}

/// Finds the route for a path below the API's base. Words win over variables.
pub(crate) fn find(method: &str, path: &str) -> Found {
    let mut other = false;
    for route in ROUTES {
        if let Some(vars) = variables(route.template, path) {
            if route.method == method {
                return Found::Route(route, vars);
            }
            other = true;
        }
    }
    if other {
        Found::OtherMethod
    } else {
        Found::Nothing
    }
}

/// Returns the names of all routes with the feature each depends on, for documents and tests.
pub fn gitlab_route_names() -> Vec<(String, Option<GitlabFeature>)> {
    ROUTES
        .iter()
        .map(|route| (route.name(), route.feature))
        .collect()
}
