//! The App's own credential: short-lived RS256 tokens.
//! <https://docs.github.com/apps/creating-github-apps/authenticating-with-a-github-app/generating-a-json-web-token-jwt-for-a-github-app>

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jsonwebtoken::{Algorithm, EncodingKey};
use mirilla_domain::ids::Timestamp;
use secrecy::{ExposeSecret as _, SecretString};
use serde_json::json;

use crate::token::{BoxError, TokenError};

/// How far in the past a token says it was made: GitHub's clock may be behind ours.
const BACKDATE_SECS: i64 = 60;
/// How long it is valid by our clock; GitHub allows ten minutes by its own.
const LIFETIME_SECS: i64 = 9 * 60;

/// Signs with the App's private key, wherever that is: in memory, or in a key store that never gives
/// it away.
#[async_trait]
pub trait SignRs256: Send + Sync {
    /// Returns the RSASSA-PKCS1-v1_5 signature over the SHA-256 of `message`.
    async fn sign(&self, message: &[u8]) -> Result<Vec<u8>, BoxError>;
}

/// The App's id and key.
#[derive(Clone)]
pub struct AppAuth {
    issuer: String,
    signer: Arc<dyn SignRs256>,
}

/// Why a key is not usable.
#[derive(Debug, thiserror::Error)]
#[error(
    "the App's private key is not an RSA key in PEM form; download a new one from the App's page"
)]
pub struct AppKeyError;

impl AppAuth {
    /// Makes a credential of the App's client id (or its number, as text) and its private key as
    /// downloaded from GitHub (PKCS#1 or PKCS#8).
    pub fn with_pem(issuer: impl Into<String>, pem: &SecretString) -> Result<Self, AppKeyError> {
        let text = pem.expose_secret();
        // Environment variables and some secret stores turn line ends into `\n` in two characters.
        let unfolded = if text.contains('\n') {
            text.to_owned()
        } else {
            text.replace("\\n", "\n")
        };
        // The library's error may quote the key.
        let key = EncodingKey::from_rsa_pem(unfolded.as_bytes()).map_err(|_cause| AppKeyError)?;
        Ok(Self::with_signer(issuer, Arc::new(LocalKey(key))))
    }

    /// Makes a credential whose key is elsewhere.
    pub fn with_signer(issuer: impl Into<String>, signer: Arc<dyn SignRs256>) -> Self {
        Self {
            issuer: issuer.into(),
            signer,
        }
    }

    /// Returns a token for `/app` calls.
    pub(crate) async fn jwt(&self, now: Timestamp) -> Result<SecretString, TokenError> {
        let now = now.get().div_euclid(1000);
        let claims = json!({
            "iat": now.saturating_sub(BACKDATE_SECS),
            "exp": now.saturating_add(LIFETIME_SECS),
            "iss": self.issuer,
        });
        let header = json!({ "alg": "RS256", "typ": "JWT" });
        let mut token = format!(
            "{}.{}",
            URL_SAFE_NO_PAD.encode(header.to_string()),
            URL_SAFE_NO_PAD.encode(claims.to_string())
        );
        let signature = self
            .signer
            .sign(token.as_bytes())
            .await
            .map_err(|source| TokenError::Unavailable { source })?;
        token.push('.');
        URL_SAFE_NO_PAD.encode_string(signature, &mut token);
        Ok(token.into())
    }
}

impl fmt::Debug for AppAuth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AppAuth")
            .field("issuer", &self.issuer)
            .finish_non_exhaustive()
    }
}

/// A key in this process's memory.
struct LocalKey(EncodingKey);

#[async_trait]
impl SignRs256 for LocalKey {
    async fn sign(&self, message: &[u8]) -> Result<Vec<u8>, BoxError> {
        let encoded = jsonwebtoken::crypto::sign(message, &self.0, Algorithm::RS256)?;
        Ok(URL_SAFE_NO_PAD.decode(encoded)?)
    }
}
