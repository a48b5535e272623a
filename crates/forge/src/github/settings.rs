//! Where GitHub is.

use std::time::Duration;

use mirilla_domain::forge_place::GithubPlace;
use mirilla_http::{Client, ClientSettings, SettingsError};
use url::{Host, Url};

use crate::base::{authority, is_plain_loopback, is_usable, without_secrets};

/// The version of the REST API that this crate is written for; supported until 2028-03-10.
/// <https://docs.github.com/rest/about-the-rest-api/api-versions>
const API_VERSION: &str = "2022-11-28";
/// Where github.com's API is: never inside a private network.
const GITHUB_COM: &str = "api.github.com";
/// Bound for one archive: what a collector's own time-out leaves.
const ARCHIVE_TIMEOUT: Duration = Duration::from_secs(240);

/// Why a base URL is not usable.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum GithubSettingsError {
    /// Not a URL of the wanted form.
    #[error(
        "`{given}` is not a GitHub API base URL; write `https://api.github.com`, or \
         `https://HOST/api/v3` for an Enterprise Server"
    )]
    Base {
        /// The URL, without what may be secret in it.
        given: String,
    },
    /// The HTTP client cannot be made.
    #[error("cannot set up the HTTP client for GitHub")]
    Client(#[from] SettingsError),
}

/// Where GitHub is and how it is spoken to; all of it the operator's.
#[derive(Debug, Clone)]
pub struct GithubSettings {
    api_base: Url,
    graphql_url: Url,
    /// The hosts that archives may be served from, beside the API's own. Derived from the base URL;
    /// replace it where an appliance serves them elsewhere.
    pub archive_hosts: Vec<String>,
    /// Sent as `X-GitHub-Api-Version`; `None` for Enterprise Servers before 3.9.
    pub api_version: Option<String>,
    /// Sent as `User-Agent`, which GitHub requires.
    pub user_agent: String,
    /// Certificates to trust beside the compiled-in roots, as PEM.
    pub extra_ca_pem: Option<String>,
    /// Bound for streaming one archive.
    pub archive_timeout: Duration,
}

impl GithubSettings {
    /// Returns the settings of github.com.
    pub fn github_com() -> Result<Self, GithubSettingsError> {
        Self::parse("https://api.github.com")
    }

    /// Reads a base URL: `https://api.github.com`, `https://HOST/api/v3` (Enterprise Server) or
    /// `https://api.SUBDOMAIN.ghe.com`. Plain `http` only for this machine (simulator, demo).
    pub fn parse(api_base: &str) -> Result<Self, GithubSettingsError> {
        let url = Url::parse(api_base).map_err(|_unparsable| GithubSettingsError::Base {
            given: "(not a URL)".to_owned(),
        })?;
        Self::new(url)
    }

    /// Makes settings of a base URL.
    pub fn new(api_base: Url) -> Result<Self, GithubSettingsError> {
        let refused = |url: &Url| GithubSettingsError::Base {
            given: without_secrets(url),
        };
        if !is_usable(&api_base) {
            return Err(refused(&api_base));
        }
        let graphql_url = graphql_url(&api_base).ok_or_else(|| refused(&api_base))?;
        Ok(Self {
            archive_hosts: archive_hosts(&api_base),
            api_base,
            graphql_url,
            api_version: Some(API_VERSION.to_owned()),
            user_agent: concat!("mirilla/", env!("CARGO_PKG_VERSION")).to_owned(),
            extra_ca_pem: None,
            archive_timeout: ARCHIVE_TIMEOUT,
        })
    }

    /// Makes the settings of an operator: the base URL, hosts of archives where they are not those
    /// that belong to it, and certificates to trust beside the public ones.
    pub fn of_operator(place: &GithubPlace) -> Result<Self, GithubSettingsError> {
        let mut settings = Self::parse(&place.api_url)?;
        if !place.archive_hosts.is_empty() {
            settings.archive_hosts.clone_from(&place.archive_hosts);
        }
        settings.extra_ca_pem.clone_from(&place.extra_ca_pem);
        Ok(settings)
    }

    /// Returns the base of the REST API.
    pub fn api_base(&self) -> &Url {
        &self.api_base
    }

    /// Returns the URL of the GraphQL API: beside the REST API, not under `/v3`.
    pub fn graphql_url(&self) -> &Url {
        &self.graphql_url
    }

    /// Returns a client that can reach the API and the archives' hosts and nothing else. An Enterprise Server may have
    /// an address inside a private network: its names are the operator's own, and no other is ever resolved.
    pub fn client(&self) -> Result<Client, GithubSettingsError> {
        let hosts = std::iter::once(authority(&self.api_base)).chain(self.archive_hosts.clone());
        let mut settings = ClientSettings::new(hosts, self.user_agent.clone());
        settings.allow_plain_loopback = is_plain_loopback(&self.api_base);
        settings.allow_private_addresses = self.api_base.host_str() != Some(GITHUB_COM);
        settings.extra_ca_pem.clone_from(&self.extra_ca_pem);
        Ok(Client::new(settings)?)
    }

