//! Posts one review: distrusts the findings, fetches the diff again, decides with a pure plan, writes.
//!
//! **Invariant:** no model here. Repository, pull request, head and policy come from the ledger and the
//! operator, never from the findings file or from the message about it.

mod acknowledge;
mod apply;
mod basis;
mod check;
mod count;
mod declines;
mod group;
mod keep;
mod lease;
mod resolve;

use std::time::Duration;

use mirilla_domain::code::{EndReason, RejectReason};
use mirilla_domain::gate::CheckReport;
use mirilla_domain::ids::{AttemptNo, JobId, ReviewId, Sha256Hex, sha256};
use mirilla_domain::job::{Claim, Job, JobCheck, JobState, MAX_TRIES, Stage};
use mirilla_domain::marker::MarkerKey;
use mirilla_domain::plan::{self, ReadReview};
use mirilla_domain::redact::Redactor;
use mirilla_domain::review::Outcome;
use mirilla_domain::settings::{BrokenSettings, OperatorPolicy, Policy};
use mirilla_domain::signal::{OddFindings, Signal};
use mirilla_domain::snapshot::PullRequest;
use mirilla_ports::ledger::{Claimed, Transaction};
use mirilla_ports::message::Message;
use mirilla_ports::queue::QueueName;
use mirilla_ports::{
    ArtifactError, Artifacts, Clock, Entropy, ForgeChecks, ForgeError, ForgeRead, ForgeResolve,
    ForgeWrite, Ledger, QueueSend,
};

use crate::collect::{calls_left, subject};
use crate::error::StageError;
use crate::live;
use crate::report::{Report, STALE};
pub use acknowledge::acknowledge;
pub use check::check;
pub use group::merge_group;

/// Largest findings file that is looked at: one byte more than the plan's own bound, so that a file past
/// it is told apart from one within.
const MAX_FINDINGS_BYTES: u64 = 4 * 1024 * 1024 + 1;

/// Longer than the longest posting.
pub const POST_LEASE: Duration = Duration::from_secs(210);

/// What the poster may use.
#[derive(Clone, Copy)]
pub struct PostPorts<'a> {
    /// Jobs.
    pub ledger: &'a dyn Ledger,
    /// Findings and snapshots.
    pub artifacts: &'a dyn Artifacts,
    /// Collect messages for heads that were found live.
    pub queue: &'a dyn QueueSend,
    /// The forge, reading.
    pub read: &'a dyn ForgeRead,
    /// The forge, writing.
    pub write: &'a dyn ForgeWrite,
    /// Checks on the forge; used only where there is a gate.
    pub checks: &'a dyn ForgeChecks,
    /// Resolves threads; only where the operator opted into it.
    pub resolve: Option<&'a dyn ForgeResolve>,
    /// Time.
    pub clock: &'a dyn Clock,
    /// Claim tokens.
    pub entropy: &'a dyn Entropy,
}

impl std::fmt::Debug for PostPorts<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("PostPorts")
    }
}

/// What the operator decides about posting.
#[derive(Debug, Clone)]
pub struct PostSettings {
    /// The operator's policy; the repository's settings can only make it stricter.
    pub policy: OperatorPolicy,
    /// The key that markers are signed with.
    pub marker_key: MarkerKey,
    /// Knows the secrets of this process, so that they are never posted.
    pub redactor: Redactor,
    /// How long a write whose answer was lost may still land.
    pub write_grace: Duration,
    /// What is kept of a run.
    pub keep_runs: KeepRuns,
}

/// What is kept of a run, so that its plan can be made again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeepRuns {
    /// Nothing.
    No,
    /// The diff, the review, the plan and what else it was made from. The reviewer's record stays where the
    /// reviewer wrote it: this poster may not read there.
    WithoutRecord,
    /// The reviewer's record too.
    Whole,
}

/// Posts what a findings file says, or what there is without one.
pub async fn post(
    ports: PostPorts<'_>,
    settings: &PostSettings,
    id: &JobId,
    attempt: AttemptNo,
    findings: Option<&str>,
) -> Result<Report, StageError> {
    let now = ports.clock.now();
    let claim = Claim {
        stage: Stage::Post,
        token: ports.entropy.hex(16),
        until: now.plus(POST_LEASE),
    };
    let states: &[JobState] = if findings.is_some() {
        &[JobState::Collected, JobState::Reviewed]
    } else {
        &[
            JobState::Accepted,
            JobState::Queued,
            JobState::Collected,
            JobState::Reviewed,
        ]
    };
    let job = match ports.ledger.claim(id, states, claim, now).await? {
        Claimed::Granted(job) => *job,
        Claimed::Busy(until) => {
            return Err(StageError::Busy {
                what: "the job",
                after: until.since(now),
            });
        }
        Claimed::Unknown => return Err(StageError::UnknownJob),
        Claimed::NotNow(_) => {
            check::finish(ports, settings, id).await?;
            return count::unclaimed(ports, id, attempt, findings).await;
        }
    };
    let mut work = Posting {
        ports,
        settings,
        job,
        last_review: None,
        paused: false,
        judged: None,
    };
    let done = if work.job.attempt == attempt {
        work.run(findings).await
    } else {
        Ok(Ran::Stale(findings.map(|_| OddFindings::GivenUpTry)))
    };
    match done {
        Ok(Ran::Ended(report)) => {
            let report = check::after(&mut work, report).await?;
            Ok(report.counting_all(calls_left(ports.read)))
        }
        Ok(Ran::Stale(odd)) => {
            work.release().await?;
            Ok(Report::on(&work.job, STALE).counting_all(odd.map(Signal::OddFindings)))
        }
        Err(error) => {
            // The claim would lapse by itself; giving it up lets the next try begin at once.
            drop(work.release().await);
            Err(error)
        }
    }
}

