//! Reads what the App's process passed on. No credential here.

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use chrono::DateTime;
use mirilla_domain::ids::Timestamp;
use mirilla_domain::request::Delivery;
use mirilla_domain::webhook::{GithubHeaders, Parsed, parse_github};
use mirilla_ports::deliveries::{Attempt, DeliveriesAnswer, DeliveriesRequest, Page};
use mirilla_ports::forge::ForgeError;
use mirilla_ports::{AskDeliveries, Deliveries};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::{LIST, MAX_DETAIL_BYTES, READ, REDELIVER};
use crate::error::{ApiError, CallError, Named};

/// What GitHub calls success; anything else is a failure, time-outs included, which its own filter for
/// failures leaves out.
const DELIVERED: &str = "OK";

/// The record of the App's webhook deliveries, through whoever holds the App's key.
#[derive(Clone)]
pub struct DeliveryLog {
    ask: Arc<dyn AskDeliveries>,
}

#[derive(Debug, Deserialize)]
struct Item {
    id: u64,
    guid: String,
    delivered_at: String,
    #[serde(default)]
    redelivery: bool,
    status: String,
    #[serde(default)]
    status_code: u16,
    #[serde(default)]
    event: String,
    #[serde(default)]
    action: Option<String>,
}

/// A delivery with its payload, of which nothing else is looked at.
#[derive(Deserialize)]
struct Detail<'a> {
    guid: String,
    event: String,
    #[serde(borrow)]
    request: DetailRequest<'a>,
}

#[derive(Deserialize)]
struct DetailRequest<'a> {
    #[serde(borrow)]
    payload: &'a RawValue,
}

impl DeliveryLog {
    /// Reads through `ask`.
    pub const fn new(ask: Arc<dyn AskDeliveries>) -> Self {
        Self { ask }
    }

    /// Puts a delivery together from its pieces.
    async fn whole(&self, id: u64) -> Result<String, ForgeError> {
        let mut whole = String::new();
        loop {
            let from = u64::try_from(whole.len()).unwrap_or(u64::MAX);
            let request = DeliveriesRequest::Detail { id, from };
            let (piece, total) = match self.ask.ask(&request).await {
                DeliveriesAnswer::Detail { piece, total } => (piece, total),
                DeliveriesAnswer::Failed(failure) => return Err(failure.into()),
                _ => return Err(nonsense("piece", READ)),
            };
            whole.push_str(&piece);
            let here = u64::try_from(whole.len()).unwrap_or(u64::MAX);
            if here == total {
                return Ok(whole);
            }
            if piece.is_empty() || here > total || total > MAX_DETAIL_BYTES {
                return Err(nonsense("piece", READ));
            }
        }
    }
}

#[async_trait]
impl Deliveries for DeliveryLog {
    async fn page(&self, cursor: Option<&str>) -> Result<Page, ForgeError> {
        let cursor = cursor.map(str::to_owned);
        match self.ask.ask(&DeliveriesRequest::Page { cursor }).await {
            DeliveriesAnswer::Page { body, next } => {
                let items: Vec<Item> = serde_json::from_str(&body)
                    .map_err(|_shape| nonsense("list of deliveries", LIST))?;
                let attempts = items.into_iter().map(Item::into_attempt);
                Ok(Page {
                    attempts: attempts.collect::<Result<_, _>>()?,
                    next,
                })
            }
            DeliveriesAnswer::Failed(failure) => Err(failure.into()),
            _ => Err(nonsense("list of deliveries", LIST)),
        }
    }

    async fn redeliver(&self, id: u64) -> Result<(), ForgeError> {
        match self.ask.ask(&DeliveriesRequest::Redeliver { id }).await {
            DeliveriesAnswer::Asked => Ok(()),
            DeliveriesAnswer::Failed(failure) => Err(failure.into()),
            _ => Err(nonsense("word", REDELIVER)),
        }
    }

    async fn read(&self, id: u64) -> Result<Option<Box<Delivery>>, ForgeError> {
        let whole = self.whole(id).await?;
        let detail: Detail<'_> =
            serde_json::from_str(&whole).map_err(|_shape| nonsense("delivery", READ))?;
        let headers = GithubHeaders {
            event: Some(&detail.event),
            delivery: Some(&detail.guid),
            content_type: Some("application/json"),
        };
        match parse_github(headers, detail.request.payload.get().as_bytes()) {
            Ok(Parsed::Delivery(delivery)) => Ok(Some(delivery)),
            // A body that was not understood the first time is not the second time either.
            Ok(Parsed::Ignored(_)) | Err(_) => Ok(None),
        }
    }
}

impl Item {
    fn into_attempt(self) -> Result<Attempt, ForgeError> {
        let at = DateTime::parse_from_rfc3339(&self.delivered_at)
            .map_err(|_time| nonsense("time of a delivery", LIST))?;
        Ok(Attempt {
            id: self.id,
            guid: self.guid,
            at: Timestamp::new(at.timestamp_millis()),
            redelivery: self.redelivery,
            arrived: self.status == DELIVERED,
            status_code: self.status_code,
            event: self.event,
            action: self.action.unwrap_or_default(),
        })
    }
}

fn nonsense(what: &'static str, named: Named) -> ForgeError {
    CallError::from(ApiError::Answer(what)).into_forge(named)
}

impl fmt::Debug for DeliveryLog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DeliveryLog").finish_non_exhaustive()
    }
}
