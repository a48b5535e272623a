//! The ledger in DynamoDB: jobs, deliveries and pull requests in one table.
//!
//! | row | `pk` | attributes |
//! | --- | --- | --- |
//! | job | `job#{id}` | `body`, `version`, `state`, `updated_at`; while it is not ended `unfinished`; once it is `expires_at` |
//! | delivery | `delivery#{forge}#{id}` | `body`, `expires_at` |
//! | a delivery's body | `body#{forge}#{sha256}` | `delivery`, `expires_at` |
//! | pull request | `pull#{forge}:{repository}#{number}` | `body`, `version`, `touched`, `touched_at`, `expires_at` |
//! | a sweeper's bookmark | `bookmark#{name}` | `body`, which is the text itself |
//!
//! Else `body` is the row as JSON, so that a new field needs no new attribute. Two indexes hold copies of
//! whole rows: `unfinished` (the word itself, by `updated_at`) has the jobs that are not ended, and
//! `touched` (a UTC day, by `touched_at`) the pull requests. Both are read a moment late, which is
//! fine: whoever acts on a row writes upon its version.
//!
//! A delivery and its rows are one `TransactWriteItems`. Deliveries expire after 30 days, jobs 90 days
//! after their end, pull requests 90 days after they were last heard of.
//!
//! **Invariant:** a transaction's rows are written together or not at all, and each only upon the
//! version it was decided on.

mod rows;

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::operation::put_item::PutItemError;
use aws_sdk_dynamodb::types::AttributeValue;
use mirilla_domain::ids::{DeliveryId, Forge, JobId, PullRequestRef, Timestamp};
use mirilla_domain::job::{Claim, Job, JobState, PullRequestRecord};
use mirilla_ports::ledger::{Claimed, Recorded, Transaction};
use mirilla_ports::{Bookmarks, Clock, Ledger, LedgerError};
use serde::de::DeserializeOwned;

use crate::items::{self, Item, Source, number, text};
use crate::retry::Backoff;
use crate::transact::{Outcome, transact};
use rows::{Rows, TOUCHED, UNFINISHED, days};

/// Jobs, deliveries and pull requests in one table.
pub struct DynamoLedger {
    client: Client,
    table: String,
    clock: Arc<dyn Clock>,
}

impl fmt::Debug for DynamoLedger {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DynamoLedger")
            .field("table", &self.table)
            .finish_non_exhaustive()
    }
}

impl DynamoLedger {
    /// Takes the table; rows expire by `clock`.
    pub fn new(client: Client, table: impl Into<String>, clock: Arc<dyn Clock>) -> Self {
        Self {
            client,
            table: table.into(),
            clock,
        }
    }

    async fn read<T: DeserializeOwned>(&self, pk: String) -> Result<Option<T>, Source> {
        let item = items::get(&self.client, &self.table, pk).await?;
        let there = item.filter(|item| !items::is_expired(item, self.clock.now()));
        Ok(there.map(|item| items::parse(&item)).transpose()?)
    }

    async fn write(&self, transaction: &Transaction) -> Result<Recorded, Source> {
        let mut rows = Rows::new(&self.table, self.clock.now());
        let deliveries = match &transaction.delivery {
            Some(delivery) => rows.delivery(delivery)?,
            None => 0,
        };
        for job in &transaction.jobs {
            rows.job(job)?;
        }
        if let Some(record) = &transaction.pull_request {
            rows.pull_request(record)?;
        }
        let Some(writes) = rows.into_writes() else {
            // The second write of a row would be upon a version that the first has replaced.
            return Ok(Recorded::Stale);
        };
        if writes.is_empty() {
            return Ok(Recorded::New);
        }
        Ok(match transact(&self.client, writes).await? {
            Outcome::Written => Recorded::New,
            Outcome::Refused(refused) if refused.iter().any(|it| it.index < deliveries) => {
                Recorded::DuplicateDelivery
            }
            Outcome::Refused(_) => Recorded::Stale,
        })
    }

    /// Queries an index of whole rows: `index` is its name and its hash key, `bound` a condition on
    /// its range key `range` and `:moment`.
    async fn query(
        &self,
        (index, hash): (&str, &str),
        (range, bound): (&str, &str),
        moment: Timestamp,
        limit: usize,
    ) -> Result<Vec<Item>, Source> {
        let mut found = Vec::new();
        let mut from = None;
        loop {
            let missing = limit.saturating_sub(found.len());
            if missing == 0 {
                return Ok(found);
            }
            let page = self
                .client
                .query()
                .table_name(&self.table)
                .index_name(index)
                .key_condition_expression(format!("#hash = :hash AND #range {bound} :moment"))
                .expression_attribute_names("#hash", index)
                .expression_attribute_names("#range", range)
                .expression_attribute_values(":hash", text(hash))
                .expression_attribute_values(":moment", number(moment))
                .limit(i32::try_from(missing).unwrap_or(i32::MAX))
                .set_exclusive_start_key(from)
                .send()
                .await?;
            let now = self.clock.now();
            let items = page.items.unwrap_or_default();
            found.extend(items.into_iter().filter(|it| !items::is_expired(it, now)));
            from = page.last_evaluated_key;
            if from.is_none() {
                return Ok(found);
            }
        }
    }

    async fn touched_since(
        &self,
        since: Timestamp,
        limit: usize,
    ) -> Result<Vec<PullRequestRecord>, Source> {
        let mut found: Vec<PullRequestRecord> = Vec::new();
        for day in days(since, self.clock.now()) {
            let missing = limit.saturating_sub(found.len());
            let range = ("touched_at", ">=");
            let items = self.query((TOUCHED, &day), range, since, missing).await?;
            for item in &items {
                found.push(items::parse(item)?);
            }
        }
        found.sort_by_key(|it| (it.touched_at, it.pull_request.to_string()));
        Ok(found)
    }

