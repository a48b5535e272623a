//! From a request to an answer: route, faults, credential, limits, handler, headers.

use std::sync::PoisonError;

use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use super::auth::{Caller, identify};
use super::errors::{DOCS, basic, not_accessible, not_found};
use super::limits::Cost;
use super::path::decode;
use super::render::Show;
use super::routes::{Need, ROUTES, Route, find};
use super::world::{Level, Repo, Role, World};
use super::{ARCHIVES_ON_GHES, Github};
use crate::calls::{Call, Problem};
use crate::faults::{Played, play};
use crate::server::{Api, Reply, Request, Transport};

/// The name of the archive host's only route.
const ARCHIVE_ROUTE: &str = "GET /{o}/{r}/{archive}/{ref}";

/// What a handler returns; a refusal is an answer, too.
pub(crate) type Answer = Result<Reply, Reply>;

/// The API's listener.
#[derive(Debug)]
pub(crate) struct Front(pub(crate) Github);

/// The archives' listener, a host of its own as on github.com.
#[derive(Debug)]
pub(crate) struct Codeload(pub(crate) Github);

/// A write whose connection dropped and that has not landed yet.
#[derive(Debug)]
pub(crate) struct Late {
    pub(crate) request: Request,
    /// Calls that are answered before it lands.
    remaining: u32,
}

/// What a handler works with.
pub(crate) struct Cx<'a> {
    pub(crate) github: &'a Github,
    pub(crate) world: &'a mut World,
    pub(crate) request: &'a Request,
    pub(crate) vars: Vec<String>,
    pub(crate) caller: Caller,
    /// The repository the path names; 0 if it names none.
    pub(crate) repo: u64,
}

impl Api for Front {
    fn answer(&self, request: &Request) -> Reply {
        self.0.answer(request)
    }
}

impl Api for Codeload {
    fn answer(&self, request: &Request) -> Reply {
        self.0.search_for_secrets(request);
        if request.headers.contains_key("authorization") {
            let what = format!(
                "Authorization sent to the archive host with {}",
                request.path
            );
            self.0.0.log.problem(Problem::Leak(what));
        }
        self.0.archive_under_faults(request)
    }
}

impl Github {
    fn answer(&self, request: &Request) -> Reply {
        self.search_for_secrets(request);
        if !self.options().prefix.is_empty() && request.path.starts_with(ARCHIVES_ON_GHES) {
            return self.archive_under_faults(request);
        }
        let found = self.route(request);
        let Some((route, vars)) = found else {
            let what = format!("{} {}", request.method, request.path);
            self.0.log.problem(Problem::UnknownRoute(what));
            let reply = not_found();
            self.log(request, "unknown", "none", &reply);
            return reply;
        };
        let name = route.name();
        self.land_due();
        let kind = self.kind_of(request);
        let faults = self.0.faults.take(&name);
        let played = play(faults, || self.handle(route, &vars, request));
        let reply = match played {
            Played::Answer(reply) => reply,
            Played::Deferred(calls) => {
                let late = Late {
                    request: request.clone(),
                    remaining: calls,
                };
                self.0
                    .late
                    .lock()
                    .unwrap_or_else(PoisonError::into_inner)
                    .push(late);
                Reply::empty(500).travelling(Transport::Dropped)
            }
        };
        self.log(request, &name, kind, &reply);
        reply
    }

    fn archive_under_faults(&self, request: &Request) -> Reply {
        let faults = self.0.faults.take(ARCHIVE_ROUTE);
        let reply = match play(faults, || self.archive(request)) {
            Played::Answer(reply) => reply,
            // Reading has no effect that could land later.
            Played::Deferred(_) => Reply::empty(500).travelling(Transport::Dropped),
        };
        self.log(request, ARCHIVE_ROUTE, "none", &reply);
        reply
    }

    fn search_for_secrets(&self, request: &Request) {
        let places = [
            request.path.as_bytes(),
            request.query.as_bytes(),
            &request.body,
        ];
        if places.iter().any(|place| self.0.sentinels.found_in(place)) {
            let what = format!("in {} {}", request.method, request.path);
            self.0.log.problem(Problem::Leak(what));
        }
    }

