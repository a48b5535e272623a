//! Purses, reservations and review leases in DynamoDB, in a table of their own.
//!
//! | row | `pk` | attributes |
//! | --- | --- | --- |
//! | purse | `purse#{purse}` | `total` (spent and reserved together), `spent`, `expires_at` |
//! | open reservation | `reservation#{id}` | `state` (`held`, `sent`), `amount`, `purses`, `due`, `expiring` |
//! | closed reservation | the same | `expires_at` alone |
//! | review lease | `lease#{job}` | `token`, `until`, `expires_at` |
//!
//! Amounts are whole 10⁻¹² dollars: DynamoDB's numbers hold 38 digits exactly. The index `expiring`
//! (the word itself, by `due`) holds the open reservations. Purses expire 90 days after their last
//! change, so no purse goes while its month can still be charged.
//!
//! A reviewer needs `dynamodb:GetItem` and `dynamodb:UpdateItem` on this table and nothing else: rows
//! are made and closed by updates, alone or together in a transaction, never put or deleted. The
//! sweeper needs `dynamodb:Query` on the index too.
//!
//! **Invariant:** reservation and purses change in one transaction, and a reservation is granted only
//! if `total` of every purse is at most its cap afterwards. Only a call that cost more than its worst
//! case can push it past.

mod leases;
mod rows;

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::types::AttributeValue;
use mirilla_domain::ids::Timestamp;
use mirilla_domain::money::{PicoUsd, Purse, Reservation, ReservationState};
use mirilla_ports::meter::Reserved;
use mirilla_ports::{Clock, Meter, MeterError, MeterSweep};

use crate::items::{self, Item, ItemError, Source, number, text};
use crate::retry::Backoff;
use crate::transact::{Outcome, Refused, transact};
use rows::{EXPIRING, Open, Updates};

/// Purses, reservations and review leases in one table.
pub struct DynamoMeter {
    client: Client,
    table: String,
    clock: Arc<dyn Clock>,
}

impl fmt::Debug for DynamoMeter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DynamoMeter")
            .field("table", &self.table)
            .finish_non_exhaustive()
    }
}

/// Which reservations may be closed.
#[derive(Clone, Copy)]
enum Which {
    /// The one of that id.
    Any,
    /// It, if it is due at this moment.
    Due(Timestamp),
}

impl DynamoMeter {
    /// Takes the table; rows expire by `clock`.
    pub fn new(client: Client, table: impl Into<String>, clock: Arc<dyn Clock>) -> Self {
        Self {
            client,
            table: table.into(),
            clock,
        }
    }

