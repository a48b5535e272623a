//! The newest heads in DynamoDB: what a reviewer may look at to stop early.
//!
//! One row for each pull request, `head#{forge}:{repository}#{number}`: `head`, `read_at` and
//! `expires_at`, 30 days after it was last written.
//!
//! **Invariant:** written by the collector alone, and only forward in time.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::operation::put_item::PutItemError;
use mirilla_domain::ids::{CommitSha, PullRequestRef, Timestamp};
use mirilla_ports::{Clock, Heads, HeadsWrite, LedgerError};

use crate::items::{self, EXPIRES_AT, ItemError, Source, number, seconds, text};
use crate::ledger::unavailable;

/// How long a head is kept: a missing one costs a review that could have stopped early.
const KEPT: Duration = Duration::from_secs(30 * 24 * 60 * 60);

/// The newest head of each pull request in one table.
pub struct DynamoHeads {
    client: Client,
    table: String,
    clock: Arc<dyn Clock>,
}

impl fmt::Debug for DynamoHeads {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DynamoHeads")
            .field("table", &self.table)
            .finish_non_exhaustive()
    }
}

impl DynamoHeads {
    /// Takes the table; rows expire by `clock`.
    pub fn new(client: Client, table: impl Into<String>, clock: Arc<dyn Clock>) -> Self {
        Self {
            client,
            table: table.into(),
            clock,
        }
    }

    async fn read(&self, id: &PullRequestRef) -> Result<Option<CommitSha>, Source> {
        let key = head_key(id);
        let item = items::get(&self.client, &self.table, key.clone()).await?;
        let Some(item) = item.filter(|item| !items::is_expired(item, self.clock.now())) else {
            return Ok(None);
        };
        let text =
            items::string(&item, "head").ok_or(ItemError::Attribute { key, name: "head" })?;
        Ok(Some(CommitSha::parse(text)?))
    }
}

#[async_trait]
impl Heads for DynamoHeads {
    async fn newest(&self, id: &PullRequestRef) -> Result<Option<CommitSha>, LedgerError> {
        self.read(id)
            .await
            .map_err(|source| unavailable("reading a newest head", source))
    }
}

#[async_trait]
impl HeadsWrite for DynamoHeads {
    async fn record(
        &self,
        id: &PullRequestRef,
        head: &CommitSha,
        read_at: Timestamp,
    ) -> Result<(), LedgerError> {
        let expires = self.clock.now().plus(KEPT);
        let answer = self
            .client
            .put_item()
            .table_name(&self.table)
            .item(items::PK, text(head_key(id)))
            .item("head", text(head.as_str()))
            .item("read_at", number(read_at))
            .item(EXPIRES_AT, number(seconds(expires)))
            .condition_expression("attribute_not_exists(pk) OR read_at <= :read_at")
            .expression_attribute_values(":read_at", number(read_at))
            .send()
            .await;
        match answer {
            Ok(_) => Ok(()),
            // A newer reading is there.
            Err(error)
                if error
                    .as_service_error()
                    .is_some_and(PutItemError::is_conditional_check_failed_exception) =>
            {
                Ok(())
            }
            Err(error) => Err(unavailable("writing a newest head", error.into())),
        }
    }
}

fn head_key(id: &PullRequestRef) -> String {
    format!("head#{id}")
}
