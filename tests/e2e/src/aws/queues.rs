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

    /// Stops or resumes handing a queue's messages to a function.
    pub async fn feed(&self, function: &str, on: bool) {
        let client = aws_sdk_lambda::Client::new(&self.config);
        let found = client.list_event_source_mappings().function_name(function);
        for mapping in found.send().await.unwrap().event_source_mappings() {
            let update = client.update_event_source_mapping();
            let update = update.uuid(mapping.uuid().unwrap()).enabled(on);
            update.send().await.unwrap();
        }
    }

    /// Receives the one message of a queue, without deleting it, until it was received so often. It may
    /// be hidden for a while at first.
    pub async fn receive_until(&self, queue_url: &str, receipts: u32) {
        let client = aws_sdk_sqs::Client::new(&self.config);
        let mut empty = 0;
        loop {
            let received = client
                .receive_message()
                .queue_url(queue_url)
                .visibility_timeout(0)
                .wait_time_seconds(10)
                .message_system_attribute_names(MessageSystemAttributeName::All)
                .send()
                .await
                .unwrap();
            let Some(message) = received.messages().first() else {
                empty += 1;
                assert!(empty < 6, "no message within a minute");
                continue;
            };
            let counted = &message.attributes().unwrap()
                [&MessageSystemAttributeName::ApproximateReceiveCount];
            if counted.parse::<u32>().unwrap() >= receipts {
                return;
            }
        }
    }

    /// Changes after how many receipts a message is dead.
    pub async fn die_after(&self, queue_url: &str, receipts: u32) {
        let client = aws_sdk_sqs::Client::new(&self.config);
        let name = QueueAttributeName::RedrivePolicy;
        let found = client.get_queue_attributes().queue_url(queue_url);
        let found = found.attribute_names(name.clone()).send().await.unwrap();
        let policy = &found.attributes.unwrap()[&name];
        let mut policy: serde_json::Value = serde_json::from_str(policy).unwrap();
        policy["maxReceiveCount"] = receipts.into();
        let set = client.set_queue_attributes().queue_url(queue_url);
        let set = set.attributes(name, policy.to_string());
        set.send().await.unwrap();
    }

    /// Sends every dead letter back to its queue, as `StartMessageMoveTask` does where there is one;
    /// returns how many.
    pub async fn redrive(&self, dead_letters_url: &str, queue_url: &str) -> usize {
        let mut moved = 0;
        while let Some(body) = self.take(dead_letters_url).await {
            self.send(queue_url, &body).await;
            moved += 1;
        }
        moved
    }
}
