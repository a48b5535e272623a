//! The forge of a pipeline, and the pipeline's own conventions.

use std::io::Write as _;

use anyhow::{Context as _, Result};
use mirilla_domain::ids::JobId;
use mirilla_forge::{JobTokens, TokensFrom, github};
use mirilla_ports::message::Message;

use crate::arguments::ForgeName;
use crate::serve::child;
use crate::settings::Environment;
use crate::settings::jobs::JobSettings;

/// Returns what a job calls its forge with.
pub(super) fn connect(forge: ForgeName, settings: &JobSettings) -> Result<github::Access> {
    match forge {
        ForgeName::Github => child::github(&settings.github),
    }
}

/// Returns the job's token. It is the same for every job, so that the name of one does not matter.
pub(super) fn token(settings: &JobSettings) -> Result<JobTokens> {
    let from = TokensFrom::Fixed(settings.token.to_secret_string());
    let job = JobId::parse(&"0".repeat(32))?;
    Ok(JobTokens::of(from, &Message::CollectV1 { job }))
}

/// Tells the pipeline whether there is a snapshot to read: a later job's condition.
pub(super) fn announce(forge: ForgeName, environment: &Environment, collected: bool) -> Result<()> {
    let variable = match forge {
        ForgeName::Github => "GITHUB_OUTPUT",
    };
    let Some(path) = environment.get(variable).filter(|path| !path.is_empty()) else {
        return Ok(());
    };
    let told = std::fs::OpenOptions::new()
        .append(true)
        .create(true)
        .open(path)
        .and_then(|mut file| file.write_all(format!("collected={collected}\n").as_bytes()));
    told.with_context(|| format!("{variable} names {path}, which cannot be written"))
}
