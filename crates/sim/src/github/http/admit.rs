//! Who may come in: what every request must have, its limits, and what its credential allows.

use serde_json::json;

use crate::calls::Problem;
use crate::github::Github;
use crate::github::auth::{Caller, identify};
use crate::github::errors::{DOCS, basic, not_accessible, not_found};
use crate::github::limits::Cost;
use crate::github::routes::{Need, Route};
use crate::github::world::{Level, Repo, Role, World};
use crate::server::{Reply, Request};

impl Github {
    /// Checks what every request must have, and who sends it.
    pub(super) fn enter(
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
    pub(super) fn admit(
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
}