    async fn unfinished_before(&self, before: Timestamp, limit: usize) -> Result<Vec<Job>, Source> {
        let range = ("updated_at", "<");
        let index = (UNFINISHED, UNFINISHED);
        let items = self.query(index, range, before, limit).await?;
        let mut found = items
            .iter()
            .map(items::parse::<Job>)
            .collect::<Result<Vec<_>, _>>()?;
        found.sort_by(|a, b| (a.updated_at, &a.id).cmp(&(b.updated_at, &b.id)));
        Ok(found)
    }

    async fn take(
        &self,
        id: &JobId,
        states: &[JobState],
        claim: &Claim,
        now: Timestamp,
    ) -> Result<Claimed, Source> {
        let mut backoff = Backoff::contention();
        loop {
            let Some(mut job) = self.read::<Job>(rows::job_key(id)).await? else {
                return Ok(Claimed::Unknown);
            };
            if !states.contains(&job.state) {
                return Ok(Claimed::NotNow(job.state));
            }
            if let Some(held) = job.claim.as_ref().filter(|held| held.until > now) {
                return Ok(Claimed::Busy(held.until));
            }
            job.claim = Some(claim.clone());
            job.updated_at = now;
            let transaction = Transaction {
                jobs: vec![job.clone()],
                ..Transaction::default()
            };
            if self.write(&transaction).await? == Recorded::New {
                job.version = job.version.saturating_add(1);
                return Ok(Claimed::Granted(Box::new(job)));
            }
            // Somebody wrote the row after it was read: what they made of it decides.
            if !backoff.again().await {
                return Err(items::ItemError::Contended.into());
            }
        }
    }
}

#[async_trait]
impl Ledger for DynamoLedger {
    async fn job(&self, id: &JobId) -> Result<Option<Job>, LedgerError> {
        self.read(rows::job_key(id))
            .await
            .map_err(|source| unavailable("reading a job", source))
    }

    async fn pull_request(
        &self,
        id: &PullRequestRef,
    ) -> Result<Option<PullRequestRecord>, LedgerError> {
        self.read(rows::pull_request_key(id))
            .await
            .map_err(|source| unavailable("reading a pull request", source))
    }

    async fn has_delivery(&self, forge: Forge, id: &DeliveryId) -> Result<bool, LedgerError> {
        let item = items::get(&self.client, &self.table, rows::delivery_key(forge, id))
            .await
            .map_err(|source| unavailable("looking for a delivery", source.into()))?;
        Ok(item.is_some_and(|item| !items::is_expired(&item, self.clock.now())))
    }

    async fn commit(&self, transaction: Transaction) -> Result<Recorded, LedgerError> {
        self.write(&transaction)
            .await
            .map_err(|source| unavailable("writing a transaction", source))
    }

    async fn claim(
        &self,
        id: &JobId,
        states: &[JobState],
        claim: Claim,
        now: Timestamp,
    ) -> Result<Claimed, LedgerError> {
        self.take(id, states, &claim, now)
            .await
            .map_err(|source| unavailable("claiming a job", source))
    }

    async fn unfinished(&self, before: Timestamp, limit: usize) -> Result<Vec<Job>, LedgerError> {
        self.unfinished_before(before, limit)
            .await
            .map_err(|source| unavailable("listing unfinished jobs", source))
    }

    /// Looks through every UTC day from `since` to now, one query each: meant for windows of days.
    async fn touched(
        &self,
        since: Timestamp,
        limit: usize,
    ) -> Result<Vec<PullRequestRecord>, LedgerError> {
        self.touched_since(since, limit)
            .await
            .map_err(|source| unavailable("listing pull requests", source))
    }
}

#[async_trait]
impl Bookmarks for DynamoLedger {
    async fn bookmark(&self, name: &str) -> Result<Option<String>, LedgerError> {
        let item = items::get(&self.client, &self.table, rows::bookmark_key(name))
            .await
            .map_err(|source| unavailable("reading a bookmark", source.into()))?;
        Ok(item.and_then(|mut item| match item.remove(items::BODY) {
            Some(AttributeValue::S(text)) => Some(text),
            _ => None,
        }))
    }

    async fn keep_bookmark(
        &self,
        name: &str,
        known: Option<&str>,
        replacement: &str,
    ) -> Result<(), LedgerError> {
        let put = self
            .client
            .put_item()
            .table_name(&self.table)
            .item(items::PK, text(rows::bookmark_key(name)))
            .item(items::BODY, text(replacement))
            .expression_attribute_names("#body", items::BODY);
        let put = match known {
            None => put.condition_expression("attribute_not_exists(#body)"),
            Some(known) => put
                .condition_expression("#body = :known")
                .expression_attribute_values(":known", text(known)),
        };
        let Err(error) = put.send().await else {
            return Ok(());
        };
        // So, too, if the answer to the first of two tries was lost: then the next run goes on.
        if error
            .as_service_error()
            .is_some_and(PutItemError::is_conditional_check_failed_exception)
        {
            return Err(LedgerError::Conflict {
                what: format!("the bookmark `{name}`"),
            });
        }
        Err(unavailable("keeping a bookmark", error.into()))
    }
}

pub(crate) fn unavailable(action: &'static str, source: Source) -> LedgerError {
    LedgerError::Unavailable { action, source }
}
