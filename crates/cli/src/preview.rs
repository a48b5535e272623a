//! `mirilla review`: what a review would say about a range or a patch; nothing is posted.
//!
//! It runs the reviewer's and the poster's own code: the review stage over a snapshot in a temporary
//! directory, then the plan. Without a key the model is left out and everything else is the same.
//!
//! **Invariant:** operator settings come from the user, never from the reviewed tree; the repository's
//! own settings are read at the base commit.

mod print;

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::process::ExitCode;
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
use mirilla_domain::money::{CappedPurse, PicoUsd, Purse, Usage};
use mirilla_domain::plan::{self, FreshDiff, JobFacts, Plan, PlanInput, PlanPolicy, ReadReview};
use mirilla_domain::price::PriceTable;
use mirilla_domain::redact::{Haystack, Redactor};
use mirilla_domain::review::{Outcome, REVIEW_SCHEMA, Review};
use mirilla_domain::settings::OperatorPolicy;
use mirilla_domain::snapshot::{
    Keys, PullRequest, RepoFile, SnapshotMeta, TRUSTED_PATHS, TrustedFiles,
};
use mirilla_domain::thread::Existing;
use mirilla_local::{DataDir, DirArtifacts, LocalMeter};
use mirilla_model::{AnthropicModel, AnthropicSettings};
use mirilla_ports::{Artifacts as _, Clock as _, Heads, LedgerError, OpenSource};
use mirilla_stages::review::{self, ReviewOrder, ReviewPorts, ReviewSettings, effective_policy};
use mirilla_system::{OsEntropy, SystemClock};

use crate::arguments;
use crate::failure::Failure;
use crate::git;
use crate::input::read;
use crate::output;
use crate::settings::{self, Environment, ModelAccess};

/// Exit code when there is a finding at or above `--fail-on`.
const FOUND: u8 = 10;

/// What is reviewed.
struct Subject {
    /// How it is called.
    name: String,
    diff: Vec<u8>,
    trusted: TrustedFiles,
    head: CommitSha,
    base: CommitSha,
    /// The repository, if the change is one of its commits.
    repo: Option<PathBuf>,
}

/// What came of it.
pub(crate) struct Previewed {
    /// How the change is called.
    pub(crate) name: String,
    /// The diff's bytes.
    pub(crate) diff: Vec<u8>,
    /// What the reviewer wrote.
    pub(crate) review: Review,
    /// What would be posted.
    pub(crate) plan: Plan,
}

/// Runs the command.
pub(crate) fn run(arguments: &arguments::Review, environment: &Environment) -> Result<ExitCode> {
    let (model, policy) = settings::preview(environment).map_err(|problems| {
        Failure::usage(format!(
            "the settings cannot be used: {}",
            problems.join("; ")
        ))
    })?;
    let model = model.filter(|_| !arguments.no_model);
    let subject = Subject::of(arguments)?;
    if subject.diff.iter().all(u8::is_ascii_whitespace) {
        return Err(Failure::nothing("there is nothing to review: the change is empty").into());
    }
    let parsed = mirilla_diff::parse(&subject.diff);
    for problem in &parsed.problems {
        output::worker_line(&format!("note: {}: {problem}", subject.name));
    }
    if parsed.files.is_empty() {
        return Err(Failure::new(format!("there is no diff in {}", subject.name))
            .hint("give the output of `git diff` or `git show`; a patch names its files in lines that begin with `diff --git` or `---`")
            .into());
    }
    if model.is_none() {
        let why = if arguments.no_model {
            "asked not to"
        } else {
            "ANTHROPIC_API_KEY is not set"
        };
        output::note(&format!(
            "no model is asked ({why}); only the deterministic checks run"
        ));
    }
    let previewed = preview(
        subject,
        model.as_ref(),
        &policy,
        output::is_interactive(environment),
    )?;
    match arguments.format {
        arguments::Format::Text => print::text(&previewed),
        arguments::Format::Json => print::json(&previewed)?,
        arguments::Format::Sarif => print::sarif(&previewed)?,
        arguments::Format::Codequality => print::codequality(&previewed)?,
        arguments::Format::Html => print::html(&previewed),
    }
    let worst = print::worst(&previewed);
    Ok(match (arguments.fail_on, worst) {
        (Some(threshold), Some(worst)) if worst >= threshold => ExitCode::from(FOUND),
        _ => ExitCode::SUCCESS,
    })
}

impl Subject {
    fn of(arguments: &arguments::Review) -> Result<Self> {
        if let Some(patch) = &arguments.patch {
            let diff = read(patch)?;
            let name = if patch.as_os_str() == "-" {
                "standard input".to_owned()
            } else {
                patch.display().to_string()
            };
            let nowhere = CommitSha::parse(&"0".repeat(40))?;
            let trusted = TrustedFiles {
                commit: nowhere.clone(),
                files: Vec::new(),
            };
            return Ok(Self {
                name,
                diff,
                trusted,
                head: nowhere.clone(),
                base: nowhere,
                repo: None,
            });
        }
        let range = match &arguments.base {
            Some(base) => git::Range::resolve(&arguments.repo, base, &arguments.head)?,
            None => git::Range::usual(&arguments.repo, &arguments.head)?,
        };
        let diff = git::diff(&arguments.repo, &range)?;
        let base = CommitSha::parse(&range.base)?;
        let head = CommitSha::parse(&range.head)?;
        let mut files = Vec::new();
        for path in TRUSTED_PATHS {
            let paths = if path.ends_with('/') {
                git::folder(&arguments.repo, &range.base, path)
            } else {
                vec![(*path).to_owned()]
            };
            for path in paths {
                if let Some(text) = git::file(&arguments.repo, &range.base, &path) {
                    files.push(RepoFile { path, text });
                }
            }
        }
        let name = format!("{}..{}", base.short(), head.short());
        Ok(Self {
            name,
            diff,
            trusted: TrustedFiles {
                commit: base.clone(),
                files,
            },
            head,
            base,
            repo: Some(arguments.repo.clone()),
        })
    }
}

