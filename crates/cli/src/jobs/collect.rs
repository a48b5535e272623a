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
use crate::arguments::Collect;
use crate::output;
use crate::run_folder::make_empty;
use crate::settings::{self, Environment};

/// What the token may do.
const RIGHTS: &str = "`contents: read` and `pull-requests: read`";

/// Runs the command.
pub(crate) fn run(arguments: &Collect, environment: &Environment) -> Result<ExitCode> {
    let asked = Asked::find(arguments.forge, arguments.pull.as_ref(), environment)?;
    let settings = settings::jobs::collect(environment).map_err(unusable)?;
    let access = forge::connect(arguments.forge, &settings)?;
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
        let failed = |error: StageError| refused("the pull request cannot be read", error, RIGHTS);
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
            forge: &reader,
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
    forge::announce(arguments.forge, environment, is_collected(report.outcome))?;
    Ok(ExitCode::SUCCESS)
}

/// Returns whether there is a snapshot; if not, the pull request is not one to read now.
fn is_collected(outcome: &str) -> bool {
    outcome == "collected"
}
