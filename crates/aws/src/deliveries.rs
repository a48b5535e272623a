//! The App's record of its webhooks, through the minter that holds the App's key.

use std::fmt;

use async_trait::async_trait;
use aws_sdk_lambda::Client;
use aws_sdk_lambda::config::retry::RetryConfig;
use mirilla_ports::AskDeliveries;
use mirilla_ports::deliveries::{DeliveriesAnswer, DeliveriesFailure, DeliveriesRequest};
use secrecy::ExposeSecret as _;

use crate::LambdaInvoker;

/// The minter of the stage `deliveries`, which is another function.
pub struct DeliveriesFunction {
    invoker: LambdaInvoker,
    function: String,
}

impl DeliveriesFunction {
    /// Takes the function's name or ARN.
    ///
    /// Each question is put once: how often a webhook is asked for again, the sweeper counts.
    pub fn new(client: &Client, function: impl Into<String>) -> Self {
        let config = client.config().to_builder();
        let once = config.retry_config(RetryConfig::disabled()).build();
        Self {
            invoker: LambdaInvoker::new(Client::from_conf(once)),
            function: function.into(),
        }
    }
}

impl fmt::Debug for DeliveriesFunction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DeliveriesFunction")
            .field("function", &self.function)
            .finish_non_exhaustive()
    }
}

#[async_trait]
impl AskDeliveries for DeliveriesFunction {
    async fn ask(&self, request: &DeliveriesRequest) -> DeliveriesAnswer {
        let answer = match self.invoker.invoke(&self.function, request).await {
            Ok(answer) => answer,
            Err(error) => return DeliveriesAnswer::Failed(DeliveriesFailure::unavailable(&error)),
        };
        serde_json::from_str(answer.expose_secret()).unwrap_or_else(|_quotes| {
            // The parser's own words could quote what a stranger wrote.
            let function = &self.function;
            let reason = format!("the answer of the function `{function}` cannot be read");
            DeliveriesAnswer::Failed(DeliveriesFailure::Unavailable { reason })
        })
    }
}
