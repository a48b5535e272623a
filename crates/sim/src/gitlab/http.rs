//! From a request to an answer: route, version, faults, credential, limits, handler, headers.

use sha2::{Digest as _, Sha256};

use super::Gitlab;
use super::auth::{Caller, identify};
use super::errors::{
    forbidden, grape, insufficient_scope, no_route, not_found, page_not_found, unauthorized,
};
use super::params::Params;
use super::routes::{Found, Need, Route, find};
use super::world::{Access, Visibility, World};
use crate::calls::{Problem, Told};
use crate::server::{Api, Reply, Request};

mod cx;

pub(crate) use cx::Cx;

/// What a handler returns; a refusal is an answer, too.
pub(crate) type Answer = Result<Reply, Reply>;

/// The instance's listener.
#[derive(Debug)]
pub(crate) struct Front(pub(crate) Gitlab);

impl Api for Front {
    fn answer(&self, request: &Request) -> Reply {
        self.0.answer(request)
    }
}

impl Gitlab {
    fn answer(&self, request: &Request) -> Reply {
        let log = &self.0.log;
        log.search_for_secrets(request, &self.0.sentinels);
        if request.param("private_token").is_some() || request.param("access_token").is_some() {
            let what = format!(
                "a token in the query of {} {}",
                request.method, request.path
            );
            log.problem(Problem::Leak(what));
        }
        let (route, vars) = match self.route(request) {
            Ok(found) => found,
            Err((reply, why)) => {
                let what = format!("{} {}{why}", request.method, request.path);
                log.problem(Problem::UnknownRoute(what));
                log.answered(request, "unknown", Told::NOTHING, &reply);
                return reply;
            }
        };
        let name = route.name();
        self.land(self.0.late.due());
        let kind = match identify(&self.world(), request, self.now()) {
            Ok(caller) => caller.kind(),
            Err(_refused) => "refused",
        };
        let faults = self.0.faults.take(&name);
        let reply = self
            .0
            .late
            .play(faults, request, || self.handle(route, &vars, request));
        log.answered(request, &name, Told::of(kind), &reply);
        reply
    }

    /// Finds the route, or what is answered instead and why.
    fn route(&self, request: &Request) -> Result<(&'static Route, Vec<String>), (Reply, String)> {
        let prefix = format!("{}/api/v4", self.options().prefix);
        let Some(path) = request
            .path
            .strip_prefix(&prefix)
            .filter(|rest| rest.starts_with('/'))
        else {
            return Err((page_not_found(), " is not below the API".to_owned()));
        };
        match find(&request.method, path) {
            Found::Route(route, vars) => match route.feature {
                Some(feature) if !self.has(feature) => {
                    let why = format!(", which GitLab {} does not have", self.version());
                    Err((no_route(), why))
                }
                _ => Ok((route, vars)),
            },
            Found::OtherMethod => Err((grape(405, "405 Not Allowed"), String::new())),
            Found::Nothing => Err((no_route(), String::new())),
        }
    }

    /// Lands every write that is still under way.
    pub fn land_now(&self) {
        self.land(self.0.late.take());
    }

    fn land(&self, due: Vec<Request>) {
        for request in due {
            if let Ok((route, vars)) = self.route(&request) {
                // Nobody waits for the answer.
                drop(self.handle(route, &vars, &request));
            }
        }
    }

    fn handle(&self, route: &'static Route, vars: &[String], request: &Request) -> Reply {
        let mut world = self.world();
        let identified = identify(&world, request, self.now());
        let caller = match identified {
            Ok(caller) => caller,
            Err(refused) => {
                self.wrong_auth(route, "a token that is not valid");
                return self.finish(&Caller { token: None }, request, refused);
            }
        };
        let reply = self
            .admit(route, vars, request, &world, &caller)
            .and_then(|(project, params)| {
                let mut cx = Cx {
                    gitlab: self,
                    world: &mut world,
                    request,
                    vars: vars.to_vec(),
                    params,
                    caller: caller.clone(),
                    project,
                };
                (route.handler)(&mut cx)
            })
            .unwrap_or_else(|refused| refused);
        self.finish(&caller, request, reply)
    }

    /// Checks limits, credential, scope and project; returns the project's number and parameters.
    fn admit(
        &self,
        route: &Route,
        vars: &[String],
        request: &Request,
        world: &World,
        caller: &Caller,
    ) -> Result<(u64, Params), Reply> {
        self.charge(caller)?;
        let Some(user) = caller.user() else {
            self.wrong_auth(route, "no credential");
            return Err(unauthorized());
        };
        let write = request.method != "GET";
        if write && !caller.may_write() {
            let what = format!("{} ({})", route.name(), request.path);
            self.0.log.problem(Problem::WriteWithReadToken(what));
            return Err(insufficient_scope());
        }
        let params = Params::read(request).map_err(|what| {
            self.bad_request(request, &what);
            if what.starts_with("The provided content-type") {
                grape(415, &what)
            } else {
                grape(400, "Problems parsing JSON")
            }
        })?;
        let unknown = params.unknown(route.params);
        if !unknown.is_empty() {
            let what = format!("{} is no parameter of {}", unknown.join(", "), route.name());
            self.bad_request(request, &what);
        }
        if route.need == Need::Token {
            return Ok((0, params));
        }
        let name = vars.first().map_or("", String::as_str);
        let id = match name.parse::<u64>() {
            Ok(id) => Some(id),
            Err(_a_path) => world.project_id(name),
        };
        let own_only = caller.token.as_ref().and_then(|token| token.project);
        let project = id
            .and_then(|id| world.projects.get(&id))
            .filter(|project| project.is_visible_to(Some(user)))
            .filter(|project| {
                // A project's token is a member of that project and of no other.
                own_only.is_none_or(|own| own == project.id)
                    || project.visibility == Visibility::Public
            })
            .ok_or_else(|| not_found("Project"))?;
        let open = project.visibility != Visibility::Private;
        let allowed = match route.need {
            Need::Token | Need::Project => true,
            Need::Code => open || project.allows(user, Access::Reporter),
            Need::Comment => open || project.allows(user, Access::Reporter),
            Need::Developer => project.allows(user, Access::Developer),
        };
        if allowed {
            Ok((project.id, params))
        } else {
            Err(forbidden())
        }
    }

    fn wrong_auth(&self, route: &Route, with: &str) {
        let what = format!("{} called with {with}", route.name());
        self.0.log.problem(Problem::WrongAuth(what));
    }

    /// Records what GitLab tolerates or refuses and no client of ours may send.
    pub(crate) fn bad_request(&self, request: &Request, what: &str) {
        let what = format!("{} {}: {what}", request.method, request.path);
        self.0.log.problem(Problem::BadRequest(what));
    }

    /// Adds what every answer of GitLab carries.
    fn finish(&self, caller: &Caller, request: &Request, reply: Reply) -> Reply {
        let mut reply = self
            .with_balance(caller, reply)
            .with("date", httpdate::fmt_http_date(self.now().into()))
            .with("x-request-id", "01SIMULATED0REQUEST0000000")
            .with("x-runtime", "0.042")
            .with("vary", "Origin");
        let json = reply
            .headers
            .iter()
            .any(|(name, value)| name == "content-type" && value.starts_with("application/json"));
        if request.method == "GET" && reply.status == 200 && json {
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
