//! One review: the reviewer's own stage over a snapshot in a temporary directory, its model simulated.

use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use async_trait::async_trait;
use mirilla_archive::Archives;
use mirilla_domain::ids::{
    AttemptNo, BranchName, CommitSha, Forge, JobId, PrNumber, PullRequestRef, RepoId, RepoName,
    Timestamp, sha256,
};
use mirilla_domain::money::{CappedPurse, Purse};
use mirilla_domain::price::PriceTable;
use mirilla_domain::redact::Redactor;
use mirilla_domain::review::{Fate, Review};
use mirilla_domain::settings::OperatorPolicy;
use mirilla_domain::snapshot::{Keys, PullRequest, SnapshotMeta, StoredObject, TrustedFiles};
use mirilla_local::{DataDir, DirArtifacts, LocalMeter};
use mirilla_model::{AnthropicModel, AnthropicSettings};
use mirilla_ports::{Artifacts as _, Heads, LedgerError};
use mirilla_sim::{Otherwise, Prompt, Scripted, Sim, SimOptions};
use mirilla_stages::review::{self, ReviewOrder, ReviewPorts, ReviewSettings};
use mirilla_system::{OsEntropy, SystemClock};
use serde_json::json;

use crate::change::Change;
use crate::tokens;

/// Longer than any of these reviews takes: what is measured is tokens.
const LIMIT: Duration = Duration::from_secs(24 * 3_600);

/// Where a review is run.
pub(crate) struct Bench {
    runtime: tokio::runtime::Runtime,
    sim: Sim,
    artifacts: DirArtifacts,
    meter: LocalMeter,
    clock: Arc<SystemClock>,
    entropy: Arc<OsEntropy>,
    policy: OperatorPolicy,
    with_files: bool,
    described: bool,
    /// Removed when it is dropped, so after everything in it.
    _scratch: tempfile::TempDir,
}

/// What a review came to.
pub(crate) struct Run {
    /// The review file.
    pub(crate) file: Vec<u8>,
    /// The files that were read.
    pub(crate) reviewed: Vec<String>,
    /// How many were not, by reason.
    pub(crate) not_read: String,
    /// Calls to the model.
    pub(crate) calls: usize,
    /// Input tokens of all calls.
    pub(crate) sent: u64,
    /// The same by price.
    pub(crate) weighted: u64,
    /// How much of that went into questions about files that the review before had read.
    pub(crate) again: u64,
    /// How many files are answered for by the review before.
    pub(crate) carried: usize,
}

/// Nobody pushes while this runs.
struct NoHead;

#[async_trait]
impl Heads for NoHead {
    async fn newest(&self, _id: &PullRequestRef) -> Result<Option<CommitSha>, LedgerError> {
        Ok(None)
    }
}

/// How reviews are measured.
#[derive(Debug, Default)]
pub(crate) struct Conditions {
    /// Another size of chunks than the one that ships.
    pub(crate) chunk_tokens: Option<u32>,
    /// Whether the model looks two things up before each answer.
    pub(crate) tools: bool,
    /// Whether pull requests have a description, with which the code is compared at the end.
    pub(crate) described: bool,
}

impl Bench {
    /// Starts the simulated model.
    pub(crate) fn set_up(conditions: &Conditions) -> Result<Self> {
        let scratch = tempfile::tempdir().context("no temporary directory")?;
        let data = DataDir::create(scratch.path())?;
        let sim = Sim::start(SimOptions::default())?;
        let nothing = json!({"findings": [], "summary": "Nothing stands out."});
        sim.messages().otherwise(Otherwise::Fixed(nothing));
        if conditions.tools {
            sim.messages().answer_all_when(
                "a look",
                |prompt| prompt.may_call_tools() && prompt.turns() == 0,
                look,
            );
        }
        let mut policy = OperatorPolicy::default();
        policy.chunk_tokens = conditions.chunk_tokens.unwrap_or(policy.chunk_tokens);
        Ok(Self {
            runtime: tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()?,
            sim,
            artifacts: DirArtifacts::open(&data.artifacts())?,
            meter: LocalMeter::open(&data.meter())?,
            clock: Arc::new(SystemClock),
            entropy: Arc::new(OsEntropy::open()?),
            policy,
            with_files: conditions.tools,
            described: conditions.described,
            _scratch: scratch,
        })
    }