    fn log(&self, request: &Request, route: &str, token_kind: &'static str, reply: &Reply) {
        let path = if request.query.is_empty() {
            request.path.clone()
        } else {
            format!("{}?{}", request.path, request.query)
        };
        self.0.log.record(Call {
            method: request.method.clone(),
            route: route.to_owned(),
            path,
            status: if reply.transport == Transport::Dropped {
                0
            } else {
                reply.status
            },
            token_kind,
            bytes: reply.body.len(),
            request_bytes: request.body.len(),
        });
    }

    fn route(&self, request: &Request) -> Option<(&'static Route, Vec<String>)> {
        let prefix = self.options().prefix.as_str();
        // GHES serves GraphQL beside the REST prefix.
        let graphql = if prefix.is_empty() {
            "/graphql"
        } else {
            "/api/graphql"
        };
        if request.path == graphql {
            return find(&request.method, "/graphql");
        }
        let path = self.path_of(request);
        let inside = prefix.is_empty() || path.len() < request.path.len();
        if !inside || path == "/graphql" {
            return None;
        }
        // The address that a renamed repository redirects to.
        if let Some(rest) = path.strip_prefix("/repositories/") {
            let (id, rest) = rest.split_once('/').unwrap_or((rest, ""));
            let world = self.world();
            let repo = world.repos.get(&id.parse().ok()?)?.full_name();
            return find(
                &request.method,
                format!("/repos/{repo}/{rest}").trim_end_matches('/'),
            );
        }
        find(&request.method, path)
    }

