//! Facts about a stack's parts, for `mirilla doctor`.

use aws_sdk_sqs::types::QueueAttributeName;

use crate::{Output, Stack, StackError};

/// What Lambda says about a function.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FunctionFacts {
    /// `Active`, `Inactive`, `Pending`, `Failed`.
    pub state: String,
    /// `Successful`, `InProgress`, `Failed`.
    pub last_update: String,
    /// Why either is not as it should be.
    pub why: Option<String>,
    /// `arm64` or `x86_64`.
    pub architecture: String,
}

/// What Lambda says about a queue's way into a function.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MappingFacts {
    /// The queue's ARN.
    pub source: String,
    /// `Enabled`, `Disabled`, or a word for something in between.
    pub state: String,
    /// What became of the last look into the queue.
    pub last_result: Option<String>,
}

/// Who hears of alarms.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Subscriptions {
    /// Those who confirmed.
    pub confirmed: u64,
    /// Those who were asked and have not answered.
    pub pending: u64,
}

impl Stack {
    fn lambda(&self) -> aws_sdk_lambda::Client {
        aws_sdk_lambda::Client::new(&self.session.config)
    }

    /// Looks at a function.
    ///
    /// # Errors
    ///
    /// If there is none of that name, or Lambda cannot be asked.
    pub async fn function(&self, name: &str) -> Result<FunctionFacts, StackError> {
        let answer = self
            .lambda()
            .get_function_configuration()
            .function_name(name)
            .send()
            .await
            .map_err(|error| StackError::call(format!("look at the function {name}"), &error))?;
        let architecture = answer.architectures.unwrap_or_default().into_iter().next();
        Ok(FunctionFacts {
            state: answer
                .state
                .map_or_else(|| "Active".to_owned(), |s| s.as_str().to_owned()),
            last_update: answer
                .last_update_status
                .map_or_else(|| "Successful".to_owned(), |s| s.as_str().to_owned()),
            why: answer
                .last_update_status_reason
                .or(answer.state_reason)
                .filter(|why| !why.is_empty()),
            architecture: architecture
                .map_or_else(|| "x86_64".to_owned(), |a| a.as_str().to_owned()),
        })
    }

    /// Lists the queues that a function is fed from.
    ///
    /// # Errors
    ///
    /// If Lambda cannot be asked.
    pub async fn mappings(&self, function: &str) -> Result<Vec<MappingFacts>, StackError> {
        let answer = self
            .lambda()
            .list_event_source_mappings()
            .function_name(function)
            .send()
            .await
            .map_err(|error| {
                StackError::call(format!("list the event sources of {function}"), &error)
            })?;
        let mappings = answer.event_source_mappings.unwrap_or_default();
        Ok(mappings
            .into_iter()
            .map(|one| MappingFacts {
                source: one.event_source_arn.unwrap_or_default(),
                state: one.state.unwrap_or_default(),
                last_result: one.last_processing_result,
            })
            .collect())
    }

    /// Counts the messages of a queue that wait to be received.
    ///
    /// # Errors
    ///
    /// If the queue is not there, or cannot be asked.
    pub async fn waiting(&self, queue_url: &str) -> Result<u64, StackError> {
        let name = QueueAttributeName::ApproximateNumberOfMessages;
        let answer = aws_sdk_sqs::Client::new(&self.session.config)
            .get_queue_attributes()
            .queue_url(queue_url)
            .attribute_names(name.clone())
            .send()
            .await
            .map_err(|error| {
                let queue = queue_url.rsplit('/').next().unwrap_or(queue_url);
                StackError::call(format!("look into the queue {queue}"), &error)
            })?;
        answer
            .attributes
            .and_then(|all| all.get(&name)?.parse().ok())
            .ok_or(StackError::Answer("the number of messages"))
    }

    /// Asks who hears of alarms.
    ///
    /// # Errors
    ///
    /// If the topic is not there, or cannot be asked.
    pub async fn subscriptions(&self) -> Result<Subscriptions, StackError> {
        let answer = aws_sdk_sns::Client::new(&self.session.config)
            .get_topic_attributes()
            .topic_arn(self.output(Output::AlarmTopic)?)
            .send()
            .await
            .map_err(|error| StackError::call("look at the alarms' topic", &error))?;
        let all = answer.attributes.unwrap_or_default();
        let count = |name: &str| all.get(name).and_then(|n| n.parse().ok()).unwrap_or(0);
        Ok(Subscriptions {
            confirmed: count("SubscriptionsConfirmed"),
            pending: count("SubscriptionsPending"),
        })
    }
}
