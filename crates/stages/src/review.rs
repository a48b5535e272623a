//! Lets a model read one snapshot, chunk by chunk, within its purses.
//!
//! It is handed a model, a meter and the artifacts of one job. A chunk is a conversation: the model may
//! look things up before it answers. The stage writes one findings file that must not exist yet, and its own
//! checkpoint after every answer of the model's.
//!
//! **Invariant:** no forge here. Every changed file ends in the coverage with exactly one fate, and
//! nothing but a parsed answer to a question about it makes a file `reviewed`.

mod asking;
mod books;
pub mod eyes;
mod lease;
mod look;
mod progress;
mod record;

use std::time::Duration;

use async_trait::async_trait;
use mirilla_diff::FileDiff;
use mirilla_domain::answer;
use mirilla_domain::chunk::{Chunk, ChunkPlan, plan_chunks};
use mirilla_domain::code::{FailReason, SkipReason};
use mirilla_domain::ids::{AttemptNo, JobId, Sha256Hex, Timestamp, sha256};
use mirilla_domain::money::CappedPurse;
use mirilla_domain::price::PriceTable;
use mirilla_domain::prompt::{self, ChunkPrompt, Description, Nonce, Question};
use mirilla_domain::redact::{self, Redactor};
use mirilla_domain::review::{Fate, Finding, Outcome, REVIEW_SCHEMA, Rejected, Review};
use mirilla_domain::rules::{self, Rule};
use mirilla_domain::settings::{self, OperatorPolicy, Policy, PrDescription};
use mirilla_domain::signal::{self, About, PurseKind, Signal};
use mirilla_domain::snapshot::{Keys, SnapshotMeta, TrustedFiles};
use mirilla_ports::model::{Answer, Limits, StopReason};
use mirilla_ports::{
    ArtifactError, Artifacts, Clock, Entropy, Heads, Meter, Model, OpenSource, Toolbox,
};

use crate::error::StageError;
use crate::report::Report;
use asking::{Asking, Called, MustStop};
pub use eyes::Eyes;
pub use lease::alone;
pub use look::Look;
use progress::{ChunkResult, Progress};

/// Largest diff that is read.
pub const MAX_DIFF_BYTES: u64 = 64 * 1024 * 1024;
/// Largest other object that is read.
const MAX_OBJECT_BYTES: u64 = 8 * 1024 * 1024;
/// A chunk the model finds too long is cut in halves at most this often.
const MAX_HALVINGS: u32 = 4;
/// How many conversations there are about a chunk without an answer that can be used.
const ROUNDS: u32 = 2;
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

