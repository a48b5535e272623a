//! The ports' contracts, the same as the local stores keep.

use std::time::Duration;

use async_trait::async_trait;
use aws_sdk_sqs::types::MessageSystemAttributeName::ApproximateReceiveCount;
use mirilla_aws::{QueueUrls, SqsQueues};
use mirilla_contract::MAX_RECEIVES;
use mirilla_ports::queue::{QueueName, Received};
use mirilla_ports::{Clock as _, Queue, QueueError};
use mirilla_system::SystemClock;

use crate::support::World;

#[tokio::test]
async fn ledger_keeps_its_contract() {
    let world = World::start().await;
    mirilla_contract::ledger(&world.ledger().await, SystemClock.now()).await;
}

#[tokio::test]
async fn bookmarks_keep_their_contract() {
    let world = World::start().await;
    mirilla_contract::bookmarks(&world.ledger().await).await;
}

#[tokio::test]
async fn heads_meter_and_leases_keep_their_contracts() {
    let world = World::start().await;
    let heads = world.heads().await;
    mirilla_contract::heads(&heads, &heads).await;
    let meter = world.meter().await;
    mirilla_contract::meter(&meter, &meter).await;
    mirilla_contract::leases(&meter, &meter).await;
}

#[tokio::test]
async fn artifacts_keep_their_contract() {
    let world = World::start().await;
    mirilla_contract::artifacts(&world.artifacts().await).await;
}

#[tokio::test]
async fn queues_keep_their_contract() {
    let world = World::start().await;
    let (queues, urls) = world.queues().await;
    let receiving = Receiving {
        client: world.aws.sqs(),
        queues: queues.clone(),
        urls,
    };
    mirilla_contract::sending(&receiving, &queues, &queues, &SystemClock).await;
    assert_eq!(MAX_RECEIVES, 10, "as the template's maxReceiveCount");
}

/// Receives and deletes as an event source mapping does; puts back through the adapter.
struct Receiving {
    client: aws_sdk_sqs::Client,
    queues: SqsQueues,
    urls: QueueUrls,
}

impl Receiving {
    fn url(&self, queue: QueueName) -> &str {
        let url = match queue {
            QueueName::Collect => &self.urls.collect,
            QueueName::Review => &self.urls.review,
            QueueName::Post => &self.urls.post,
        };
        url.as_deref().unwrap()
    }
}

#[async_trait]
impl Queue for Receiving {
    async fn receive(
        &self,
        queue: QueueName,
        visibility: Duration,
    ) -> Result<Option<Received>, QueueError> {
        let answer = self
            .client
            .receive_message()
            .queue_url(self.url(queue))
            .visibility_timeout(i32::try_from(visibility.as_secs()).unwrap())
            .message_system_attribute_names(ApproximateReceiveCount)
            .send()
            .await
            .unwrap();
        Ok(answer.messages().first().map(|message| Received {
            receipt: message.receipt_handle().unwrap().to_owned(),
            receive_count: message.attributes().unwrap()[&ApproximateReceiveCount]
                .parse()
                .unwrap(),
            body: message.body().unwrap().to_owned(),
        }))
    }

    async fn delete(&self, queue: QueueName, receipt: &str) -> Result<(), QueueError> {
        self.client
            .delete_message()
            .queue_url(self.url(queue))
            .receipt_handle(receipt)
            .send()
            .await
            .unwrap();
        Ok(())
    }

    async fn put_back(
        &self,
        queue: QueueName,
        receipt: &str,
        delay: Duration,
    ) -> Result<(), QueueError> {
        self.queues.put_back(queue, receipt, delay).await
    }

    async fn bury(&self, _: QueueName, _: &str) -> Result<(), QueueError> {
        panic!("SQS gives a message up by itself")
    }
}
