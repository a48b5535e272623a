//! The meter's rows, and the updates that change them.

use std::collections::HashSet;
use std::time::Duration;

use aws_sdk_dynamodb::types::builders::UpdateBuilder;
use aws_sdk_dynamodb::types::{ReturnValuesOnConditionCheckFailure, TransactWriteItem, Update};
use mirilla_domain::ids::Timestamp;
use mirilla_domain::money::{CappedPurse, PicoUsd, Purse, Reservation, ReservationState};

use crate::items::{self, EXPIRES_AT, Item, ItemError, PK, key, number, seconds, text};

/// The index of open reservations, its hash key, and that key's only value.
pub(super) const EXPIRING: &str = "expiring";

const DAY: Duration = Duration::from_secs(24 * 60 * 60);
/// How long a purse is kept after its last change: longer than the longest time it counts for.
const PURSE_KEPT: Duration = DAY.saturating_mul(90);
/// How long a closed reservation's empty row stays.
const CLOSED_KEPT: Duration = DAY;

/// Returns a purse's key.
pub(super) fn purse_key(purse: &Purse) -> String {
    format!("purse#{}", purse.key())
}

/// Returns a reservation's key.
pub(super) fn reservation_key(id: &str) -> String {
    format!("reservation#{id}")
}

/// Returns the id in a reservation's key.
pub(super) fn reservation_id(pk: &str) -> Option<&str> {
    pk.strip_prefix("reservation#")
}

/// Returns what is spent and reserved of a purse; more than can be counted is the most that can.
pub(super) fn total(purse: &Item) -> PicoUsd {
    PicoUsd::new(amount(purse, "total").unwrap_or(0))
}

fn amount(item: &Item, name: &str) -> Option<u64> {
    let whole = items::whole(item, name)?.max(0);
    Some(u64::try_from(whole).unwrap_or(u64::MAX))
}

/// A reservation that is open.
#[derive(Debug)]
pub(super) struct Open {
    pub(super) state: ReservationState,
    pub(super) amount: PicoUsd,
    pub(super) due: Timestamp,
    pub(super) purses: Vec<Purse>,
    /// The purses as stored: a row with others is another reservation.
    purses_text: String,
}

impl Open {
    /// Reads a reservation's row; `None` if it is closed.
    pub(super) fn read(item: &Item) -> Result<Option<Self>, ItemError> {
        let key = items::string(item, PK).unwrap_or_default().to_owned();
        let missing = |name| ItemError::Attribute {
            key: key.clone(),
            name,
        };
        let state = match items::string(item, "state") {
            None => return Ok(None),
            Some("held") => ReservationState::Held,
            Some("sent") => ReservationState::Sent,
            Some(_) => return Err(missing("state")),
        };
        let purses_text = items::string(item, "purses").ok_or_else(|| missing("purses"))?;
        let purses = serde_json::from_str(purses_text).map_err(|source| ItemError::Body {
            key: key.clone(),
            source,
        })?;
        Ok(Some(Self {
            state,
            amount: PicoUsd::new(amount(item, "amount").ok_or_else(|| missing("amount"))?),
            due: items::moment(item, "due").ok_or_else(|| missing("due"))?,
            purses,
            purses_text: purses_text.to_owned(),
        }))
    }

    /// Returns what is booked if nobody says what the call cost: nothing before it was sent, all of
    /// it afterwards.
    pub(super) fn worst_case(&self) -> PicoUsd {
        match self.state {
            ReservationState::Held => PicoUsd::ZERO,
            ReservationState::Sent => self.amount,
        }
    }
}

/// Returns a state's name.
const fn state_name(state: ReservationState) -> &'static str {
    match state {
        ReservationState::Held => "held",
        ReservationState::Sent => "sent",
    }
}

/// The updates of one transaction, in order.
pub(super) struct Updates<'a> {
    table: &'a str,
    now: Timestamp,
    keys: HashSet<String>,
    writes: Vec<TransactWriteItem>,
}

impl<'a> Updates<'a> {
    pub(super) fn new(table: &'a str, now: Timestamp) -> Self {
        Self {
            table,
            now,
            keys: HashSet::new(),
            writes: Vec::new(),
        }
    }

