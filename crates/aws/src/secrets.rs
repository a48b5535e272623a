//! Secrets Manager: plain secrets, and those of webhooks with the ones before them.
//!
//! **Invariant:** a secret that is not filled in is an error, never an empty secret.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use aws_sdk_secretsmanager::Client;
use aws_sdk_secretsmanager::operation::get_secret_value::{
    GetSecretValueError, GetSecretValueOutput,
};
use mirilla_domain::ids::Timestamp;
use mirilla_domain::webhook::{GitlabSecrets, HookSecrets, PreviousSecret, Secrets, WebhookSecret};
use mirilla_ports::{Clock, SecretsError, WebhookSecrets};
use secrecy::{ExposeSecret as _, SecretString};

use crate::items::Source;

const CURRENT: &str = "AWSCURRENT";
const PREVIOUS: &str = "AWSPREVIOUS";

/// Why a secret cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum SecretError {
    /// It has no value yet.
    #[error(
        "the secret `{name}` is not filled in yet: `mirilla app create --stack <stack>` fills what is a \
         GitHub App's, `mirilla secret set` everything else"
    )]
    Empty {
        /// The secret, as the operator names it.
        name: String,
    },
    /// It does not exist.
    #[error(
        "there is no secret `{name}`: deploy the stack again, or correct the function's setting"
    )]
    Missing {
        /// The secret, as the operator names it.
        name: String,
        /// What Secrets Manager said.
        #[source]
        source: Source,
    },
    /// Secrets Manager refused or cannot be reached.
    #[error("the secret `{name}` could not be read")]
    Unavailable {
        /// The secret, as the operator names it.
        name: String,
        /// What Secrets Manager said.
        #[source]
        source: Source,
    },
}

/// Reads secrets.
#[derive(Clone)]
pub struct SecretStore {
    client: Client,
}

impl fmt::Debug for SecretStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SecretStore").finish_non_exhaustive()
    }
}

/// One version of a secret.
struct Version {
    text: SecretString,
    created_at: Timestamp,
}

impl SecretStore {
    /// Takes the client.
    pub const fn new(client: Client) -> Self {
        Self { client }
    }

    /// Reads a secret's present value, without blanks and line ends around it.
    ///
    /// # Errors
    ///
    /// [`SecretError::Empty`] while it has none: the template makes the secrets that a person has to
    /// fill without a value.
    pub async fn text(&self, name: &str) -> Result<SecretString, SecretError> {
        self.version(name, CURRENT)
            .await?
            .map(|version| version.text)
            .ok_or_else(|| SecretError::Empty {
                name: name.to_owned(),
            })
    }

    /// Reads one version; `None` if there is none or it is not filled in.
    async fn version(&self, name: &str, stage: &str) -> Result<Option<Version>, SecretError> {
        let answer = self
            .client
            .get_secret_value()
            .secret_id(name)
            .version_stage(stage)
            .send()
            .await;
        match answer {
            Ok(output) => Ok(filled(output)),
            Err(error) => match error.as_service_error() {
                // The same error for a secret that is not there and one without such a version.
                Some(GetSecretValueError::ResourceNotFoundException(missing))
                    if missing.message().is_some_and(|it| it.contains(stage)) =>
                {
                    Ok(None)
                }
                Some(GetSecretValueError::ResourceNotFoundException(_)) => {
                    Err(SecretError::Missing {
                        name: name.to_owned(),
                        source: error.into(),
                    })
                }
                _ => Err(SecretError::Unavailable {
                    name: name.to_owned(),
                    source: error.into(),
                }),
            },
        }
    }
}

fn filled(output: GetSecretValueOutput) -> Option<Version> {
    let created_at = output.created_date.and_then(|date| date.to_millis().ok());
    let text = output.secret_string?;
    let text = text.trim();
    if text.is_empty() {
        return None;
    }
    Some(Version {
        text: SecretString::from(text),
        created_at: Timestamp::new(created_at.unwrap_or(0)),
    })
}

/// Where what webhooks are believed by is kept: names or ARNs of secrets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HookNames {
    /// GitHub's.
    Github {
        /// What its signatures are made with.
        secret: String,
    },
    /// GitLab's.
    Gitlab {
        /// What comes in `X-Gitlab-Token`.
        token: String,
        /// What `webhook-signature` is made with, where an operator may keep one; one that is not filled in is none.
        signing: Option<String>,
    },
}

/// What webhooks are believed by: the present secrets and, while they count, the ones before.
///
/// A previous version is asked for only while the present one is younger than `grace`: after that
/// it would not count, so in the long run a start costs one call for each secret.
pub struct StoredWebhookSecrets {
    store: SecretStore,
    names: HookNames,
    grace: Duration,
    clock: Arc<dyn Clock>,
}

impl fmt::Debug for StoredWebhookSecrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StoredWebhookSecrets")
            .field("names", &self.names)
            .field("grace", &self.grace)
            .finish_non_exhaustive()
    }
}

/// How a stored text is read as a secret.
type Parse = fn(&str) -> Result<WebhookSecret, Source>;

fn text(text: &str) -> Result<WebhookSecret, Source> {
    Ok(WebhookSecret::parse(text)?)
}

fn signing_token(text: &str) -> Result<WebhookSecret, Source> {
    Ok(WebhookSecret::parse_signing_token(text)?)
}

impl StoredWebhookSecrets {
    /// Takes what the secrets are called, and how long their previous versions count.
    pub fn new(
        store: SecretStore,
        names: HookNames,
        grace: Duration,
        clock: Arc<dyn Clock>,
    ) -> Self {
        Self {
            store,
            names,
            grace,
            clock,
        }
    }

    async fn read(&self) -> Result<HookSecrets, SecretsError> {
        match &self.names {
            HookNames::Github { secret } => Ok(self.required(secret).await?.into()),
            HookNames::Gitlab { token, signing } => {
                let token = self.required(token).await?;
                let signing = match signing {
                    Some(name) => self.one(name, signing_token).await.map_err(at(name))?,
                    None => None,
                };
                Ok(GitlabSecrets::with_token(token, signing).into())
            }
        }
    }

    async fn required(&self, name: &str) -> Result<Secrets, SecretsError> {
        let read = async {
            let empty = || SecretError::Empty {
                name: name.to_owned(),
            };
            Ok::<_, Source>(self.one(name, text).await?.ok_or_else(empty)?)
        };
        read.await.map_err(at(name))
    }

    async fn one(&self, name: &str, parse: Parse) -> Result<Option<Secrets>, Source> {
        let Some(current) = self.store.version(name, CURRENT).await? else {
            return Ok(None);
        };
        let replaced_at = current.created_at;
        let previous = if self.clock.now().since(replaced_at) < self.grace {
            self.store.version(name, PREVIOUS).await?
        } else {
            None
        };
        // One that could not be used has nothing on its way.
        let previous = previous
            .and_then(|version| parse(version.text.expose_secret()).ok())
            .map(|secret| PreviousSecret {
                secret,
                replaced_at,
            });
        Ok(Some(Secrets {
            current: parse(current.text.expose_secret())?,
            previous,
            grace: self.grace,
        }))
    }
}

/// Says which secret could not be read.
fn at(name: &str) -> impl FnOnce(Source) -> SecretsError {
    let place = format!("the secret `{name}`");
    |source| SecretsError { place, source }
}

#[async_trait]
impl WebhookSecrets for StoredWebhookSecrets {
    async fn fetch(&self) -> Result<HookSecrets, SecretsError> {
        self.read().await
    }
}
