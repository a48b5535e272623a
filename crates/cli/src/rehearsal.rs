//! A review that stays on this machine: the review stage over a snapshot in a temporary directory, then
//! the plan. `mirilla review` and `mirilla eval` both are this; `mirilla review --snapshot` is its first half.
//!
//! **Invariant:** what is run is the reviewer's and the poster's own code, and nothing is posted.

mod keep;

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;

use anyhow::{Context as _, Result};
use async_trait::async_trait;
use mirilla_domain::checks;
use mirilla_domain::chunk::plan_chunks;
use mirilla_domain::ids::{
    AttemptNo, BranchName, CommitSha, Forge, JobId, PrNumber, PullRequestRef, RepoId, RepoName,
    sha256,
};
use mirilla_domain::marker::MarkerKey;
use mirilla_domain::money::{CappedPurse, PicoUsd, Usage};
use mirilla_domain::plan::{self, FreshDiff, JobFacts, Plan, PlanInput, PlanPolicy};
use mirilla_domain::price::PriceTable;
use mirilla_domain::redact::{Haystack, Redactor};
use mirilla_domain::review::{Outcome, REVIEW_SCHEMA, Review};
use mirilla_domain::settings::{OperatorPolicy, Policy};
use mirilla_domain::snapshot::{Keys, PullRequest, SnapshotMeta, TrustedFiles};
use mirilla_domain::thread::Existing;
use mirilla_local::{DataDir, DirArtifacts, LocalMeter};
use mirilla_model::{AnthropicModel, AnthropicSettings, BedrockModel, BedrockSettings};
use mirilla_ports::{Artifacts, Clock, Heads, LedgerError, Model, OpenSource};
use mirilla_stack::Session;
use mirilla_stages::error::StageError;
use mirilla_stages::post::settings_notes;
use mirilla_stages::report::Report;
use mirilla_stages::review::{
    self, Look, ReviewOrder, ReviewPorts, ReviewSettings, effective_policy,
};
use mirilla_system::{OsEntropy, SystemClock};

use crate::failure::Failure;
use crate::git;
use crate::settings::Provider;

/// The longest one review may take.
const LIMIT: std::time::Duration = std::time::Duration::from_secs(600);

/// What is reviewed.
pub(crate) struct Subject {
    /// Its job; no two of one bench may be the same.
    pub(crate) job: JobId,
    /// How it is called.
    pub(crate) name: String,
    /// The diff's bytes.
    pub(crate) diff: Vec<u8>,
    /// Settings and rules.
    pub(crate) trusted: TrustedFiles,
    /// The commit that is reviewed.
    pub(crate) head: CommitSha,
    /// The commit it is compared with.
    pub(crate) base: CommitSha,
    /// The repository, if the change is one of its commits.
    pub(crate) repo: Option<PathBuf>,
}

/// Who reads it, and who pays.
pub(crate) struct Reader<'a> {
    /// The model.
    pub(crate) model: &'a dyn Model,
    /// A secret of this process that must not be written down.
    pub(crate) secret: Option<&'a str>,
    /// What each call is paid from.
    pub(crate) purses: Vec<CappedPurse>,
}

/// A snapshot that is stored, and who watches it being read.
pub(crate) struct Stored<'a> {
    /// Holds the snapshot, and takes what is found.
    pub(crate) artifacts: &'a dyn Artifacts,
    /// Opens the head's files for the model's tools.
    pub(crate) files: Option<&'a dyn OpenSource>,
    /// The job.
    pub(crate) job: &'a JobId,
    /// The try.
    pub(crate) attempt: AttemptNo,
    /// Takes a line for the person who watches.
    pub(crate) watch: &'a (dyn Fn(&str) + Send + Sync),
    /// Takes what the model looked up.
    pub(crate) looked: &'a (dyn Fn(&Look) + Send + Sync),
}

/// What came of it.
pub(crate) struct Rehearsed {
    /// How the change is called.
    pub(crate) name: String,
    /// The diff's bytes.
    pub(crate) diff: Vec<u8>,
    /// What the reviewer wrote.
    pub(crate) review: Review,
    /// What would be posted.
    pub(crate) plan: Plan,
    /// What is to be said about the repository's settings.
    pub(crate) notes: Vec<String>,
    /// Why the run is not in the folder to keep.
    pub(crate) unkept: Option<anyhow::Error>,
}

/// What the review stage wrote and read, byte for byte.
struct Files {
    /// The review.
    review: Vec<u8>,
    /// The record, if a model was asked.
    run: Option<Vec<u8>>,
    /// The snapshot's description, if there is a snapshot.
    meta: Option<Vec<u8>>,
}

/// The review that a person stopped.
fn interrupted() -> Failure {
    Failure::interrupted("the review was stopped before it was done").hint(
        "the provider may charge for the call that was under way; `mirilla review` begins anew",
    )
}

/// Everything around a review that lives as long as this process.
///
/// One runtime for all of them: a connection that is kept open belongs to the runtime it was opened on.
pub(crate) struct Bench {
    runtime: tokio::runtime::Runtime,
    artifacts: DirArtifacts,
    meter: LocalMeter,
    clock: Arc<SystemClock>,
    entropy: Arc<OsEntropy>,
    /// Removed when it is dropped, so after everything in it.
    _scratch: tempfile::TempDir,
}

