//! The forge that is served: how it is reached, with which rights, and what its webhooks are believed by.
//!
//! **Invariant:** there is one; settings of both are a problem, and not a choice.

use mirilla_domain::forge_place::{
    ForgePlace, GITHUB_API_URL, GITHUB_COM_API, GITLAB_URL, GithubPlace, GitlabPlace,
};
use serde::{Deserialize, Serialize};

use super::{Reader, SIGNING_TOKEN, Secret};

const WEBHOOK_SECRET: &str = "MIRILLA_WEBHOOK_SECRET";
/// What all variables about GitHub begin with.
const GITHUB: &str = "MIRILLA_GITHUB_";
const READ_TOKEN: &str = "MIRILLA_GITLAB_READ_TOKEN";
const WRITE_TOKEN: &str = "MIRILLA_GITLAB_WRITE_TOKEN";
/// What a pipeline of GitLab's says of its address.
const CI_SERVER_URL: &str = "CI_SERVER_URL";
/// The authority of GitLab's certificate, and where a runner puts its own.
const GITLAB_CA_FILE: [&str; 2] = ["MIRILLA_GITLAB_CA_FILE", "CI_SERVER_TLS_CA_FILE"];

/// Who may act on GitHub.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Credentials {
    /// An App: tokens are made for each job, for one repository and one stage.
    App {
        /// Client id or number.
        id: String,
        /// The private key.
        key: Secret,
    },
    /// Two fixed tokens, or three.
    Tokens {
        /// Reads.
        read: Secret,
        /// Writes.
        write: Secret,
        /// Resolves threads, where that is wanted.
        resolve: Option<Secret>,
    },
}

/// Where a child's token comes from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "from", content = "token")]
pub(crate) enum TokenFrom {
    /// The supervisor asks a minter for it.
    Minter,
    /// It is fixed.
    Fixed(Secret),
}

/// A secret of the webhook.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct WebhookSecrets {
    /// The present one.
    pub(crate) current: Secret,
    /// The one before, and when the present one was made (milliseconds since the epoch).
    pub(crate) previous: Option<(Secret, i64)>,
}

/// What webhooks of the forge are believed by.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum HookSettings {
    /// GitHub's signature.
    Github(WebhookSecrets),
    /// GitLab's token, its signature, or both.
    Gitlab {
        /// What comes in `X-Gitlab-Token`.
        token: Option<WebhookSecrets>,
        /// What `webhook-signature` is made with.
        signing: Option<WebhookSecrets>,
    },
}

/// What is read about a forge.
pub(super) type ForgeOfHost = (HookSettings, ForgePlace, Credentials);

