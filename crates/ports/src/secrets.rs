//! The webhook secrets, as the operator's store holds them at the moment.

use async_trait::async_trait;
use mirilla_domain::webhook::HookSecrets;

/// The webhook secrets could not be read.
#[derive(Debug, thiserror::Error)]
#[error("the webhook secret could not be read from {place}")]
pub struct SecretsError {
    /// Where it was looked for, as the operator named it.
    pub place: String,
    /// What the store said.
    #[source]
    pub source: Box<dyn std::error::Error + Send + Sync>,
}

/// Reads the webhook secrets.
#[async_trait]
pub trait WebhookSecrets: Send + Sync {
    /// Reads them anew; a missing secret is an error. Whose they are says which forge is served.
    async fn fetch(&self) -> Result<HookSecrets, SecretsError>;
}
