//! The webhook secrets in memory, read again when they may have changed, and not more often.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use mirilla_domain::ids::Timestamp;
use mirilla_domain::webhook::HookSecrets;
use mirilla_ports::{SecretsError, WebhookSecrets};

/// A bad signature may mean that the secret was rotated. Anyone can send bad signatures, so the store
/// is asked at most this often.
const REFRESH_INTERVAL: Duration = Duration::from_secs(60);
/// A replaced secret is not believed for longer than its grace and this, even if nobody signs with
/// the new one.
const MAX_AGE: Duration = Duration::from_secs(15 * 60);

/// Secrets that come with the process's own settings and change with a restart only.
#[derive(Debug, Clone)]
pub struct FixedSecrets(pub HookSecrets);

#[async_trait]
impl WebhookSecrets for FixedSecrets {
    async fn fetch(&self) -> Result<HookSecrets, SecretsError> {
        Ok(self.0.clone())
    }
}

/// Holds the webhook secrets.
pub struct SecretCache {
    source: Arc<dyn WebhookSecrets>,
    state: Mutex<State>,
}

struct State {
    secrets: Arc<HookSecrets>,
    asked_at: Timestamp,
}

impl fmt::Debug for SecretCache {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SecretCache")
    }
}

impl SecretCache {
    /// Reads the secrets for the first time: without them nothing starts.
    pub async fn open(
        source: Arc<dyn WebhookSecrets>,
        now: Timestamp,
    ) -> Result<Self, SecretsError> {
        let secrets = Arc::new(source.fetch().await?);
        Ok(Self {
            source,
            state: Mutex::new(State {
                secrets,
                asked_at: now,
            }),
        })
    }

    pub(super) fn current(&self) -> Arc<HookSecrets> {
        Arc::clone(&self.lock().secrets)
    }

    pub(super) fn is_old(&self, now: Timestamp) -> bool {
        now.since(self.lock().asked_at) >= MAX_AGE
    }

    /// Reads the secrets again, unless that was tried just now; returns whether it did.
    pub(super) async fn refresh(&self, now: Timestamp) -> Result<bool, SecretsError> {
        {
            let mut state = self.lock();
            if now.since(state.asked_at) < REFRESH_INTERVAL {
                return Ok(false);
            }
            // Noted before asking: a store that fails or hangs is not asked by everyone.
            state.asked_at = now;
        }
        let secrets = Arc::new(self.source.fetch().await?);
        self.lock().secrets = secrets;
        Ok(true)
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
