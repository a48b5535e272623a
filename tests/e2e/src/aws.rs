//! The emulator's services, as an operator sees them.

use std::time::Duration;

use aws_config::{BehaviorVersion, Region, SdkConfig};
use aws_credential_types::Credentials;
use aws_credential_types::provider::SharedCredentialsProvider;
use aws_sdk_lambda::primitives::Blob;
use aws_sdk_lambda::types::Environment;
use aws_sdk_sqs::types::{MessageSystemAttributeName, QueueAttributeName};
use mirilla_localaws::{REGION, TEST_ACCESS_KEY_ID, TEST_SECRET_ACCESS_KEY};
use serde_json::Value;

/// Clients with the account's own rights.
#[derive(Debug)]
pub struct Services {
    config: SdkConfig,
}

impl Services {
    /// Takes the emulator's address.
    pub fn new(endpoint: &str) -> Self {
        let (id, secret) = (TEST_ACCESS_KEY_ID, TEST_SECRET_ACCESS_KEY);
        let credentials = Credentials::new(id, secret, None, None, "test");
        let config = SdkConfig::builder()
            .behavior_version(BehaviorVersion::latest())
            .endpoint_url(endpoint)
            .region(Region::new(REGION))
            .credentials_provider(SharedCredentialsProvider::new(credentials))
            .build();
        Self { config }
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

    /// Puts a message on a queue, whatever it says.
    pub async fn send(&self, queue_url: &str, body: &str) {
        let client = aws_sdk_sqs::Client::new(&self.config);
        let sent = client.send_message().queue_url(queue_url);
        sent.message_body(body).send().await.unwrap();
    }

    /// Returns how many messages wait, are hidden or delayed.
    pub async fn depth(&self, queue_url: &str) -> u64 {
        let names = [
            QueueAttributeName::ApproximateNumberOfMessages,
            QueueAttributeName::ApproximateNumberOfMessagesNotVisible,
            QueueAttributeName::ApproximateNumberOfMessagesDelayed,
        ];
        let found = aws_sdk_sqs::Client::new(&self.config)
            .get_queue_attributes()
            .queue_url(queue_url)
            .set_attribute_names(Some(names.to_vec()))
            .send()
            .await
            .unwrap();
        let counts = found.attributes.unwrap_or_default();
        names
            .iter()
            .filter_map(|name| counts.get(name)?.parse::<u64>().ok())
            .sum()
    }

    /// Takes one message off a queue; returns its body.
    pub async fn take(&self, queue_url: &str) -> Option<String> {
        let client = aws_sdk_sqs::Client::new(&self.config);
        let received = client
            .receive_message()
            .queue_url(queue_url)
            .message_system_attribute_names(MessageSystemAttributeName::All)
            .send()
            .await
            .unwrap();
        let message = received.messages?.into_iter().next()?;
        client
            .delete_message()
            .queue_url(queue_url)
            .receipt_handle(message.receipt_handle?)
            .send()
            .await
            .unwrap();
        message.body
    }

    /// Returns the keys of the bucket that begin with a prefix.
    pub async fn keys(&self, bucket: &str, prefix: &str) -> Vec<String> {
        let config = aws_sdk_s3::config::Builder::from(&self.config)
            .force_path_style(true)
            .build();
        let found = aws_sdk_s3::Client::from_conf(config)
            .list_objects_v2()
            .bucket(bucket)
            .prefix(prefix)
            .send()
            .await
            .unwrap();
        let objects = found.contents.unwrap_or_default().into_iter();
        objects.filter_map(|object| object.key).collect()
    }
}
