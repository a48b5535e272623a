//! What a handler works with: the request, the world, and the ways to answer.

use serde::de::DeserializeOwned;
use serde_json::Value;

use super::Answer;
use crate::calls::Problem;
use crate::github::Github;
use crate::github::auth::Caller;
use crate::github::errors::{basic, not_found};
use crate::github::render::Show;
use crate::github::world::{Repo, World};
use crate::server::{Reply, Request};

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
