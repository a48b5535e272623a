//! Secrets Manager: plain secrets, and the webhook secret with the one before it.
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
use mirilla_domain::webhook::{HookSecrets, PreviousSecret, Secrets, WebhookSecret};
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
        "the secret `{name}` is not filled in yet: run `mirilla app create --stack <stack>`, or put \
         the value there yourself"
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

/// The webhook secret of one App: the present one and, while it counts, the one before.
///
/// The previous version is asked for only while the present one is younger than `grace`: after that
/// it would not count, so in the long run a start costs one call.
pub struct StoredWebhookSecrets {
    store: SecretStore,
    name: String,
    grace: Duration,
    clock: Arc<dyn Clock>,
}

impl fmt::Debug for StoredWebhookSecrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StoredWebhookSecrets")
            .field("name", &self.name)
            .field("grace", &self.grace)
            .finish_non_exhaustive()
    }
}

impl StoredWebhookSecrets {
    /// Takes the secret's name or ARN, and how long its previous version counts.
    pub fn new(
        store: SecretStore,
        name: impl Into<String>,
        grace: Duration,
        clock: Arc<dyn Clock>,
    ) -> Self {
        Self {
            store,
            name: name.into(),
            grace,
            clock,
        }
    }

    async fn read(&self) -> Result<Secrets, Source> {
        let empty = || SecretError::Empty {
            name: self.name.clone(),
        };
        let current = self.store.version(&self.name, CURRENT).await?;
        let current = current.ok_or_else(empty)?;
        let replaced_at = current.created_at;
        let previous = if self.clock.now().since(replaced_at) < self.grace {
            self.store.version(&self.name, PREVIOUS).await?
        } else {
            None
        };
        let previous = previous
            .map(|version| {
                let secret = WebhookSecret::parse(version.text.expose_secret())?;
                Ok::<_, Source>(PreviousSecret {
                    secret,
                    replaced_at,
                })
            })
            .transpose()?;
        Ok(Secrets {
            current: WebhookSecret::parse(current.text.expose_secret())?,
            previous,
            grace: self.grace,
        })
    }
}

#[async_trait]
impl WebhookSecrets for StoredWebhookSecrets {
    async fn fetch(&self) -> Result<HookSecrets, SecretsError> {
        let read = self.read().await;
        read.map(HookSecrets::from).map_err(|source| SecretsError {
            place: format!("the secret `{}`", self.name),
            source,
        })
    }
}
