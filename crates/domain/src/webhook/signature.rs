//! The secrets of webhooks, and GitHub's signature: HMAC-SHA256 over the raw body, in `X-Hub-Signature-256`.
//!
//! <https://docs.github.com/en/webhooks/using-webhooks/validating-webhook-deliveries>

use std::fmt;
use std::time::Duration;

use hmac::{Hmac, Mac as _};
use sha2::{Digest as _, Sha256};
use subtle::ConstantTimeEq as _;

use crate::ids::Timestamp;
use crate::mac;

/// How long the previous secret counts on github.com: its redelivery window is three days.
pub const GRACE_GITHUB_COM: Duration = Duration::from_secs(4 * 24 * 60 * 60);
/// How long the previous secret counts on GitHub Enterprise Server: its window is seven days.
pub const GRACE_ENTERPRISE_SERVER: Duration = Duration::from_secs(8 * 24 * 60 * 60);

const PREFIX: &str = "sha256=";

/// A webhook's shared secret.
///
/// It is not printed: `Debug` shows its length only.
#[derive(Clone, PartialEq, Eq)]
pub struct WebhookSecret(Vec<u8>);

impl WebhookSecret {
    /// Takes a secret as it was stored; blanks and line ends around it do not belong to it.
    ///
    /// An empty one is refused, because it would accept what anyone can sign.
    pub fn parse(text: &str) -> Result<Self, SecretError> {
        let secret = text.trim();
        if secret.is_empty() {
            return Err(SecretError);
        }
        Ok(Self(secret.as_bytes().to_vec()))
    }

    /// Takes a key that is no text.
    pub(super) const fn of_bytes(key: Vec<u8>) -> Self {
        Self(key)
    }

    /// Returns the MAC over the parts, one after the other.
    pub(super) fn mac(&self, parts: &[&[u8]]) -> Hmac<Sha256> {
        let mut mac = mac::under(&self.0);
        for part in parts {
            mac.update(part);
        }
        mac
    }

    /// Returns whether `given` is this secret, in a time that tells nothing of it, its length included.
    pub(super) fn is(&self, given: &[u8]) -> bool {
        Sha256::digest(&self.0).ct_eq(&Sha256::digest(given)).into()
    }
}

impl fmt::Debug for WebhookSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "WebhookSecret({} bytes)", self.0.len())
    }
}

/// There is no secret, so every delivery would have to be refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the webhook secret is empty")]
pub struct SecretError;

/// The secret before the present one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PreviousSecret {
    /// The secret.
    pub secret: WebhookSecret,
    /// When the present one took its place.
    pub replaced_at: Timestamp,
}

/// What a delivery may be signed with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Secrets {
    /// The present secret.
    pub current: WebhookSecret,
    /// The one before, while it counts: deliveries that failed are signed anew only when the forge
    /// sends them again, so a rotation must not drop what is on its way.
    pub previous: Option<PreviousSecret>,
    /// How long the previous secret counts; then a leaked one is worth nothing.
    pub grace: Duration,
}

impl Secrets {
    /// Returns what counts at this moment.
    pub(super) fn accepted(&self, now: Timestamp) -> impl Iterator<Item = &WebhookSecret> {
        let previous = self
            .previous
            .as_ref()
            .filter(|previous| now < previous.replaced_at.plus(self.grace))
            .map(|previous| &previous.secret);
        std::iter::once(&self.current).chain(previous)
    }
}

/// Why a delivery is not believed.
///
/// The answer to the sender is the same for all of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SignatureError {
    /// The request has neither signature nor token.
    #[error("the request has no signature and no token")]
    Missing,
    /// The signature does not have the form that the forge gives it: `sha256=` and 64 hex digits, or `v1,` and base64.
    #[error("the signature does not have the form that the forge gives it")]
    Malformed,
    /// It was signed at another time than now: a request that somebody kept.
    #[error("the signature is from another time; if the clocks differ, set them")]
    Stale,
    /// The signature was made with another secret or over another body, or the token is another one.
    #[error("the signature or token does not match")]
    Mismatch,
}

/// Checks a signature over the raw body, in constant time.
///
/// `header` is the value of `X-Hub-Signature-256`; the older `X-Hub-Signature` (SHA-1) proves
/// nothing and is not looked at.
pub fn verify_github(
    secrets: &Secrets,
    now: Timestamp,
    body: &[u8],
    header: Option<&str>,
) -> Result<(), SignatureError> {
    let digits = header
        .ok_or(SignatureError::Missing)?
        .strip_prefix(PREFIX)
        .ok_or(SignatureError::Malformed)?;
    let mut signature = [0_u8; 32];
    hex::decode_to_slice(digits, &mut signature).map_err(|_error| SignatureError::Malformed)?;

    let accepted = secrets
        .accepted(now)
        .any(|secret| secret.mac(&[body]).verify_slice(&signature).is_ok());
    if accepted {
        Ok(())
    } else {
        Err(SignatureError::Mismatch)
    }
}

