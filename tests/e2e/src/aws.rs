//! The emulator's services, as an operator sees them.

mod app;
mod bookmarks;
mod objects;
mod purses;
mod queues;
mod tried;

use std::time::Duration;

pub use tried::Verdict;

use aws_config::{BehaviorVersion, Region, SdkConfig};
use aws_credential_types::Credentials;
use aws_credential_types::provider::SharedCredentialsProvider;
use aws_sdk_lambda::primitives::Blob;
use aws_sdk_lambda::types::Environment;
use mirilla_localaws::{REGION, TEST_ACCESS_KEY_ID, TEST_SECRET_ACCESS_KEY};
use serde_json::Value;

/// Clients with the rights of whoever the credentials are.
#[derive(Debug, Clone)]
pub struct Services {
    config: SdkConfig,
}

impl Services {
    /// Takes the emulator's address.
    pub fn new(endpoint: &str) -> Self {
        let (id, secret) = (TEST_ACCESS_KEY_ID, TEST_SECRET_ACCESS_KEY);
        Self::with(endpoint, Credentials::new(id, secret, None, None, "test"))
    }

    /// Takes the emulator's address and somebody's credentials.
    pub fn with(endpoint: &str, credentials: Credentials) -> Self {
        let config = SdkConfig::builder()
            .behavior_version(BehaviorVersion::latest())
            .endpoint_url(endpoint)
            .region(Region::new(REGION))
            .credentials_provider(SharedCredentialsProvider::new(credentials))
            .build();
        Self { config }
    }

    /// Returns a secret.
    pub async fn secret(&self, secret: &str) -> String {
        let found = aws_sdk_secretsmanager::Client::new(&self.config)
            .get_secret_value()
            .secret_id(secret)
            .send()
            .await;
        found.unwrap().secret_string.unwrap()
    }

    /// Fills a secret.
    pub async fn fill_secret(&self, secret: &str, value: &str) {
        aws_sdk_secretsmanager::Client::new(&self.config)
            .put_secret_value()
            .secret_id(secret)
            .secret_string(value)
            .send()
            .await
            .unwrap();
    }

    /// Invokes a function and waits; returns its answer.
    pub async fn invoke(&self, function: &str, event: &Value) -> Value {
        let answer = aws_sdk_lambda::Client::new(&self.config)
            .invoke()
            .function_name(function)
            .payload(Blob::new(event.to_string()))
            .send()
            .await
            .unwrap();
        let payload = answer.payload.map(Blob::into_inner).unwrap_or_default();
        let text = String::from_utf8_lossy(&payload);
        assert!(answer.function_error.is_none(), "{function}: {text}");
        serde_json::from_str(&text).unwrap()
    }

    /// Changes a function's time-out and some of its variables, as an operator may.
    pub async fn reconfigure(
        &self,
        function: &str,
        timeout: Option<Duration>,
        variables: &[(&str, &str)],
    ) {
        let client = aws_sdk_lambda::Client::new(&self.config);
        let found = client
            .get_function_configuration()
            .function_name(function)
            .send()
            .await
            .unwrap();
        let mut all = found
            .environment
            .and_then(|environment| environment.variables)
            .unwrap_or_default();
        for (name, value) in variables {
            all.insert((*name).to_owned(), (*value).to_owned());
        }
        let seconds = timeout.map(|timeout| i32::try_from(timeout.as_secs()).unwrap());
        client
            .update_function_configuration()
            .function_name(function)
            .set_timeout(seconds.or(found.timeout))
            .environment(Environment::builder().set_variables(Some(all)).build())
            .send()
            .await
            .unwrap();
    }
}
