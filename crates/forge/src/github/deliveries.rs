//! Webhook deliveries that did not arrive. GitHub repeats none by itself, keeps them for three days, and
//! sends one again when it is asked to.
//! <https://docs.github.com/webhooks/using-webhooks/handling-failed-webhook-deliveries>

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use chrono::DateTime;
use mirilla_domain::ids::{InstallationId, RepoId, Timestamp};
use mirilla_http::Method;
use mirilla_ports::forge::ForgeError;
use serde::Deserialize;

use crate::github::api::{Api, Call, MAX_PAGES};
use crate::github::error::{CallError, Named};

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

/// What GitHub calls success; anything else is a failure, time-outs included, which its own filter for
/// failures leaves out.
const DELIVERED: &str = "OK";

/// An event that never arrived.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Undelivered {
    /// The number of its latest attempt, which can be asked for again.
    pub id: u64,
    /// The event's own id, the same on every attempt.
    pub guid: String,
    /// When that attempt was made.
    pub at: Timestamp,
    /// The event.
    pub event: String,
    /// The repository, if it is about one.
    pub repo: Option<RepoId>,
    /// The installation, if it is about one.
    pub installation: Option<InstallationId>,
}

/// The App's own record of its webhook deliveries.
#[derive(Clone)]
pub struct Deliveries {
    api: Api,
}

#[derive(Debug, Deserialize)]
struct Item {
    id: u64,
    guid: String,
    delivered_at: String,
    status: String,
    #[serde(default)]
    event: String,
    #[serde(default)]
    installation_id: Option<u64>,
    #[serde(default)]
    repository_id: Option<u64>,
}

impl Deliveries {
    pub(crate) const fn new(api: Api) -> Self {
        Self { api }
    }

    /// Returns the events since a moment of which no attempt arrived, oldest first; at most three
    /// thousand attempts are looked at.
    pub async fn undelivered(&self, since: Timestamp) -> Result<Vec<Undelivered>, ForgeError> {
        self.list(since)
            .await
            .map_err(|error| error.into_forge(LIST))
    }

    async fn list(&self, since: Timestamp) -> Result<Vec<Undelivered>, CallError> {
        let mut url = self.api.url(&["app", "hook", "deliveries"]);
        url.query_pairs_mut().append_pair("per_page", "100");
        let mut arrived = BTreeSet::new();
        let mut failed: BTreeMap<String, Undelivered> = BTreeMap::new();
        for _ in 0..MAX_PAGES {
            let answer = self
                .api
                .read(&Call::get("GET /app/hook/deliveries", url))
                .await?;
            let mut too_old = false;
            for item in answer.json::<Vec<Item>>()? {
                let at = DateTime::parse_from_rfc3339(&item.delivered_at)
                    .map_or(since, |at| Timestamp::new(at.timestamp_millis()));
                too_old |= at < since;
                if item.status == DELIVERED {
                    arrived.insert(item.guid);
                } else if at >= since {
                    // The list is newest first, so the first attempt met is the latest.
                    failed
                        .entry(item.guid.clone())
                        .or_insert_with(|| item.into_undelivered(at));
                }
            }
            match self.api.next(&answer)? {
                Some(next) if !too_old => url = next,
                _ => break,
            }
        }
        let mut missing: Vec<_> = failed
            .into_values()
            .filter(|event| !arrived.contains(&event.guid))
            .collect();
        missing.sort_by_key(|event| (event.at, event.id));
        Ok(missing)
    }

    /// Asks GitHub to deliver an event again.
    pub async fn redeliver(&self, event: &Undelivered) -> Result<(), ForgeError> {
        let id = event.id.to_string();
        let call = Call::new(
            Method::POST,
            "POST /app/hook/deliveries/{id}/attempts",
            self.api
                .url(&["app", "hook", "deliveries", &id, "attempts"]),
        );
        self.api
            .write(&call)
            .await
            .map(drop)
            .map_err(|error| error.into_forge(REDELIVER))
    }
}

impl Item {
    fn into_undelivered(self, at: Timestamp) -> Undelivered {
        Undelivered {
            id: self.id,
            guid: self.guid,
            at,
            event: self.event,
            repo: self.repository_id.map(RepoId::new),
            installation: self.installation_id.map(InstallationId::new),
        }
    }
}

impl fmt::Debug for Deliveries {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Deliveries").finish_non_exhaustive()
    }
}
