//! Lets a model read one snapshot, chunk by chunk, within its purses.
//!
//! It is handed a model, a meter and the artifacts of one job. A chunk is a conversation: the model may
//! look things up before it answers. The stage writes one findings file that must not exist yet, and its own
//! checkpoint after every answer of the model's.
//!
//! **Invariant:** no forge here. Every changed file ends in the coverage with exactly one fate, and
//! nothing but a parsed answer to a question about it makes a file `reviewed`.

mod after;
mod asking;
mod books;
mod carried;
mod chunk;
pub mod eyes;
mod lease;
mod look;
mod progress;
mod record;
mod snapshot;

use std::time::Duration;

use async_trait::async_trait;
use mirilla_diff::FileDiff;
use mirilla_domain::carry::Carry;
use mirilla_domain::chunk::{ChunkPlan, plan_chunks};
use mirilla_domain::code::SkipReason;
use mirilla_domain::ids::{AttemptNo, JobId, Timestamp};
use mirilla_domain::money::CappedPurse;
use mirilla_domain::price::PriceTable;
use mirilla_domain::prompt::{self, Nonce};
use mirilla_domain::redact::{self, Redactor};
use mirilla_domain::review::{Fate, Outcome, REVIEW_SCHEMA, Review};
use mirilla_domain::settings::OperatorPolicy;
use mirilla_domain::signal::{self, About, PurseKind, Signal};
use mirilla_domain::snapshot::Keys;
use mirilla_ports::{ArtifactError, Artifacts, Clock, Entropy, Heads, Meter, Model, OpenSource};

use crate::error::StageError;
use crate::report::Report;
use asking::MustStop;
use carried::Shared;
pub use eyes::Eyes;
pub use lease::alone;
pub use look::Look;
use progress::Progress;
use snapshot::Snapshot;
pub(crate) use snapshot::read_json;
pub use snapshot::{MAX_DIFF_BYTES, effective_policy};

/// Time kept back for writing the findings.
const WRITING_RESERVE: Duration = Duration::from_secs(10);

/// What the reviewer may use.
#[derive(Clone, Copy)]
pub struct ReviewPorts<'a> {
    /// This job's objects.
    pub artifacts: &'a dyn Artifacts,
    /// Purses and reservations.
    pub meter: &'a dyn Meter,
    /// The newest head, to stop early.
    pub heads: &'a dyn Heads,
    /// The model; without one only the coverage is written.
    pub model: Option<&'a dyn Model>,
    /// Opens the head's files for the model's tools; without them the tools say so.
    pub files: Option<&'a dyn OpenSource>,
    /// Time.
    pub clock: &'a dyn Clock,
    /// The nonce that fences the diff.
    pub entropy: &'a dyn Entropy,
    /// Takes a line for the person who watches.
    pub note: &'a (dyn Fn(&str) + Send + Sync),
    /// Takes what the model looked up, for the same person.
    pub looked: &'a (dyn Fn(&Look) + Send + Sync),
    /// Takes a fact worth counting, at once: a review that is killed was paid for all the same.
    pub count: &'a (dyn Fn(&About, Signal) + Send + Sync),
}

impl std::fmt::Debug for ReviewPorts<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("ReviewPorts")
    }
}

/// What the operator decides about reading.
#[derive(Debug, Clone)]
pub struct ReviewSettings {
    /// The operator's policy; the repository's settings can only make it stricter.
    pub policy: OperatorPolicy,
    /// Prices.
    pub prices: PriceTable,
    /// Knows the secrets of this process, so that they are never written down.
    pub redactor: Redactor,
    /// The longest a review may take.
    pub limit: Duration,
}

/// One message of the review queue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReviewOrder {
    /// The job.
    pub job: JobId,
    /// The try.
    pub attempt: AttemptNo,
    /// Who pays.
    pub purses: Vec<CappedPurse>,
    /// How often the message was received, this time included.
    pub receive_count: u32,
    /// Whether it will not come back: an outcome is written in any case.
    pub last_try: bool,
}

