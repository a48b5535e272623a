//! The App's private key: read from what GitHub hands out, wrapped, and imported into KMS.
//!
//! **Invariant:** the key is in this process's memory alone, and leaves it only encrypted to a key that
//! KMS made for this import.

mod wrap;

use std::fmt;

use aws_lc_rs::encoding::{AsDer as _, PublicKeyX509Der};
use aws_lc_rs::rsa::KeyPair;
use aws_lc_rs::signature::KeyPair as _;
use aws_sdk_kms::primitives::Blob;
use aws_sdk_kms::types::{AlgorithmSpec, ExpirationModelType, KeyState as State, WrappingKeySpec};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rustls::pki_types::PrivateKeyDer;
use rustls::pki_types::pem::PemObject as _;
use secrecy::{ExposeSecret as _, SecretBox, SecretString};
use sha2::{Digest as _, Sha256};

use crate::{Output, Stack, StackError};

pub use wrap::wrap_for_import;

/// Bytes of the modulus of the only kind of key that the template's KMS key takes.
const MODULUS_BYTES: usize = 256;

/// Why a private key is no good.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum AppKeyError {
    /// Not PEM with a private key.
    #[error("it is not a private key in PEM form, as GitHub hands out")]
    NotPem,
    /// Not RSA, or damaged.
    #[error("it is not an RSA private key, or it is damaged")]
    NotRsa,
    /// Of another size.
    #[error(
        "it is an RSA key of {0} bits; GitHub's have 2048, and the stack's key in KMS takes those"
    )]
    Size(usize),
}

/// A GitHub App's private key.
pub struct AppKey {
    /// PKCS#8, DER: what KMS imports.
    pkcs8: SecretBox<Vec<u8>>,
    /// `SubjectPublicKeyInfo`, DER: what KMS shows.
    public: Vec<u8>,
    /// As it came.
    pem: SecretString,
}

impl fmt::Debug for AppKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("AppKey").field(&self.fingerprint()).finish()
    }
}

impl AppKey {
    /// Reads a key as GitHub hands it out (PKCS#1), or as other tools write it (PKCS#8).
    ///
    /// # Errors
    ///
    /// If it is no RSA key of 2048 bits; nothing of it is in the error.
    pub fn parse(pem: SecretString) -> Result<Self, AppKeyError> {
        let der = PrivateKeyDer::from_pem_slice(pem.expose_secret().as_bytes())
            .map_err(|_bad| AppKeyError::NotPem)?;
        let pair = match &der {
            PrivateKeyDer::Pkcs1(der) => KeyPair::from_der(der.secret_pkcs1_der()),
            PrivateKeyDer::Pkcs8(der) => KeyPair::from_pkcs8(der.secret_pkcs8_der()),
            _ => return Err(AppKeyError::NotRsa),
        };
        let pair = pair.map_err(|_bad| AppKeyError::NotRsa)?;
        if pair.public_modulus_len() != MODULUS_BYTES {
            return Err(AppKeyError::Size(
                pair.public_modulus_len().saturating_mul(8),
            ));
        }
        let pkcs8 = pair.as_der().map_err(|_bad| AppKeyError::NotRsa)?;
        let public: PublicKeyX509Der<'_> = pair
            .public_key()
            .as_der()
            .map_err(|_bad| AppKeyError::NotRsa)?;
        Ok(Self {
            pkcs8: SecretBox::new(Box::new(pkcs8.as_ref().to_vec())),
            public: public.as_ref().to_vec(),
            pem,
        })
    }

    /// Returns the key as it came, for signing with it here.
    pub const fn pem(&self) -> &SecretString {
        &self.pem
    }

    /// Returns the public key: `SubjectPublicKeyInfo`, DER.
    pub fn public(&self) -> &[u8] {
        &self.public
    }

    /// Returns the fingerprint that GitHub shows beside the key.
    pub fn fingerprint(&self) -> String {
        fingerprint(&self.public)
    }
}

/// Returns the fingerprint of a public key as GitHub shows it.
fn fingerprint(public: &[u8]) -> String {
    format!("SHA256:{}", STANDARD.encode(Sha256::digest(public)))
}