/// What became of a message.
enum Ran {
    /// The job ended, or goes on elsewhere.
    Ended(Report),
    /// It is of no interest any more, perhaps because its findings do not fit the job.
    Stale(Option<OddFindings>),
}

/// Returns what the body says about settings.
pub fn settings_notes(policy: &Policy) -> Vec<String> {
    let mut notes = Vec::new();
    match policy.broken_settings {
        None => {}
        Some(BrokenSettings::IgnoreKnown) => notes.push(
            "The repository's `.mirilla.toml` has errors; what could be read of it applies. `mirilla config check` names them."
                .to_owned(),
        ),
        Some(BrokenSettings::IgnoreUnknown) => notes.push(
            "The repository's `.mirilla.toml` has errors in its ignore rules, so no file was sent to the model. `mirilla config check` names them."
                .to_owned(),
        ),
    }
    for overruled in &policy.overruled {
        notes.push(format!(
            "`{}` in `.mirilla.toml` may only be stricter than the operator's; {} applies.",
            overruled.key, overruled.applies
        ));
    }
    notes
}

/// A findings file.
#[derive(Clone, Copy)]
struct Read<'a> {
    /// Its bytes.
    bytes: Option<&'a [u8]>,
    /// What could be read of it.
    review: Option<&'a ReadReview>,
}

/// One job being posted. Its row is written again at every step, so `job` is always the newest.
struct Posting<'a> {
    ports: PostPorts<'a>,
    settings: &'a PostSettings,
    job: Job,
    /// Our latest review on the pull request, as the ledger knows it.
    last_review: Option<ReviewId>,
    /// Whether somebody paused the reviews of the pull request.
    paused: bool,
    /// What the check says of the review that is being posted.
    judged: Option<CheckReport>,
}