    /// Returns the URL of a page that people see; segments are escaped.
    pub(crate) fn page(&self, segments: &[&str]) -> Url {
        let mut url = self.api_base.clone();
        // An Enterprise Server has both under one host.
        let apart = !url.path().trim_end_matches('/').ends_with("/api/v3");
        let host = url.host_str().filter(|_| apart);
        let pages = host.and_then(|host| host.strip_prefix("api."));
        let pages = pages.map(str::to_owned);
        // A host without its first label is one; were it none, the link would lead to the API.
        let _unchanged = pages.is_some_and(|pages| url.set_host(Some(&pages)).is_err());
        if let Ok(mut path) = url.path_segments_mut() {
            path.clear().extend(segments);
        }
        url
    }
}

fn graphql_url(api_base: &Url) -> Option<Url> {
    let mut url = api_base.clone();
    {
        let mut path = url.path_segments_mut().ok()?;
        path.pop_if_empty();
        if api_base.path().trim_end_matches('/').ends_with("/v3") {
            path.pop();
        }
        path.push("graphql");
    }
    Some(url)
}

fn archive_hosts(api_base: &Url) -> Vec<String> {
    let host = authority(api_base);
    let path = api_base.path().trim_end_matches('/');
    if path.ends_with("/api/v3") {
        // With subdomain isolation archives come from a subdomain, else from the host itself.
        return match api_base.host() {
            Some(Host::Domain(_)) if !is_plain_loopback(api_base) => {
                vec![format!("codeload.{host}")]
            }
            _ => Vec::new(),
        };
    }
    host.strip_prefix("api.")
        .map(|rest| format!("codeload.{rest}"))
        .into_iter()
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::Service as _;

    #[test]
    fn page_for_people_is_on_the_host_that_people_use() {
        for (base, page) in [
            ("https://api.github.com", "https://github.com/a/b"),
            ("https://api.corp.ghe.com/", "https://corp.ghe.com/a/b"),
            ("https://git.corp.test/api/v3", "https://git.corp.test/a/b"),
            ("https://api.corp.test/api/v3", "https://api.corp.test/a/b"),
            ("http://127.0.0.1:8123", "http://127.0.0.1:8123/a/b"),
        ] {
            let settings = GithubSettings::parse(base).unwrap();
            assert_eq!(settings.page(&["a", "b"]).as_str(), page, "{base}");
        }
    }

    #[test]
    fn hosts_and_graphql_follow_from_the_base() {
        for (base, graphql, archives) in [
            (
                "https://api.github.com",
                "https://api.github.com/graphql",
                vec!["codeload.github.com"],
            ),
            (
                "https://api.github.com/",
                "https://api.github.com/graphql",
                vec!["codeload.github.com"],
            ),
            (
                "https://ghe.example/api/v3",
                "https://ghe.example/api/graphql",
                vec!["codeload.ghe.example"],
            ),
            (
                "https://ghe.example/api/v3/",
                "https://ghe.example/api/graphql",
                vec!["codeload.ghe.example"],
            ),
            (
                "https://api.acme.ghe.com",
                "https://api.acme.ghe.com/graphql",
                vec!["codeload.acme.ghe.com"],
            ),
            (
                "http://127.0.0.1:4000",
                "http://127.0.0.1:4000/graphql",
                vec![],
            ),
            (
                "http://127.0.0.1:4000/api/v3",
                "http://127.0.0.1:4000/api/graphql",
                vec![],
            ),
        ] {
            let settings = GithubSettings::parse(base).unwrap();
            assert_eq!(settings.graphql_url().as_str(), graphql);
            assert_eq!(settings.archive_hosts, archives, "{base}");
            assert!(settings.client().is_ok());
        }
    }

    #[test]
    fn unusable_bases_are_refused_without_their_secrets() {
        for base in [
            "http://api.github.com",
            "ftp://api.github.com",
            "https://token:SENTINEL@api.github.com",
            "https://api.github.com/?token=SENTINEL",
            "api.github.com",
            "data:text/plain,SENTINEL",
            "",
        ] {
            let error = GithubSettings::parse(base).unwrap_err();
            assert!(
                !format!("{error} {error:?}").contains("SENTINEL"),
                "{error:?}"
            );
        }
    }

    #[test]
    fn paths_are_escaped_by_segment() {
        let settings = GithubSettings::parse("https://ghe.example/api/v3/").unwrap();
        let url = settings.url(&["repos", "acme", "shop", "contents", "a/b?c#d e"]);
        assert_eq!(
            url.as_str(),
            "https://ghe.example/api/v3/repos/acme/shop/contents/a%2Fb%3Fc%23d%20e"
        );
    }
}
