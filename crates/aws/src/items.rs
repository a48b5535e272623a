//! Rows of a DynamoDB table, read and made.

use std::collections::HashMap;
use std::fmt::Display;

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::error::SdkError;
use aws_sdk_dynamodb::operation::get_item::GetItemError;
use aws_sdk_dynamodb::types::AttributeValue;
use mirilla_domain::ids::Timestamp;
use serde::Serialize;
use serde::de::DeserializeOwned;

/// The hash key of every table.
pub(crate) const PK: &str = "pk";
/// When a row is no longer there, in epoch seconds: the attribute DynamoDB's own expiry looks at.
pub(crate) const EXPIRES_AT: &str = "expires_at";
/// A row's value as JSON, beside the few attributes that are searched or compared.
pub(crate) const BODY: &str = "body";

/// A row as the SDK gives it.
pub(crate) type Item = HashMap<String, AttributeValue>;
/// What an adapter's error is caused by.
pub(crate) type Source = Box<dyn std::error::Error + Send + Sync>;

/// What can be wrong with rows, apart from the store itself.
#[derive(Debug, thiserror::Error)]
pub enum ItemError {
    /// A row that this program cannot read.
    #[error(
        "the row `{key}` cannot be read: it was written by another version of mirilla, or by hand"
    )]
    Body {
        /// The row's key.
        key: String,
        /// What is wrong with it.
        #[source]
        source: serde_json::Error,
    },
    /// A row without an attribute that it must have.
    #[error("the row `{key}` has no usable attribute `{name}`")]
    Attribute {
        /// The row's key.
        key: String,
        /// The attribute.
        name: &'static str,
    },
    /// The same row would be written twice in one transaction.
    #[error("the row `{key}` is named twice in one transaction")]
    Twice {
        /// The row's key.
        key: String,
    },
    /// Others wrote the same rows at the same time, at every try.
    #[error("others kept writing the same rows; nothing was written")]
    Contended,
    /// DynamoDB refused a transaction for a reason that is not in the rows.
    #[error("the transaction was cancelled: {code}")]
    Cancelled {
        /// DynamoDB's code of the reason.
        code: String,
    },
    /// The operating system gave no random bytes.
    #[error("the operating system's random number generator failed")]
    Entropy(#[source] getrandom::Error),
}

/// Returns a string value.
pub(crate) fn text(value: impl Into<String>) -> AttributeValue {
    AttributeValue::S(value.into())
}

/// Returns a number value.
pub(crate) fn number(value: impl Display) -> AttributeValue {
    AttributeValue::N(value.to_string())
}

/// Returns a row's key.
pub(crate) fn key(pk: impl Into<String>) -> Item {
    HashMap::from([(PK.to_owned(), text(pk))])
}

/// Prints a row's value.
pub(crate) fn print<T: Serialize>(key: &str, value: &T) -> Result<AttributeValue, ItemError> {
    let body = serde_json::to_string(value).map_err(|source| ItemError::Body {
        key: key.to_owned(),
        source,
    })?;
    Ok(AttributeValue::S(body))
}

/// Reads a row's value.
pub(crate) fn parse<T: DeserializeOwned>(item: &Item) -> Result<T, ItemError> {
    let key = string(item, PK).unwrap_or_default();
    let body = string(item, BODY).ok_or_else(|| ItemError::Attribute {
        key: key.to_owned(),
        name: BODY,
    })?;
    serde_json::from_str(body).map_err(|source| ItemError::Body {
        key: key.to_owned(),
        source,
    })
}

/// Returns a string attribute.
pub(crate) fn string<'a>(item: &'a Item, name: &str) -> Option<&'a str> {
    item.get(name)?.as_s().ok().map(String::as_str)
}

/// Returns a whole number, if it is one and fits.
pub(crate) fn whole(item: &Item, name: &str) -> Option<i128> {
    item.get(name)?.as_n().ok()?.parse().ok()
}

/// Returns a moment in milliseconds.
pub(crate) fn moment(item: &Item, name: &str) -> Option<Timestamp> {
    i64::try_from(whole(item, name)?).ok().map(Timestamp::new)
}

/// Returns whole epoch seconds, as DynamoDB's expiry wants them.
pub(crate) fn seconds(moment: Timestamp) -> i64 {
    moment.get().div_euclid(1000)
}

/// Returns whether a row is past its expiry.
pub(crate) fn is_expired(item: &Item, now: Timestamp) -> bool {
    whole(item, EXPIRES_AT).is_some_and(|at| at <= i128::from(seconds(now)))
}

/// Reads a row as it is at this moment, expired or not.
pub(crate) async fn get(
    client: &Client,
    table: &str,
    pk: String,
) -> Result<Option<Item>, SdkError<GetItemError>> {
    let answer = client
        .get_item()
        .table_name(table)
        .set_key(Some(key(pk)))
        .consistent_read(true)
        .send()
        .await?;
    Ok(answer.item)
}