/// Reads a snapshot and writes its findings.
pub async fn review(
    ports: ReviewPorts<'_>,
    settings: &ReviewSettings,
    order: &ReviewOrder,
) -> Result<Report, StageError> {
    let findings_key = Keys::findings(&order.job, order.attempt);
    if ports
        .artifacts
        .list(&findings_key)
        .await?
        .contains(&findings_key)
    {
        return Ok(Report::silent(order.job.clone(), "already-reviewed"));
    }
    let snapshot = snapshot::load(ports, settings, order).await?;
    let parsed = mirilla_diff::parse(&snapshot.diff);
    let masked = redact::mask_diff(&snapshot.diff);
    let shown = mirilla_diff::parse(&masked.diff);
    let tokens = snapshot.policy.chunk_tokens;
    let missing = &snapshot.meta.missing;
    let all = plan_chunks(&parsed.files, missing, &snapshot.policy, tokens);
    let nonce = nonce(ports.entropy);
    let archive = snapshot.meta.archive.as_ref();
    let source = ports.files.and_then(|files| files.open(archive));
    let eyes = Eyes::new(source.as_deref(), &parsed.files, missing, &nonce);
    let model = ports.model.map(Model::id);
    let shared = Shared::of(&snapshot, &parsed.files, &all, &eyes);
    let carry = shared
        .carry(&snapshot, &parsed.files, &all, model, &eyes)
        .await;
    let plan = all.clone().without(&carry.paths(), tokens);
    (ports.note)(&opening_line(&snapshot, &plan));
    let reading = Reading {
        ports,
        settings,
        order,
        snapshot: &snapshot,
        files: &shown.files,
        plain: &parsed.files,
        whole: &all,
        plan: &plan,
        shared: &shared,
        carry: &carry,
        nonce: nonce.clone(),
        eyes: &eyes,
        deadline: ports
            .clock
            .now()
            .plus(settings.limit.saturating_sub(WRITING_RESERVE)),
    };
    let (review, progress) = Box::pin(reading.run()).await?;
    let (review, redactions) = redacted(review, &settings.redactor);
    let bytes = serde_json::to_vec(&review).map_err(|error| StageError::BadObject {
        what: "review",
        reason: error.to_string(),
    })?;
    // Before the findings, so that there is no review without its record.
    record::write(&reading, &progress, &bytes, redactions).await;
    match ports.artifacts.put_new(&findings_key, &bytes).await {
        Ok(_) | Err(ArtifactError::Exists { .. }) => {
            let mut report = Report::silent(order.job.clone(), "reviewed");
            report.about = about(order, &snapshot);
            if redactions > 0 {
                report = report.counting(Signal::Redacted { count: redactions });
            }
            Ok(report.counting_all(purses_used(ports, order).await))
        }
        Err(error) => Err(error.into()),
    }
}

fn about(order: &ReviewOrder, snapshot: &Snapshot) -> About {
    let pull_request = &snapshot.meta.pull_request;
    About {
        forge: Some(pull_request.id.forge),
        repo: Some(pull_request.repo_name.clone()),
        pr: Some(pull_request.id.pr),
        job: Some(order.job.clone()),
        attempt: Some(order.attempt),
    }
}

/// Returns how full the purses are that this review is paid from. The review is done: that a purse
/// cannot be read is no reason to do it again.
async fn purses_used(ports: ReviewPorts<'_>, order: &ReviewOrder) -> Vec<Signal> {
    let mut used = Vec::new();
    if ports.model.is_none() {
        return used;
    }
    for capped in &order.purses {
        if let Ok(spent) = ports.meter.spent(&capped.purse).await {
            used.push(Signal::PurseUsed {
                purse: PurseKind::from(&capped.purse),
                percent: spent.percent_of(capped.cap),
            });
        }
    }
    used
}

/// Takes this process's own secrets out of every text of the model's; returns how many there were.
fn redacted(mut review: Review, redactor: &Redactor) -> (Review, u64) {
    let mut found = 0_u64;
    let mut clean = |text: &mut String| {
        let redacted = redactor.redact(text);
        found = found.saturating_add(signal::count(redacted.total()));
        *text = redacted.text;
    };
    clean(&mut review.summary);
    for finding in &mut review.findings {
        clean(&mut finding.path);
        clean(&mut finding.title);
        clean(&mut finding.message);
        let optional = [
            &mut finding.quote,
            &mut finding.symbol,
            &mut finding.rule,
            &mut finding.suggestion,
        ];
        optional.into_iter().flatten().for_each(&mut clean);
    }
    (review, found)
}

/// Returns a nonce that nobody outside this run can know.
fn nonce(entropy: &dyn Entropy) -> Nonce {
    let mut random = [0; 16];
    let digits = entropy.hex(random.len());
    for (byte, pair) in random.iter_mut().zip(digits.as_bytes().chunks(2)) {
        let pair = std::str::from_utf8(pair).unwrap_or_default();
        *byte = u8::from_str_radix(pair, 16).unwrap_or_default();
    }
    Nonce::from_random(random)
}

