//! An emulator with the tables, queues and bucket of a deployed stack.

use std::sync::Arc;

use aws_config::{BehaviorVersion, Region};
use aws_credential_types::Credentials;
use aws_sdk_dynamodb::types::{
    AttributeDefinition, BillingMode, GlobalSecondaryIndex, KeySchemaElement, KeyType, Projection,
    ProjectionType, ScalarAttributeType, TimeToLiveSpecification,
};
use mirilla_aws::{Aws, DynamoHeads, DynamoLedger, DynamoMeter, QueueUrls, S3Artifacts, SqsQueues};
use mirilla_contract::MAX_RECEIVES;
use mirilla_localaws::{Emulator, Options, REGION, TEST_ACCESS_KEY_ID, TEST_SECRET_ACCESS_KEY};
use mirilla_ports::Clock;
use mirilla_system::SystemClock;
use serde_json::json;

pub(crate) const LEDGER: &str = "ledger";
pub(crate) const HEADS: &str = "heads";
pub(crate) const METER: &str = "meter";
pub(crate) const BUCKET: &str = "artifacts";

/// A running emulator and clients of its account's root.
pub(crate) struct World {
    pub(crate) emulator: Emulator,
    pub(crate) aws: Aws,
}

impl World {
    pub(crate) async fn start() -> Self {
        Self::start_with(&Options::default()).await
    }

    pub(crate) async fn start_with(options: &Options) -> Self {
        let emulator = Emulator::start(options).unwrap();
        let root = Credentials::new(
            TEST_ACCESS_KEY_ID,
            TEST_SECRET_ACCESS_KEY,
            None,
            None,
            "root",
        );
        let aws = aws(&emulator.endpoint(), root).await;
        Self { emulator, aws }
    }

    pub(crate) async fn ledger(&self) -> DynamoLedger {
        let indexes = [("unfinished", "updated_at"), ("touched", "touched_at")];
        table(&self.aws, LEDGER, &indexes).await;
        DynamoLedger::new(self.aws.dynamodb(), LEDGER, clock())
    }

    pub(crate) async fn heads(&self) -> DynamoHeads {
        table(&self.aws, HEADS, &[]).await;
        DynamoHeads::new(self.aws.dynamodb(), HEADS, clock())
    }

    pub(crate) async fn meter(&self) -> DynamoMeter {
        table(&self.aws, METER, &[("expiring", "due")]).await;
        DynamoMeter::new(self.aws.dynamodb(), METER, clock())
    }

    pub(crate) async fn artifacts(&self) -> S3Artifacts {
        let bucket = self.aws.s3().create_bucket().bucket(BUCKET);
        bucket.send().await.unwrap();
        S3Artifacts::new(self.aws.s3(), BUCKET, clock())
    }

    pub(crate) async fn queues(&self) -> (SqsQueues, QueueUrls) {
        let urls = QueueUrls {
            collect: Some(queue(&self.aws, "collect").await),
            review: Some(queue(&self.aws, "review").await),
            post: Some(queue(&self.aws, "post").await),
        };
        (SqsQueues::new(self.aws.sqs(), urls.clone()), urls)
    }
}

pub(crate) fn clock() -> Arc<dyn Clock> {
    Arc::new(SystemClock)
}

/// Returns clients that reach `endpoint` with `credentials`.
pub(crate) async fn aws(endpoint: &str, credentials: Credentials) -> Aws {
    let config = aws_config::defaults(BehaviorVersion::latest())
        .region(Region::new(REGION))
        .endpoint_url(endpoint)
        .credentials_provider(credentials)
        .load()
        .await;
    Aws::over(config).unwrap()
}

/// Makes a table of the template's shape: hash key `pk`, indexes of whole items by a string and a
/// number, on demand, with expiry.
async fn table(aws: &Aws, name: &str, indexes: &[(&str, &str)]) {
    let client = aws.dynamodb();
    let attribute = |name: &str, kind| {
        AttributeDefinition::builder()
            .attribute_name(name)
            .attribute_type(kind)
            .build()
            .unwrap()
    };
    let element = |name: &str, kind| {
        KeySchemaElement::builder()
            .attribute_name(name)
            .key_type(kind)
            .build()
            .unwrap()
    };
    let mut create = client
        .create_table()
        .table_name(name)
        .billing_mode(BillingMode::PayPerRequest)
        .attribute_definitions(attribute("pk", ScalarAttributeType::S))
        .key_schema(element("pk", KeyType::Hash));
    for (hash, range) in indexes {
        let index = GlobalSecondaryIndex::builder()
            .index_name(*hash)
            .key_schema(element(hash, KeyType::Hash))
            .key_schema(element(range, KeyType::Range))
            .projection(
                Projection::builder()
                    .projection_type(ProjectionType::All)
                    .build(),
            )
            .build()
            .unwrap();
        create = create
            .attribute_definitions(attribute(hash, ScalarAttributeType::S))
            .attribute_definitions(attribute(range, ScalarAttributeType::N))
            .global_secondary_indexes(index);
    }
    create.send().await.unwrap();
    let expiry = TimeToLiveSpecification::builder()
        .enabled(true)
        .attribute_name("expires_at")
        .build()
        .unwrap();
    client
        .update_time_to_live()
        .table_name(name)
        .time_to_live_specification(expiry)
        .send()
        .await
        .unwrap();
}

/// Makes a queue with its dead-letter queue; returns its address.
async fn queue(aws: &Aws, name: &str) -> String {
    use aws_sdk_sqs::types::QueueAttributeName::{QueueArn, RedrivePolicy};
    let client = aws.sqs();
    let dead = client.create_queue().queue_name(format!("{name}-dead"));
    let dead = dead.send().await.unwrap().queue_url.unwrap();
    let arn = client
        .get_queue_attributes()
        .queue_url(dead)
        .attribute_names(QueueArn)
        .send()
        .await
        .unwrap();
    let arn = &arn.attributes.unwrap()[&QueueArn];
    let redrive = json!({"deadLetterTargetArn": arn, "maxReceiveCount": MAX_RECEIVES});
    let made = client
        .create_queue()
        .queue_name(name)
        .attributes(RedrivePolicy, redrive.to_string())
        .send()
        .await
        .unwrap();
    made.queue_url.unwrap()
}
