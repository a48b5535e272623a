//! Takes one consistent snapshot of a pull request: bytes that belong together, read once.
//!
//! **Invariant:** no model here. `meta.json` is written last, after head, base branch and merge base
//! were read again and had not moved; a snapshot without it does not exist.

mod command;
mod prior;

pub use command::command;

use std::time::Duration;

use chrono::Datelike as _;
use mirilla_domain::code::EndReason;
use mirilla_domain::ids::{JobId, Timestamp, sha256};
use mirilla_domain::job::{Claim, Job, JobCheck, JobState, Stage};
use mirilla_domain::money::Period;
use mirilla_domain::settings::{Gate, OperatorPolicy, SETTINGS_FILE};
use mirilla_domain::signal::Signal;
use mirilla_domain::snapshot::{Keys, PullRequest, SnapshotMeta, StoredObject, TRUSTED_PATHS};
use mirilla_ports::artifacts::Right;
use mirilla_ports::ledger::{Claimed, Transaction};
use mirilla_ports::message::Message;
use mirilla_ports::queue::QueueName;
use mirilla_ports::{
    Artifacts, Clock, Entropy, ForgeError, ForgeRead, GrantObjects, HeadsWrite, Ledger, QueueSend,
};

use crate::error::StageError;
use crate::live;
use crate::report::{Report, STALE};
use crate::review::effective_policy;

/// Longer than the longest collection: while it runs nobody else collects the job.
pub const COLLECT_LEASE: Duration = Duration::from_secs(330);
/// How often a snapshot is begun anew because the pull request moved, before the message goes back.
const MAX_ROUNDS: u32 = 3;
/// How long a reviewer's rights to its objects last: as long as its message stays hidden.
pub const GRANT_VALIDITY: Duration = Duration::from_secs(60 * 60);
/// Largest archive that is kept, compressed.
pub const MAX_ARCHIVE_BYTES: u64 = 300_000_000;

/// What the collector may use.
#[derive(Clone, Copy)]
pub struct CollectPorts<'a> {
    /// Jobs.
    pub ledger: &'a dyn Ledger,
    /// Newest heads.
    pub heads: &'a dyn HeadsWrite,
    /// Snapshots.
    pub artifacts: &'a dyn Artifacts,
    /// The reviewer's rights to one job's objects.
    pub grants: &'a dyn GrantObjects,
    /// The next stages.
    pub queue: &'a dyn QueueSend,
    /// The forge, read only.
    pub forge: &'a dyn ForgeRead,
    /// Time.
    pub clock: &'a dyn Clock,
    /// Claim tokens.
    pub entropy: &'a dyn Entropy,
}

impl std::fmt::Debug for CollectPorts<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("CollectPorts")
    }
}

/// What the operator decides about collecting.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CollectSettings {
    /// Whether the head's archive is kept for the reviewer's tools.
    pub keep_archive: bool,
    /// Which bases are trusted, what reviews may cost and whether there is a gate; the repository's settings
    /// can only make it stricter.
    pub policy: OperatorPolicy,
}

/// Looks which head is live and makes sure that it has a job.
pub async fn probe(ports: CollectPorts<'_>, id: &JobId) -> Result<Report, StageError> {
    let job = ports.ledger.job(id).await?.ok_or(StageError::UnknownJob)?;
    let read_at = ports.clock.now();
    let live = match ports
        .forge
        .pull_request(&job.repo_name, &job.key.pull_request())
        .await
    {
        Ok(live) => live,
        Err(ForgeError::NotFound { .. }) => return Ok(Report::on(&job, "gone")),
        Err(error) => return Err(error.into()),
    };
    ports.heads.record(&live.id, &live.head, read_at).await?;
    match live::follow(ports.ledger, &live, None, ports.clock.now()).await? {
        Some(next) => {
            ports
                .queue
                .send(
                    QueueName::Collect,
                    &Message::CollectV1 { job: next },
                    Duration::ZERO,
                )
                .await?;
            Ok(Report::on(&job, "head-without-review").counting(Signal::HeadUnannounced))
        }
        None => Ok(Report::on(&job, "head-covered")),
    }
}