/// Returns the value of `X-Hub-Signature-256` for a body.
pub fn sign_github(secret: &WebhookSecret, body: &[u8]) -> String {
    format!(
        "{PREFIX}{}",
        hex::encode(secret.mac(&[body]).finalize().into_bytes())
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Timestamp = Timestamp::new(1_000_000_000_000);

    fn secret(text: &str) -> WebhookSecret {
        WebhookSecret::parse(text).unwrap()
    }

    fn secrets(previous: Option<Timestamp>) -> Secrets {
        Secrets {
            current: secret("It's a Secret to Everybody"),
            previous: previous.map(|replaced_at| PreviousSecret {
                secret: secret("made up, the one before"),
                replaced_at,
            }),
            grace: GRACE_GITHUB_COM,
        }
    }

    #[test]
    fn published_vector_is_made_and_accepted() {
        // <https://docs.github.com/en/webhooks/using-webhooks/validating-webhook-deliveries>
        let header = "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17";
        assert_eq!(
            sign_github(&secrets(None).current, b"Hello, World!"),
            header
        );
        let check = |body: &[u8]| verify_github(&secrets(None), NOW, body, Some(header));
        assert_eq!(check(b"Hello, World!"), Ok(()));
        assert_eq!(check(b"Hello, World"), Err(SignatureError::Mismatch));
        assert_eq!(check(b""), Err(SignatureError::Mismatch));
    }

    #[test]
    fn missing_and_malformed_signatures_are_refused() {
        use SignatureError::{Malformed, Mismatch, Missing};
        let digits = "7".repeat(64);
        for (header, error) in [
            (None, Missing),
            (Some(String::new()), Malformed),
            (Some("sha256=".to_owned()), Malformed),
            (Some(digits.clone()), Malformed),
            (Some(format!("sha1={}", "7".repeat(40))), Malformed),
            (Some(format!("sha256={}", "7".repeat(63))), Malformed),
            (Some(format!("sha256={}", "7".repeat(66))), Malformed),
            (Some(format!("sha256={}", "g".repeat(64))), Malformed),
            (Some(format!("sha256={}", "ä".repeat(32))), Malformed),
            (Some(format!(" sha256={digits}")), Malformed),
            (Some(format!("SHA256={digits}")), Malformed),
            (Some(format!("sha256={digits}")), Mismatch),
        ] {
            let outcome = verify_github(&secrets(None), NOW, b"x", header.as_deref());
            assert_eq!(outcome, Err(error), "{header:?}");
        }
    }

    #[test]
    fn previous_secret_counts_for_its_grace_and_not_a_moment_longer() {
        let signed = sign_github(&secret("made up, the one before"), b"x");
        let check = |replaced_at, grace| {
            let secrets = Secrets {
                grace,
                ..secrets(replaced_at)
            };
            verify_github(&secrets, NOW, b"x", Some(&signed)).is_ok()
        };
        let ago = |duration: Duration| {
            let millis = i64::try_from(duration.as_millis()).unwrap();
            Some(Timestamp::new(NOW.get() - millis))
        };
        let moment = Duration::from_millis(1);
        for grace in [GRACE_GITHUB_COM, GRACE_ENTERPRISE_SERVER] {
            assert!(check(ago(Duration::ZERO), grace));
            assert!(check(ago(grace.saturating_sub(moment)), grace));
            assert!(!check(ago(grace), grace));
        }
        assert!(!check(ago(GRACE_GITHUB_COM + moment), GRACE_GITHUB_COM));
        assert!(!check(None, GRACE_GITHUB_COM));
    }

    #[test]
    fn current_secret_counts_beside_a_previous_one() {
        let secrets = secrets(Some(NOW));
        let signed = sign_github(&secrets.current, b"x");
        assert_eq!(verify_github(&secrets, NOW, b"x", Some(&signed)), Ok(()));
    }

    #[test]
    fn empty_secrets_are_refused_and_none_is_printed() {
        for empty in ["", " ", "\n"] {
            assert_eq!(WebhookSecret::parse(empty), Err(SecretError));
        }
        assert_eq!(
            secret("stored with a line end\n"),
            secret("stored with a line end")
        );
        let printed = format!("{:?}", secrets(Some(NOW)));
        assert!(
            !printed.contains("Secret to") && !printed.contains("made up"),
            "{printed}"
        );
    }
}