fn opening_line(snapshot: &Snapshot, plan: &ChunkPlan) -> String {
    let pull_request = &snapshot.meta.pull_request;
    let files = plan.coverage(&[]).len();
    let carried = match plan.carried.len() {
        0 => String::new(),
        carried => format!(", {carried} unchanged since they were read"),
    };
    format!(
        "{}#{} head={} diff={} {}{carried}, {} {} (<={} tokens each)",
        pull_request.repo_name,
        pull_request.id.pr,
        pull_request.head.short(),
        files,
        if files == 1 { "file" } else { "files" },
        plan.chunks.len(),
        if plan.chunks.len() == 1 {
            "chunk"
        } else {
            "chunks"
        },
        snapshot.policy.chunk_tokens
    )
}

/// One run over a snapshot.
struct Reading<'a> {
    ports: ReviewPorts<'a>,
    settings: &'a ReviewSettings,
    order: &'a ReviewOrder,
    snapshot: &'a Snapshot,
    /// The diff as the model sees it: the same lines, secrets masked.
    files: &'a [FileDiff<'a>],
    /// The diff as it was collected.
    plain: &'a [FileDiff<'a>],
    /// The whole change.
    whole: &'a ChunkPlan,
    /// What is asked.
    plan: &'a ChunkPlan,
    shared: &'a Shared,
    /// What an earlier review answers for.
    carry: &'a Carry,
    nonce: Nonce,
    /// The tools: the same in every question, so that the provider's cache holds.
    eyes: &'a Eyes<'a>,
    deadline: Timestamp,
}

/// Why the run stops before all chunks are answered.
enum Stop {
    /// The rest is skipped or failed for this reason.
    Rest(Fate),
    /// The message comes back later and goes on.
    Later(StageError),
    /// Another head is the newest.
    Superseded,
}

impl Reading<'_> {
    async fn run(&self) -> Result<(Review, Progress), StageError> {
        let mut progress = Progress::load(
            self.ports.artifacts,
            &self.order.job,
            &self.snapshot.meta.diff_sha256,
            &(self.shared).asked(self.plan, self.ports.model.map(Model::id)),
        )
        .await?;
        progress.settle_open(self.ports.meter).await?;
        let mut fates = Vec::with_capacity(self.plan.chunks.len());
        let mut superseded = false;
        if self.ports.model.is_some() {
            let mut rest = None;
            for (at, chunk) in self.plan.chunks.iter().enumerate() {
                let fate = match (&rest, progress.done(at)) {
                    (_, Some(done)) => done.fate.clone(),
                    (Some(fate), None) => Fate::clone(fate),
                    (None, None) => match self.chunk(&mut progress, at, chunk).await? {
                        Ok(fate) => fate,
                        Err(Stop::Rest(fate)) => {
                            rest = Some(fate.clone());
                            fate
                        }
                        Err(Stop::Later(error)) => return Err(error),
                        Err(Stop::Superseded) => {
                            superseded = true;
                            let fate = Fate::Skipped(SkipReason::Deadline);
                            rest = Some(fate.clone());
                            fate
                        }
                    },
                };
                fates.push(fate);
            }
            if !superseded {
                self.look_back(&mut progress).await?;
            }
        }
        Ok((self.finish(&progress, &fates, superseded), progress))
    }

    fn finish(&self, progress: &Progress, fates: &[Fate], superseded: bool) -> Review {
        let coverage = self.plan.coverage(fates);
        let outcome = if superseded {
            Outcome::Superseded
        } else {
            Outcome::of(&coverage)
        };
        let collected = progress.collected();
        let (findings, sight) = (self.shared).sight(
            self.snapshot,
            self.plain,
            self.plan,
            progress,
            &collected,
            self.carry,
        );
        Review {
            schema: REVIEW_SCHEMA.to_owned(),
            job: self.order.job.clone(),
            attempt: self.order.attempt,
            head: self.snapshot.meta.pull_request.head.clone(),
            summary: collected.summary,
            findings,
            coverage,
            rejected: collected
                .rejected
                .into_iter()
                .map(|refused| refused.what)
                .collect(),
            usage: progress.usage,
            cost: progress.cost,
            model: self
                .ports
                .model
                .map(|model| model.id().to_owned())
                .unwrap_or_default(),
            prompt_version: prompt::PROMPT_VERSION.to_owned(),
            turns: progress.calls,
            tool_calls: progress.tool_calls,
            outcome,
            sight: self.ports.model.is_some().then_some(sight),
        }
    }
}

#[async_trait]
impl MustStop for Reading<'_> {
    async fn must_stop(&self) -> Result<Option<Stop>, StageError> {
        if self.ports.clock.now() >= self.deadline {
            return Ok(Some(Stop::Rest(Fate::Skipped(SkipReason::Deadline))));
        }
        let pull_request = &self.snapshot.meta.pull_request;
        let newest = self.ports.heads.newest(&pull_request.id).await?;
        if newest.is_some_and(|newest| newest != pull_request.head) {
            return Ok(Some(Stop::Superseded));
        }
        Ok(None)
    }
}
