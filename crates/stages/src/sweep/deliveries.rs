//! Asks the forge for lost webhooks again, some pages of its record a run.
//!
//! How far a run came is kept from one to the next, and what it is about to ask is written down before it
//! asks: a run that dies in between asks once too few, never once too often. It is written only upon what
//! this run read, so that of two runs at a time one stops before it asks.
//!
//! **Invariant:** a forge that does not answer delays nothing else that a sweep does.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use mirilla_domain::ids::{DeliveryId, Forge, Timestamp};
use mirilla_domain::signal::{About, RunOutcome, Signal};
use mirilla_ports::deliveries::Page;
use mirilla_ports::{Bookmarks, Deliveries, ForgeError};
use serde::{Deserialize, Serialize};

use super::redeliveries::{Action, Event, Gathering, MAX_ASKS, WINDOW, is_lost, redeliveries};
use super::{SweepPorts, Swept};
use crate::error::StageError;
use crate::intake::{self, IntakeSettings, RecordPorts};

/// Under which name the progress is kept.
const BOOKMARK: &str = "github-deliveries";
/// Pages of a hundred attempts that one run reads.
const MAX_PAGES: usize = 10;
/// Most that one run asks for or reads.
const MAX_ACTIONS: usize = 50;
/// Most events that are remembered; in an outage larger than that the rest waits for the next look.
const MAX_TRACKED: usize = 1_500;

/// What redeliveries need beside the rest.
#[derive(Clone, Copy)]
pub struct DeliveryPorts<'a> {
    /// The forge's record.
    pub log: &'a dyn Deliveries,
    /// How far earlier runs came.
    pub bookmarks: &'a dyn Bookmarks,
    /// Whom the intake works for: what it could not take is recorded by the same rules.
    pub intake: &'a IntakeSettings,
    /// How often and how soon.
    pub pace: Pace,
}

impl std::fmt::Debug for DeliveryPorts<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("DeliveryPorts")
            .field("intake", &self.intake)
            .field("pace", &self.pace)
            .finish_non_exhaustive()
    }
}

/// How soon lost deliveries are asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pace {
    /// From the end of one look through the record to the beginning of the next.
    pub rest: Duration,
    /// From the latest attempt to the first, second and third repetition.
    pub waits: [Duration; 3],
}

impl Default for Pace {
    /// Looks every two minutes; asks after one minute, ten and an hour, so that an outage of an
    /// afternoon does not use all three up.
    fn default() -> Self {
        Self {
            rest: Duration::from_secs(2 * 60),
            waits: [
                Duration::from_secs(60),
                Duration::from_secs(10 * 60),
                Duration::from_secs(60 * 60),
            ],
        }
    }
}

/// How far the runs before this one came.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
struct Progress {
    /// Where the look through the record goes on; `None` begins a new one.
    #[serde(default)]
    cursor: Option<String>,
    /// Nothing is done before this moment.
    #[serde(default)]
    not_before: Option<Timestamp>,
    /// Repetitions of events that come later in the record.
    #[serde(default)]
    gathering: Gathering,
    /// Events that were asked for or settled, by id.
    #[serde(default)]
    tracked: BTreeMap<String, Tracked>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Tracked {
    at: Timestamp,
    asked: u32,
    /// Read, or given up: nothing more is done about it.
    settled: bool,
}

/// Does what one run may do.
pub(super) async fn redeliver(
    ports: SweepPorts<'_>,
    deliveries: DeliveryPorts<'_>,
    now: Timestamp,
    swept: &mut Swept,
) -> Result<(), StageError> {
    let kept = deliveries.bookmarks.bookmark(BOOKMARK).await?;
    let progress: Progress = kept
        .as_deref()
        .and_then(|text| serde_json::from_str(text).ok())
        .unwrap_or_default();
    if progress.not_before.is_some_and(|moment| now < moment) {
        return Ok(());
    }
    let mut look = Look {
        ports,
        deliveries,
        now,
        kept,
        progress,
        actions: 0,
    };
    look.forget_old();
    let done = look.pages(swept).await;
    if let Err(StageError::Forge(error)) = &done {
        look.put_off(error);
    }
    look.save().await?;
    done
}

/// One run's look at the record.
struct Look<'a> {
    ports: SweepPorts<'a>,
    deliveries: DeliveryPorts<'a>,
    now: Timestamp,
    /// The progress as it is kept.
    kept: Option<String>,
    progress: Progress,
    actions: usize,
}

