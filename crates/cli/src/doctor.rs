//! `mirilla doctor`: every link of the chain, looked at from the operator's machine.
//!
//! One line per check: `ok`, `warn` or `FAIL`, and what to do where it is not `ok`. With `--stack` it
//! looks at a deployment on AWS, without at what `mirilla serve` would find on this host.
//!
//! What cannot be seen from here is said, not guessed: only the minters may sign with the App's key, so
//! that the key works was proven when it was imported, and is again by every review.
//!
//! **Invariant:** nothing is changed, nothing that costs money is called, and no secret is printed.

mod clock;
mod github;
mod gitlab;
mod host;
mod model;
mod report;
mod stack;
mod webhook;

use std::process::ExitCode;

use anyhow::Result;
use clap::Args;
use mirilla_domain::ids::RepoName;

use crate::output;
use crate::settings::Environment;
use report::Report;

/// What to check.
#[derive(Debug, Args)]
pub(crate) struct Doctor {
    /// A stack on AWS; default: this host's `mirilla serve`, from the environment.
    #[arg(long, value_name = "NAME")]
    pub(crate) stack: Option<String>,
    /// A project of GitLab's that shall be reviewed: looks at the tokens' roles there too.
    #[arg(long, value_name = "GROUP/NAME")]
    pub(crate) project: Option<RepoName>,
    /// Prints one JSON object.
    #[arg(long)]
    pub(crate) json: bool,
}

/// Checks, prints, and fails if something does not work.
pub(crate) fn run(arguments: &Doctor, environment: &Environment) -> Result<ExitCode> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let mut report = Report::new(!arguments.json);
    let project = arguments.project.as_ref();
    runtime.block_on(async {
        match &arguments.stack {
            Some(name) => stack::examine(name, project, &mut report).await,
            None => host::examine(environment, project, &mut report).await,
        }
    });
    if arguments.json {
        output::data_line(&report.json().to_string());
    } else {
        output::notes(&report.summary());
    }
    Ok(if report.has_failed() {
        ExitCode::FAILURE
    } else {
        ExitCode::SUCCESS
    })
}
