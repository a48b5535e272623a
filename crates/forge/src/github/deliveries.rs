//! Webhook deliveries that did not arrive. GitHub repeats none by itself, keeps them for three days, and
//! sends one again when it is asked to.
//! <https://docs.github.com/webhooks/using-webhooks/handling-failed-webhook-deliveries>
//!
//! **Invariant:** the half that holds the App's key, [`AppDeliveries`], makes three fixed calls and passes
//! on what it gets as text; what strangers wrote in it is read by [`DeliveryLog`], in a process without
//! any credential.

mod log;

use std::fmt;
use std::sync::{Mutex, PoisonError};

use async_trait::async_trait;
use bytes::Bytes;
use mirilla_http::{HttpError, Method};
use mirilla_ports::AskDeliveries;
use mirilla_ports::deliveries::{DeliveriesAnswer, DeliveriesFailure, DeliveriesRequest};

use crate::error::{ApiError, CallError, Named};
use crate::github::api::{Api, Call};

pub use log::DeliveryLog;

const LIST: Named = Named {
    action: "list webhook deliveries",
    what: "the App's webhook",
    writes: false,
};
/// A second delivery of the same event is told apart by its id at the receiver, so asking twice after a
/// lost answer does no harm.
const REDELIVER: Named = Named {
    action: "ask for a webhook delivery again",
    what: "the delivery",
    writes: false,
};
const READ: Named = Named {
    action: "read a webhook delivery",
    what: "the delivery",
    writes: false,
};

/// Most of one delivery that is read: GitHub sends no payload above 25 MB, and shows it with all its
/// escapes beside two sets of headers.
pub const MAX_DETAIL_BYTES: u64 = 40 * 1024 * 1024;
/// Bytes of one piece: written as a JSON string, it fits into an answer of a Lambda function.
const PIECE_BYTES: usize = 1024 * 1024;
/// Longest cursor that is passed on.
const MAX_CURSOR_BYTES: usize = 500;

/// The App's own record of its webhook deliveries, with the App's own token.
pub struct AppDeliveries {
    api: Api,
    /// The delivery that is being read in pieces.
    open: Mutex<Option<(u64, Bytes)>>,
}

impl AppDeliveries {
    pub(crate) const fn new(api: Api) -> Self {
        Self {
            api,
            open: Mutex::new(None),
        }
    }

    async fn page(&self, cursor: Option<&str>) -> Result<DeliveriesAnswer, CallError> {
        let mut url = self.api.url(&["app", "hook", "deliveries"]);
        url.query_pairs_mut().append_pair("per_page", "100");
        if let Some(cursor) = cursor {
            url.query_pairs_mut().append_pair("cursor", cursor);
        }
        let call = Call::get("GET /app/hook/deliveries", url.clone());
        let answer = self.api.read(&call).await?;
        let next = self.api.next(&url, &answer)?.and_then(|next| {
            next.query_pairs()
                .find(|(name, _)| name == "cursor")
                .map(|(_, cursor)| cursor.into_owned())
                .filter(|cursor| cursor.len() <= MAX_CURSOR_BYTES)
        });
        let body = text(&answer.body)?.to_owned();
        Ok(DeliveriesAnswer::Page { body, next })
    }

    async fn redeliver(&self, id: u64) -> Result<DeliveriesAnswer, CallError> {
        let id = id.to_string();
        let call = Call::new(
            Method::POST,
            "POST /app/hook/deliveries/{id}/attempts",
            self.api
                .url(&["app", "hook", "deliveries", &id, "attempts"]),
        );
        self.api.write(&call).await?;
        Ok(DeliveriesAnswer::Asked)
    }

    async fn detail(&self, id: u64, from: u64) -> Result<DeliveriesAnswer, CallError> {
        let whole = match self.opened(id) {
            Some(whole) => whole,
            None => self.open(id).await?,
        };
        let all = text(&whole)?;
        let from = usize::try_from(from).unwrap_or(usize::MAX);
        let rest = all
            .get(from..)
            .ok_or(ApiError::Answer("piece from there on"))?;
        let piece = rest.get(..boundary(rest, PIECE_BYTES)).unwrap_or(rest);
        Ok(DeliveriesAnswer::Detail {
            piece: piece.to_owned(),
            total: u64::try_from(whole.len()).unwrap_or(u64::MAX),
        })
    }

    fn opened(&self, id: u64) -> Option<Bytes> {
        let open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        let (known, whole) = open.as_ref()?;
        (*known == id).then(|| whole.clone())
    }

    async fn open(&self, id: u64) -> Result<Bytes, CallError> {
        let number = id.to_string();
        let url = self.api.url(&["app", "hook", "deliveries", &number]);
        let call = Call::get("GET /app/hook/deliveries/{id}", url).max_body_bytes(MAX_DETAIL_BYTES);
        let whole = self.api.read(&call).await?.body;
        *self.open.lock().unwrap_or_else(PoisonError::into_inner) = Some((id, whole.clone()));
        Ok(whole)
    }
}

#[async_trait]
impl AskDeliveries for AppDeliveries {
    async fn ask(&self, request: &DeliveriesRequest) -> DeliveriesAnswer {
        let (answer, named) = match request {
            DeliveriesRequest::Page { cursor } => (self.page(cursor.as_deref()).await, LIST),
            DeliveriesRequest::Redeliver { id } => (self.redeliver(*id).await, REDELIVER),
            DeliveriesRequest::Detail { id, from } => (self.detail(*id, *from).await, READ),
        };
        answer.unwrap_or_else(|error| {
            DeliveriesAnswer::Failed(match error {
                // It will be as large the next time.
                CallError::Http(HttpError::TooLarge { .. }) => DeliveriesFailure::NotFound,
                error => DeliveriesFailure::from(&error.into_forge(named)),
            })
        })
    }
}

/// Returns the largest index up to `most` that does not cut a character.
fn boundary(text: &str, most: usize) -> usize {
    (0..=most.min(text.len()))
        .rev()
        .find(|at| text.is_char_boundary(*at))
        .unwrap_or(0)
}

fn text(body: &[u8]) -> Result<&str, CallError> {
    std::str::from_utf8(body).map_err(|_not_text| ApiError::Answer("text").into())
}

impl fmt::Debug for AppDeliveries {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AppDeliveries").finish_non_exhaustive()
    }
}