/// Everything of a snapshot that a review looks at.
struct Snapshot {
    meta: SnapshotMeta,
    meta_sha256: Sha256Hex,
    diff: Vec<u8>,
    rules: TrustedFiles,
    rules_sha256: Sha256Hex,
    policy: Policy,
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
    let snapshot = load(ports, settings, order).await?;
    let parsed = mirilla_diff::parse(&snapshot.diff);
    let masked = redact::mask_diff(&snapshot.diff);
    let shown = mirilla_diff::parse(&masked.diff);
    let plan = plan_chunks(
        &parsed.files,
        &snapshot.meta.missing,
        &snapshot.policy,
        snapshot.policy.chunk_tokens,
    );
    (ports.note)(&opening_line(&snapshot, &plan));
    let nonce = nonce(ports.entropy);
    let archive = snapshot.meta.archive.as_ref();
    let source = ports.files.and_then(|files| files.open(archive));
    let missing = &snapshot.meta.missing;
    let eyes = Eyes::new(source.as_deref(), &parsed.files, missing, &nonce);
    let reading = Reading {
        ports,
        settings,
        order,
        snapshot: &snapshot,
        files: &shown.files,
        plan: &plan,
        rules: applicable_rules(&snapshot, &plan),
        nonce: nonce.clone(),
        tools: &eyes,
        deadline: ports
            .clock
            .now()
            .plus(settings.limit.saturating_sub(WRITING_RESERVE)),
    };
    let (review, progress) = reading.run().await?;
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

async fn load(
    ports: ReviewPorts<'_>,
    settings: &ReviewSettings,
    order: &ReviewOrder,
) -> Result<Snapshot, StageError> {
    let (meta, meta_sha256): (SnapshotMeta, _) = read_hashed(
        ports.artifacts,
        &Keys::meta(&order.job),
        "snapshot description",
    )
    .await?;
    let diff = ports.artifacts.get(&meta.diff.key, MAX_DIFF_BYTES).await?;
    if sha256(&diff) != meta.diff_sha256 {
        return Err(StageError::BadObject {
            what: "diff",
            reason: "its bytes are not those that were collected".to_owned(),
        });
    }
    let (rules, rules_sha256): (TrustedFiles, _) =
        read_hashed(ports.artifacts, &meta.rules.key, "rules").await?;
    let policy = effective_policy(&settings.policy, &rules);
    Ok(Snapshot {
        meta,
        meta_sha256,
        diff,
        rules,
        rules_sha256,
        policy,
    })
}

/// Returns the operator's policy made stricter by a repository's trusted settings file.
pub fn effective_policy(operator: &OperatorPolicy, trusted: &TrustedFiles) -> Policy {
    let file = trusted
        .files
        .iter()
        .find(|file| file.path == settings::SETTINGS_FILE);
    let (repository, _problems) = settings::parse(file.map_or("", |file| file.text.as_str()));
    operator.with(&repository)
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

/// Reads a JSON object from the artifact store.
pub(crate) async fn read_json<T: serde::de::DeserializeOwned>(
    artifacts: &dyn Artifacts,
    key: &str,
    what: &'static str,
) -> Result<T, StageError> {
    Ok(read_hashed(artifacts, key, what).await?.0)
}

/// Reads a JSON object, and what identifies its bytes.
async fn read_hashed<T: serde::de::DeserializeOwned>(
    artifacts: &dyn Artifacts,
    key: &str,
    what: &'static str,
) -> Result<(T, Sha256Hex), StageError> {
    let bytes = artifacts.get(key, MAX_OBJECT_BYTES).await?;
    let value = serde_json::from_slice(&bytes).map_err(|error| StageError::BadObject {
        what,
        reason: error.to_string(),
    })?;
    Ok((value, sha256(&bytes)))
}

fn applicable_rules(snapshot: &Snapshot, plan: &ChunkPlan) -> Vec<Rule> {
    let changed: Vec<&str> = plan
        .chunks
        .iter()
        .flat_map(|chunk| &chunk.files)
        .map(|file| file.path.as_str())
        .collect();
    rules::select(&snapshot.rules.files, &snapshot.policy.rules, &changed).rules
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
    format!(
        "{}#{} head={} diff={} {}, {} {} (<={} tokens each)",
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
    plan: &'a ChunkPlan,
    rules: Vec<Rule>,
    nonce: Nonce,
    /// The same in every question, so that the provider's cache holds.
    tools: &'a dyn Toolbox,
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
        let (findings, rejected, summary) = progress.collected();
        Review {
            schema: REVIEW_SCHEMA.to_owned(),
            job: self.order.job.clone(),
            attempt: self.order.attempt,
            head: self.snapshot.meta.pull_request.head.clone(),
            summary,
            findings,
            coverage,
            rejected,
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
        }
    }

    /// Asks about one chunk until there is an answer that counts or none will come.
    async fn chunk(
        &self,
        progress: &mut Progress,
        at: usize,
        chunk: &Chunk,
    ) -> Result<Result<Fate, Stop>, StageError> {
        let label = format!("chunk {}/{}", at.saturating_add(1), self.plan.chunks.len());
        let mut open = vec![(chunk.clone(), 0_u32)];
        let mut result = ChunkResult::default();
        while let Some((part, halvings)) = open.pop() {
            match self.part(progress, at, &label, &part, &mut result).await? {
                Answered::Fine => {}
                Answered::TooLong => {
                    match part.halves(self.files).filter(|_| halvings < MAX_HALVINGS) {
                        Some([first, second]) => {
                            let halvings = halvings.saturating_add(1);
                            open.push((second, halvings));
                            open.push((first, halvings));
                        }
                        None => result.fate = Some(Fate::Failed(FailReason::PromptTooLong)),
                    }
                }
                Answered::Failed(reason) => result.fate = Some(Fate::Failed(reason)),
                Answered::Stop(stop) => return Ok(Err(stop)),
            }
        }
        let fate = result.fate.clone().unwrap_or(Fate::Reviewed);
        if let Fate::Failed(reason) = &fate {
            (self.ports.note)(&format!("{label} failed: {}", reason.explain()));
        } else {
            (self.ports.note)(&format!(
                "{label} in={} out={} cost={} findings={}",
                result.usage.total_input(),
                result.usage.output_tokens,
                result.cost,
                result.findings.len()
            ));
        }
        progress.finish(at, fate.clone(), result);
        progress.save(self.ports.artifacts, &self.order.job).await?;
        Ok(Ok(fate))
    }

    /// Asks about a chunk or a part of one: once, once more with what is wrong with the answer, and once
    /// more from nothing.
    async fn part(
        &self,
        progress: &mut Progress,
        at: usize,
        label: &str,
        part: &Chunk,
        result: &mut ChunkResult,
    ) -> Result<Answered, StageError> {
        let Some(model) = self.ports.model else {
            return Ok(Answered::Failed(FailReason::ModelUnavailable));
        };
        let asking = Asking {
            about: about(self.order, self.snapshot),
            ports: self.ports,
            settings: self.settings,
            order: self.order,
            model,
            tools: self.tools,
            limits: Limits {
                turns: self.snapshot.policy.max_turns,
                ..Limits::default()
            },
            deadline: self.deadline,
            chunk: record::number(at),
            label,
            must_stop: self,
        };
        let question = self.question(part);
        let judge = |answer: &Answer| self.parse(answer).err().and_then(|unusable| unusable.again);
        let mut failure = FailReason::EmptyAnswer;
        for round in 0..ROUNDS {
            let judge: asking::Judge<'_> = if round == 0 { &judge } else { &|_| None };
            failure = match asking.ask(progress, result, &question, judge).await? {
                Called::Answered(answer) => match self.parse(&answer) {
                    Ok(parsed) => {
                        result.take(parsed, progress.calls);
                        return Ok(Answered::Fine);
                    }
                    Err(Unusable {
                        then: Then::Halve, ..
                    }) => return Ok(Answered::TooLong),
                    Err(Unusable {
                        then: Then::GiveUp(reason),
                        ..
                    }) => {
                        return Ok(Answered::Failed(reason));
                    }
                    Err(Unusable {
                        then: Then::Repeat(reason),
                        ..
                    }) => reason,
                },
                Called::NoMoney { left, cap, needed } => {
                    (self.ports.note)(&format!(
                        "{label} skipped: {left} left of {cap}, the next call could cost {needed}"
                    ));
                    return Ok(Answered::Stop(Stop::Rest(Fate::Skipped(
                        SkipReason::CostCap,
                    ))));
                }
                Called::TooLong => return Ok(Answered::TooLong),
                Called::Lost => FailReason::ModelUnavailable,
                Called::Unavailable { .. } if self.order.last_try => {
                    return Ok(Answered::Stop(Stop::Rest(Fate::Failed(
                        FailReason::ModelUnavailable,
                    ))));
                }
                Called::Unavailable { after } => {
                    return Ok(Answered::Stop(Stop::Later(StageError::ModelUnavailable {
                        after,
                    })));
                }
                Called::Rejected { text, midway: true } => {
                    (self.ports.note)(&format!(
                        "{label} broken off by the model's provider: {text}"
                    ));
                    FailReason::ModelRejected
                }
                Called::Rejected { text, .. } => {
                    (self.ports.note)(&format!("{label} rejected by the model's provider: {text}"));
                    return Ok(Answered::Stop(Stop::Rest(Fate::Failed(
                        FailReason::ModelRejected,
                    ))));
                }
                Called::Stop(stop) => return Ok(Answered::Stop(stop)),
            };
        }
        Ok(Answered::Failed(failure))
    }

    /// Reads what ended a conversation. Whatever is no whole answer by its own account is none, however
    /// its text may look.
    fn parse(&self, answer: &Answer) -> Result<answer::Answered, Unusable> {
        let then = match answer.stop {
            StopReason::Refusal(_) => Then::GiveUp(FailReason::Refusal),
            StopReason::MaxTokens => Then::Repeat(FailReason::Truncated),
            StopReason::ContextExceeded => Then::Halve,
            StopReason::ToolUse | StopReason::Paused => Then::Repeat(FailReason::EmptyAnswer),
            StopReason::EndTurn | StopReason::Other(_) => {
                return answer::read(&answer.text, self.files).map_err(|error| Unusable {
                    then: Then::Repeat(error.fail_reason()),
                    again: Some(error.again()),
                });
            }
        };
        Err(Unusable { then, again: None })
    }

    fn question(&self, part: &Chunk) -> Question {
        let pull_request = &self.snapshot.meta.pull_request;
        let shown = self.snapshot.policy.pr_description == PrDescription::With;
        prompt::chunk_question(&ChunkPrompt {
            chunk: part,
            plan: self.plan,
            files: self.files,
            rules: &self.rules,
            language: self.snapshot.policy.language.as_deref(),
            description: shown.then_some(Description {
                title: &pull_request.title,
                text: &pull_request.description,
            }),
            nonce: &self.nonce,
            max_tokens: self.snapshot.policy.max_tokens,
        })
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

/// An answer that says nothing about the code.
struct Unusable {
    then: Then,
    /// What to tell the model, if telling it may help.
    again: Option<String>,
}

/// What follows from an answer that cannot be used.
enum Then {
    /// The chunk is asked about once more, and fails for this reason after that.
    Repeat(FailReason),
    /// It is cut in two.
    Halve,
    /// It fails at once.
    GiveUp(FailReason),
}

/// What became of one question.
enum Answered {
    /// Its answer is in the result.
    Fine,
    /// It is too long for the model.
    TooLong,
    /// There is no answer that counts.
    Failed(FailReason),
    /// The run cannot go on.
    Stop(Stop),
}

/// Adds what an answer says to what is known of a chunk.
impl ChunkResult {
    fn take(&mut self, parsed: answer::Answered, call: u32) {
        self.named_by.resize(self.findings.len(), 0);
        self.refused_by.resize(self.rejected.len(), 0);
        self.findings.extend(parsed.findings);
        self.rejected.extend(parsed.rejected);
        self.named_by.resize(self.findings.len(), call);
        self.refused_by.resize(self.rejected.len(), call);
        if self.summary.is_empty() {
            self.summary = parsed.summary;
        }
    }
}

/// What chunks found, in order.
type Collected = (Vec<Finding>, Vec<Rejected>, String);