/// Takes the snapshot of a job and hands it to the reviewer.
pub async fn collect(
    ports: CollectPorts<'_>,
    settings: &CollectSettings,
    id: &JobId,
) -> Result<Report, StageError> {
    let now = ports.clock.now();
    let claim = Claim {
        stage: Stage::Collect,
        token: ports.entropy.hex(16),
        until: now.plus(COLLECT_LEASE),
    };
    let job = match ports
        .ledger
        .claim(id, &[JobState::Accepted, JobState::Queued], claim, now)
        .await?
    {
        Claimed::Granted(job) => *job,
        Claimed::Busy(until) => {
            return Err(StageError::Busy {
                what: "the job",
                after: until.since(now),
            });
        }
        Claimed::Unknown => return Err(StageError::UnknownJob),
        Claimed::NotNow(JobState::Collected) => return announce_again(ports, settings, id).await,
        Claimed::NotNow(_) => return Ok(Report::silent(id.clone(), STALE)),
    };
    if job.due_at > now {
        let after = job.due_at.since(now);
        live::committed(ports.ledger, release(&job, now)).await?;
        return Err(StageError::NotDue { after });
    }
    match take(ports, settings, &job).await {
        Ok(report) => Ok(report.counting_all(calls_left(ports.forge))),
        Err(error) => {
            // The claim would lapse by itself; giving it up lets the next try begin at once. That
            // this fails too changes nothing, so its error is not worth hiding the first one.
            drop(live::committed(ports.ledger, release(&job, ports.clock.now())).await);
            Err(error)
        }
    }
}

async fn take(
    ports: CollectPorts<'_>,
    settings: &CollectSettings,
    job: &Job,
) -> Result<Report, StageError> {
    let Some(mut live) = read_live(ports, job).await? else {
        return finish(ports, job, JobState::Skipped, EndReason::Gone).await;
    };
    for _ in 0..MAX_ROUNDS {
        if let Some(ended) = not_for_us(ports, settings, job, &live).await? {
            return Ok(ended);
        }
        let (taken, moved_to) = snapshot(ports, settings, job, &live).await?;
        if let Some((meta, check)) = taken {
            let job = Job {
                check,
                ..job.clone()
            };
            return hand_over(ports, settings, &job, &meta).await;
        }
        live = moved_to;
    }
    Err(StageError::Moving)
}

