//! `mirilla review --keep DIR`: the same review as without it, and the run as files.
//!
//! A bench keeps its objects to itself, so a run that is kept has a store of its own.
//!
//! **Invariant:** what is kept is what the review stage wrote and what the plan was made from, byte for byte.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Result};
use async_trait::async_trait;
use mirilla_domain::checks;
use mirilla_domain::ids::{
    AttemptNo, BranchName, CommitSha, Forge, PrNumber, PullRequestRef, RepoId, RepoName, sha256,
};
use mirilla_domain::marker::MarkerKey;
use mirilla_domain::plan::{self, FreshDiff, JobFacts, PlanInput, PlanPolicy};
use mirilla_domain::price::PriceTable;
use mirilla_domain::redact::{Haystack, Redactor};
use mirilla_domain::settings::OperatorPolicy;
use mirilla_domain::snapshot::{Keys, PullRequest, SnapshotMeta};
use mirilla_domain::thread::Existing;
use mirilla_local::{DataDir, DirArtifacts, LocalMeter};
use mirilla_ports::{Artifacts as _, Clock as _, Heads, LedgerError, OpenSource};
use mirilla_stages::review::{self, ReviewOrder, ReviewPorts, ReviewSettings, effective_policy};
use mirilla_system::{OsEntropy, SystemClock};

use crate::git;
use crate::rehearsal::{Bench, Reader, Rehearsed, Subject};
use crate::run_folder::{DIFF, META, PLAN, PLAN_INPUT, REVIEW, RULES, RUN, RunFolder};

/// The longest one review may take.
const LIMIT: Duration = Duration::from_secs(600);

/// The files of a run that the reviewer wrote or read.
struct Files {
    /// The review, as the reviewer wrote it.
    review: Vec<u8>,
    /// The record, if a model was asked.
    run: Option<Vec<u8>>,
    /// The snapshot's description, if there is a snapshot.
    meta: Option<Vec<u8>>,
}

/// Who is told how it goes on.
type Watch<'a> = &'a (dyn Fn(&str) + Send + Sync);

/// Reviews a change and writes the run into a folder.
pub(super) fn rehearse(
    subject: Subject,
    reader: Option<&Reader<'_>>,
    operator: &OperatorPolicy,
    watch: Watch<'_>,
    folder: &RunFolder,
) -> Result<Rehearsed> {
    let policy = effective_policy(operator, &subject.trusted);
    let job = facts(&subject);
    let files = match reader {
        Some(reader) => asked(&subject, &job, reader, operator, watch)?,
        // What is written without a model does not hang on where it is written.
        None => Files {
            review: serde_json::to_vec(&unasked(&subject, operator, watch)?.review)?,
            run: None,
            meta: None,
        },
    };
    let read = plan::read_review(&files.review).context("the findings cannot be read")?;
    let parsed = mirilla_diff::parse(&subject.diff);
    let floor = checks::floor(&parsed.files);
    let secret = reader.and_then(|reader| reader.secret);
    let input = PlanInput {
        job: &job,
        diff: &FreshDiff::of(&parsed.files, &[], None),
        review: Some(&read),
        floor: &floor,
        existing: &Existing::default(),
        recorded: &BTreeSet::new(),
        last_review: None,
        policy: &PlanPolicy::from(&policy),
        notes: &[],
        redactor: &Redactor::new(secret.map(|secret| ("model-key", secret))),
        public: &Haystack::new([subject.diff.as_slice()]),
        key: &MarkerKey::new(plan::INSPECT_KEY)?,
    };
    let plan = plan::plan(&input);
    let run = files.run.as_deref();
    let diff = (subject.diff.as_slice(), [].as_slice());
    let kept = plan::keep(&input, diff, Some(&files.review), run, &plan)
        .context("the run cannot be kept")?;
    folder.write(DIFF, &subject.diff)?;
    folder.write(RULES, &serde_json::to_vec(&subject.trusted)?)?;
    if let Some(meta) = &files.meta {
        folder.write(META, meta)?;
    }
    if let Some(run) = run {
        folder.write(RUN, run)?;
    }
    folder.write(REVIEW, &files.review)?;
    folder.write(PLAN_INPUT, &kept.input)?;
    folder.write(PLAN, &kept.plan)?;
    Ok(Rehearsed {
        name: subject.name,
        diff: subject.diff,
        review: read.review,
        plan,
    })
}