impl Posting<'_> {
    async fn run(&mut self, findings: Option<&str>) -> Result<Ran, StageError> {
        let bytes = match findings {
            None => None,
            Some(key) => match self.ports.artifacts.get(key, MAX_FINDINGS_BYTES).await {
                Ok(bytes) => Some(bytes),
                // A file too large to be ours is as good as one that cannot be read.
                Err(ArtifactError::TooLarge { .. }) => Some(Vec::new()),
                Err(error) => return Err(error.into()),
            },
        };
        if let Some(bytes) = &bytes {
            let digest = sha256(bytes);
            match &self.job.findings_sha256 {
                Some(accepted) if *accepted != digest => {
                    return Ok(Ran::Stale(Some(OddFindings::OtherHash)));
                }
                _ => self.accept(digest).await?,
            }
        }
        let mut unreadable = None;
        let review = match &bytes {
            None => None,
            Some(bytes) => match plan::read_review(bytes) {
                Ok(review) => Some(review),
                Err(error) if error.is_newer() => return Err(StageError::NewerSchema),
                // A file that cannot be read says nothing: the floor is posted, and the review failed.
                Err(_unusable) => {
                    unreadable = Some(Signal::Rejected {
                        reason: RejectReason::Unreadable,
                        count: 1,
                    });
                    None
                }
            },
        };
        let record = lease::take(self.ports, (&self.job).into()).await?;
        self.last_review = record.last_posted.map(|posted| posted.review_id);
        self.paused = record.paused;
        let read = Read {
            bytes: bytes.as_deref(),
            review: review.as_ref(),
        };
        let mut done = self.leased(read).await;
        if let Err(StageError::Forge(ForgeError::Forbidden { .. })) = done {
            done = self.end(JobState::Failed, EndReason::WriteForbidden).await;
        }
        lease::give_up(self.ports, (&self.job).into()).await?;
        done.map(|report| Ran::Ended(report.counting_all(unreadable)))
    }

    async fn accept(&mut self, digest: Sha256Hex) -> Result<(), StageError> {
        let job = Job {
            state: JobState::Reviewed,
            findings_sha256: Some(digest),
            ..self.job.clone()
        };
        self.rewrite(job).await
    }

    async fn leased(&mut self, read: Read<'_>) -> Result<Report, StageError> {
        let review = read.review;
        self.wait_for_lost_write()?;
        let live = match self
            .ports
            .read
            .pull_request(&self.job.repo_name, &self.job.key.pull_request())
            .await
        {
            Ok(live) => live,
            Err(ForgeError::NotFound { .. }) => {
                return self.end(JobState::Skipped, EndReason::Gone).await;
            }
            Err(error) => return Err(error.into()),
        };
        if let Some(report) = self.not_for_us(&live).await? {
            return Ok(report);
        }
        if review.is_some_and(|read| read.review.outcome == Outcome::Superseded) {
            return self.read_again().await;
        }
        let fetched = self.fresh_diff(&live).await?;
        let existing = self.existing(&live).await?;
        let basis = self.basis(&live, &fetched, read).await?;
        let mut plan = basis.plan(self, &existing).await;
        drop(existing);
        let counted = count::of_plan(&plan, review);
        self.judged = plan.check.take();
        if let (Some(report), Some(check)) = (&self.judged, JobCheck::of(&live, &basis.policy)) {
            // One name for its whole life: a second one would leave the first running.
            let before = self.job.check.as_ref();
            self.job.check = Some(JobCheck {
                name: before.map_or(check.name, |before| before.name),
                begun: before.is_some_and(|before| before.begun),
                verdict: Some(report.verdict.clone()),
                ..check
            });
        }
        let report = apply::apply(self, &live, plan, &basis).await?;
        Ok(report.counting_all(counted))
    }

    /// A write of an earlier try may still land; only after that can be seen what is there.
    fn wait_for_lost_write(&self) -> Result<(), StageError> {
        let Some(since) = self.job.posting_since else {
            return Ok(());
        };
        let until = since.plus(self.settings.write_grace);
        let now = self.ports.clock.now();
        if now < until {
            Err(StageError::MayHaveLanded {
                after: until.since(now),
            })
        } else {
            Ok(())
        }
    }

    /// Ends the job if the pull request as it is now is not one to post to.
    async fn not_for_us(&mut self, live: &PullRequest) -> Result<Option<Report>, StageError> {
        let reason = if live.head != self.job.key.head {
            EndReason::HeadMoved
        } else if live.base_ref != self.job.key.base_ref {
            EndReason::BaseChanged
        } else if !live.open {
            return self
                .end(JobState::Skipped, EndReason::Closed)
                .await
                .map(Some);
        } else if live.draft && !self.job.sponsored {
            return self
                .end(JobState::Skipped, EndReason::Draft)
                .await
                .map(Some);
        } else if self.paused && !self.job.sponsored {
            return self
                .end(JobState::Skipped, EndReason::Paused)
                .await
                .map(Some);
        } else {
            return Ok(None);
        };
        let next = live::follow(
            self.ports.ledger,
            live,
            Some((&self.job, reason)),
            self.ports.clock.now(),
        )
        .await?;
        if let Some(next) = next {
            self.ports
                .queue
                .send(
                    QueueName::Collect,
                    &Message::CollectV1 { job: next },
                    Duration::ZERO,
                )
                .await?;
        }
        if self.job.check.is_some() {
            // Its row was written beside the successor's; its check is still to be ended.
            let job = self.ports.ledger.job(&self.job.id).await?;
            self.job = job.ok_or(StageError::UnknownJob)?;
        }
        Ok(Some(self.told(JobState::Superseded, reason)))
    }

    /// The reviewer stopped because it took another head for the newest, which the forge denies.
    async fn read_again(&mut self) -> Result<Report, StageError> {
        if self.job.tries >= MAX_TRIES {
            return self
                .end(JobState::Failed, EndReason::AttemptsExhausted)
                .await;
        }
        let job = Job {
            state: JobState::Queued,
            attempt: self.job.attempt.next(),
            tries: self.job.tries.saturating_add(1),
            findings_sha256: None,
            claim: None,
            ..self.job.clone()
        };
        let id = job.id.clone();
        self.rewrite(job).await?;
        self.ports
            .queue
            .send(
                QueueName::Collect,
                &Message::CollectV1 { job: id.clone() },
                Duration::ZERO,
            )
            .await?;
        Ok(Report::on(&self.job, "read-again"))
    }

    async fn end(&mut self, state: JobState, reason: EndReason) -> Result<Report, StageError> {
        let ended = live::ended(&self.job, state, reason, self.ports.clock.now());
        self.rewrite(ended).await?;
        Ok(self.told(state, reason))
    }

    fn told(&self, state: JobState, reason: EndReason) -> Report {
        Report::on(&self.job, state.as_str())
            .counting(Signal::Ended { state })
            .line(format!(
                "{} {}: {}",
                subject(&self.job),
                state.as_str(),
                reason.explain()
            ))
    }

    /// Writes the job's row.
    async fn rewrite(&mut self, job: Job) -> Result<(), StageError> {
        let job = Job {
            updated_at: self.ports.clock.now(),
            ..job
        };
        let transaction = Transaction {
            jobs: vec![job.clone()],
            ..Transaction::default()
        };
        live::committed(self.ports.ledger, transaction).await?;
        self.job = Job {
            version: job.version.saturating_add(1),
            ..job
        };
        Ok(())
    }

    async fn release(&mut self) -> Result<(), StageError> {
        if self.job.claim.is_none() {
            return Ok(());
        }
        let job = Job {
            claim: None,
            ..self.job.clone()
        };
        self.rewrite(job).await
    }
}