fn preview(
    subject: Subject,
    model: Option<&ModelAccess>,
    operator: &OperatorPolicy,
    interactive: bool,
) -> Result<Previewed> {
    let policy = effective_policy(operator, &subject.trusted);
    let job = JobFacts {
        job: JobId::parse(&"0".repeat(32))?,
        attempt: AttemptNo::FIRST,
        pull_request: PullRequestRef {
            forge: Forge::Github,
            repo: RepoId::new(0),
            pr: PrNumber::new(0),
        },
        head: subject.head.clone(),
        merge_base: subject.base.clone(),
    };
    let review = match model {
        Some(access) => asked(&subject, &job, access, operator, interactive)?,
        None => unasked(&subject, &job, &policy),
    };
    let parsed = mirilla_diff::parse(&subject.diff);
    let floor = checks::floor(&parsed.files);
    let plan = plan::plan(&PlanInput {
        job: &job,
        diff: &FreshDiff::of(&parsed.files, &[], None),
        review: Some(&ReadReview {
            review: review.clone(),
            refused: Vec::new(),
            lost_coverage: 0,
        }),
        floor: &floor,
        existing: &Existing::default(),
        recorded: &BTreeSet::new(),
        last_review: None,
        policy: &PlanPolicy::from(&policy),
        notes: &[],
        redactor: &Redactor::new(model.map(|access| ("model-key", access.api_key.reveal()))),
        public: &Haystack::new([subject.diff.as_slice()]),
        key: &MarkerKey::new(plan::INSPECT_KEY)?,
    });
    Ok(Previewed {
        name: subject.name,
        diff: subject.diff,
        review,
        plan,
    })
}

/// Returns the review of a change that no model is asked about.
fn unasked(subject: &Subject, job: &JobFacts, policy: &mirilla_domain::settings::Policy) -> Review {
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
    }
}

/// Lets the model read the change, through the review stage.
fn asked(
    subject: &Subject,
    job: &JobFacts,
    access: &ModelAccess,
    operator: &OperatorPolicy,
    interactive: bool,
) -> Result<Review> {
    let scratch = tempfile::tempdir().context("no temporary directory")?;
    let data = DataDir::create(scratch.path())?;
    let artifacts = DirArtifacts::open(&data.artifacts())?;
    let meter = LocalMeter::open(&data.meter())?;
    let clock = Arc::new(SystemClock);
    let entropy = Arc::new(OsEntropy::open()?);
    let mut anthropic = AnthropicSettings::new(
        access.endpoint.clone(),
        access.api_key.to_secret_string(),
        operator.model.clone(),
    );
    anthropic.max_tokens = operator.max_tokens;
    let model = AnthropicModel::new(
        anthropic,
        Arc::<SystemClock>::clone(&clock),
        Arc::<OsEntropy>::clone(&entropy),
    )?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let repo = subject.repo.as_ref();
    let files = repo.map(|repo| git::CommitFiles::new(repo, subject.head.as_str()));
    let note = |line: &str| {
        if interactive {
            output::worker_line(line);
        }
    };
    runtime.block_on(async {
        store_snapshot(&artifacts, subject, job).await?;
        let ports = ReviewPorts {
            artifacts: &artifacts,
            meter: &meter,
            heads: &OnlyHead,
            model: Some(&model),
            files: files.as_ref().map(|files| -> &dyn OpenSource { files }),
            clock: clock.as_ref(),
            entropy: entropy.as_ref(),
            note: &note,
            looked: &|look| note(&look.line()),
            // A person reads the bill below; nobody graphs it.
            count: &|_about, _signal| (),
        };
        let settings = ReviewSettings {
            policy: operator.clone(),
            prices: PriceTable::shipped(),
            redactor: Redactor::new([("model-key", access.api_key.reveal())]),
            limit: std::time::Duration::from_secs(600),
        };
        let order = ReviewOrder {
            job: job.job.clone(),
            attempt: job.attempt,
            purses: vec![CappedPurse {
                purse: Purse::Review(job.job.clone()),
                cap: operator.max_usd,
            }],
            receive_count: 1,
            last_try: true,
        };
        review::review(ports, &settings, &order)
            .await
            .map_err(|error| {
                anyhow::Error::new(error).context("the change could not be reviewed")
            })?;
        let bytes = artifacts
            .get(&Keys::findings(&job.job, job.attempt), u64::MAX)
            .await?;
        serde_json::from_slice(&bytes).context("the findings cannot be read")
    })
}

async fn store_snapshot(artifacts: &DirArtifacts, subject: &Subject, job: &JobFacts) -> Result<()> {
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
        taken_at: SystemClock.now(),
    };
    artifacts
        .put(&Keys::meta(&job.job), &serde_json::to_vec(&meta)?)
        .await?;
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
