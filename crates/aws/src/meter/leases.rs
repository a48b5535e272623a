//! Who reads which snapshot: rows beside the purses, because a reviewer reaches no ledger.

use std::time::Duration;

use async_trait::async_trait;
use aws_sdk_dynamodb::operation::update_item::UpdateItemError;
use aws_sdk_dynamodb::types::ReturnValuesOnConditionCheckFailure;
use mirilla_domain::ids::{JobId, Timestamp};
use mirilla_ports::meter::Leased;
use mirilla_ports::{MeterError, ReviewLeases};

use super::{DynamoMeter, instant, unavailable};
use crate::items::{self, EXPIRES_AT, ItemError, Source, key, number, seconds, text};

/// How long a lease's row is kept after it was last taken: its end tells a dead reviewer from one
/// that never began, for as long as a job may be open.
const KEPT: Duration = Duration::from_secs(30 * 24 * 60 * 60);

impl DynamoMeter {
    async fn take_lease(
        &self,
        job: &JobId,
        token: &str,
        until: Timestamp,
        now: Timestamp,
    ) -> Result<Leased, Source> {
        let expires = self.clock.now().plus(KEPT);
        let answer = self
            .client
            .update_item()
            .table_name(&self.table)
            .set_key(Some(key(lease_key(job))))
            .update_expression("SET #token = :token, #until = :until, #expires_at = :expires")
            // Once more by its holder: also a call repeated because its answer was lost.
            .condition_expression(
                "attribute_not_exists(#token) OR #token = :token OR #until <= :now",
            )
            .return_values_on_condition_check_failure(ReturnValuesOnConditionCheckFailure::AllOld)
            .expression_attribute_names("#token", "token")
            .expression_attribute_names("#until", "until")
            .expression_attribute_names("#expires_at", EXPIRES_AT)
            .expression_attribute_values(":token", text(token))
            .expression_attribute_values(":until", instant(until))
            .expression_attribute_values(":now", instant(now))
            .expression_attribute_values(":expires", number(seconds(expires)))
            .send()
            .await;
        let Err(error) = answer else {
            return Ok(Leased::Granted);
        };
        let held = match error.as_service_error() {
            Some(UpdateItemError::ConditionalCheckFailedException(failed)) => {
                failed.item().and_then(|item| items::moment(item, "until"))
            }
            _ => return Err(error.into()),
        };
        held.map(Leased::Busy).ok_or_else(|| {
            ItemError::Attribute {
                key: lease_key(job),
                name: "until",
            }
            .into()
        })
    }

    async fn drop_lease(&self, job: &JobId, token: &str) -> Result<(), Source> {
        let answer = self
            .client
            .update_item()
            .table_name(&self.table)
            .set_key(Some(key(lease_key(job))))
            .update_expression("REMOVE #token, #until")
            .condition_expression("#token = :token")
            .expression_attribute_names("#token", "token")
            .expression_attribute_names("#until", "until")
            .expression_attribute_values(":token", text(token))
            .send()
            .await;
        match answer {
            Ok(_) => Ok(()),
            Err(error)
                if error
                    .as_service_error()
                    .is_some_and(UpdateItemError::is_conditional_check_failed_exception) =>
            {
                Ok(())
            }
            Err(error) => Err(error.into()),
        }
    }
}

#[async_trait]
impl ReviewLeases for DynamoMeter {
    async fn take(
        &self,
        job: &JobId,
        token: &str,
        until: Timestamp,
        now: Timestamp,
    ) -> Result<Leased, MeterError> {
        self.take_lease(job, token, until, now)
            .await
            .map_err(|source| unavailable("taking a lease", source))
    }

    async fn give_back(&self, job: &JobId, token: &str) -> Result<(), MeterError> {
        self.drop_lease(job, token)
            .await
            .map_err(|source| unavailable("giving a lease back", source))
    }

    async fn held_until(&self, job: &JobId) -> Result<Option<Timestamp>, MeterError> {
        let item = items::get(&self.client, &self.table, lease_key(job))
            .await
            .map_err(|source| unavailable("reading a lease", source.into()))?;
        Ok(item.and_then(|item| items::moment(&item, "until")))
    }
}

fn lease_key(job: &JobId) -> String {
    format!("lease#{job}")
}