/// Returns what a bench says without a model.
fn unasked(subject: &Subject, operator: &OperatorPolicy, watch: Watch<'_>) -> Result<Rehearsed> {
    let copy = Subject {
        job: subject.job.clone(),
        name: subject.name.clone(),
        diff: subject.diff.clone(),
        trusted: subject.trusted.clone(),
        head: subject.head.clone(),
        base: subject.base.clone(),
        repo: None,
    };
    Bench::set_up()?.rehearse(copy, None, operator, watch)
}

/// Lets the model read the change, through the review stage.
fn asked(
    subject: &Subject,
    job: &JobFacts,
    reader: &Reader<'_>,
    operator: &OperatorPolicy,
    watch: Watch<'_>,
) -> Result<Files> {
    let scratch = tempfile::tempdir().context("no temporary directory")?;
    let data = DataDir::create(scratch.path())?;
    let artifacts = DirArtifacts::open(&data.artifacts())?;
    let meter = LocalMeter::open(&data.meter())?;
    let entropy = Arc::new(OsEntropy::open()?);
    let repo = subject.repo.as_ref();
    let files = repo.map(|repo| git::CommitFiles::new(repo, subject.head.as_str()));
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    runtime.block_on(async {
        store_snapshot(&artifacts, subject, job).await?;
        let ports = ReviewPorts {
            artifacts: &artifacts,
            meter: &meter,
            heads: &OnlyHead,
            model: Some(reader.model),
            files: files.as_ref().map(|files| -> &dyn OpenSource { files }),
            clock: &SystemClock,
            entropy: entropy.as_ref(),
            note: watch,
            looked: &|look| watch(&look.line()),
            // A person reads the bill; nobody graphs it.
            count: &|_about, _signal| (),
        };
        let settings = ReviewSettings {
            policy: operator.clone(),
            prices: PriceTable::shipped(),
            redactor: Redactor::new(reader.secret.map(|secret| ("model-key", secret))),
            limit: LIMIT,
        };
        let order = ReviewOrder {
            job: job.job.clone(),
            attempt: job.attempt,
            purses: reader.purses.clone(),
            receive_count: 1,
            last_try: true,
        };
        let reviewed = review::review(ports, &settings, &order).await;
        reviewed.context("the change could not be reviewed")?;
        let review = Keys::findings(&job.job, job.attempt);
        let run = Keys::run(&job.job, job.attempt);
        Ok(Files {
            review: artifacts.get(&review, u64::MAX).await?,
            // What a review is worth does not hang on its record.
            run: artifacts.get(&run, u64::MAX).await.ok(),
            meta: Some(artifacts.get(&Keys::meta(&job.job), u64::MAX).await?),
        })
    })
}

fn facts(subject: &Subject) -> JobFacts {
    JobFacts {
        job: subject.job.clone(),
        attempt: AttemptNo::FIRST,
        pull_request: PullRequestRef {
            forge: Forge::Github,
            repo: RepoId::new(0),
            pr: PrNumber::new(0),
        },
        head: subject.head.clone(),
        merge_base: subject.base.clone(),
    }
}

async fn store_snapshot(artifacts: &DirArtifacts, subject: &Subject, job: &JobFacts) -> Result<()> {
    let rules = serde_json::to_vec(&subject.trusted)?;
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
            labels: Vec::new(),
            changed_files: 0,
        },
        merge_base: subject.base.clone(),
        diff: artifacts.put(&Keys::diff(&job.job), &subject.diff).await?,
        diff_sha256: sha256(&subject.diff),
        rules: artifacts.put(&Keys::rules(&job.job), &rules).await?,
        rules_commit: subject.trusted.commit.clone(),
        prior: None,
        archive: None,
        missing: Vec::new(),
        taken_at: SystemClock.now(),
    };
    let meta = serde_json::to_vec(&meta)?;
    artifacts.put(&Keys::meta(&job.job), &meta).await?;
    Ok(())
}

/// A local range has one head for as long as it is read.
struct OnlyHead;

#[async_trait]
impl Heads for OnlyHead {
    async fn newest(&self, _id: &PullRequestRef) -> Result<Option<CommitSha>, LedgerError> {
        Ok(None)
    }
}
