//! Is a request GitLab's? By its signature where it has one and we have the key, else by its token.
//!
//! GitLab sends `webhook-id` and `webhook-timestamp` with every request, and a signature only if a signing token
//! is set: the signature's header, and no other, tells which it is.

use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hmac::Mac as _;

use super::GitlabHeaders;
use crate::ids::Timestamp;
use crate::webhook::signature::{Secrets, SignatureError, WebhookSecret};

/// How far a request's clock may be from ours, as the scheme wants it.
/// <https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md>
pub const MAX_CLOCK_SKEW: Duration = Duration::from_secs(5 * 60);

const TOKEN_PREFIX: &str = "whsec_";
const SIGNATURE_PREFIX: &str = "v1,";
/// The scheme's shortest key.
const MIN_KEY_BYTES: usize = 24;

/// What a request of GitLab may be believed by; one of the two at the least.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GitlabSecrets {
    token: Option<Secrets>,
    signing: Option<Secrets>,
}

/// Neither a token nor a signing token is configured: every request would have to be refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("there is neither a secret token nor a signing token for GitLab's webhooks")]
pub struct NoGitlabSecret;

/// A text is no signing token.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "a signing token is `whsec_` and the base64 of at least {MIN_KEY_BYTES} bytes, as GitLab shows it once"
)]
pub struct SigningTokenError;

impl GitlabSecrets {
    /// Takes the token (`X-Gitlab-Token`) and the signing keys ([`WebhookSecret::parse_signing_token`]).
    pub fn new(token: Option<Secrets>, signing: Option<Secrets>) -> Result<Self, NoGitlabSecret> {
        if token.is_none() && signing.is_none() {
            return Err(NoGitlabSecret);
        }
        Ok(Self { token, signing })
    }

    /// Takes the token, which is always there where a stack makes one up, and the signing keys.
    pub const fn with_token(token: Secrets, signing: Option<Secrets>) -> Self {
        Self {
            token: Some(token),
            signing,
        }
    }
}

impl WebhookSecret {
    /// Takes a signing token as GitLab shows it.
    pub fn parse_signing_token(text: &str) -> Result<Self, SigningTokenError> {
        let encoded = text
            .trim()
            .strip_prefix(TOKEN_PREFIX)
            .ok_or(SigningTokenError)?;
        let key = STANDARD
            .decode(encoded)
            .map_err(|_error| SigningTokenError)?;
        if key.len() < MIN_KEY_BYTES {
            return Err(SigningTokenError);
        }
        Ok(Self::of_bytes(key))
    }
}

/// Checks a request over its raw body, in constant time.
///
/// A signature that cannot be checked, because only a token is configured here, proves nothing and does no harm:
/// then the token decides.
pub fn verify_gitlab(
    secrets: &GitlabSecrets,
    now: Timestamp,
    body: &[u8],
    headers: GitlabHeaders<'_>,
) -> Result<(), SignatureError> {
    match (&secrets.signing, headers.webhook_signature, &secrets.token) {
        (Some(keys), Some(signature), _) => signed(keys, now, body, headers, signature),
        (_, _, Some(tokens)) => {
            let Some(given) = headers.token else {
                // What is signed with a key that is not here may be right by one that is newer.
                return Err(match headers.webhook_signature {
                    Some(_) => SignatureError::Mismatch,
                    None => SignatureError::Missing,
                });
            };
            let is_ours = tokens
                .accepted(now)
                .fold(false, |found, token| found | token.is(given.as_bytes()));
            is_ours.then_some(()).ok_or(SignatureError::Mismatch)
        }
        (_, _, None) => Err(SignatureError::Missing),
    }
}

/// Returns the value of `webhook-signature` for a body; `stamp` is `webhook-timestamp`, in Unix seconds.
pub fn sign_gitlab(key: &WebhookSecret, id: &str, stamp: i64, body: &[u8]) -> String {
    let head = format!("{id}.{stamp}.");
    let mac = key.mac(&[head.as_bytes(), body]).finalize();
    format!("{SIGNATURE_PREFIX}{}", STANDARD.encode(mac.into_bytes()))
}

fn signed(
    keys: &Secrets,
    now: Timestamp,
    body: &[u8],
    headers: GitlabHeaders<'_>,
    signature: &str,
) -> Result<(), SignatureError> {
    let id = headers.webhook_id.ok_or(SignatureError::Missing)?;
    let stamp = headers.webhook_timestamp.ok_or(SignatureError::Missing)?;
    let at: i64 = stamp.parse().map_err(|_error| SignatureError::Malformed)?;
    let skew = Duration::from_millis(now.get().abs_diff(at.saturating_mul(1_000)));
    if skew > MAX_CLOCK_SKEW {
        return Err(SignatureError::Stale);
    }
    let given: Vec<Vec<u8>> = signature
        .split_ascii_whitespace()
        .filter_map(|one| one.strip_prefix(SIGNATURE_PREFIX))
        .filter_map(|one| STANDARD.decode(one).ok())
        .collect();
    if given.is_empty() {
        return Err(SignatureError::Malformed);
    }
    let head = format!("{id}.{stamp}.");
    let matches = keys.accepted(now).any(|key| {
        let mac = key.mac(&[head.as_bytes(), body]);
        given
            .iter()
            .any(|one| mac.clone().verify_slice(one).is_ok())
    });
    matches.then_some(()).ok_or(SignatureError::Mismatch)
}