/// How the App's key in KMS stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KeyState {
    /// It has no material yet, or not any more.
    Waiting,
    /// It signs.
    Ready {
        /// The public key: `SubjectPublicKeyInfo`, DER.
        public: Vec<u8>,
    },
    /// Somebody switched it off.
    Disabled,
    /// It will be deleted.
    Dying,
    /// It holds material that was not imported.
    NotImported,
    /// KMS says another word.
    Other(String),
}

impl KeyState {
    /// Returns the fingerprint of the key, as GitHub shows it, if it signs.
    pub fn fingerprint(&self) -> Option<String> {
        match self {
            Self::Ready { public } => Some(fingerprint(public)),
            _ => None,
        }
    }
}

impl Stack {
    fn kms(&self) -> aws_sdk_kms::Client {
        aws_sdk_kms::Client::new(&self.session.config)
    }

    /// Looks at the App's key in KMS.
    ///
    /// # Errors
    ///
    /// If the stack has none, or it cannot be looked at.
    pub async fn key_state(&self) -> Result<KeyState, StackError> {
        let id = self.output(Output::AppKey)?;
        let action = || format!("look at {}", Output::AppKey.what());
        let answer = self.kms().describe_key().key_id(id).send().await;
        let facts = answer
            .map_err(|error| StackError::call(action(), &error))?
            .key_metadata
            .ok_or(StackError::Answer("the key's state"))?;
        if facts
            .origin
            .is_some_and(|origin| origin.as_str() != "EXTERNAL")
        {
            return Ok(KeyState::NotImported);
        }
        Ok(match facts.key_state {
            Some(State::Enabled) => {
                let answer = self.kms().get_public_key().key_id(id).send().await;
                let public = answer
                    .map_err(|error| StackError::call(action(), &error))?
                    .public_key
                    .ok_or(StackError::Answer("the public key"))?;
                KeyState::Ready {
                    public: public.into_inner(),
                }
            }
            Some(State::PendingImport) => KeyState::Waiting,
            Some(State::Disabled) => KeyState::Disabled,
            Some(State::PendingDeletion | State::PendingReplicaDeletion) => KeyState::Dying,
            other => KeyState::Other(other.map_or_else(String::new, |s| s.as_str().to_owned())),
        })
    }

    /// Finds out whether a key can be imported, before there is one.
    ///
    /// # Errors
    ///
    /// If KMS does not hand out what an import needs: mostly a right that is missing.
    pub async fn can_import(&self) -> Result<(), StackError> {
        self.import_parameters().await.map(drop)
    }

    /// Imports the App's key into KMS. Importing the same key again changes nothing.
    ///
    /// # Errors
    ///
    /// If KMS refuses. One that once took another key will never take this one
    /// ([`crate::Reason::OtherMaterial`]).
    /// <https://docs.aws.amazon.com/kms/latest/APIReference/API_ImportKeyMaterial.html>
    pub async fn import_key(&self, key: &AppKey) -> Result<(), StackError> {
        let (wrapping_key, token) = self.import_parameters().await?;
        let wrapped = wrap_for_import(&wrapping_key, key.pkcs8.expose_secret())
            .map_err(|_bad| StackError::Answer("a usable wrapping key"))?;
        let answer = self
            .kms()
            .import_key_material()
            .key_id(self.output(Output::AppKey)?)
            .import_token(token)
            .encrypted_key_material(Blob::new(wrapped))
            .expiration_model(ExpirationModelType::KeyMaterialDoesNotExpire)
            .send()
            .await;
        answer
            .map(drop)
            .map_err(|error| StackError::secret_call("import the App's key into KMS", &error))
    }

    /// Returns a public key to wrap with, and the token that belongs to it.
    async fn import_parameters(&self) -> Result<(Vec<u8>, Blob), StackError> {
        let answer = self
            .kms()
            .get_parameters_for_import()
            .key_id(self.output(Output::AppKey)?)
            .wrapping_algorithm(AlgorithmSpec::RsaAesKeyWrapSha256)
            .wrapping_key_spec(WrappingKeySpec::Rsa4096)
            .send()
            .await
            .map_err(|error| StackError::call("prepare the import into KMS", &error))?;
        let key = answer
            .public_key
            .ok_or(StackError::Answer("a wrapping key"))?;
        let token = answer
            .import_token
            .ok_or(StackError::Answer("an import token"))?;
        Ok((key.into_inner(), token))
    }
}

#[cfg(test)]
mod tests;