async fn read_live(ports: CollectPorts<'_>, job: &Job) -> Result<Option<PullRequest>, StageError> {
    let read_at = ports.clock.now();
    match ports
        .forge
        .pull_request(&job.repo_name, &job.key.pull_request())
        .await
    {
        Ok(live) => {
            ports.heads.record(&live.id, &live.head, read_at).await?;
            Ok(Some(live))
        }
        Err(ForgeError::NotFound { .. }) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// Ends the job if the pull request as it is now is not one to read for it.
async fn not_for_us(
    ports: CollectPorts<'_>,
    settings: &CollectSettings,
    job: &Job,
    live: &PullRequest,
) -> Result<Option<Report>, StageError> {
    let moved = if live.head != job.key.head {
        Some(EndReason::HeadMoved)
    } else if live.base_ref != job.key.base_ref {
        Some(EndReason::BaseChanged)
    } else {
        None
    };
    if let Some(reason) = moved {
        let next = live::follow(ports.ledger, live, Some((job, reason)), ports.clock.now()).await?;
        if let Some(next) = next {
            ports
                .queue
                .send(
                    QueueName::Collect,
                    &Message::CollectV1 { job: next },
                    Duration::ZERO,
                )
                .await?;
        }
        announce_check(ports, job).await?;
        let report = Report::on(job, "superseded")
            .counting(Signal::Ended {
                state: JobState::Superseded,
            })
            .line(format!("{} superseded: {}", subject(job), reason.explain()));
        return Ok(Some(report));
    }
    let skip = if !live.open {
        Some(EndReason::Closed)
    } else if live.draft && !job.sponsored {
        Some(EndReason::Draft)
    } else if !job.sponsored && is_paused(ports, live).await? {
        Some(EndReason::Paused)
    } else {
        None
    };
    let Some(reason) = skip else { return Ok(None) };
    let check = match job.check.clone() {
        None => unread_check(ports, settings, live, reason).await?,
        known => known,
    };
    let job = Job {
        check,
        ..job.clone()
    };
    finish(ports, &job, JobState::Skipped, reason)
        .await
        .map(Some)
}

/// Returns the check of a change that is not read: one that a merge waits for must not be missing.
///
/// What only the repository's own settings ask for is looked up where the change could be merged; a draft
/// can wait until it is none.
async fn unread_check(
    ports: CollectPorts<'_>,
    settings: &CollectSettings,
    live: &PullRequest,
    reason: EndReason,
) -> Result<Option<JobCheck>, StageError> {
    if reason != EndReason::Paused && (settings.policy.gate == Gate::Off || !live.open) {
        return Ok(None);
    }
    let rev = trusted_rev(&settings.policy, live);
    let files = ports
        .forge
        .files(&live.repo_name, rev, &[SETTINGS_FILE])
        .await?;
    Ok(JobCheck::of(
        live,
        &effective_policy(&settings.policy, &files),
    ))
}

/// Returns where settings and rules are read: never at the head.
pub fn trusted_rev<'l>(policy: &OperatorPolicy, live: &'l PullRequest) -> &'l str {
    if live.is_into_trusted(&policy.trusted_bases) {
        live.base.as_str()
    } else {
        live.default_branch.as_str()
    }
}

/// Lets the poster write the job's check: only it may.
async fn announce_check(ports: CollectPorts<'_>, job: &Job) -> Result<(), StageError> {
    if !job.is_check_open() {
        return Ok(());
    }
    let message = Message::CheckV1 {
        job: job.id.clone(),
    };
    ports
        .queue
        .send(QueueName::Post, &message, Duration::ZERO)
        .await?;
    Ok(())
}

async fn is_paused(ports: CollectPorts<'_>, live: &PullRequest) -> Result<bool, StageError> {
    let record = ports.ledger.pull_request(&live.id).await?;
    Ok(record.is_some_and(|record| record.paused))
}

async fn finish(
    ports: CollectPorts<'_>,
    job: &Job,
    state: JobState,
    reason: EndReason,
) -> Result<Report, StageError> {
    live::end(ports.ledger, job, state, reason, ports.clock.now()).await?;
    announce_check(ports, job).await?;
    Ok(Report::on(job, state.as_str())
        .counting(Signal::Ended { state })
        .line(format!(
            "{} {}: {}",
            subject(job),
            state.as_str(),
            reason.explain()
        )))
}

/// A snapshot's description, and the check of its job if there is a gate.
type Taken = (SnapshotMeta, Option<JobCheck>);

