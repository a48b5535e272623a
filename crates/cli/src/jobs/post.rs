//! `mirilla post`: the poster, once, or what it would do.
//!
//! **Invariant:** no model here. The pull request is the one that the pipeline names; it, its diff, its settings
//! and what stands on it are read anew. Of the snapshot only the commit is taken, and who forges that gets silence.

use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context as _, Result};
use mirilla_domain::code::EndReason;
use mirilla_domain::escape;
use mirilla_domain::export;
use mirilla_domain::gate::{CheckName, CheckReport, Conclusion};
use mirilla_domain::ids::AttemptNo;
use mirilla_domain::job::{Job, JobState};
use mirilla_domain::marker::MarkerKey;
use mirilla_domain::plan::Plan;
use mirilla_domain::redact::Redactor;
use mirilla_domain::settings::SETTINGS_FILE;
use mirilla_domain::snapshot::{Keys, PullRequest};
use mirilla_forge::{Reader, Writer};
use mirilla_local::DirArtifacts;
use mirilla_ports::{Artifacts as _, Ledger as _};
use mirilla_stages::collect::{subject, trusted_rev};
use mirilla_stages::error::StageError;
use mirilla_stages::post::{self, KeepRuns, PostPorts, PostSettings};
use mirilla_stages::report::Report;
use mirilla_stages::review::effective_policy;

use super::folders::Folders;
use super::paper::Paper;
use super::pull::{Asked, name};
use super::scratch::Scratch;
use super::snapshot::{Snapshot, existing, key_of};
use super::{forge, print, refused, unusable};
use crate::arguments::{ForgeName, Post};
use crate::failure::Failure;
use crate::output;
use crate::replay;
use crate::serve::child;
use crate::settings::{self, Environment};

/// Exit code when the gate does not let the change pass.
const STOPPED: u8 = 10;
/// Largest plan that is shown.
const MAX_PLAN_BYTES: u64 = 64 * 1024 * 1024;

/// Runs the command.
pub(crate) fn run(arguments: &Post, environment: &Environment) -> Result<ExitCode> {
    if let Some(run) = &arguments.run {
        return replay::repeat(run, |plan, bytes| show(plan, bytes, arguments.json));
    }
    let (Some(snapshot), Some(findings)) = (&arguments.snapshot, &arguments.findings) else {
        return Err(Failure::usage("it takes a snapshot and the findings about it").into());
    };
    let pull = arguments.pull.as_ref();
    let forge_name = ForgeName::meant(arguments.forge, pull, environment);
    let asked = Asked::find(forge_name, pull, environment)?;
    let (settings, key) = settings::jobs::post(forge_name, environment, arguments.dry_run)
        .map_err(|problems| unusable(forge_name, &problems))?;
    let access = child::access(&settings.place)?;
    let token = forge::token(&settings)?;
    let reader = access.reader(token.clone());
    let writer = (!arguments.dry_run).then(|| access.writer(token, None));
    let stage = PostSettings {
        marker_key: MarkerKey::new(key.reveal().as_bytes())?,
        redactor: Redactor::new([
            ("forge-token", settings.token.reveal()),
            ("marker-key", key.reveal()),
        ]),
        policy: settings.policy,
        write_grace: settings.write_grace,
        // What is shown or reported is the plan as it would be kept.
        keep_runs: if arguments.dry_run || arguments.codequality.is_some() {
            KeepRuns::WithoutRecord
        } else {
            KeepRuns::No
        },
    };
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let posting = Posting {
        arguments,
        stage,
        reader,
        writer,
        rights: forge::rights(forge_name).write,
        scratch: Scratch::set_up()?,
    };
    runtime.block_on(posting.run(&asked, snapshot, findings))
}

/// Shows a plan.
fn show(plan: &Plan, bytes: &[u8], json: bool) {
    if json {
        replay::print_json(bytes);
    } else {
        print::plan(plan);
    }
}

/// One posting.
struct Posting<'a> {
    arguments: &'a Post,
    stage: PostSettings,
    reader: Reader,
    /// Nothing writes where one only looks.
    writer: Option<Writer>,
    /// What the token must be allowed.
    rights: &'static str,
    scratch: Scratch,
}