    /// Reviews a change; `prior` is the file of the review before it.
    pub(crate) fn review(&self, change: &Change, prior: Option<&[u8]>) -> Result<Run> {
        self.runtime.block_on(self.run(change, prior))
    }

    async fn run(&self, change: &Change, prior: Option<&[u8]>) -> Result<Run> {
        let messages = self.sim.messages();
        messages.forget_cache();
        let before = messages.model_calls().len();
        let named: String = sha256(&change.diff).as_str().chars().take(32).collect();
        let job = JobId::parse(&named)?;
        self.store(change, &job, prior).await?;
        let mut settings = AnthropicSettings::new(
            messages.url().parse()?,
            messages.api_key().to_owned().into(),
            self.policy.model.clone(),
        );
        settings.max_tokens = self.policy.max_tokens;
        let (clock, entropy) = (Arc::clone(&self.clock), Arc::clone(&self.entropy));
        let model = AnthropicModel::new(settings, clock, entropy)?;
        let archives = Archives::new(&self.artifacts);
        let ports = ReviewPorts {
            artifacts: &self.artifacts,
            meter: &self.meter,
            heads: &NoHead,
            model: Some(&model),
            files: Some(&archives),
            clock: self.clock.as_ref(),
            entropy: self.entropy.as_ref(),
            note: &|_line| (),
            looked: &|_look| (),
            count: &|_about, _signal| (),
        };
        let settings = ReviewSettings {
            policy: self.policy.clone(),
            prices: PriceTable::shipped(),
            redactor: Redactor::default(),
            limit: LIMIT,
        };
        let order = ReviewOrder {
            job: job.clone(),
            attempt: AttemptNo::FIRST,
            purses: vec![CappedPurse {
                purse: Purse::Review(job.clone()),
                cap: self.policy.max_usd,
            }],
            receive_count: 1,
            last_try: true,
        };
        review::review(ports, &settings, &order).await?;
        let key = Keys::findings(&job, AttemptNo::FIRST);
        let file = self.artifacts.get(&key, u64::MAX).await?;
        let review: Review = serde_json::from_slice(&file)?;
        let calls = messages.model_calls();
        let calls = calls.get(before..).unwrap_or_default();
        let known: Vec<String> = match prior {
            Some(bytes) => read_by(&serde_json::from_slice(bytes)?, &Fate::Reviewed),
            None => Vec::new(),
        };
        let known: Vec<String> = known
            .iter()
            .map(|path| format!("<file path={} ", json!(path)))
            .collect();
        let mut again = 0_u64;
        let counted = calls.iter().map(|call| {
            let counted = tokens::of_call(call, &settings.prices);
            if known.iter().any(|file| call.prompt.contains(file)) {
                again = again.saturating_add(counted.1);
            }
            counted
        });
        let (sent, weighted) = counted.fold((0_u64, 0_u64), |sum, one| {
            (sum.0.saturating_add(one.0), sum.1.saturating_add(one.1))
        });
        Ok(Run {
            reviewed: read_by(&review, &Fate::Reviewed),
            carried: read_by(&review, &Fate::Carried).len(),
            again,
            not_read: not_read(&review),
            calls: calls.len(),
            sent,
            weighted,
            file,
        })
    }

