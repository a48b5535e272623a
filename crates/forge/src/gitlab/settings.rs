//! Where GitLab is.

use mirilla_http::{Client, ClientSettings, SettingsError};
use url::Url;

use crate::base::{authority, is_plain_loopback, is_usable, without_secrets};

/// Why the address of an instance is not usable.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum GitlabSettingsError {
    /// Not a URL of the wanted form.
    #[error("`{given}` is not the address of a GitLab; write `https://gitlab.example.com`")]
    Base {
        /// The URL, without what may be secret in it.
        given: String,
    },
    /// The HTTP client cannot be made.
    #[error("cannot set up the HTTP client for GitLab")]
    Client(#[from] SettingsError),
}

/// Where GitLab is; the operator's.
#[derive(Debug, Clone)]
pub struct GitlabSettings {
    url: Url,
    api_base: Url,
    extra_ca_pem: Option<String>,
}

impl GitlabSettings {
    /// Reads the address of an instance, which may lie below a path; certificates are trusted beside the public ones.
    pub fn of_operator(
        url: &str,
        extra_ca_pem: Option<String>,
    ) -> Result<Self, GitlabSettingsError> {
        let url = Url::parse(url).map_err(|_unparsable| GitlabSettingsError::Base {
            given: "(not a URL)".to_owned(),
        })?;
        let mut api_base = url.clone();
        let extended = api_base.path_segments_mut().map(|mut path| {
            path.pop_if_empty().extend(["api", "v4"]);
        });
        if !is_usable(&url) || extended.is_err() {
            return Err(GitlabSettingsError::Base {
                given: without_secrets(&url),
            });
        }
        Ok(Self {
            url,
            api_base,
            extra_ca_pem,
        })
    }

    /// Returns the base of the REST API.
    pub fn api_base(&self) -> &Url {
        &self.api_base
    }

    /// Returns a client that can reach the instance and nothing else.
    pub fn client(&self) -> Result<Client, GitlabSettingsError> {
        let agent = concat!("mirilla/", env!("CARGO_PKG_VERSION")).to_owned();
        let mut settings = ClientSettings::new([authority(&self.api_base)], agent);
        settings.allow_plain_loopback = is_plain_loopback(&self.api_base);
        settings.extra_ca_pem.clone_from(&self.extra_ca_pem);
        Ok(Client::new(settings)?)
    }

    /// Returns the URL of a page that people see; segments are escaped.
    pub(crate) fn page(&self, segments: &[&str]) -> Url {
        let mut url = self.url.clone();
        if let Ok(mut path) = url.path_segments_mut() {
            path.pop_if_empty().extend(segments);
        }
        url
    }
}
