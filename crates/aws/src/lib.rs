//! DynamoDB, SQS, S3, Secrets Manager, KMS and Lambda behind the ports.
//!
//! [`Aws`] is made once, in a function's init, and hands out one client per service; they share
//! connections, TLS roots and credentials. A function asks for those it needs and nothing else.
//!
//! | port | adapter | what it keeps |
//! | --- | --- | --- |
//! | `Ledger`, `Bookmarks` | [`DynamoLedger`] | jobs, deliveries, pull requests, the sweeper's bookmarks: the *ledger* table |
//! | `Heads`, `HeadsWrite` | [`DynamoHeads`] | newest heads: the *heads* table |
//! | `Meter`, `MeterSweep`, `ReviewLeases` | [`DynamoMeter`] | purses, reservations, leases: the *meter* table |
//! | `QueueSend`, `QueueDepth` | [`SqsQueues`] | messages: one queue per stage |
//! | `Artifacts`, `GrantObjects` | [`S3Artifacts`] | snapshots, checkpoints, findings: the bucket |
//! | `Artifacts` | [`SignedArtifacts`] | nothing: what signed addresses in a message allow |
//! | `MintTokens` | [`MinterFunction`] | nothing: a token for a job, from the stage's minter |
//! | `AskDeliveries` | [`DeliveriesFunction`] | nothing: the App's record of webhooks, through its minter |
//! | `WebhookSecrets` | [`StoredWebhookSecrets`] | what webhooks are believed by, present and previous |
//!
//! All tables have the string hash key `pk` and the expiry attribute `expires_at` (epoch seconds). A
//! row past its expiry is no longer there to a reader, whether DynamoDB has removed it yet or not.
//!
//! **Invariant:** no forge and no model here, and no names: tables, queues, bucket and secrets are
//! handed in.

mod artifacts;
mod clients;
mod deliveries;
mod heads;
mod invoke;
mod items;
mod kms;
mod ledger;
mod meter;
mod minter;
mod queue;
mod retry;
mod roots;
mod secrets;
mod signed;
mod transact;

pub use artifacts::S3Artifacts;
pub use clients::{Aws, ClientsError, CredentialSource};
pub use deliveries::DeliveriesFunction;
pub use heads::DynamoHeads;
pub use invoke::{InvokeError, LambdaInvoker};
pub use items::ItemError;
pub use kms::{KmsError, KmsSigner};
pub use ledger::DynamoLedger;
pub use meter::DynamoMeter;
pub use minter::MinterFunction;
pub use queue::{OwnQueue, QueueUrls, SqsQueues};
pub use secrets::{HookNames, SecretError, SecretStore, StoredWebhookSecrets};
pub use signed::{BucketClient, SignedArtifacts, SignedError};
