//! Calls that a role may or may not make, and what became of them.

use aws_sdk_dynamodb::types::AttributeValue;
use aws_sdk_kms::types::{MessageType, SigningAlgorithmSpec};
use aws_sdk_lambda::primitives::Blob;
use aws_sdk_sqs::error::{ProvideErrorMetadata, SdkError};
use serde_json::Value;

use super::Services;

/// What became of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// It was carried out.
    Allowed,
    /// The caller may not make it.
    Denied,
    /// It failed for another reason, which proves nothing.
    Failed(String),
}

impl Verdict {
    fn of<T, E>(result: Result<T, SdkError<E>>) -> Self
    where
        E: ProvideErrorMetadata + std::fmt::Debug,
    {
        match result {
            Ok(_) => Self::Allowed,
            Err(error) => match error.code() {
                Some("AccessDenied" | "AccessDeniedException") => Self::Denied,
                _ => Self::Failed(format!("{error:?}")),
            },
        }
    }
}

impl Services {
    /// Tries to read a secret.
    pub async fn try_secret(&self, secret: &str) -> Verdict {
        let client = aws_sdk_secretsmanager::Client::new(&self.config);
        Verdict::of(client.get_secret_value().secret_id(secret).send().await)
    }

    /// Tries to read an object.
    pub async fn try_object(&self, bucket: &str, key: &str) -> Verdict {
        let call = self.s3().get_object().bucket(bucket).key(key);
        Verdict::of(call.send().await)
    }

    /// Tries to read a row, which need not be there.
    pub async fn try_row(&self, table: &str) -> Verdict {
        let client = aws_sdk_dynamodb::Client::new(&self.config);
        let key = AttributeValue::S("nothing".to_owned());
        let call = client.get_item().table_name(table).key("pk", key);
        Verdict::of(call.send().await)
    }

    /// Tries to sign with a key.
    pub async fn try_sign(&self, key: &str) -> Verdict {
        let client = aws_sdk_kms::Client::new(&self.config);
        let call = client
            .sign()
            .key_id(key)
            .message(Blob::new("anything"))
            .message_type(MessageType::Raw)
            .signing_algorithm(SigningAlgorithmSpec::RsassaPkcs1V15Sha256);
        Verdict::of(call.send().await)
    }

    /// Tries to invoke a function.
    pub async fn try_invoke(&self, function: &str, event: &Value) -> Verdict {
        let client = aws_sdk_lambda::Client::new(&self.config);
        let event = Blob::new(event.to_string());
        let call = client.invoke().function_name(function).payload(event);
        Verdict::of(call.send().await)
    }
}
