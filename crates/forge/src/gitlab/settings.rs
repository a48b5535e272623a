//! Where GitLab is.

use std::time::Duration;

use mirilla_domain::forge_place::GitlabPlace;
use mirilla_http::{Client, ClientSettings, SettingsError};
use url::Url;

use crate::base::{authority, is_plain_loopback, is_usable, without_secrets};

/// Bound for one archive: what a collector's own time-out leaves.
const ARCHIVE_TIMEOUT: Duration = Duration::from_secs(240);

/// Why an address is not usable.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum GitlabSettingsError {
    /// Not an address of the wanted form.
    #[error(
        "`{given}` is not the address of a GitLab; write `https://gitlab.example.com`, with the path \
         that the instance lies under if it has one, and without `/api/v4`"
    )]
    Address {
        /// The address, without what may be secret in it.
        given: String,
    },
    /// The HTTP client cannot be made.
    #[error("cannot set up the HTTP client for GitLab")]
    Client(#[from] SettingsError),
}

/// Where GitLab is and how it is spoken to; all of it the operator's.
#[derive(Debug, Clone)]
pub(crate) struct GitlabSettings {
    instance: Url,
    api_base: Url,
    /// Sent as `User-Agent`.
    pub(crate) user_agent: String,
    /// Certificates to trust beside the compiled-in roots, as PEM.
    pub(crate) extra_ca_pem: Option<String>,
    /// Bound for streaming one archive.
    pub(crate) archive_timeout: Duration,
}

impl GitlabSettings {
    /// Makes the settings of an operator: the address of the instance, and certificates to trust beside the
    /// public ones. Plain `http` only for this machine (simulator, demo).
    pub(crate) fn of_operator(place: &GitlabPlace) -> Result<Self, GitlabSettingsError> {
        let instance =
            Url::parse(&place.url).map_err(|_unparsable| GitlabSettingsError::Address {
                given: "(not a URL)".to_owned(),
            })?;
        let is_api = instance.path().trim_end_matches('/').ends_with("/api/v4");
        if !is_usable(&instance) || is_api {
            return Err(GitlabSettingsError::Address {
                given: without_secrets(&instance),
            });
        }
        Ok(Self {
            api_base: below(&instance, &["api", "v4"]),
            instance,
            user_agent: concat!("mirilla/", env!("CARGO_PKG_VERSION")).to_owned(),
            extra_ca_pem: place.extra_ca_pem.clone(),
            archive_timeout: ARCHIVE_TIMEOUT,
        })
    }

    /// Returns the base of the REST API.
    pub(crate) fn api_base(&self) -> &Url {
        &self.api_base
    }

    /// Returns a client that can reach the instance and nothing else. Most have an address inside a private
    /// network; the name is the operator's own, and no other is ever resolved.
    pub(crate) fn client(&self) -> Result<Client, GitlabSettingsError> {
        let mut settings =
            ClientSettings::new([authority(&self.instance)], self.user_agent.clone());
        settings.allow_plain_loopback = is_plain_loopback(&self.instance);
        settings.allow_private_addresses = true;
        settings.extra_ca_pem.clone_from(&self.extra_ca_pem);
        Ok(Client::new(settings)?)
    }

    /// Returns the URL of a page that people see; segments are escaped.
    pub(crate) fn page(&self, segments: &[&str]) -> Url {
        below(&self.instance, segments)
    }
}

fn below(url: &Url, segments: &[&str]) -> Url {
    let mut url = url.clone();
    // It has a host, so it always has path segments.
    if let Ok(mut path) = url.path_segments_mut() {
        path.pop_if_empty().extend(segments);
    }
    url
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::Service as _;

    fn at(address: &str) -> Result<GitlabSettings, GitlabSettingsError> {
        GitlabSettings::of_operator(&GitlabPlace {
            url: address.to_owned(),
            extra_ca_pem: None,
        })
    }

    #[test]
    fn api_and_pages_lie_below_the_instance() {
        for (address, api, page) in [
            (
                "https://gitlab.example.com",
                "https://gitlab.example.com/api/v4/projects/7",
                "https://gitlab.example.com/a/b",
            ),
            (
                "https://example.com/gitlab/",
                "https://example.com/gitlab/api/v4/projects/7",
                "https://example.com/gitlab/a/b",
            ),
            (
                "http://127.0.0.1:8123",
                "http://127.0.0.1:8123/api/v4/projects/7",
                "http://127.0.0.1:8123/a/b",
            ),
        ] {
            let settings = at(address).unwrap();
            assert_eq!(settings.url(&["projects", "7"]).as_str(), api);
            assert_eq!(settings.page(&["a", "b"]).as_str(), page);
            assert!(settings.client().is_ok());
        }
    }

    #[test]
    fn unusable_addresses_are_refused_without_their_secrets() {
        for address in [
            "http://gitlab.example.com",
            "https://token:SENTINEL@gitlab.example.com",
            "https://gitlab.example.com/?private_token=SENTINEL",
            "https://gitlab.example.com/api/v4",
            "gitlab.example.com",
            "data:text/plain,SENTINEL",
            "",
        ] {
            let error = at(address).unwrap_err();
            let told = format!("{error} {error:?}");
            assert!(!told.contains("SENTINEL"), "{told}");
        }
    }
}