/// Stores everything of one head; returns the description, or what the pull request became meanwhile.
async fn snapshot(
    ports: CollectPorts<'_>,
    settings: &CollectSettings,
    job: &Job,
    live: &PullRequest,
) -> Result<(Option<Taken>, PullRequest), StageError> {
    let fetched = ports.forge.diff(live).await?;
    let rev = trusted_rev(&settings.policy, live);
    let archive = keep_archive(ports, settings, live).await?;
    let read_at = ports.clock.now();
    let (files, again) = ports
        .forge
        .files_and_pull_request(live, rev, TRUSTED_PATHS)
        .await?;
    ports.heads.record(&again.id, &again.head, read_at).await?;
    if again.head != live.head || again.base_ref != live.base_ref || again.base != live.base {
        return Ok((None, again));
    }
    let diff = ports
        .artifacts
        .put(&Keys::diff(&job.id), &fetched.bytes)
        .await?;
    let rules = ports
        .artifacts
        .put(&Keys::rules(&job.id), &to_json("rules", &files)?)
        .await?;
    let prior = prior::keep(ports, job, &fetched.merge_base).await?;
    let check = JobCheck::of(&again, &effective_policy(&settings.policy, &files));
    let meta = SnapshotMeta {
        schema: "mirilla.snapshot.v1".to_owned(),
        job: job.id.clone(),
        pull_request: again.clone(),
        merge_base: fetched.merge_base,
        diff,
        diff_sha256: sha256(&fetched.bytes),
        rules,
        rules_commit: files.commit,
        prior,
        archive,
        missing: fetched.missing,
        taken_at: ports.clock.now(),
    };
    ports
        .artifacts
        .put(
            &Keys::meta(&job.id),
            &to_json("snapshot description", &meta)?,
        )
        .await?;
    Ok((Some((meta, check)), again))
}

async fn keep_archive(
    ports: CollectPorts<'_>,
    settings: &CollectSettings,
    live: &PullRequest,
) -> Result<Option<StoredObject>, StageError> {
    if !settings.keep_archive {
        return Ok(None);
    }
    let key = Keys::archive(&live.id, &live.head);
    let writer = ports.artifacts.writer(&key, MAX_ARCHIVE_BYTES).await?;
    match ports
        .forge
        .archive(&live.repo_name, &live.head, writer)
        .await
    {
        Ok(stored) => Ok(Some(stored)),
        // Limits pass by themselves; for everything else a review without context beats none.
        Err(error @ ForgeError::RateLimited { .. }) => Err(error.into()),
        Err(error) => {
            tracing::warn!(
                head_sha = live.head.short(),
                "{}#{} is read without its archive: {error}",
                live.repo_name,
                live.id.pr
            );
            Ok(None)
        }
    }
}

async fn hand_over(
    ports: CollectPorts<'_>,
    settings: &CollectSettings,
    job: &Job,
    meta: &SnapshotMeta,
) -> Result<Report, StageError> {
    let now = ports.clock.now();
    let collected = Job {
        state: JobState::Collected,
        merge_base: Some(meta.merge_base.clone()),
        by_outsider: is_by_outsider(ports, &meta.pull_request).await?,
        claim: None,
        updated_at: now,
        ..job.clone()
    };
    let message = review_message(ports, settings, &collected, now).await?;
    live::committed(
        ports.ledger,
        Transaction {
            jobs: vec![collected],
            ..Transaction::default()
        },
    )
    .await?;
    ports
        .queue
        .send(QueueName::Review, &message, Duration::ZERO)
        .await?;
    announce_check(ports, job).await?;
    Ok(Report::on(job, "collected"))
}

/// Returns whether the author has neither a merged contribution nor write access. A private membership shows in
/// no association, so whoever seems new is asked about by name.
async fn is_by_outsider(ports: CollectPorts<'_>, live: &PullRequest) -> Result<bool, StageError> {
    let Some(author) = live.author.as_ref().filter(|_| live.author_is_outsider) else {
        return Ok(live.author_is_outsider);
    };
    match ports.forge.may_write(&live.repo_name, author).await {
        Ok(may_write) => Ok(!may_write),
        Err(ForgeError::Forbidden { .. }) => Ok(true),
        Err(error) => Err(error.into()),
    }
}

/// The snapshot was taken, but its message may not have been sent before a crash, or its reviewer
/// died: the sweeper sends such a job back here, because only a collector hands out rights.
async fn announce_again(
    ports: CollectPorts<'_>,
    settings: &CollectSettings,
    id: &JobId,
) -> Result<Report, StageError> {
    let job = ports.ledger.job(id).await?.ok_or(StageError::UnknownJob)?;
    let message = review_message(ports, settings, &job, ports.clock.now()).await?;
    ports
        .queue
        .send(QueueName::Review, &message, Duration::ZERO)
        .await?;
    announce_check(ports, &job).await?;
    Ok(Report::on(&job, "announced-again"))
}

