//! Where GitHub is, for people and for programs, as far as one stack is concerned.

use anyhow::{Context as _, Result};
use mirilla_domain::forge_place::{GITHUB_COM_API, GithubPlace};
use mirilla_forge::github::Access;
use mirilla_stack::Stack;
use url::Url;

use crate::failure::Failure;
use crate::serve::child;

/// One GitHub, and whose App it is about.
#[derive(Debug, Clone)]
pub(crate) struct Place {
    /// Where programs call.
    api: Url,
    /// Where people look, without a slash at the end.
    web: String,
    /// The organisation that owns the App; `None` for a person.
    owner: Option<String>,
    /// A certificate of the operator's.
    ca_pem: Option<String>,
}

impl Place {
    /// Takes the API from the stack's parameters, and the website from there too unless it is given.
    pub(crate) fn of(stack: &Stack, web: Option<&Url>, owner: Option<&str>) -> Result<Self> {
        let api = stack.parameter("GitHubApiUrl").unwrap_or(GITHUB_COM_API);
        let api = Url::parse(api)
            .with_context(|| format!("the stack's GitHubApiUrl ({api}) is not a URL"))?;
        let web = match web {
            Some(web) => web.clone(),
            None => website(&api).ok_or_else(|| {
                Failure::usage(format!("the website that belongs to {api} is not known"))
                    .hint("say it with --github-url")
            })?,
        };
        if web.scheme() != "https" && web.host_str() != Some("127.0.0.1") {
            return Err(Failure::usage(format!("{web} is not https")).into());
        }
        Ok(Self {
            api,
            web: web.as_str().trim_end_matches('/').to_owned(),
            owner: owner.map(ToOwned::to_owned),
            ca_pem: stack.parameter("ForgeCaPem").map(ToOwned::to_owned),
        })
    }

    /// Returns the same place for an App of this organisation, or of a person.
    pub(crate) fn owned_by(mut self, organisation: Option<&str>) -> Self {
        self.owner = organisation.map(ToOwned::to_owned);
        self
    }

    /// Returns the organisation that shall own the App, if one was named.
    pub(crate) fn owner(&self) -> Option<&str> {
        self.owner.as_deref()
    }

    /// Returns what calls the API.
    pub(crate) fn access(&self) -> Result<Access> {
        let place = GithubPlace {
            api_url: self.api.as_str().to_owned(),
            archive_hosts: Vec::new(),
            extra_ca_pem: self.ca_pem.clone(),
            login: None,
        };
        let (clock, entropy) = child::surroundings()?;
        Access::of_operator(&place, clock, entropy)
            .context("the stack's GitHubApiUrl or ForgeCaPem cannot be used")
    }

    /// Returns the website's address.
    pub(crate) fn web(&self) -> &str {
        &self.web
    }

    /// Returns where a manifest is posted to.
    pub(crate) fn registration(&self, state: &str) -> String {
        format!("{}/new?state={state}", self.apps())
    }

    /// Returns the page on which the App's owner changes it.
    pub(crate) fn settings_page(&self, slug: &str) -> String {
        format!("{}/{slug}", self.apps())
    }

    /// Returns the page that lists the Apps of the owner.
    pub(crate) fn apps(&self) -> String {
        match &self.owner {
            Some(owner) => format!("{}/organizations/{owner}/settings/apps", self.web),
            None => format!("{}/settings/apps", self.web),
        }
    }

    /// Returns the page from which the App is installed.
    pub(crate) fn install_link(&self, slug: &str) -> String {
        // An Enterprise Server has another word for it.
        let apps = if self.api.path().trim_end_matches('/').ends_with("/api/v3") {
            "github-apps"
        } else {
            "apps"
        };
        format!("{}/{apps}/{slug}/installations/new", self.web)
    }
}

/// Returns the website that belongs to an API.
fn website(api: &Url) -> Option<Url> {
    let mut web = api.clone();
    web.set_query(None);
    if api.path().trim_end_matches('/').ends_with("/api/v3") {
        web.set_path("/");
        return Some(web);
    }
    // github.com and its editions with data residency.
    let host = api.host_str()?.strip_prefix("api.")?;
    web.set_host(Some(host)).ok()?;
    web.set_path("/");
    Some(web)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn website_follows_from_the_api() {
        for (api, web) in [
            ("https://api.github.com", Some("https://github.com/")),
            ("https://api.acme.ghe.com/", Some("https://acme.ghe.com/")),
            ("https://ghe.example/api/v3", Some("https://ghe.example/")),
            (
                "https://ghe.example:8443/api/v3/",
                Some("https://ghe.example:8443/"),
            ),
            ("http://127.0.0.1:4000", None),
        ] {
            let found = website(&Url::parse(api).unwrap());
            assert_eq!(found.as_ref().map(Url::as_str), web, "{api}");
        }
    }

    #[test]
    fn pages_are_githubs() {
        let place = |api: &str, owner: Option<&str>| Place {
            api: Url::parse(api).unwrap(),
            web: "https://x.test".to_owned(),
            owner: owner.map(ToOwned::to_owned),
            ca_pem: None,
        };
        let com = place("https://api.github.com", None);
        assert_eq!(
            com.registration("s"),
            "https://x.test/settings/apps/new?state=s"
        );
        assert_eq!(
            com.install_link("m"),
            "https://x.test/apps/m/installations/new"
        );
        let ghes = place("https://x.test/api/v3", Some("acme"));
        assert_eq!(
            ghes.settings_page("m"),
            "https://x.test/organizations/acme/settings/apps/m"
        );
        assert_eq!(
            ghes.install_link("m"),
            "https://x.test/github-apps/m/installations/new"
        );
    }
}
