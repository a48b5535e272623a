//! What a handler works with: the request, the world, and the ways to answer.

use serde_json::Value;

use super::Answer;
use crate::gitlab::Gitlab;
use crate::gitlab::auth::Caller;
use crate::gitlab::errors::{grape, no_record, not_found};
use crate::gitlab::params::Params;
use crate::gitlab::render::Show;
use crate::gitlab::versions::{GitlabFeature, GitlabVersion};
use crate::gitlab::world::{Merge, Project, World};
use crate::server::{Reply, Request};

/// Beyond this many items GitLab does not count them.
const MAX_COUNTED: usize = 10_000;
/// Most items of a page.
const MAX_PER_PAGE: usize = 100;
/// Items of a page if nobody says.
const PER_PAGE: usize = 20;

/// What a handler works with.
pub(crate) struct Cx<'a> {
    pub(crate) gitlab: &'a Gitlab,
    pub(crate) world: &'a mut World,
    pub(crate) request: &'a Request,
    pub(crate) vars: Vec<String>,
    pub(crate) params: Params,
    pub(crate) caller: Caller,
    /// The project the path names; 0 if it names none.
    pub(crate) project: u64,
}

impl Cx<'_> {
    /// Returns what renders the current state.
    pub(crate) fn show(&self) -> Show<'_> {
        self.gitlab.show(self.world)
    }

    /// Returns the version that is played.
    pub(crate) fn version(&self) -> GitlabVersion {
        self.gitlab.version()
    }

    /// Returns whether the version that is played has a feature.
    pub(crate) fn has(&self, feature: GitlabFeature) -> bool {
        self.gitlab.has(feature)
    }

    /// Returns a variable of the path, decoded.
    pub(crate) fn var(&self, index: usize) -> &str {
        self.vars.get(index).map_or("", String::as_str)
    }

    /// Returns a variable of the path as a number; `name` is GitLab's for the variable.
    pub(crate) fn number(&self, index: usize, name: &str) -> Result<u64, Reply> {
        self.var(index)
            .parse()
            .map_err(|_not_a_number| grape(400, &format!("{name} is invalid")))
    }

    /// Returns the user that acts.
    pub(crate) fn actor(&self) -> String {
        self.caller.user().unwrap_or_default().to_owned()
    }

    /// Returns the project the path names.
    pub(crate) fn project(&self) -> Result<&Project, Reply> {
        self.world
            .projects
            .get(&self.project)
            .ok_or_else(|| not_found("Project"))
    }

    /// Returns the project the path names, to be changed.
    pub(crate) fn project_mut(&mut self) -> Result<&mut Project, Reply> {
        self.world
            .projects
            .get_mut(&self.project)
            .ok_or_else(|| not_found("Project"))
    }

    /// Returns the number of the merge request the path names second.
    pub(crate) fn iid(&self) -> Result<u64, Reply> {
        self.number(1, "merge_request_iid")
    }

    /// Returns the merge request the path names second.
    pub(crate) fn merge(&self) -> Result<&Merge, Reply> {
        let iid = self.iid()?;
        let merge = self.project()?.merges.get(&iid);
        merge.ok_or_else(no_record)
    }

    /// Returns the merge request the path names second, to be changed.
    pub(crate) fn merge_mut(&mut self) -> Result<&mut Merge, Reply> {
        let iid = self.iid()?;
        let merge = self.project_mut()?.merges.get_mut(&iid);
        merge.ok_or_else(no_record)
    }

    /// Records what GitLab tolerates and no client of ours may send.
    pub(crate) fn tolerated(&self, what: &str) {
        self.gitlab.bad_request(self.request, what);
    }

    /// Answers one page of a list of `total` items; `show` renders the items of a range.
    pub(crate) fn page(
        &self,
        total: usize,
        show: impl FnOnce(std::ops::Range<usize>) -> Result<Value, Reply>,
    ) -> Answer {
        let per_page = self.per_page()?;
        let page = usize::try_from(self.params.number("page")?.unwrap_or(1)).unwrap_or(usize::MAX);
        let page = page.max(1);
        let start = (page - 1).saturating_mul(per_page).min(total);
        let end = start.saturating_add(per_page).min(total);
        let last = total.div_ceil(per_page).max(1);
        let counted = total <= MAX_COUNTED;
        let next = (page < last).then(|| page.saturating_add(1));
        let previous = (page > 1).then(|| page.saturating_sub(1));
        let text = |page: Option<usize>| page.map_or_else(String::new, |page| page.to_string());
        let mut reply = Reply::json(200, &show(start..end)?)
            .with("x-page", page.to_string())
            .with("x-per-page", per_page.to_string())
            .with("x-next-page", text(next))
            .with("x-prev-page", text(previous));
        if counted {
            reply = reply
                .with("x-total", total.to_string())
                .with("x-total-pages", last.to_string());
        }
        let links = [
            (previous, "prev"),
            (next, "next"),
            (Some(1), "first"),
            (counted.then_some(last), "last"),
        ];
        let links: Vec<String> = links
            .into_iter()
            .filter_map(|(page, rel)| {
                let more = [("page", page?.to_string())];
                Some(format!("<{}>; rel=\"{rel}\"", self.address_with(&more)))
            })
            .collect();
        Ok(reply.with("link", links.join(", ")))
    }

    /// Returns how many items a page has.
    pub(crate) fn per_page(&self) -> Result<usize, Reply> {
        match self.params.number("per_page")? {
            None => Ok(PER_PAGE),
            Some(0) => Err(grape(400, "per_page does not have a valid value")),
            Some(n) => Ok(usize::try_from(n).unwrap_or(usize::MAX).min(MAX_PER_PAGE)),
        }
    }

    /// Returns the address of the request with these parameters in place of its own.
    pub(crate) fn address_with(&self, more: &[(&str, String)]) -> String {
        let mut query = url::form_urlencoded::Serializer::new(String::new());
        let given = url::form_urlencoded::parse(self.request.query.as_bytes());
        query.extend_pairs(given.filter(|(name, _)| more.iter().all(|(n, _)| name != n)));
        query.extend_pairs(more);
        let url = self.gitlab.url();
        let prefix = &self.gitlab.options().prefix;
        let path = self
            .request
            .path
            .strip_prefix(prefix.as_str())
            .unwrap_or(&self.request.path);
        format!("{url}{path}?{}", query.finish())
    }
}