    fn kind_of(&self, request: &Request) -> &'static str {
        let world = self.world();
        match identify(&world, self.options(), request, self.now().timestamp()) {
            Ok(caller) => caller.kind(),
            Err(_refused) => "refused",
        }
    }

    /// Counts a call for the writes that are still under way, and lands those that are due.
    fn land_due(&self) {
        let mut late = self.0.late.lock().unwrap_or_else(PoisonError::into_inner);
        let (due, waiting): (Vec<Late>, Vec<Late>) = std::mem::take(&mut *late)
            .into_iter()
            .partition(|late| late.remaining == 0);
        *late = waiting;
        for late in late.iter_mut() {
            late.remaining = late.remaining.saturating_sub(1);
        }
        drop(late);
        self.land(due);
    }

    /// Lands every write that is still under way.
    pub fn land_now(&self) {
        let due = std::mem::take(&mut *self.0.late.lock().unwrap_or_else(PoisonError::into_inner));
        self.land(due);
    }

    fn land(&self, due: Vec<Late>) {
        for late in due {
            if let Some((route, vars)) = self.route(&late.request) {
                // Nobody waits for the answer.
                drop(self.handle(route, &vars, &late.request));
            }
        }
    }

    fn handle(&self, route: &'static Route, vars: &[String], request: &Request) -> Reply {
        let mut world = self.world();
        let now = self.now().timestamp();
        let graphql = route.template == "/graphql";
        let caller = match self.enter(route, request, &world, now) {
            Ok(caller) => caller,
            Err(refused) => return self.finish(&Caller::Anonymous, request, refused, graphql),
        };
        let reply = self
            .admit(route, vars, request, &world, &caller)
            .and_then(|repo| {
                let mut cx = Cx {
                    github: self,
                    world: &mut world,
                    request,
                    vars: vars.to_vec(),
                    caller: caller.clone(),
                    repo,
                };
                (route.handler)(&mut cx)
            })
            .unwrap_or_else(|refused| refused);
        self.finish(&caller, request, reply, graphql)
    }

    /// Checks what every request must have, and who sends it.
    fn enter(
        &self,
        route: &Route,
        request: &Request,
        world: &World,
        now: i64,
    ) -> Result<Caller, Reply> {
        if request.header("user-agent").is_none_or(str::is_empty) {
            self.problem_with(route, request, "no User-Agent");
            return Err(Reply::new(
                403,
                "text/plain",
                "Request forbidden by administrative rules. Please make sure your request has a \
                 User-Agent header (https://docs.github.com/en/rest/overview/\
                 resources-in-the-rest-api#user-agent-required). Check https://developer.github.com \
                 for other possible causes.\n",
            ));
        }
        let version = request
            .header("x-github-api-version")
            .unwrap_or("2022-11-28");
        if !["2022-11-28", "2026-03-10"].contains(&version) {
            self.problem_with(route, request, &format!("API version {version}"));
            return Err(basic(
                410,
                &format!("API version {version} is not supported"),
            ));
        }
        let accept = request.header("accept").unwrap_or("*/*");
        let served = |part: &str| {
            let part = part.trim();
            part.starts_with("*/*")
                || part.starts_with("application/*")
                || part.starts_with("application/json")
                || part.starts_with("application/vnd.github")
        };
        if !accept.split(',').any(served) {
            self.problem_with(route, request, &format!("Accept: {accept}"));
            let message =
                format!("Unsupported 'Accept' header: '{accept}'. Must accept 'application/json'.");
            return Err(basic(415, &message));
        }
        identify(world, self.options(), request, now)
    }

    fn problem_with(&self, route: &Route, request: &Request, what: &str) {
        let what = format!("{} ({}): {what}", route.name(), request.path);
        self.0.log.problem(Problem::BadRequest(what));
    }

    /// Checks limits, the kind of the credential and what it may do; returns the repository.
    fn admit(
        &self,
        route: &Route,
        vars: &[String],
        request: &Request,
        world: &World,
        caller: &Caller,
    ) -> Result<u64, Reply> {
        let write = request.method != "GET" && route.template != "/graphql";
        let graphql = route.template == "/graphql";
        let mutates = |word: &[u8]| graphql && memchr::memmem::find(&request.body, word).is_some();
        let cost = Cost {
            write: write || mutates(b"mutation"),
            content: route.content || mutates(b"addPullRequestReview"),
            graphql,
        };
        if route.template != "/rate_limit" {
            self.charge(caller, cost)?;
        }
        let wrong = |message: &str, status: u16| {
            let what = format!("{} called with {}", route.name(), caller.kind());
            self.0.log.problem(Problem::WrongAuth(what));
            Err(basic(status, message))
        };
        match (route.need, caller) {
            (Need::Nothing, _) | (Need::App, Caller::App) => return Ok(0),
            (Need::App, _) => return wrong("A JSON web token could not be decoded", 401),
            (Need::AppOfRepo, Caller::App) => {
                let repo = self.named(vars, request, world)?;
                world.installation_for(repo).ok_or_else(not_found)?;
                return Ok(repo.id);
            }
            (Need::AppOfRepo, _) => return wrong("A JSON web token could not be decoded", 401),
            (_, Caller::Anonymous) => return wrong("Requires authentication", 401),
            (_, Caller::App) => return wrong("Bad credentials", 401),
            (Need::Installation, Caller::Installation { .. }) => return Ok(0),
            (Need::Installation, _) => {
                return wrong(
                    "You must authenticate with an installation access token",
                    403,
                );
            }
            (Need::Token, _) => return Ok(0),
            (Need::Repo(..), _) => {}
        }
        let Need::Repo(permissions, level) = route.need else {
            return Ok(0);
        };
        let repo = self.named(vars, request, world)?;
        self.permit(route, world, caller, repo, permissions, level)?;
        Ok(repo.id)
    }

    /// Returns the repository that a path's first two variables name; a former name is redirected.
    fn named<'a>(
        &self,
        vars: &[String],
        request: &Request,
        world: &'a World,
    ) -> Result<&'a Repo, Reply> {
        let (Some(owner), Some(name)) = (vars.first(), vars.get(1)) else {
            return Err(not_found());
        };
        let full_name = format!("{owner}/{name}");
        if let Some(repo) = world
            .repo_id(&full_name)
            .and_then(|id| world.repos.get(&id))
        {
            return Ok(repo);
        }
        let moved = world
            .former_names
            .get(&full_name.to_ascii_lowercase())
            .ok_or_else(not_found)?;
        let rest: Vec<&str> = self.path_of(request).splitn(5, '/').skip(4).collect();
        let rest = rest
            .first()
            .map_or_else(String::new, |rest| format!("/{rest}"));
        let query = if request.query.is_empty() { "" } else { "?" };
        let url = format!(
            "{}/repositories/{moved}{rest}{query}{}",
            self.urls().api,
            request.query
        );
        let status = if request.method == "GET" { 301 } else { 307 };
        let body = json!({ "message": "Moved Permanently", "url": url, "documentation_url": DOCS });
        Err(Reply::json(status, &body).with("location", url))
    }

    /// Returns a request's path without the prefix of the API.
    fn path_of<'a>(&self, request: &'a Request) -> &'a str {
        let prefix = self.options().prefix.as_str();
        match request.path.strip_prefix(prefix) {
            Some(rest) if rest.starts_with('/') => rest,
            _ => &request.path,
        }
    }

    /// Checks that a credential may do something in a repository.
    fn permit(
        &self,
        route: &Route,
        world: &World,
        caller: &Caller,
        repo: &Repo,
        permissions: &[&str],
        level: Level,
    ) -> Result<(), Reply> {
        if !world.sees(caller, repo) {
            return Err(not_found());
        }
        let granted = permissions
            .iter()
            .any(|p| caller.level(p).is_some_and(|have| have >= level));
        if !granted {
            if level == Level::Write && !caller.may_write() {
                let what = format!("{} on {}", route.name(), repo.full_name());
                self.0.log.problem(Problem::WriteWithReadToken(what));
            }
            return Err(not_accessible(match caller {
                Caller::User { .. } => "personal access token",
                _ => "integration",
            }));
        }
        if let Caller::User { login, .. } = caller {
            let pushes = ["contents", "statuses"]
                .iter()
                .any(|p| permissions.contains(p));
            if level == Level::Write && pushes && World::role(repo, login) < Role::Write {
                return Err(not_found());
            }
        }
        Ok(())
    }

    /// Adds what every answer of GitHub carries.
    fn finish(&self, caller: &Caller, request: &Request, reply: Reply, graphql: bool) -> Reply {
        let balance = self.balance(caller, graphql);
        let version = request
            .header("x-github-api-version")
            .unwrap_or("2022-11-28")
            .to_owned();
        let mut reply = reply
            .with("x-github-api-version-selected", version)
            .with("x-github-media-type", "github.v3; format=json")
            .with("x-github-request-id", "51ED:1CE5:1:1:1");
        if balance.limit != u32::MAX {
            reply = reply
                .with("x-ratelimit-limit", balance.limit.to_string())
                .with("x-ratelimit-remaining", balance.remaining().to_string())
                .with("x-ratelimit-used", balance.used.to_string())
                .with("x-ratelimit-reset", balance.reset.to_string())
                .with(
                    "x-ratelimit-resource",
                    if graphql { "graphql" } else { "core" },
                );
        }
        if request.method == "GET" && reply.status == 200 {
            let tag = format!("W/\"{}\"", hex::encode(Sha256::digest(&reply.body)));
            if request.header("if-none-match") == Some(tag.as_str()) {
                reply.status = 304;
                reply.body = bytes::Bytes::new();
            }
            reply = reply.with("etag", tag);
        }
        reply
    }
}