    /// Stores a snapshot as a collector does.
    async fn store(&self, change: &Change, job: &JobId, prior: Option<&[u8]>) -> Result<()> {
        let artifacts = &self.artifacts;
        let diff = artifacts.put(&Keys::diff(job), &change.diff).await?;
        let trusted = TrustedFiles {
            commit: change.base.clone(),
            files: Vec::new(),
        };
        let description = if self.described {
            "Does what the title says, and nothing else."
        } else {
            ""
        };
        let rules = serde_json::to_vec(&trusted)?;
        let rules = artifacts.put(&Keys::rules(job), &rules).await?;
        let prior = match prior {
            Some(bytes) => Some(artifacts.put(&Keys::prior(job), bytes).await?),
            None => None,
        };
        let archive = if self.with_files {
            Some(self.archive(change).await?)
        } else {
            None
        };
        let branch = BranchName::parse("main")?;
        let meta = SnapshotMeta {
            schema: "mirilla.snapshot.v1".to_owned(),
            job: job.clone(),
            pull_request: PullRequest {
                id: PullRequestRef {
                    forge: Forge::Github,
                    repo: RepoId::new(0),
                    pr: PrNumber::new(0),
                },
                repo_name: RepoName::parse("local/measured")?,
                head: change.head.clone(),
                base_ref: branch.clone(),
                base: change.base.clone(),
                default_branch: branch,
                open: true,
                draft: false,
                from_fork: false,
                title: String::new(),
                description: description.to_owned(),
                author: None,
                author_is_bot: false,
                author_is_outsider: false,
                labels: Vec::new(),
                changed_files: u64::try_from(change.files())?,
            },
            merge_base: change.base.clone(),
            diff,
            diff_sha256: sha256(&change.diff),
            rules,
            rules_commit: change.base.clone(),
            prior,
            archive,
            missing: Vec::new(),
            taken_at: Timestamp::new(0),
        };
        artifacts
            .put(&Keys::meta(job), &serde_json::to_vec(&meta)?)
            .await?;
        Ok(())
    }

    async fn archive(&self, change: &Change) -> Result<StoredObject> {
        let packed = Command::new("git")
            .arg("-C")
            .arg(&change.git)
            .args([
                "archive",
                "--format=zip",
                "--prefix=head/",
                change.head.as_str(),
            ])
            .output()?;
        ensure!(
            packed.status.success(),
            "git: {}",
            String::from_utf8_lossy(&packed.stderr)
        );
        let key = format!("archives/measured/{}.zip", change.head);
        Ok(self.artifacts.put(&key, &packed.stdout).await?)
    }
}

/// Reads the first file of the chunk, and looks for its name elsewhere.
fn look(prompt: &Prompt) -> Scripted {
    let text = prompt.text();
    let shown = text
        .split_once("<file path=\"")
        .map_or("", |(_, rest)| rest);
    let path = shown.split('"').next().unwrap_or_default();
    let name = path.rsplit('/').next().unwrap_or(path);
    let stem: String = (name.chars())
        .take_while(|c| c.is_ascii_alphanumeric() || *c == '_')
        .collect();
    Scripted::tool_calls(vec![
        ("read_file", json!({"path": path})),
        ("search", json!({"pattern": format!("\\b{stem}\\b")})),
    ])
}

/// Returns the files with this fate.
fn read_by(review: &Review, fate: &Fate) -> Vec<String> {
    let lines = review.coverage.iter().filter(|line| line.fate == *fate);
    lines.map(|line| line.path.clone()).collect()
}

/// Returns why files were not read: ` (lockfile 1, cost-cap 20)`.
fn not_read(review: &Review) -> String {
    let mut reasons: Vec<(&'static str, usize)> = Vec::new();
    for line in &review.coverage {
        let reason = match &line.fate {
            Fate::Reviewed | Fate::Carried => continue,
            Fate::Skipped(reason) => reason.as_str(),
            Fate::Failed(reason) => reason.as_str(),
        };
        match reasons.iter_mut().find(|(name, _)| *name == reason) {
            Some((_, count)) => *count = count.saturating_add(1),
            None => reasons.push((reason, 1)),
        }
    }
    if reasons.is_empty() {
        return String::new();
    }
    reasons.sort_by_key(|(name, count)| (std::cmp::Reverse(*count), *name));
    let all: Vec<String> = reasons
        .iter()
        .map(|(name, count)| format!("{name} {count}"))
        .collect();
    format!(" ({})", all.join(", "))
}
