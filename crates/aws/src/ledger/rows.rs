//! The ledger's rows and the conditions they are written under.

use std::collections::HashSet;
use std::time::Duration;

use aws_sdk_dynamodb::types::builders::PutBuilder;
use aws_sdk_dynamodb::types::{Put, TransactWriteItem};
use mirilla_domain::ids::{DeliveryId, Forge, JobId, PullRequestRef, Timestamp};
use mirilla_domain::job::{Job, PullRequestRecord};
use mirilla_domain::request::Delivery;

use crate::items::{BODY, EXPIRES_AT, ItemError, PK, number, print, seconds, text};

/// The index of jobs that are not ended, its hash key, and that key's only value.
pub(super) const UNFINISHED: &str = "unfinished";
/// The index of pull requests by UTC day, and its hash key.
pub(super) const TOUCHED: &str = "touched";

const DAY: Duration = Duration::from_secs(24 * 60 * 60);
const DAY_MILLIS: i64 = 24 * 60 * 60 * 1000;
/// How long a delivery is remembered; GitHub sends one again for at most three days, and Enterprise
/// Server for seven.
const DELIVERY_KEPT: Duration = DAY.saturating_mul(30);
/// How long a job is kept after its end, and a pull request after it was last heard of.
const ENDED_KEPT: Duration = DAY.saturating_mul(90);
/// A row that is not there, or past its expiry and not yet removed.
const ABSENT: &str = "attribute_not_exists(pk) OR expires_at <= :now";
/// A row of exactly this version.
const UNCHANGED: &str = "version = :version";

/// Returns a job's key.
pub(super) fn job_key(id: &JobId) -> String {
    format!("job#{id}")
}

/// Returns a delivery's key.
pub(super) fn delivery_key(forge: Forge, id: &DeliveryId) -> String {
    format!("delivery#{forge}#{id}")
}

/// Returns a pull request's key.
pub(super) fn pull_request_key(id: &PullRequestRef) -> String {
    format!("pull#{id}")
}

/// Returns a bookmark's key.
pub(super) fn bookmark_key(name: &str) -> String {
    format!("bookmark#{name}")
}

/// Returns the UTC days from `since` to `now`, both included, as `touched` holds them; none of rows
/// that have expired.
pub(super) fn days(since: Timestamp, now: Timestamp) -> impl Iterator<Item = String> {
    let kept = i64::try_from(ENDED_KEPT.as_millis()).unwrap_or(i64::MAX);
    let oldest = Timestamp::new(now.get().saturating_sub(kept));
    (day(since.max(oldest))..=day(now)).map(|day| day.to_string())
}

/// Returns whole UTC days since the epoch.
fn day(moment: Timestamp) -> i64 {
    moment.get().div_euclid(DAY_MILLIS)
}

/// The writes of one transaction, in order.
pub(super) struct Rows<'a> {
    table: &'a str,
    now: Timestamp,
    keys: HashSet<String>,
    twice: bool,
    writes: Vec<TransactWriteItem>,
}

impl<'a> Rows<'a> {
    pub(super) fn new(table: &'a str, now: Timestamp) -> Self {
        Self {
            table,
            now,
            keys: HashSet::new(),
            twice: false,
            writes: Vec::new(),
        }
    }

    /// Adds a delivery that must be new by its id and by its body; returns how many rows that are.
    pub(super) fn delivery(&mut self, delivery: &Delivery) -> Result<usize, ItemError> {
        let forge = delivery.origin.forge;
        let key = delivery_key(forge, &delivery.id);
        let expires = self.expiry(DELIVERY_KEPT);
        let put = self
            .absent(&key)
            .item(BODY, print(&key, delivery)?)
            .item(EXPIRES_AT, expires.clone());
        self.push(key, put)?;
        let key = format!("body#{forge}#{}", delivery.body);
        let put = self
            .absent(&key)
            .item("delivery", text(delivery.id.as_str()))
            .item(EXPIRES_AT, expires);
        self.push(key, put)?;
        Ok(self.writes.len())
    }

    /// Adds a job upon the version it names.
    pub(super) fn job(&mut self, job: &Job) -> Result<(), ItemError> {
        let key = job_key(&job.id);
        let stored = Job {
            version: job.version.saturating_add(1),
            ..job.clone()
        };
        let put = self
            .versioned(&key, job.version)
            .item(BODY, print(&key, &stored)?)
            .item("version", number(stored.version))
            .item("state", text(stored.state.as_str()))
            .item("updated_at", number(stored.updated_at));
        let put = if stored.state.is_terminal() {
            put.item(EXPIRES_AT, self.expiry(ENDED_KEPT))
        } else {
            put.item(UNFINISHED, text(UNFINISHED))
        };
        self.push(key, put)
    }

    /// Adds a pull request's record upon the version it names.
    pub(super) fn pull_request(&mut self, record: &PullRequestRecord) -> Result<(), ItemError> {
        let key = pull_request_key(&record.pull_request);
        let stored = PullRequestRecord {
            version: record.version.saturating_add(1),
            ..record.clone()
        };
        let put = self
            .versioned(&key, record.version)
            .item(BODY, print(&key, &stored)?)
            .item("version", number(stored.version))
            .item(TOUCHED, text(day(stored.touched_at).to_string()))
            .item("touched_at", number(stored.touched_at))
            .item(EXPIRES_AT, self.expiry(ENDED_KEPT));
        self.push(key, put)
    }

    /// Returns the writes, or `None` if one row is named twice.
    pub(super) fn into_writes(self) -> Option<Vec<TransactWriteItem>> {
        (!self.twice).then_some(self.writes)
    }

    fn expiry(&self, kept: Duration) -> aws_sdk_dynamodb::types::AttributeValue {
        number(seconds(self.now.plus(kept)))
    }

    fn put(&self, key: &str) -> PutBuilder {
        Put::builder().table_name(self.table).item(PK, text(key))
    }

    fn absent(&self, key: &str) -> PutBuilder {
        self.put(key)
            .condition_expression(ABSENT)
            .expression_attribute_values(":now", number(seconds(self.now)))
    }

    fn versioned(&self, key: &str, version: u64) -> PutBuilder {
        if version == 0 {
            return self.absent(key);
        }
        self.put(key)
            .condition_expression(UNCHANGED)
            .expression_attribute_values(":version", number(version))
    }

    fn push(&mut self, key: String, put: PutBuilder) -> Result<(), ItemError> {
        let put = put.build().map_err(|_unset| ItemError::Attribute {
            key: key.clone(),
            name: PK,
        })?;
        self.twice |= !self.keys.insert(key);
        self.writes
            .push(TransactWriteItem::builder().put(put).build());
        Ok(())
    }
}
