//! Signing with a key that never leaves KMS.

use std::fmt;

use aws_sdk_kms::Client;
use aws_sdk_kms::primitives::Blob;
use aws_sdk_kms::types::{MessageType, SigningAlgorithmSpec};
use sha2::{Digest as _, Sha256};

use crate::items::Source;

/// Why there is no signature.
#[derive(Debug, thiserror::Error)]
pub enum KmsError {
    /// KMS refused or cannot be reached.
    #[error("the key `{key}` did not sign")]
    Unavailable {
        /// The key, as the operator names it.
        key: String,
        /// What KMS said.
        #[source]
        source: Source,
    },
    /// KMS answered without a signature.
    #[error("the key `{key}` answered without a signature")]
    Empty {
        /// The key, as the operator names it.
        key: String,
    },
}

/// Signs with one RSA key.
#[derive(Clone)]
pub struct KmsSigner {
    client: Client,
    key: String,
}

impl fmt::Debug for KmsSigner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KmsSigner")
            .field("key", &self.key)
            .finish_non_exhaustive()
    }
}

impl KmsSigner {
    /// Takes the key's id or ARN: RSA, 2048 bits, for signing.
    pub fn new(client: Client, key: impl Into<String>) -> Self {
        Self {
            client,
            key: key.into(),
        }
    }

    /// Returns the `RSASSA-PKCS1-v1_5` signature over the SHA-256 of `message`: RS256, in a JWT.
    ///
    /// The digest is made here, so that a message may be of any length and KMS sees none of it.
    pub async fn sign(&self, message: &[u8]) -> Result<Vec<u8>, KmsError> {
        let digest = Sha256::digest(message);
        let answer = self
            .client
            .sign()
            .key_id(&self.key)
            .message_type(MessageType::Digest)
            .message(Blob::new(digest.to_vec()))
            .signing_algorithm(SigningAlgorithmSpec::RsassaPkcs1V15Sha256)
            .send()
            .await
            .map_err(|source| KmsError::Unavailable {
                key: self.key.clone(),
                source: source.into(),
            })?;
        match answer.signature {
            Some(signature) if !signature.as_ref().is_empty() => Ok(signature.into_inner()),
            _ => Err(KmsError::Empty {
                key: self.key.clone(),
            }),
        }
    }
}