/// Returns the message that lets a reviewer read a job's snapshot, with the purses that pay.
async fn review_message(
    ports: CollectPorts<'_>,
    settings: &CollectSettings,
    job: &Job,
    now: Timestamp,
) -> Result<Message, StageError> {
    let period = Period {
        day: utc_day(now),
        month: utc_month(now),
    };
    let grants = ports
        .grants
        .grant(&review_objects(job), GRANT_VALIDITY)
        .await?;
    Ok(Message::ReviewV1 {
        job: job.id.clone(),
        attempt: job.attempt,
        purses: settings.policy.caps().purses(job, period),
        grants,
    })
}

/// Returns the objects that one reviewer may touch, and how: its snapshot, its checkpoint, this
/// attempt's record, and the findings of this attempt, once.
fn review_objects(job: &Job) -> Vec<(String, Right)> {
    let findings = Keys::findings(&job.id, job.attempt);
    vec![
        (Keys::meta(&job.id), Right::Read),
        (Keys::diff(&job.id), Right::Read),
        (Keys::rules(&job.id), Right::Read),
        (Keys::prior(&job.id), Right::Read),
        (
            Keys::archive(&job.key.pull_request(), &job.key.head),
            Right::Read,
        ),
        (Keys::progress(&job.id), Right::Read),
        (Keys::progress(&job.id), Right::Replace),
        // Not only once: a reviewer that dies after it and before the findings writes it again.
        (Keys::run(&job.id, job.attempt), Right::Replace),
        (findings.clone(), Right::Read),
        (findings, Right::Create),
    ]
}

/// Returns what is left of the forge's limit on calls, if it said so.
pub(crate) fn calls_left(forge: &dyn ForgeRead) -> Option<Signal> {
    forge
        .calls_left()
        .map(|percent| Signal::CallsLeft { percent })
}

/// Returns `owner/name#12 head=1234567`: how a job is named in lines for people.
pub fn subject(job: &Job) -> String {
    format!(
        "{}#{} head={}",
        job.repo_name,
        job.key.pr,
        job.key.head.short()
    )
}

fn release(job: &Job, now: Timestamp) -> Transaction {
    Transaction {
        jobs: vec![Job {
            claim: None,
            updated_at: now,
            ..job.clone()
        }],
        ..Transaction::default()
    }
}

fn to_json<T: serde::Serialize>(what: &'static str, value: &T) -> Result<Vec<u8>, StageError> {
    serde_json::to_vec(value).map_err(|error| StageError::BadObject {
        what,
        reason: error.to_string(),
    })
}

const MILLIS_PER_DAY: i64 = 86_400_000;

/// Returns the number of whole UTC days since the epoch.
fn utc_day(now: Timestamp) -> u32 {
    u32::try_from(now.get().div_euclid(MILLIS_PER_DAY)).unwrap_or(0)
}

/// Returns the number of UTC months since year 0.
fn utc_month(now: Timestamp) -> u32 {
    let date = chrono::DateTime::from_timestamp_millis(now.get()).unwrap_or_default();
    let years = u32::try_from(date.year()).unwrap_or(0);
    years.saturating_mul(12).saturating_add(date.month0())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn months_change_at_utc_midnight_of_the_first() {
        let month = |millis| utc_month(Timestamp::new(millis));
        // 2024-02-29T23:59:59.999Z and the next millisecond; 1970-01-01; 2026-12-31 and 2027-01-01.
        assert_eq!(month(1_709_251_199_999), 2024 * 12 + 1);
        assert_eq!(month(1_709_251_200_000), 2024 * 12 + 2);
        assert_eq!(month(0), 1970 * 12);
        assert_eq!(month(1_798_761_599_999), 2026 * 12 + 11);
        assert_eq!(month(1_798_761_600_000), 2027 * 12);
    }
}
