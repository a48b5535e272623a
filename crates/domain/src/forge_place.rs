//! Where the operator's forge is: what every program that calls it is told, whichever way it is told.
//!
//! **Invariant:** no credential, and nothing that a repository or its people decide.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::ids::Forge;
use crate::webhook::{GRACE_ENTERPRISE_SERVER, GRACE_GITHUB_COM};

/// The REST base URL of github.com.
pub const GITHUB_COM_API: &str = "https://api.github.com";

/// The variable with GitHub's REST base URL.
pub const GITHUB_API_URL: &str = "MIRILLA_GITHUB_API_URL";
/// The variable with GitLab's address; whoever sets it has GitLab served, and not GitHub.
pub const GITLAB_URL: &str = "MIRILLA_GITLAB_URL";

/// The one forge of a deployment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ForgePlace {
    /// GitHub.
    Github(GithubPlace),
    /// GitLab.
    Gitlab(GitlabPlace),
}

/// How GitHub is reached.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GithubPlace {
    /// The REST base URL.
    pub api_url: String,
    /// Hosts that archives may be fetched from; empty: those that belong to the base URL.
    pub archive_hosts: Vec<String>,
    /// Certificates of authorities that are believed beside the compiled-in ones, as PEM.
    pub extra_ca_pem: Option<String>,
    /// The login that our own comments carry; `None`: the forge is asked whose the token is.
    pub login: Option<String>,
}

/// How GitLab is reached.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GitlabPlace {
    /// The instance's address.
    pub url: String,
    /// Certificates of authorities that are believed beside the compiled-in ones, as PEM.
    pub extra_ca_pem: Option<String>,
}

impl ForgePlace {
    /// Returns which kind of forge it is.
    pub const fn forge(&self) -> Forge {
        match self {
            Self::Github(_) => Forge::Github,
            Self::Gitlab(_) => Forge::Gitlab,
        }
    }

    /// Returns the variable that says where it is, in the functions' environment as in a host's.
    pub const fn variable(&self) -> &'static str {
        match self {
            Self::Github(_) => GITHUB_API_URL,
            Self::Gitlab(_) => GITLAB_URL,
        }
    }

    /// Returns how long a webhook's previous secret counts there: as long as the forge may send again what it sent
    /// before. GitLab says no such time, so that the longer one of GitHub's stands for it.
    pub fn webhook_grace(&self) -> Duration {
        match self {
            Self::Github(place) if place.is_github_com() => GRACE_GITHUB_COM,
            Self::Github(_) | Self::Gitlab(_) => GRACE_ENTERPRISE_SERVER,
        }
    }
}

impl GithubPlace {
    /// Returns whether it is github.com, and no server of somebody's own.
    pub fn is_github_com(&self) -> bool {
        self.api_url.trim_end_matches('/') == GITHUB_COM_API
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_previous_secret_counts_as_long_as_the_forge_sends_again() {
        let github = |api_url: &str| {
            ForgePlace::Github(GithubPlace {
                api_url: api_url.to_owned(),
                archive_hosts: Vec::new(),
                extra_ca_pem: None,
                login: None,
            })
        };
        let gitlab = ForgePlace::Gitlab(GitlabPlace {
            url: "https://gitlab.com".to_owned(),
            extra_ca_pem: None,
        });
        for (place, grace) in [
            (github("https://api.github.com/"), GRACE_GITHUB_COM),
            (
                github("https://git.corp.test/api/v3"),
                GRACE_ENTERPRISE_SERVER,
            ),
            (gitlab, GRACE_ENTERPRISE_SERVER),
        ] {
            assert_eq!(place.webhook_grace(), grace, "{place:?}");
        }
    }
}
