//! Queues and what reads them.

use aws_sdk_sqs::types::{MessageSystemAttributeName, QueueAttributeName};

use super::Services;

impl Services {
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
}