    /// Adds a reservation, if its id is free, and takes it from its purses, if they have enough left.
    /// No purse's cap is below the amount.
    pub(super) fn hold(&mut self, reservation: &Reservation) -> Result<(), ItemError> {
        let pk = reservation_key(&reservation.id);
        let purses: Vec<&Purse> = reservation.purses.iter().map(|it| &it.purse).collect();
        let purses = items::print(&pk, &purses)?;
        let update = self
            .update(&pk)
            .update_expression(
                "SET #state = :held, #amount = :amount, #purses = :purses, #due = :due, \
                 #expiring = :expiring REMOVE #expires_at",
            )
            .condition_expression("attribute_not_exists(#state)")
            .expression_attribute_names("#state", "state")
            .expression_attribute_names("#amount", "amount")
            .expression_attribute_names("#purses", "purses")
            .expression_attribute_names("#due", "due")
            .expression_attribute_names("#expiring", EXPIRING)
            .expression_attribute_names("#expires_at", EXPIRES_AT)
            .expression_attribute_values(":held", text(state_name(ReservationState::Held)))
            .expression_attribute_values(":amount", number(reservation.amount.get()))
            .expression_attribute_values(":purses", purses)
            .expression_attribute_values(":due", super::instant(reservation.expires_at))
            .expression_attribute_values(":expiring", text(EXPIRING));
        self.push(pk, update)?;
        for CappedPurse { purse, cap } in &reservation.purses {
            let change = self.change(purse, i128::from(reservation.amount.get()), 0);
            let change = if reservation.amount == PicoUsd::ZERO {
                // A free call needs no money, even from an empty purse.
                change
            } else {
                change
                    .condition_expression("attribute_not_exists(#total) OR #total <= :room")
                    .expression_attribute_values(
                        ":room",
                        number(cap.minus(reservation.amount).get()),
                    )
            };
            self.push(purse_key(purse), change)?;
        }
        Ok(())
    }

    /// Marks a held reservation as sent.
    pub(super) fn sent(&mut self, id: &str) -> Result<(), ItemError> {
        let pk = reservation_key(id);
        let update = self
            .update(&pk)
            .update_expression("SET #state = :sent")
            .condition_expression("#state = :held")
            .expression_attribute_names("#state", "state")
            .expression_attribute_values(":sent", text(state_name(ReservationState::Sent)))
            .expression_attribute_values(":held", text(state_name(ReservationState::Held)));
        self.push(pk, update)
    }

    /// Closes a reservation that still is what was read, and corrects its purses: `actual` is spent,
    /// the rest of what was set aside is free again.
    pub(super) fn close(
        &mut self,
        id: &str,
        open: &Open,
        actual: PicoUsd,
    ) -> Result<(), ItemError> {
        let pk = reservation_key(id);
        let expires = self.now.plus(CLOSED_KEPT);
        let update = self
            .update(&pk)
            .update_expression(
                "SET #expires_at = :expires REMOVE #state, #amount, #purses, #due, #expiring",
            )
            .condition_expression(
                "#state = :state AND #amount = :amount AND #due = :due AND #purses = :purses",
            )
            .expression_attribute_names("#state", "state")
            .expression_attribute_names("#amount", "amount")
            .expression_attribute_names("#purses", "purses")
            .expression_attribute_names("#due", "due")
            .expression_attribute_names("#expiring", EXPIRING)
            .expression_attribute_names("#expires_at", EXPIRES_AT)
            .expression_attribute_values(":expires", number(seconds(expires)))
            .expression_attribute_values(":state", text(state_name(open.state)))
            .expression_attribute_values(":amount", number(open.amount.get()))
            .expression_attribute_values(":due", super::instant(open.due))
            .expression_attribute_values(":purses", text(open.purses_text.clone()));
        self.push(pk, update)?;
        let spent = i128::from(actual.get());
        let more = spent.saturating_sub(i128::from(open.amount.get()));
        for purse in &open.purses {
            let change = self.change(purse, more, spent);
            self.push(purse_key(purse), change)?;
        }
        Ok(())
    }

    /// Returns the writes.
    pub(super) fn into_writes(self) -> Vec<TransactWriteItem> {
        self.writes
    }

    /// Adds to a purse's sums; either may be negative.
    fn change(&self, purse: &Purse, total: i128, spent: i128) -> UpdateBuilder {
        let expires = self.now.plus(PURSE_KEPT);
        self.update(&purse_key(purse))
            .update_expression("SET #expires_at = :expires ADD #total :total, #spent :spent")
            .return_values_on_condition_check_failure(ReturnValuesOnConditionCheckFailure::AllOld)
            .expression_attribute_names("#total", "total")
            .expression_attribute_names("#spent", "spent")
            .expression_attribute_names("#expires_at", EXPIRES_AT)
            .expression_attribute_values(":total", number(total))
            .expression_attribute_values(":spent", number(spent))
            .expression_attribute_values(":expires", number(seconds(expires)))
    }

    fn update(&self, pk: &str) -> UpdateBuilder {
        Update::builder()
            .table_name(self.table)
            .set_key(Some(key(pk)))
    }

    fn push(&mut self, pk: String, update: UpdateBuilder) -> Result<(), ItemError> {
        if !self.keys.insert(pk.clone()) {
            return Err(ItemError::Twice { key: pk });
        }
        let unset = |_unset| ItemError::Attribute { key: pk, name: PK };
        let update = update.build().map_err(unset)?;
        self.writes
            .push(TransactWriteItem::builder().update(update).build());
        Ok(())
    }
}
