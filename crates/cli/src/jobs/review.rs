//! `mirilla review --snapshot`: the reviewer, once.
//!
//! **Invariant:** it does not start beside a forge's token, and then takes from itself, as far as the kernel
//! can, every file but the two folders' and every port but the model's.

use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context as _, Result};
use mirilla_archive::Archives;
use mirilla_domain::ids::AttemptNo;
use mirilla_domain::money::{CappedPurse, Purse};
use mirilla_domain::plan;
use mirilla_domain::review::Fate;
use mirilla_domain::snapshot::Keys;
use mirilla_local::DirArtifacts;
use mirilla_ports::Artifacts as _;

use super::folders::Folders;
use super::pull::name;
use super::snapshot::Snapshot;
use super::unusable;
use crate::arguments::ForgeName;
use crate::confine::{self, Confined, Needs};
use crate::failure::Failure;
use crate::output;
use crate::rehearsal::{Bench, Reader, Stored};
use crate::run_folder::make_empty;
use crate::settings::{self, Environment, Provider};

/// The port of HTTPS.
const HTTPS: u16 = 443;

/// Runs the command.
pub(crate) fn run(
    snapshot: &Path,
    out: &Path,
    no_model: bool,
    environment: &Environment,
) -> Result<ExitCode> {
    confine::refuse_forge_credentials(environment).map_err(|error| {
        error.context(
            Failure::new("a review does not run beside a forge's credential").hint(
                "in GitHub Actions give the job that reviews `permissions: {}`, no checkout and no token. In GitLab CI limit the variable to the environments of the jobs that need it (its scope under Settings > CI/CD > Variables), and unset what GitLab gives every job, as infra/gitlab-ci/mirilla.gitlab-ci.yml does",
            ),
        )
    })?;
    let forge = ForgeName::meant(None, None, environment);
    let unusable = |problems: Vec<String>| unusable(forge, &problems);
    let (provider, policy) = settings::preview(environment).map_err(unusable)?;
    let provider = provider.filter(|_| !no_model);
    if provider.is_none() && !no_model {
        let missing = "there is no model to ask: ANTHROPIC_API_KEY is not set".to_owned();
        return Err(unusable(vec![missing]).into());
    }
    make_empty(out, "--out")?;
    let scratch = tempfile::tempdir_in(out).context("no temporary directory")?;
    let bench = Bench::set_up_in(scratch)?;
    let snapshot_folder = snapshot;
    let (snapshot, found) = bench.unless_stopped(async {
        let snapshot = Snapshot::open(snapshot_folder).await?;
        anyhow::Ok((snapshot, DirArtifacts::open(out)?))
    })?;
    confine(snapshot_folder, out, provider.as_ref())?;
    let model = match &provider {
        Some(provider) => Some(bench.model(provider, &policy)?),
        None => None,
    };
    let job = &snapshot.meta.job;
    let reader = model
        .as_deref()
        .zip(provider.as_ref())
        .map(|(model, provider)| Reader {
            model,
            secret: provider.secret(),
            purses: vec![CappedPurse {
                purse: Purse::Review(job.clone()),
                cap: policy.max_usd,
            }],
        });
    let artifacts = Folders::over(&found)
        .reading("snapshots/", &snapshot.artifacts)
        .reading("archives/", &snapshot.artifacts);
    let archives = Archives::new(&artifacts);
    let stored = Stored {
        artifacts: &artifacts,
        files: Some(&archives),
        job,
        attempt: AttemptNo::FIRST,
        watch: &output::worker_line,
        // A pipeline's log is kept, and read by more people than a terminal is.
        looked: &|look| output::worker_line(&look.log_line()),
    };
    let bytes = bench.unless_stopped(async {
        bench
            .read(stored, reader.as_ref(), &policy)
            .await
            .map_err(|error| {
                anyhow::Error::new(error).context("the snapshot could not be reviewed")
            })?;
        let key = Keys::findings(job, AttemptNo::FIRST);
        anyhow::Ok(found.get(&key, u64::MAX).await?)
    })?;
    let review = plan::read_review(&bytes)
        .context("the findings cannot be read")?
        .review;
    let read = review
        .coverage
        .iter()
        .filter(|file| matches!(file.fate, Fate::Reviewed | Fate::Carried));
    output::worker_line(&format!(
        "{} head={} read {} of {} files, found {}: {} calls, cost={}",
        name(&snapshot.meta.pull_request),
        snapshot.meta.pull_request.head.short(),
        read.count(),
        review.coverage.len(),
        review.findings.len(),
        review.turns,
        review.cost
    ));
    Ok(ExitCode::SUCCESS)
}

/// Takes everything from this process that it does not need, and says so where the kernel cannot.
fn confine(snapshot: &Path, out: &Path, provider: Option<&Provider>) -> Result<()> {
    let port = match provider {
        Some(Provider::Messages(access)) => access.endpoint.port_or_known_default(),
        Some(Provider::Bedrock { .. }) | None => None,
    };
    let needs = Needs {
        read: vec![snapshot.to_owned()],
        write: vec![out.to_owned()],
        list: Vec::new(),
        port: port.unwrap_or(HTTPS),
    };
    match confine::to_one_job(&needs)? {
        Confined::Fully => {}
        Confined::Partly => output::note(
            "note: this kernel confines the review to its files, but not to the model's port",
        ),
        Confined::Not => output::note(
            "note: this kernel has no Landlock: the review could open other files of this job",
        ),
    }
    Ok(())
}
