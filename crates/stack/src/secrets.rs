//! A stack's secrets: filled, read, and labelled.
//!
//! Which version of the webhook secret GitHub signs with is remembered beside the secret, as a staging
//! label of that version: no table and no file of ours can fall behind it.

use aws_sdk_secretsmanager::Client;
use aws_sdk_secretsmanager::error::ProvideErrorMetadata as _;
use secrecy::{ExposeSecret as _, SecretString};

use crate::{Output, Stack, StackError};

/// The label of the version that is in use.
const CURRENT: &str = "AWSCURRENT";

/// What can be said about a secret without reading it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SecretFacts {
    /// The version in use; `None` if nothing was ever put in.
    pub version: Option<String>,
    /// The labels of that version, the one that says it is in use left out.
    pub labels: Vec<String>,
}

impl SecretFacts {
    /// Returns whether the version in use carries a label.
    pub fn has_label(&self, label: &str) -> bool {
        self.labels.iter().any(|one| one == label)
    }
}

impl Stack {
    fn secrets(&self) -> Client {
        Client::new(&self.session.config)
    }

    /// Puts a value into a secret and returns its version; the version before it stays readable as the
    /// previous one.
    ///
    /// # Errors
    ///
    /// If the stack has no such secret or it cannot be written; never with the value.
    pub async fn put_secret(
        &self,
        secret: Output,
        value: &SecretString,
    ) -> Result<String, StackError> {
        let answer = self
            .secrets()
            .put_secret_value()
            .secret_id(self.output(secret)?)
            .secret_string(value.expose_secret())
            .send()
            .await;
        let answer = answer
            .map_err(|error| StackError::secret_call(format!("store {}", secret.what()), &error))?;
        answer
            .version_id
            .ok_or(StackError::Answer("the secret's version"))
    }

    /// Reads a secret; `None` if nothing is in it.
    ///
    /// # Errors
    ///
    /// If the stack has no such secret, or it may or can not be read.
    pub async fn secret(&self, secret: Output) -> Result<Option<SecretString>, StackError> {
        let id = self.output(secret)?;
        let answer = self.secrets().get_secret_value().secret_id(id).send().await;
        match answer {
            Ok(answer) => Ok(answer
                .secret_string
                .filter(|text| !text.is_empty())
                .map(SecretString::from)),
            // Said of a secret that is not there, too; which of the two it is tells its description.
            Err(error) if error.code() == Some("ResourceNotFoundException") => {
                self.secret_facts(secret).await.map(|_empty| None)
            }
            Err(error) => Err(StackError::secret_call(
                format!("read {}", secret.what()),
                &error,
            )),
        }
    }

    /// Looks at a secret without reading it.
    ///
    /// # Errors
    ///
    /// If the stack has no such secret, or it cannot be looked at.
    pub async fn secret_facts(&self, secret: Output) -> Result<SecretFacts, StackError> {
        let id = self.output(secret)?;
        let answer = self.secrets().describe_secret().secret_id(id).send().await;
        let answer = answer
            .map_err(|error| StackError::call(format!("look at {}", secret.what()), &error))?;
        let versions = answer.version_ids_to_stages.unwrap_or_default();
        let current = versions
            .into_iter()
            .find(|(_, labels)| labels.iter().any(|label| label == CURRENT));
        Ok(
            current.map_or_else(SecretFacts::default, |(version, labels)| SecretFacts {
                version: Some(version),
                labels: labels.into_iter().filter(|l| l != CURRENT).collect(),
            }),
        )
    }

    /// Gives a version a label, taking it from another version that had it.
    ///
    /// # Errors
    ///
    /// If there is no such version, or it cannot be labelled.
    pub async fn label_secret(
        &self,
        secret: Output,
        version: &str,
        label: &str,
    ) -> Result<(), StackError> {
        let id = self.output(secret)?;
        let action = || format!("label {}", secret.what());
        let answer = self.secrets().describe_secret().secret_id(id).send().await;
        let answer = answer.map_err(|error| StackError::call(action(), &error))?;
        let versions = answer.version_ids_to_stages.unwrap_or_default();
        let holder = versions
            .into_iter()
            .find(|(_, labels)| labels.iter().any(|one| one == label))
            .map(|(holder, _)| holder);
        if holder.as_deref() == Some(version) {
            return Ok(());
        }
        let answer = self
            .secrets()
            .update_secret_version_stage()
            .secret_id(id)
            .version_stage(label)
            .move_to_version_id(version)
            .set_remove_from_version_id(holder)
            .send()
            .await;
        answer
            .map(drop)
            .map_err(|error| StackError::call(action(), &error))
    }
}