    fn updates(&self) -> Updates<'_> {
        Updates::new(&self.table, self.clock.now())
    }

    async fn open(&self, id: &str) -> Result<Option<Open>, Source> {
        let pk = rows::reservation_key(id);
        let item = items::get(&self.client, &self.table, pk).await?;
        Ok(item.map_or(Ok(None), |item| Open::read(&item))?)
    }

    async fn total(&self, purse: &Purse) -> Result<PicoUsd, Source> {
        let item = items::get(&self.client, &self.table, rows::purse_key(purse)).await?;
        Ok(item.as_ref().map_or(PicoUsd::ZERO, rows::total))
    }

    async fn hold(&self, reservation: &Reservation) -> Result<Reserved, Source> {
        // More than a whole cap: no condition on a sum can say that, and none is needed.
        let amount = reservation.amount;
        if reservation.purses.iter().any(|it| amount > it.cap) {
            return self.refuse(reservation).await;
        }
        let mut updates = self.updates();
        updates.hold(reservation)?;
        match transact(&self.client, updates.into_writes()).await? {
            Outcome::Written => Ok(Reserved::Held),
            Outcome::Refused(refused) => refusal(reservation, &refused),
        }
    }

    /// Says why a reservation of more than one of its purses' caps is not made.
    async fn refuse(&self, reservation: &Reservation) -> Result<Reserved, Source> {
        if self.open(&reservation.id).await?.is_some() {
            return Ok(Reserved::AlreadyThere);
        }
        for capped in &reservation.purses {
            let left = capped.cap.minus(self.total(&capped.purse).await?);
            if reservation.amount > left {
                return Ok(Reserved::Refused {
                    purse: capped.purse.clone(),
                    left,
                });
            }
        }
        Err(ItemError::Contended.into())
    }

    async fn mark_sent(&self, id: &str) -> Result<bool, Source> {
        let mut updates = self.updates();
        updates.sent(id)?;
        let outcome = transact(&self.client, updates.into_writes()).await?;
        Ok(matches!(outcome, Outcome::Written))
    }

    /// Closes a reservation, booking what `actual` makes of it; `None` if it was not open.
    async fn close(
        &self,
        id: &str,
        which: Which,
        actual: impl Fn(&Open) -> PicoUsd + Send + Sync,
    ) -> Result<Option<Open>, Source> {
        let mut backoff = Backoff::contention();
        loop {
            let open = match (self.open(id).await?, which) {
                (Some(open), Which::Any) => open,
                (Some(open), Which::Due(now)) if open.due <= now => open,
                _ => return Ok(None),
            };
            let mut updates = self.updates();
            updates.close(id, &open, actual(&open))?;
            match transact(&self.client, updates.into_writes()).await? {
                Outcome::Written => return Ok(Some(open)),
                // It was marked as sent, or closed, after it was read.
                Outcome::Refused(_) => {
                    if !backoff.again().await {
                        return Err(ItemError::Contended.into());
                    }
                }
            }
        }
    }

    async fn finish(
        &self,
        id: &str,
        action: &'static str,
        actual: PicoUsd,
    ) -> Result<(), MeterError> {
        let closed = self.close(id, Which::Any, |_open| actual).await;
        match closed.map_err(|source| unavailable(action, source))? {
            Some(_) => Ok(()),
            None => Err(not_open(id)),
        }
    }

    /// Returns the ids of reservations that are due, from the index: a moment late, and perhaps closed.
    async fn due(
        &self,
        now: Timestamp,
        from: Option<Item>,
    ) -> Result<(Vec<String>, Option<Item>), Source> {
        let page = self
            .client
            .query()
            .table_name(&self.table)
            .index_name(EXPIRING)
            .key_condition_expression("#expiring = :expiring AND #due <= :now")
            .expression_attribute_names("#expiring", EXPIRING)
            .expression_attribute_names("#due", "due")
            .expression_attribute_values(":expiring", text(EXPIRING))
            .expression_attribute_values(":now", number(now))
            .set_exclusive_start_key(from)
            .send()
            .await?;
        let ids = page.items().iter().filter_map(|item| {
            let id = items::string(item, items::PK).and_then(rows::reservation_id);
            id.map(str::to_owned)
        });
        Ok((ids.collect(), page.last_evaluated_key.clone()))
    }

    async fn sweep(&self, now: Timestamp) -> Result<(u64, u64), Source> {
        let (mut returned, mut booked) = (0_u64, 0_u64);
        let mut from = None;
        loop {
            let (ids, next) = self.due(now, from).await?;
            for id in ids {
                let closed = self.close(&id, Which::Due(now), Open::worst_case).await?;
                match closed.map(|open| open.state) {
                    Some(ReservationState::Held) => returned = returned.saturating_add(1),
                    Some(ReservationState::Sent) => booked = booked.saturating_add(1),
                    None => {}
                }
            }
            from = next;
            if from.is_none() {
                return Ok((returned, booked));
            }
        }
    }
}

/// Returns why a reservation was not made: the first row that stood in its way.
fn refusal(reservation: &Reservation, refused: &[Refused]) -> Result<Reserved, Source> {
    let first = refused.iter().min_by_key(|it| it.index);
    // The reservation is the first row of its transaction, the purses follow in order.
    let capped = match first {
        Some(it) if it.index == 0 => return Ok(Reserved::AlreadyThere),
        Some(it) => reservation.purses.get(it.index.saturating_sub(1)),
        None => None,
    };
    let capped = capped.ok_or(ItemError::Contended)?;
    let total = first
        .and_then(|it| it.item.as_ref())
        .map_or(PicoUsd::ZERO, rows::total);
    Ok(Reserved::Refused {
        purse: capped.purse.clone(),
        left: capped.cap.minus(total),
    })
}

#[async_trait]
impl Meter for DynamoMeter {
    async fn reserve(&self, reservation: &Reservation) -> Result<Reserved, MeterError> {
        self.hold(reservation)
            .await
            .map_err(|source| unavailable("reserving", source))
    }

    async fn sent(&self, id: &str) -> Result<(), MeterError> {
        let marked = self.mark_sent(id).await;
        if marked.map_err(|source| unavailable("marking a call as sent", source))? {
            Ok(())
        } else {
            Err(not_open(id))
        }
    }

    async fn settle(&self, id: &str, actual: PicoUsd) -> Result<(), MeterError> {
        self.finish(id, "settling a call", actual).await
    }

    async fn release(&self, id: &str) -> Result<(), MeterError> {
        self.finish(id, "releasing a reservation", PicoUsd::ZERO)
            .await
    }

    async fn spent(&self, purse: &Purse) -> Result<PicoUsd, MeterError> {
        self.total(purse)
            .await
            .map_err(|source| unavailable("reading a purse", source))
    }
}

#[async_trait]
impl MeterSweep for DynamoMeter {
    async fn settle_expired(&self, now: Timestamp) -> Result<(u64, u64), MeterError> {
        self.sweep(now)
            .await
            .map_err(|source| unavailable("settling expired reservations", source))
    }
}

fn not_open(id: &str) -> MeterError {
    MeterError::NotOpen { id: id.to_owned() }
}

fn unavailable(action: &'static str, source: Source) -> MeterError {
    MeterError::Unavailable { action, source }
}

/// Returns a moment as an attribute.
fn instant(moment: Timestamp) -> AttributeValue {
    number(moment)
}
