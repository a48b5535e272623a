//! Writing rows together, or not at all.

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::operation::transact_write_items::TransactWriteItemsError;
use aws_sdk_dynamodb::types::{CancellationReason, TransactWriteItem};

use crate::items::{Item, ItemError, Source};
use crate::retry::Backoff;

/// What became of a transaction.
#[derive(Debug)]
pub(crate) enum Outcome {
    /// All rows are written.
    Written,
    /// Nothing was written, because these rows did not meet their conditions.
    Refused(Vec<Refused>),
}

/// A row that did not meet its condition.
#[derive(Debug)]
pub(crate) struct Refused {
    /// Its place in the transaction.
    pub(crate) index: usize,
    /// The row as it is, where it was asked for and exists.
    pub(crate) item: Option<Item>,
}

/// Writes all of `items` or none.
///
/// Every call carries a token of its own, so that a repetition after a lost answer changes nothing
/// (DynamoDB remembers a token for ten minutes). A transaction that was cancelled because others
/// wrote the same rows at the moment is tried again, under a new token: it certainly wrote nothing.
///
/// # Errors
///
/// When the store fails, or when others are in the way for about three seconds.
pub(crate) async fn transact(
    client: &Client,
    items: Vec<TransactWriteItem>,
) -> Result<Outcome, Source> {
    let mut backoff = Backoff::contention();
    let mut token = new_token()?;
    loop {
        let answer = client
            .transact_write_items()
            .client_request_token(&token)
            .set_transact_items(Some(items.clone()))
            .send()
            .await;
        let Err(error) = answer else {
            return Ok(Outcome::Written);
        };
        match error.as_service_error() {
            Some(TransactWriteItemsError::TransactionInProgressException(_)) => {
                if !backoff.again().await {
                    return Err(ItemError::Contended.into());
                }
            }
            Some(TransactWriteItemsError::TransactionCanceledException(cancelled)) => {
                let (refused, contended) = read(cancelled.cancellation_reasons())?;
                // One that is contended may have been refused too: look again, then decide.
                if contended && backoff.again().await {
                    token = new_token()?;
                    continue;
                }
                if refused.is_empty() {
                    return Err(ItemError::Contended.into());
                }
                return Ok(Outcome::Refused(refused));
            }
            _ => return Err(error.into()),
        }
    }
}

/// Sorts the reasons; also returns whether another try may fare better.
fn read(reasons: &[CancellationReason]) -> Result<(Vec<Refused>, bool), ItemError> {
    let mut refused = Vec::new();
    let mut contended = reasons.is_empty();
    for (index, reason) in reasons.iter().enumerate() {
        match reason.code().unwrap_or("None") {
            "None" => {}
            "ConditionalCheckFailed" => refused.push(Refused {
                index,
                item: reason.item.clone(),
            }),
            "TransactionConflict" | "ThrottlingError" | "ProvisionedThroughputExceeded" => {
                contended = true;
            }
            code => {
                return Err(ItemError::Cancelled {
                    code: code.to_owned(),
                });
            }
        }
    }
    Ok((refused, contended))
}

fn new_token() -> Result<String, ItemError> {
    let mut random = [0; 16];
    getrandom::fill(&mut random).map_err(ItemError::Entropy)?;
    Ok(hex::encode(random))
}
