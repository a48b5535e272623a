//! `mirilla collect`: the collector, once.
//!
//! **Invariant:** a token that reads is all there is; no model, and nothing of the change is run.

use std::process::ExitCode;

use anyhow::Result;
use mirilla_domain::ids::Generation;
use mirilla_domain::job::{Job, JobKey};
use mirilla_local::DirArtifacts;
use mirilla_stages::collect::{self, CollectPorts, CollectSettings, subject};
use mirilla_stages::error::StageError;

use super::pull::Asked;
use super::scratch::Scratch;
use super::{forge, refused, unusable};
use crate::arguments::{Collect, ForgeName};
use crate::output;
use crate::run_folder::make_empty;
use crate::serve::child;
use crate::settings::{self, Environment};

/// Runs the command.
pub(crate) fn run(arguments: &Collect, environment: &Environment) -> Result<ExitCode> {
    let pull = arguments.pull.as_ref();
    let forge_name = ForgeName::meant(arguments.forge, pull, environment);
    let asked = Asked::find(forge_name, pull, environment)?;
    let settings = settings::jobs::collect(forge_name, environment)
        .map_err(|problems| unusable(forge_name, &problems))?;
    let access = child::access(&settings.place)?;
    let rights = forge::rights(forge_name).read;
    make_empty(&arguments.out, "--out")?;
    let snapshot = DirArtifacts::open(&arguments.out)?;
    let scratch = Scratch::set_up()?;
    let reader = access.reader(forge::token(&settings)?);
    let stage = CollectSettings {
        keep_archive: true,
        policy: settings.policy,
    };
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let report = runtime.block_on(async {
        let failed = |error: StageError| refused("the pull request cannot be read", error, rights);
        let live = asked
            .live(&reader)
            .await
            .map_err(|error| failed(error.into()))?;
        let key = JobKey {
            forge: live.id.forge,
            repo: live.id.repo,
            pr: live.id.pr,
            head: asked.head.clone().unwrap_or(live.head),
            base_ref: live.base_ref,
            generation: Generation::new(0),
        };
        let now = scratch.now();
        let job = Job::accepted(key, live.repo_name, None, now, now);
        scratch.record(&job).await?;
        let ports = CollectPorts {
            ledger: &scratch.ledger,
            heads: &scratch.heads,
            artifacts: &snapshot,
            grants: &snapshot,
            queue: &scratch.queue,
            forge: reader.as_port(),
            clock: scratch.clock.as_ref(),
            entropy: scratch.entropy.as_ref(),
        };
        let report = scratch
            .patiently(|| collect::collect(ports, &stage, &job.id))
            .await
            .map_err(failed)?;
        if is_collected(report.outcome) {
            output::worker_line(&format!("{} collected", subject(&job)));
        }
        anyhow::Ok(report)
    })?;
    for line in &report.lines {
        output::worker_line(line);
    }
    let report_file = arguments.report.as_deref();
    forge::announce(report_file, environment, is_collected(report.outcome))?;
    Ok(ExitCode::SUCCESS)
}

/// Returns whether there is a snapshot; if not, the pull request is not one to read now.
fn is_collected(outcome: &str) -> bool {
    outcome == "collected"
}