impl Posting<'_> {
    async fn run(&self, asked: &Asked, snapshot: &Path, findings: &Path) -> Result<ExitCode> {
        let failed = |error: StageError| refused("the review cannot be posted", error, self.rights);
        let meta = Snapshot::open(snapshot).await?.meta;
        let found = existing(findings, "review", "mirilla review --snapshot … --out")?;
        let live = asked
            .live(&self.reader)
            .await
            .map_err(|error| failed(error.into()))?;
        if meta.pull_request.id != live.id {
            let message = format!(
                "the snapshot is of {}, and this is about {}",
                name(&meta.pull_request),
                name(&live)
            );
            let hint = "take the artifacts of the same run";
            return Err(Failure::new(message).hint(hint).into());
        }
        let now = self.scratch.now();
        let job = Job {
            state: JobState::Collected,
            ..Job::accepted(key_of(&meta), live.repo_name.clone(), None, now, now)
        };
        if asked
            .head
            .as_ref()
            .is_some_and(|head| *head != job.key.head)
        {
            output::worker_line(&format!(
                "{} superseded: {}",
                subject(&job),
                EndReason::HeadMoved.explain()
            ));
            return Ok(self.unjudged());
        }
        let key = Keys::findings(&job.id, AttemptNo::FIRST);
        if !found.list(&key).await?.contains(&key) {
            let message = format!(
                "{} holds no findings about {}",
                findings.display(),
                subject(&job)
            );
            let hint = "let `mirilla review` read the same snapshot again; nothing was posted";
            return Err(Failure::new(message).hint(hint).into());
        }
        self.prepare(&live, &job).await?;
        let report = self.post(&job, &found, &key).await.map_err(failed)?;
        self.tell(&job, &report).await
    }

    /// Records the job and the settings of the trusted base, as they are now.
    async fn prepare(&self, live: &PullRequest, job: &Job) -> Result<()> {
        let rev = trusted_rev(&self.stage.policy, live);
        let files = self
            .reader
            .as_port()
            .files(&live.repo_name, rev, &[SETTINGS_FILE]);
        let files = files.await.map_err(|error| {
            refused(
                "the repository's settings cannot be read",
                error.into(),
                self.rights,
            )
        })?;
        let policy = effective_policy(&self.stage.policy, &files);
        if self.arguments.gate && policy.gate.fails_at().is_none() {
            return Err(Failure::usage("`--gate` was given, and the gate is off")
                .hint("set `gate = \"high\"` in `.mirilla.toml` on the default branch, or in the operator's policy (MIRILLA_POLICY_FILE)")
                .into());
        }
        let rules = serde_json::to_vec(&files)?;
        let artifacts = &self.scratch.artifacts;
        artifacts.put(&Keys::rules(&job.id), &rules).await?;
        self.scratch.record(job).await
    }

    async fn post(&self, job: &Job, found: &DirArtifacts, key: &str) -> Result<Report, StageError> {
        let scratch = &self.scratch;
        let artifacts = Folders::over(&scratch.artifacts).reading("findings/", found);
        let ports = PostPorts {
            ledger: &scratch.ledger,
            artifacts: &artifacts,
            queue: &scratch.queue,
            read: self.reader.as_port(),
            write: self.writer.as_ref().map_or(&Paper, Writer::write),
            checks: &Paper,
            // On GitHub that takes a token which may push, and a job's token is never one.
            resolve: self.writer.as_ref().and_then(Writer::resolves),
            clock: scratch.clock.as_ref(),
            entropy: scratch.entropy.as_ref(),
        };
        scratch
            .patiently(|| post::post(ports, &self.stage, &job.id, AttemptNo::FIRST, Some(key)))
            .await
    }

    /// Says what became of it.
    async fn tell(&self, job: &Job, report: &Report) -> Result<ExitCode> {
        let ended = self.scratch.ledger.job(&job.id).await?;
        let ended = ended.context("the job is gone")?;
        if ended.state == JobState::Posted && self.arguments.dry_run {
            self.show_plan(job).await?;
            output::note("nothing was written");
        } else {
            for line in &report.lines {
                output::worker_line(line);
            }
        }
        match ended.state {
            JobState::Posted => {
                self.report(job).await?;
                Ok(self.gate(&ended))
            }
            // Another run reads what is there now, or nobody waits for it.
            JobState::Superseded | JobState::Skipped => Ok(self.unjudged()),
            _ => Err(Failure::new("the review was not posted")
                .hint(format!("the job's token needs {}", self.rights))
                .into()),
        }
    }

    async fn show_plan(&self, job: &Job) -> Result<()> {
        let (plan, bytes) = self.plan(job).await?;
        show(&plan, &bytes, self.arguments.json);
        Ok(())
    }

    async fn plan(&self, job: &Job) -> Result<(Plan, Vec<u8>)> {
        let key = Keys::kept(&job.id, AttemptNo::FIRST, "plan.json");
        let artifacts = &self.scratch.artifacts;
        let bytes = artifacts
            .get(&key, MAX_PLAN_BYTES)
            .await
            .context("the plan cannot be shown: a secret of this process stands in it")?;
        let plan: Plan = serde_json::from_slice(&bytes).context("the plan cannot be read")?;
        Ok((plan, bytes))
    }

    /// Writes what the forge's own widgets show: the findings that stand on the pull request now.
    async fn report(&self, job: &Job) -> Result<()> {
        let Some(file) = &self.arguments.codequality else {
            return Ok(());
        };
        let (plan, _) = self.plan(job).await?;
        let mut items = plan.items;
        for item in &mut items {
            for text in [&mut item.title, &mut item.message] {
                *text = self.stage.redactor.redact(text).text;
            }
        }
        let report = export::codequality(export::standing(&items))?;
        std::fs::write(file, escape::json(&report).as_bytes()).with_context(|| {
            format!(
                "--codequality names {}, which cannot be written",
                file.display()
            )
        })
    }

    /// Returns what the gate makes of the job that was posted for.
    fn gate(&self, ended: &Job) -> ExitCode {
        let (Some(check), Some(verdict)) = (&ended.check, ended.verdict()) else {
            return self.unjudged();
        };
        let report = CheckReport::plain(verdict, check.on_inconclusive);
        let conclusion = report.conclusion();
        output::note(&format!(
            "gate: {} -> {}: {}",
            report.verdict.ruling.as_str(),
            conclusion.as_str(),
            report.title
        ));
        // Whoever can push makes such a base, and the job's result would stay with the commit when it is aimed elsewhere.
        if check.name == CheckName::OtherBase {
            return self.unjudged();
        }
        if self.arguments.gate && conclusion == Conclusion::Failure {
            return ExitCode::from(STOPPED);
        }
        ExitCode::SUCCESS
    }

    /// A gate lets nothing pass that was not judged, or not against a trusted base.
    fn unjudged(&self) -> ExitCode {
        if !self.arguments.gate {
            return ExitCode::SUCCESS;
        }
        output::note("gate: nothing was judged against a trusted base, so nothing passes");
        ExitCode::from(STOPPED)
    }
}
