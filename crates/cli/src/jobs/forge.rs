//! The forge of a pipeline, and the pipeline's own conventions.

use std::io::Write as _;
use std::path::Path;

use anyhow::{Context as _, Result};
use mirilla_domain::ids::JobId;
use mirilla_forge::{JobTokens, TokensFrom};
use mirilla_ports::message::Message;

use crate::arguments::ForgeName;
use crate::settings::Environment;
use crate::settings::jobs::JobSettings;

/// Where a workflow of GitHub's is told something.
const GITHUB_OUTPUT: &str = "GITHUB_OUTPUT";

/// What a job's token must be allowed, for a person who reads why it failed.
#[derive(Debug, Clone, Copy)]
pub(super) struct Rights {
    /// For a job that only reads.
    pub(super) read: &'static str,
    /// For the job that posts.
    pub(super) write: &'static str,
}

/// Returns what tokens of a forge must be allowed.
pub(super) const fn rights(forge: ForgeName) -> Rights {
    match forge {
        ForgeName::Github => Rights {
            read: "`contents: read` and `pull-requests: read`, for this repository",
            write: "`contents: read` and `pull-requests: write` (to look only, `read`), for this repository",
        },
        ForgeName::Gitlab => Rights {
            read: "the scope `read_api` and the role Reporter in the project that the merge request goes into (MIRILLA_GITLAB_READ_TOKEN)",
            write: "the scope `api` and the role Developer in the project that the merge request goes into (MIRILLA_GITLAB_WRITE_TOKEN)",
        },
    }
}

/// Returns the job's token. It is the same for every job, so that the name of one does not matter.
pub(super) fn token(settings: &JobSettings) -> Result<JobTokens> {
    let from = TokensFrom::Fixed(settings.token.to_secret_string());
    let job = JobId::parse(&"0".repeat(32))?;
    Ok(JobTokens::of(from, &Message::CollectV1 { job }))
}

/// Tells the pipeline whether there is a snapshot to read: a later job's condition.
pub(super) fn announce(
    report: Option<&Path>,
    environment: &Environment,
    collected: bool,
) -> Result<()> {
    let output = environment
        .get(GITHUB_OUTPUT)
        .filter(|path| !path.is_empty());
    let Some(path) = report.or_else(|| output.map(Path::new)) else {
        return Ok(());
    };
    let told = std::fs::OpenOptions::new()
        .append(true)
        .create(true)
        .open(path)
        .and_then(|mut file| file.write_all(format!("collected={collected}\n").as_bytes()));
    let named = if report.is_some() {
        "--report"
    } else {
        GITHUB_OUTPUT
    };
    told.with_context(|| format!("{named} names {}, which cannot be written", path.display()))
}
