//! From a request to an answer: route, faults, credential, limits, handler, headers.

use sha2::{Digest as _, Sha256};

use super::auth::{Caller, identify};
use super::errors::not_found;
use super::routes::{ROUTES, Route, find};
use super::world::Level;
use super::{ARCHIVES_ON_GHES, Github};
use crate::calls::{Problem, Told};
use crate::faults::{Played, play};
use crate::server::{Api, Reply, Request, Transport};

mod admit;
mod cx;

pub(crate) use cx::Cx;

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
            self.log(request, "unknown", Told::NOTHING, &reply);
            return reply;
        };
        let name = route.name();
        self.land_due();
        let told = self.told(request);
        let faults = self.0.faults.take(&name);
        let reply = self
            .0
            .late
            .play(faults, request, || self.handle(route, &vars, request));
        self.log(request, &name, told, &reply);
        reply
    }

    fn archive_under_faults(&self, request: &Request) -> Reply {
        let faults = self.0.faults.take(ARCHIVE_ROUTE);
        let reply = match play(faults, || self.archive(request)) {
            Played::Answer(reply) => reply,
            // Reading has no effect that could land later.
            Played::Deferred(_) => Reply::empty(500).travelling(Transport::Dropped),
        };
        self.log(request, ARCHIVE_ROUTE, Told::NOTHING, &reply);
        reply
    }

    fn search_for_secrets(&self, request: &Request) {
        self.0.log.search_for_secrets(request, &self.0.sentinels);
    }

    fn log(&self, request: &Request, route: &str, told: Told, reply: &Reply) {
        self.0.log.answered(request, route, told, reply);
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

    fn told(&self, request: &Request) -> Told {
        let world = self.world();
        match identify(&world, self.options(), request, self.now().timestamp()) {
            Ok(caller) => Told {
                kind: caller.kind(),
                may_push: caller.level("contents") == Some(Level::Write),
            },
            Err(_refused) => Told {
                kind: "refused",
                may_push: false,
            },
        }
    }

    /// Counts a call for the writes that are still under way, and lands those that are due.
    fn land_due(&self) {
        self.land(self.0.late.due());
    }

    /// Lands every write that is still under way.
    pub fn land_now(&self) {
        self.land(self.0.late.take());
    }

    fn land(&self, due: Vec<Request>) {
        for request in due {
            if let Some((route, vars)) = self.route(&request) {
                // Nobody waits for the answer.
                drop(self.handle(route, &vars, &request));
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

    /// Returns a request's path without the prefix of the API.
    fn path_of<'a>(&self, request: &'a Request) -> &'a str {
        let prefix = self.options().prefix.as_str();
        match request.path.strip_prefix(prefix) {
            Some(rest) if rest.starts_with('/') => rest,
            _ => &request.path,
        }
    }

    /// Adds what every answer of GitHub carries.
    fn finish(&self, caller: &Caller, request: &Request, reply: Reply, graphql: bool) -> Reply {
        let balance = self.balance(caller, graphql);
        let version = request
            .header("x-github-api-version")
            .unwrap_or("2022-11-28")
            .to_owned();
        let now = self.now();
        let mut reply = reply
            .with("date", httpdate::fmt_http_date(now.into()))
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

/// Returns the names of all routes, for the documentation and the tests.
pub fn route_names() -> Vec<String> {
    ROUTES.iter().map(Route::name).collect()
}