impl Look<'_> {
    fn forget_old(&mut self) {
        let now = self.now;
        self.progress
            .tracked
            .retain(|_, tracked| now.since(tracked.at) < WINDOW);
        if self.progress.cursor.is_none() {
            self.progress.gathering = Gathering::default();
        }
    }

    async fn pages(&mut self, swept: &mut Swept) -> Result<(), StageError> {
        for _ in 0..MAX_PAGES {
            let page = self
                .deliveries
                .log
                .page(self.progress.cursor.as_deref())
                .await?;
            let before = self.progress.gathering.clone();
            let next = page.next.clone();
            let (events, is_last) = self.gather(page);
            let actions = self.decide(&events).await?;
            let left = MAX_ACTIONS.saturating_sub(self.actions);
            let all_fit = actions.len() <= left;
            for action in actions.into_iter().take(left) {
                self.act(action, swept).await?;
            }
            if !all_fit {
                // The page is read again by the next run, which knows what was asked for.
                self.progress.gathering = before;
                return Ok(());
            }
            self.progress.cursor = next.filter(|_| !is_last);
            if self.progress.cursor.is_none() {
                self.progress.not_before = Some(self.now.plus(self.deliveries.pace.rest));
                return Ok(());
            }
        }
        Ok(())
    }

    /// Returns the events that are complete, and whether all that follows is too old.
    fn gather(&mut self, page: Page) -> (Vec<Event>, bool) {
        let mut is_last = false;
        let mut events = Vec::new();
        for attempt in page.attempts {
            is_last |= self.now.since(attempt.at) >= WINDOW;
            events.extend(self.progress.gathering.add(attempt));
        }
        // More open repetitions than can be kept: look anew once they are fewer.
        is_last |= self.progress.gathering.len() > MAX_TRACKED;
        for event in &mut events {
            if let Some(tracked) = self.progress.tracked.get(&event.guid) {
                event.asked = event.asked.max(tracked.asked);
                event.latest_at = event.latest_at.max(tracked.at);
                event.arrived |= tracked.settled;
            }
        }
        (events, is_last)
    }

    async fn decide(&self, events: &[Event]) -> Result<Vec<Action>, StageError> {
        let mut known = BTreeSet::new();
        for event in events.iter().filter(|event| is_lost(event, self.now)) {
            let recorded = match DeliveryId::parse(&event.guid) {
                Ok(id) => self.ports.ledger.has_delivery(Forge::Github, &id).await?,
                // No intake would take it under such an id.
                Err(_malformed) => true,
            };
            if recorded {
                known.insert(event.guid.clone());
            }
        }
        let waits = self.deliveries.pace.waits;
        Ok(redeliveries(events, self.now, &known, waits))
    }

    async fn act(&mut self, action: Action, swept: &mut Swept) -> Result<(), StageError> {
        if self.progress.tracked.len() >= MAX_TRACKED
            && !self.progress.tracked.contains_key(action.guid())
        {
            return Ok(());
        }
        self.actions = self.actions.saturating_add(1);
        match action {
            Action::Redeliver { id, guid } => {
                self.track(&guid, true, false);
                self.save().await?;
                match self.deliveries.log.redeliver(id).await {
                    Ok(()) => {
                        swept.redelivered = swept.redelivered.saturating_add(1);
                        swept.facts.push((about(), Signal::RedeliveryAsked));
                    }
                    Err(ForgeError::NotFound { .. }) => self.give_up(&guid, swept),
                    Err(error) => return Err(error.into()),
                }
            }
            Action::Read { id, guid } => self.read(id, &guid, swept).await?,
            Action::GiveUp { guid } => self.give_up(&guid, swept),
        }
        Ok(())
    }

    /// Records what a delivery that no front door takes asks for.
    async fn read(&mut self, id: u64, guid: &str, swept: &mut Swept) -> Result<(), StageError> {
        let delivery = match self.deliveries.log.read(id).await {
            Ok(delivery) => delivery.filter(|delivery| delivery.id.as_str() == guid),
            Err(ForgeError::NotFound { .. }) => {
                self.give_up(guid, swept);
                return Ok(());
            }
            Err(error) => {
                self.track(guid, true, false);
                if self.asked(guid) >= MAX_ASKS {
                    self.give_up(guid, swept);
                }
                return Err(error.into());
            }
        };
        let Some(delivery) = delivery else {
            self.track(guid, false, true);
            return Ok(());
        };
        let ports = RecordPorts {
            ledger: self.ports.ledger,
            queue: self.ports.queue,
            clock: self.ports.clock,
        };
        let answer = intake::record(ports, self.deliveries.intake, &delivery).await;
        let (whom, _) = answer.facts(Duration::ZERO);
        match answer.outcome {
            // Not recorded: the next look finds it again.
            RunOutcome::Retry => {}
            RunOutcome::Accepted => {
                self.track(guid, false, true);
                swept.read = swept.read.saturating_add(1);
                swept.facts.push((whom, Signal::DeliveryRead));
            }
            _ => self.track(guid, false, true),
        }
        Ok(())
    }

    fn give_up(&mut self, guid: &str, swept: &mut Swept) {
        self.track(guid, false, true);
        swept.undeliverable = swept.undeliverable.saturating_add(1);
        swept.facts.push((about(), Signal::RedeliveryGivenUp));
    }

    fn asked(&self, guid: &str) -> u32 {
        let tracked = self.progress.tracked.get(guid);
        tracked.map_or(0, |tracked| tracked.asked)
    }

    fn track(&mut self, guid: &str, asked: bool, settled: bool) {
        let now = self.now;
        let tracked = self
            .progress
            .tracked
            .entry(guid.to_owned())
            .or_insert(Tracked {
                at: now,
                asked: 0,
                settled: false,
            });
        tracked.at = now;
        tracked.asked = tracked.asked.saturating_add(u32::from(asked));
        tracked.settled |= settled;
    }

    /// Begins anew after a failure: the cursor itself may be what the forge does not accept any more.
    fn put_off(&mut self, error: &ForgeError) {
        let pause = match error {
            ForgeError::RateLimited { after } => *after,
            _ => Duration::ZERO,
        };
        self.progress.cursor = None;
        let rest = self.deliveries.pace.rest.max(pause);
        self.progress.not_before = Some(self.now.plus(rest));
    }

    async fn save(&mut self) -> Result<(), StageError> {
        let text =
            serde_json::to_string(&self.progress).map_err(|error| StageError::BadObject {
                what: "progress of the redeliveries",
                reason: error.to_string(),
            })?;
        self.deliveries
            .bookmarks
            .keep_bookmark(BOOKMARK, self.kept.as_deref(), &text)
            .await?;
        self.kept = Some(text);
        Ok(())
    }
}

/// The forge's list names repositories by number only.
fn about() -> About {
    About {
        forge: Some(Forge::Github),
        ..About::default()
    }
}