impl Bench {
    /// Makes a bench in a temporary directory.
    pub(crate) fn set_up() -> Result<Self> {
        Self::set_up_in(tempfile::tempdir().context("no temporary directory")?)
    }

    /// Makes a bench in a directory that goes with it.
    pub(crate) fn set_up_in(scratch: tempfile::TempDir) -> Result<Self> {
        let data = DataDir::create(scratch.path())?;
        Ok(Self {
            runtime: tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()?,
            artifacts: DirArtifacts::open(&data.artifacts())?,
            meter: LocalMeter::open(&data.meter())?,
            clock: Arc::new(SystemClock),
            entropy: Arc::new(OsEntropy::open()?),
            _scratch: scratch,
        })
    }

    /// Returns the time.
    pub(crate) fn clock(&self) -> &dyn Clock {
        self.clock.as_ref()
    }

    /// Returns the model that is asked.
    pub(crate) fn model(
        &self,
        provider: &Provider,
        operator: &OperatorPolicy,
    ) -> Result<Box<dyn Model>> {
        let clock = Arc::<SystemClock>::clone(&self.clock);
        let entropy = Arc::<OsEntropy>::clone(&self.entropy);
        let model = operator.model.clone();
        Ok(match provider {
            Provider::Messages(access) => {
                let key = access.api_key.to_secret_string();
                let mut anthropic = AnthropicSettings::new(access.endpoint.clone(), key, model);
                anthropic.max_tokens = operator.max_tokens;
                Box::new(AnthropicModel::new(anthropic, clock, entropy)?)
            }
            Provider::Bedrock { model_id } => {
                let mut bedrock = BedrockSettings::new(model_id, model);
                bedrock.max_tokens = operator.max_tokens;
                let session = self.runtime.block_on(Session::open())?;
                Box::new(BedrockModel::new(
                    bedrock,
                    session.config(),
                    clock,
                    entropy,
                )?)
            }
        })
    }

    /// Reviews a change; without a reader only the deterministic checks say something.
    ///
    /// What came of it is read and planned as the poster does it, and written into the folder to keep.
    pub(crate) fn rehearse(
        &self,
        subject: Subject,
        reader: Option<&Reader<'_>>,
        operator: &OperatorPolicy,
        watch: &(dyn Fn(&str) + Send + Sync),
        keep: Option<&crate::run_folder::RunFolder>,
    ) -> Result<Rehearsed> {
        let policy = effective_policy(operator, &subject.trusted);
        let job = JobFacts {
            job: subject.job.clone(),
            attempt: AttemptNo::FIRST,
            pull_request: PullRequestRef {
                forge: Forge::Github,
                repo: RepoId::new(0),
                pr: PrNumber::new(0),
            },
            head: subject.head.clone(),
            merge_base: subject.base.clone(),
        };
        let files = match reader {
            Some(reader) => {
                self.unless_stopped(self.asked(&subject, &job, reader, operator, watch))?
            }
            None => Files {
                review: serde_json::to_vec(&unasked(&subject, &job, &policy))?,
                run: None,
                meta: None,
            },
        };
        let read = plan::read_review(&files.review).context("the findings cannot be read")?;
        let parsed = mirilla_diff::parse(&subject.diff);
        let floor = checks::floor(&parsed.files);
        let secret = reader.and_then(|reader| reader.secret);
        let notes = settings_notes(&policy);
        let input = PlanInput {
            job: &job,
            diff: &FreshDiff::of(&parsed.files, &[], None),
            review: Some(&read),
            floor: &floor,
            existing: &Existing::default(),
            recorded: &BTreeSet::new(),
            last_review: None,
            policy: &PlanPolicy::from(&policy),
            notes: &notes,
            redactor: &Redactor::new(secret.map(|secret| ("model-key", secret))),
            public: &Haystack::new([subject.diff.as_slice()]),
            key: &MarkerKey::new(plan::INSPECT_KEY)?,
        };
        let plan = plan::plan(&input);
        // The review was paid for, and is shown all the same.
        let unkept =
            keep.and_then(|folder| keep::write(folder, &subject, &files, &input, &plan).err());
        Ok(Rehearsed {
            name: subject.name,
            diff: subject.diff,
            review: read.review,
            plan,
            notes,
            unkept,
        })
    }

    /// Runs something to its end, unless a person stops it first.
    pub(crate) fn unless_stopped<T>(&self, work: impl Future<Output = Result<T>>) -> Result<T> {
        self.runtime.block_on(async {
            tokio::select! {
                done = work => done,
                // Ending here and not by the signal takes the diff in the temporary directory along.
                stopped = tokio::signal::ctrl_c() => {
                    stopped?;
                    Err(interrupted().into())
                }
            }
        })
    }

