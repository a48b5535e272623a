//! What intake's figures in `docs/PERFORMANCE.md` are held against: a handler that checks a signature and makes the
//! calls to AWS that a delivery costs, straight through the SDK, and nothing else.
//!
//! | variable | meaning |
//! | --- | --- |
//! | `REFERENCE_SECRET_ARN` | the webhook's secret, fetched once in init |
//! | `REFERENCE_CALLS` | calls for each delivery, 0 to 3: a row is read, four rows are written together, a message is sent |
//! | `REFERENCE_QUEUE_URL` | where the message goes |
#![allow(
    clippy::disallowed_methods,
    clippy::print_stderr,
    reason = "a program to measure, without the settings and logs of a function"
)]

use std::env;

use anyhow::{Context as _, Result, anyhow};
use aws_sdk_dynamodb::types::{AttributeValue, Put, TransactWriteItem};
use hmac::{Hmac, KeyInit as _, Mac as _};
use lambda_http::{Body, Request, Response, service_fn};
use mirilla_aws::{Aws, CredentialSource, SecretStore};
use secrecy::{ExposeSecret as _, SecretString};
use serde::Deserialize;
use sha2::Sha256;

struct Reference {
    secret: SecretString,
    calls: u32,
    queue_url: String,
    dynamodb: aws_sdk_dynamodb::Client,
    sqs: aws_sdk_sqs::Client,
}

#[derive(Deserialize)]
struct Hook<'a> {
    #[serde(borrow)]
    action: &'a str,
    number: u64,
}

impl Reference {
    async fn answer(&self, request: &Request) -> Result<u16> {
        let body: &[u8] = request.body();
        let signature = request
            .headers()
            .get("x-hub-signature-256")
            .and_then(|value| value.to_str().ok()?.strip_prefix("sha256="))
            .and_then(|text| hex::decode(text).ok());
        let mut mac = Hmac::<Sha256>::new_from_slice(self.secret.expose_secret().as_bytes())?;
        mac.update(body);
        if mac.verify_slice(&signature.unwrap_or_default()).is_err() {
            return Ok(401);
        }
        let Ok(hook) = serde_json::from_slice::<Hook<'_>>(body) else {
            return Ok(400);
        };
        let id = format!("{}-{}", hook.number, hook.action);
        if self.calls > 0 {
            let key = AttributeValue::S(format!("pull#{id}"));
            let read = self.dynamodb.get_item().table_name("reference");
            read.key("pk", key).consistent_read(true).send().await?;
        }
        if self.calls > 1 {
            let mut write = self.dynamodb.transact_write_items();
            for row in ["delivery", "body", "job", "pull"] {
                let put = Put::builder()
                    .table_name("reference")
                    .item("pk", AttributeValue::S(format!("{row}#{id}")))
                    .item("body", AttributeValue::S("x".repeat(600)))
                    .condition_expression("attribute_not_exists(pk)")
                    .build()?;
                write = write.transact_items(TransactWriteItem::builder().put(put).build());
            }
            write.send().await?;
        }
        if self.calls > 2 {
            let send = self.sqs.send_message().queue_url(&self.queue_url);
            send.message_body(id).delay_seconds(20).send().await?;
        }
        Ok(202)
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<()> {
    let aws = Aws::connect(CredentialSource::Environment).await?;
    let arn = env::var("REFERENCE_SECRET_ARN").context("REFERENCE_SECRET_ARN")?;
    let reference = Reference {
        secret: SecretStore::new(aws.secrets()).text(&arn).await?,
        calls: env::var("REFERENCE_CALLS")
            .unwrap_or_default()
            .parse()
            .unwrap_or_default(),
        queue_url: env::var("REFERENCE_QUEUE_URL").unwrap_or_default(),
        dynamodb: aws.dynamodb(),
        sqs: aws.sqs(),
    };
    let reference = &reference;
    lambda_http::run(service_fn(async |request: Request| {
        let status = reference.answer(&request).await.unwrap_or_else(|error| {
            eprintln!("{error:#}");
            500
        });
        let response = Response::builder().status(status).body(Body::Empty);
        response.map_err(lambda_http::Error::from)
    }))
    .await
    .map_err(|error| anyhow!(error))
}