impl Reader<'_> {
    /// Reads which forge a host serves and how.
    pub(super) fn forge_of_host(&mut self, resolve_threads: bool) -> Option<ForgeOfHost> {
        if self.get(GITLAB_URL).is_some() {
            self.gitlab_of_host()
        } else {
            self.github_of_host(resolve_threads)
        }
    }

    fn github_of_host(&mut self, resolve_threads: bool) -> Option<ForgeOfHost> {
        let webhook = self.webhook(WEBHOOK_SECRET);
        let api_url = self.github_api_url();
        let credentials = self.credentials(resolve_threads);
        let login = match credentials {
            Some(Credentials::App { .. }) => self
                .required("MIRILLA_GITHUB_APP_SLUG")
                .map(|slug| format!("{slug}[bot]")),
            _ => None,
        };
        let place = self.github_place(api_url?, login);
        Some((
            HookSettings::Github(webhook?),
            ForgePlace::Github(place),
            credentials?,
        ))
    }

    fn gitlab_of_host(&mut self) -> Option<ForgeOfHost> {
        let mut both = self
            .environment
            .keys()
            .filter(|name| name.starts_with(GITHUB));
        if let Some(name) = both.next().cloned() {
            self.problem(
                &name,
                &format!("is set beside {GITLAB_URL}, and a host serves one forge"),
            );
        }
        let has_signing = self.get(SIGNING_TOKEN).is_some();
        let token = if has_signing && self.get(WEBHOOK_SECRET).is_none() {
            None
        } else {
            Some(self.webhook(WEBHOOK_SECRET)?)
        };
        let signing = if has_signing {
            Some(self.webhook(SIGNING_TOKEN)?)
        } else {
            None
        };
        let place = self.gitlab_place();
        let read = self.required(READ_TOKEN).map(Secret::new);
        let write = self.required(WRITE_TOKEN).map(Secret::new);
        if read.is_some() && read == write {
            self.problem(
                READ_TOKEN,
                "is the token that writes, which the process that reads strangers' text must not have",
            );
        }
        Some((
            HookSettings::Gitlab { token, signing },
            place?,
            Credentials::Tokens {
                read: read?,
                write: write?,
                resolve: None,
            },
        ))
    }

    /// Reads GitHub's base URL.
    pub(super) fn github_api_url(&mut self) -> Option<String> {
        self.url(GITHUB_API_URL, GITHUB_COM_API).map(Into::into)
    }

    /// Puts together where GitHub is.
    pub(super) fn github_place(&self, api_url: String, login: Option<String>) -> GithubPlace {
        GithubPlace {
            api_url,
            archive_hosts: self.list("MIRILLA_GITHUB_ARCHIVE_HOSTS"),
            extra_ca_pem: None,
            login,
        }
    }

    /// Reads where GitLab is; in a pipeline of its own that is known.
    pub(super) fn gitlab_place(&mut self) -> Option<ForgePlace> {
        let url = self.get(GITLAB_URL).or_else(|| self.get(CI_SERVER_URL));
        let url = url.map(ToOwned::to_owned);
        if url.is_none() {
            self.problem(GITLAB_URL, "is missing");
        }
        let file = GITLAB_CA_FILE
            .into_iter()
            .find_map(|name| Some((name, self.get(name)?.to_owned())));
        let extra_ca_pem = match file {
            None => None,
            Some((name, path)) => match std::fs::read_to_string(&path) {
                Ok(pem) => Some(pem),
                Err(error) => {
                    self.problem(name, &format!("cannot be read ({path}: {error})"));
                    None
                }
            },
        };
        Some(ForgePlace::Gitlab(GitlabPlace {
            url: url?,
            extra_ca_pem,
        }))
    }

    /// Reads a secret of the webhook and, while a rotation lasts, the one before; the variables of those are called
    /// like its own, with an ending.
    fn webhook(&mut self, name: &str) -> Option<WebhookSecrets> {
        let created_name = format!("{name}_CREATED");
        let current = self.required(name).map(Secret::new);
        let previous = match self.get(&format!("{name}_PREVIOUS")).map(Secret::new) {
            None => None,
            Some(previous) => {
                let created = self.required(&created_name)?;
                match chrono::DateTime::parse_from_rfc3339(&created) {
                    Ok(created) => Some((previous, created.timestamp_millis())),
                    Err(_malformed) => {
                        self.problem(&created_name, "is not well-formed");
                        None
                    }
                }
            }
        };
        Some(WebhookSecrets {
            current: current?,
            previous,
        })
    }

    fn credentials(&mut self, resolve_threads: bool) -> Option<Credentials> {
        if let Some(path) = self
            .get("MIRILLA_GITHUB_APP_KEY_FILE")
            .map(ToOwned::to_owned)
        {
            let id = self.required("MIRILLA_GITHUB_APP_ID");
            let key = match std::fs::read_to_string(&path) {
                Ok(key) => Some(Secret::new(key)),
                Err(error) => {
                    self.problem(
                        "MIRILLA_GITHUB_APP_KEY_FILE",
                        &format!("cannot be read ({path}: {error})"),
                    );
                    None
                }
            };
            return Some(Credentials::App { id: id?, key: key? });
        }
        let read = self.get("MIRILLA_GITHUB_READ_TOKEN").map(Secret::new);
        let write = self.get("MIRILLA_GITHUB_WRITE_TOKEN").map(Secret::new);
        let resolve = if resolve_threads {
            self.required("MIRILLA_GITHUB_RESOLVE_TOKEN")
                .map(Secret::new)
        } else {
            None
        };
        if let (Some(read), Some(write)) = (read, write) {
            Some(Credentials::Tokens {
                read,
                write,
                resolve,
            })
        } else {
            self.problem(
                "MIRILLA_GITHUB_APP_KEY_FILE",
                "is missing, and there are not two tokens either",
            );
            None
        }
    }
}