impl Cx<'_> {
    /// Returns what renders the current state.
    pub(crate) fn show(&self) -> Show<'_> {
        self.github.show(self.world)
    }

    /// Returns a variable of the path, decoded.
    pub(crate) fn var(&self, index: usize) -> &str {
        self.vars.get(index).map_or("", String::as_str)
    }

    /// Returns a variable of the path as a number.
    pub(crate) fn number(&self, index: usize) -> Result<u64, Reply> {
        self.var(index).parse().map_err(|_not_a_number| not_found())
    }

    /// Returns the repository the path names.
    pub(crate) fn repo(&self) -> Result<&Repo, Reply> {
        self.world.repos.get(&self.repo).ok_or_else(not_found)
    }

    /// Returns the repository the path names, to be changed.
    pub(crate) fn repo_mut(&mut self) -> Result<&mut Repo, Reply> {
        self.world.repos.get_mut(&self.repo).ok_or_else(not_found)
    }

    /// Returns the login that acts.
    pub(crate) fn actor(&self) -> String {
        match &self.caller {
            Caller::User { login, .. } => login.clone(),
            _ => self.github.bot(),
        }
    }

    /// Returns whether the App acts.
    pub(crate) fn by_app(&self) -> bool {
        !matches!(self.caller, Caller::User { .. })
    }

    /// Reads the JSON body. A field that GitHub does not know is a problem for the test, since
    /// GitHub would ignore it silently.
    pub(crate) fn body<T: DeserializeOwned>(&self) -> Result<T, Reply> {
        let value: Value = if self.request.body.is_empty() {
            Value::Object(serde_json::Map::new())
        } else {
            serde_json::from_slice(&self.request.body)
                .map_err(|_bad| self.bad(400, "Problems parsing JSON", "not JSON"))?
        };
        serde_json::from_value(value).map_err(|error| {
            self.bad(
                422,
                &format!("Invalid request.\n\n{error}"),
                &error.to_string(),
            )
        })
    }

    fn bad(&self, status: u16, message: &str, what: &str) -> Reply {
        let what = format!("{} {}: {what}", self.request.method, self.request.path);
        self.github.0.log.problem(Problem::BadRequest(what));
        basic(status, message)
    }

    /// Returns whether the request accepts a media type of GitHub's, as in `diff`.
    pub(crate) fn accepts(&self, media: &str) -> bool {
        let accept = self.request.header("accept").unwrap_or_default();
        accept.split(',').any(|part| {
            let part = part.trim().split(';').next().unwrap_or_default();
            let media_type = part
                .strip_prefix("application/vnd.github.")
                .unwrap_or_default();
            let media_type = media_type.strip_prefix("v3.").unwrap_or(media_type);
            media_type.strip_suffix("+json").unwrap_or(media_type) == media
        })
    }

    /// Answers one page of a list of `total` items, with a `Link` header; `show` renders the items
    /// of a range.
    pub(crate) fn page(
        &self,
        total: usize,
        show: impl FnOnce(std::ops::Range<usize>) -> Result<Value, Reply>,
    ) -> Answer {
        let wanted = |name: &str, default: usize| {
            self.request
                .param(name)
                .and_then(|v| v.parse::<usize>().ok())
                .unwrap_or(default)
        };
        let per_page = match wanted("per_page", 30) {
            0 => 30,
            n => n.min(100),
        };
        let page = wanted("page", 1).max(1);
        let start = (page - 1).saturating_mul(per_page).min(total);
        let end = start.saturating_add(per_page).min(total);
        let reply = Reply::json(200, &show(start..end)?);
        let last = total.div_ceil(per_page).max(1);
        let links: Vec<String> = [
            (page > 1, page.saturating_sub(1).min(last), "prev"),
            (page < last, page.saturating_add(1), "next"),
            (page < last, last, "last"),
            (page > 1, 1, "first"),
        ]
        .into_iter()
        .filter(|(wanted, ..)| *wanted)
        .map(|(_, page, rel)| format!("<{}>; rel=\"{rel}\"", self.with_page(page)))
        .collect();
        if links.is_empty() {
            Ok(reply)
        } else {
            Ok(reply.with("link", links.join(", ")))
        }
    }

    fn with_page(&self, page: usize) -> String {
        let mut query = url::form_urlencoded::Serializer::new(String::new());
        let given = url::form_urlencoded::parse(self.request.query.as_bytes());
        query.extend_pairs(given.filter(|(name, _)| name != "page"));
        query.append_pair("page", &page.to_string());
        format!("{}?{}", self.address(), query.finish())
    }

    /// Returns the address of the request without its query.
    pub(crate) fn address(&self) -> String {
        let prefix = &self.github.options().prefix;
        let path = self
            .request
            .path
            .strip_prefix(prefix.as_str())
            .unwrap_or(&self.request.path);
        format!("{}{path}", self.github.urls().api)
    }
}

/// Returns the decoded variables of a path for which `matched` segments were found.
pub(crate) fn decoded(matched: &[String]) -> Vec<String> {
    matched.iter().map(|segment| decode(segment)).collect()
}

/// Returns the names of all routes, for the documentation and the tests.
pub fn route_names() -> Vec<String> {
    ROUTES.iter().map(Route::name).collect()
}