    /// Runs the review stage over a stored snapshot; without a reader it only says that nothing was read.
    pub(crate) async fn read(
        &self,
        stored: Stored<'_>,
        reader: Option<&Reader<'_>>,
        operator: &OperatorPolicy,
    ) -> Result<Report, StageError> {
        let ports = ReviewPorts {
            artifacts: stored.artifacts,
            meter: &self.meter,
            heads: &OnlyHead,
            model: reader.map(|reader| reader.model),
            files: stored.files,
            clock: self.clock.as_ref(),
            entropy: self.entropy.as_ref(),
            note: stored.watch,
            looked: stored.looked,
            // A person reads the bill below; nobody graphs it.
            count: &|_about, _signal| (),
        };
        let secret = reader.and_then(|reader| reader.secret);
        let settings = ReviewSettings {
            policy: operator.clone(),
            prices: PriceTable::shipped(),
            redactor: Redactor::new(secret.map(|secret| ("model-key", secret))),
            limit: LIMIT,
        };
        let order = ReviewOrder {
            job: stored.job.clone(),
            attempt: stored.attempt,
            purses: reader.map_or_else(Vec::new, |reader| reader.purses.clone()),
            receive_count: 1,
            last_try: true,
        };
        review::review(ports, &settings, &order).await
    }

    /// Lets the model read the change, through the review stage.
    async fn asked(
        &self,
        subject: &Subject,
        job: &JobFacts,
        reader: &Reader<'_>,
        operator: &OperatorPolicy,
        watch: &(dyn Fn(&str) + Send + Sync),
    ) -> Result<Files> {
        let repo = subject.repo.as_ref();
        let files = repo.map(|repo| git::CommitFiles::new(repo, subject.head.as_str()));
        self.store_snapshot(subject, job).await?;
        let stored = Stored {
            artifacts: &self.artifacts,
            files: files.as_ref().map(|files| -> &dyn OpenSource { files }),
            job: &job.job,
            attempt: job.attempt,
            watch,
            looked: &|look| watch(&look.line()),
        };
        self.read(stored, Some(reader), operator)
            .await
            .map_err(|error| {
                anyhow::Error::new(error).context("the change could not be reviewed")
            })?;
        let review = Keys::findings(&job.job, job.attempt);
        let run = Keys::run(&job.job, job.attempt);
        Ok(Files {
            review: self.artifacts.get(&review, u64::MAX).await?,
            // What a review is worth does not hang on its record.
            run: self.artifacts.get(&run, u64::MAX).await.ok(),
            meta: Some(self.artifacts.get(&Keys::meta(&job.job), u64::MAX).await?),
        })
    }

    async fn store_snapshot(&self, subject: &Subject, job: &JobFacts) -> Result<()> {
        let artifacts = &self.artifacts;
        let diff = artifacts.put(&Keys::diff(&job.job), &subject.diff).await?;
        let rules = artifacts
            .put(
                &Keys::rules(&job.job),
                &serde_json::to_vec(&subject.trusted)?,
            )
            .await?;
        let branch = BranchName::parse("main")?;
        let meta = SnapshotMeta {
            schema: "mirilla.snapshot.v1".to_owned(),
            job: job.job.clone(),
            pull_request: PullRequest {
                id: job.pull_request,
                repo_name: RepoName::parse("local/preview")?,
                head: subject.head.clone(),
                base_ref: branch.clone(),
                base: subject.base.clone(),
                default_branch: branch,
                open: true,
                draft: false,
                from_fork: false,
                title: String::new(),
                description: String::new(),
                author: None,
                author_is_bot: false,
                author_is_outsider: false,
                labels: Vec::new(),
                changed_files: 0,
            },
            merge_base: subject.base.clone(),
            diff,
            diff_sha256: sha256(&subject.diff),
            rules,
            rules_commit: subject.trusted.commit.clone(),
            prior: None,
            archive: None,
            missing: Vec::new(),
            taken_at: self.clock.now(),
        };
        artifacts
            .put(&Keys::meta(&job.job), &serde_json::to_vec(&meta)?)
            .await?;
        Ok(())
    }
}

/// Returns the review of a change that no model is asked about.
fn unasked(subject: &Subject, job: &JobFacts, policy: &Policy) -> Review {
    let parsed = mirilla_diff::parse(&subject.diff);
    let coverage = plan_chunks(&parsed.files, &[], policy, policy.chunk_tokens).coverage(&[]);
    Review {
        schema: REVIEW_SCHEMA.to_owned(),
        job: job.job.clone(),
        attempt: job.attempt,
        head: job.head.clone(),
        summary: String::new(),
        findings: Vec::new(),
        outcome: Outcome::of(&coverage),
        coverage,
        rejected: Vec::new(),
        usage: Usage::default(),
        cost: PicoUsd::ZERO,
        model: String::new(),
        prompt_version: mirilla_domain::prompt::PROMPT_VERSION.to_owned(),
        turns: 0,
        tool_calls: 0,
        sight: None,
    }
}

/// A local range has one head for as long as it is read.
struct OnlyHead;

#[async_trait]
impl Heads for OnlyHead {
    async fn newest(&self, _id: &PullRequestRef) -> Result<Option<CommitSha>, LedgerError> {
        Ok(None)
    }
}
