//! Where people register Apps: the two pages of the manifest flow, and the rules for a manifest.
//!
//! A browser posts a manifest to `/settings/apps/new`, the person presses the button of the page that
//! comes back, and the browser is sent on with a code, which `POST /app-manifests/{code}/conversions`
//! takes once.
//! <https://docs.github.com/apps/sharing-github-apps/registering-a-github-app-from-a-manifest>
//!
//! **Invariant:** what is registered is always the simulator's one App; a manifest decides its name,
//! owner, permissions, events and webhook, never its key.

use std::time::Duration;

use serde_json::Value;
use url::form_urlencoded;

use super::Github;
use super::world::{ManifestCode, Registered};
use crate::calls::{Call, Problem};
use crate::faults::{Played, play};
use crate::server::{Api, Reply, Request, Transport};

mod manifest;

use manifest::Manifest;

/// How long the code of a registration may be exchanged.
const CODE_LIFE: Duration = Duration::from_secs(3600);
/// Who is signed in where nobody says otherwise.
const PERSON: &str = "operator";

/// The website's listener.
#[derive(Debug)]
pub(crate) struct Website(pub(crate) Github);

/// One of the flow's two pages, for a person or for an organisation.
#[derive(Debug)]
struct Page {
    /// The organisation; `None` for the person's own account.
    owner: Option<String>,
    /// Whether it is the one with the button.
    pressed: bool,
}

impl Api for Website {
    fn answer(&self, request: &Request) -> Reply {
        let github = &self.0;
        let Some(page) = page(request) else {
            let what = format!("{} {} (website)", request.method, request.path);
            github.0.log.problem(Problem::UnknownRoute(what));
            return Reply::new(404, "text/html", "Not Found");
        };
        let route = if page.pressed {
            "POST /settings/apps"
        } else {
            "POST /settings/apps/new"
        };
        let played = play(github.0.faults.take(route), || {
            if page.pressed {
                github.register(&page, request)
            } else {
                github.show_manifest(&page, request)
            }
        });
        let reply = match played {
            Played::Answer(reply) => reply,
            Played::Deferred(_) => Reply::empty(500).travelling(Transport::Dropped),
        };
        github.0.log.record(Call {
            method: request.method.clone(),
            route: route.to_owned(),
            path: request.path.clone(),
            status: reply.status,
            token_kind: "browser",
            may_push: false,
            mutates: false,
            bytes: reply.body.len(),
            request_bytes: request.body.len(),
        });
        reply
    }
}

fn page(request: &Request) -> Option<Page> {
    if request.method != "POST" {
        return None;
    }
    let (owner, rest) = match request.path.strip_prefix("/organizations/") {
        Some(rest) => {
            let (owner, rest) = rest.split_once('/')?;
            (Some(owner.to_owned()), format!("/{rest}"))
        }
        None => (None, request.path.clone()),
    };
    let pressed = match rest.as_str() {
        "/settings/apps/new" => false,
        "/settings/apps" => true,
        _ => return None,
    };
    Some(Page { owner, pressed })
}

fn field(request: &Request, name: &str) -> Option<String> {
    form_urlencoded::parse(&request.body)
        .find(|(key, _)| key == name)
        .map(|(_, value)| value.into_owned())
}

impl Github {
    /// Answers a posted manifest with the page that has the button, or with what is wrong with it.
    fn show_manifest(&self, page: &Page, request: &Request) -> Reply {
        let known = |owner: &String| self.world().accounts.contains_key(owner);
        if page.owner.as_ref().is_some_and(|owner| !known(owner)) {
            return Reply::new(404, "text/html", "Not Found");
        }
        let text = field(request, "manifest").unwrap_or_default();
        let manifest = match Manifest::parse(&text) {
            Ok(manifest) => manifest,
            Err(errors) => return self.refused(&errors),
        };
        let state = request.param("state").unwrap_or_default();
        let action = request.path.trim_end_matches("/new");
        let body = format!(
            "<!doctype html><title>Register</title><form method=\"post\" action=\"{}\">\
             <input name=\"name\" value=\"{}\">\
             <input type=\"hidden\" name=\"manifest\" value=\"{}\">\
             <input type=\"hidden\" name=\"state\" value=\"{}\">\
             <button>Create GitHub App</button></form>",
            escaped(action),
            escaped(manifest.name.as_deref().unwrap_or_default()),
            escaped(&text),
            escaped(&state),
        );
        Reply::new(200, "text/html; charset=utf-8", body)
    }

    /// Registers the App and sends the browser on with a code.
    fn register(&self, page: &Page, request: &Request) -> Reply {
        let text = field(request, "manifest").unwrap_or_default();
        let manifest = match Manifest::parse(&text) {
            Ok(manifest) => manifest,
            Err(errors) => return self.refused(&errors),
        };
        let name = field(request, "name").unwrap_or_default();
        if let Err(error) = manifest::check_name(&name) {
            return self.refused(&[error]);
        }
        let mut world = self.world();
        if world.registered.is_some() {
            drop(world);
            return self.refused(&["Name is already taken".to_owned()]);
        }
        let owner = page.owner.clone().unwrap_or_else(|| {
            world.account(PERSON);
            PERSON.to_owned()
        });
        let number = world.next_id();
        let code = format!("{number:040x}");
        if let Some(url) = &manifest.hook_url {
            world.hook.url.clone_from(url);
        }
        world.registered = Some(Registered {
            name,
            owner,
            permissions: manifest.permissions.clone(),
            events: manifest.events.clone(),
        });
        world.manifest_codes.insert(
            code.clone(),
            ManifestCode {
                expires: self.now() + CODE_LIFE,
            },
        );
        drop(world);
        let mut to = manifest.redirect_url.clone();
        to.query_pairs_mut().append_pair("code", &code);
        if let Some(state) = field(request, "state").filter(|state| !state.is_empty()) {
            to.query_pairs_mut().append_pair("state", &state);
        }
        Reply::empty(302).with("location", to.as_str())
    }

    fn refused(&self, errors: &[String]) -> Reply {
        for error in errors {
            let what = format!("a manifest: {error}");
            self.0.log.problem(Problem::BadRequest(what));
        }
        let lines: Vec<String> = errors
            .iter()
            .map(|error| format!("<p>Error {}</p>", escaped(error)))
            .collect();
        let body = format!(
            "<h1>Invalid GitHub App configuration</h1><p>The configuration does not appear to be a \
             valid GitHub App manifest.</p>{}",
            lines.concat()
        );
        Reply::new(422, "text/html; charset=utf-8", body)
    }
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('"', "&quot;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
}

/// Returns what a conversion adds to the App: the secrets, once.
pub(crate) fn secrets(github: &Github) -> Value {
    let app = &github.options().app;
    serde_json::json!({
        "client_id": app.client_id,
        "client_secret": "made-up-client-secret-that-nobody-needs",
        "webhook_secret": app.hook_secret,
        "pem": app.private_key,
    })
}
