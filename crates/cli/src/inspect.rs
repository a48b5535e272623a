//! `mirilla inspect`: what one pure step does to a file, as JSON on standard output.
//!
//! **Invariant:** nothing is contacted, nothing is written, and each step is the product's own
//! function; the shapes printed here are documented in docs/REFERENCE.md.

mod lines;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context as _, Result};
use clap::Subcommand;
use mirilla_domain::chunk::plan_chunks;
use mirilla_domain::price::{PriceTable, bill};
use mirilla_domain::sanitise::{self, TextPolicy};
use mirilla_domain::settings::{OperatorPolicy, Policy};
use mirilla_domain::snapshot::{RepoFile, TRUSTED_PATHS};
use mirilla_domain::{answer, checks, plan, rules};
use serde_json::{Value, json};

use crate::failure::Failure;
use crate::input::read;
use crate::output;

/// A step to look into.
#[derive(Debug, Subcommand)]
pub(crate) enum Step {
    /// Files and lines of a diff; problems on standard error.
    Lines {
        /// The diff; `-` reads standard input.
        #[arg(value_name = "DIFF")]
        diff: PathBuf,
        /// Prints one object with counts only; one file section at a time, in bounded memory.
        #[arg(long)]
        summary: bool,
    },
    /// Chunks with their files, token estimates, skipped files and reasons.
    Chunks {
        /// The diff; `-` reads standard input.
        #[arg(value_name = "DIFF")]
        diff: PathBuf,
        /// Tokens of a chunk.
        #[arg(long, value_name = "N")]
        tokens: Option<u32>,
    },
    /// The deterministic findings.
    Checks {
        /// The diff; `-` reads standard input.
        #[arg(value_name = "DIFF")]
        diff: PathBuf,
    },
    /// Accepted and rejected findings of a raw model answer.
    Answer {
        /// The answer's text.
        #[arg(value_name = "FILE")]
        file: PathBuf,
        /// The diff it is about.
        #[arg(long, value_name = "DIFF")]
        diff: PathBuf,
    },
    /// What would be posted, skipped, resolved and gated.
    Plan {
        /// The fresh diff.
        #[arg(long, value_name = "FILE")]
        diff: PathBuf,
        /// The review file.
        #[arg(long, value_name = "FILE")]
        review: PathBuf,
        /// What stands on the pull request.
        #[arg(long, value_name = "FILE")]
        threads: Option<PathBuf>,
        /// The settings.
        #[arg(long, value_name = "FILE")]
        policy: Option<PathBuf>,
    },
    /// The text that would be posted for a model's text; plain text, not JSON.
    Sanitise {
        /// The model's text; `-` reads standard input.
        #[arg(value_name = "FILE")]
        file: PathBuf,
    },
    /// The exact cost of token usage.
    Price {
        /// The usage as a provider reports it, or an object of several.
        #[arg(value_name = "USAGE")]
        usage: PathBuf,
        /// A price table instead of the built-in one.
        #[arg(long, value_name = "FILE")]
        prices: Option<PathBuf>,
        /// The model; default: the shipped default, or the only one that the table names.
        #[arg(long, value_name = "ID")]
        model: Option<String>,
    },
    /// The rules that would be sent for changed files.
    Rules {
        /// A changed file; may be given several times.
        #[arg(long, value_name = "PATH", required = true, num_args = 1..)]
        changed: Vec<String>,
        /// The repository's folder with the rule files.
        #[arg(value_name = "DIR")]
        directory: PathBuf,
    },
}

/// Runs a step.
pub(crate) fn run(step: Step) -> Result<ExitCode> {
    match step {
        Step::Lines {
            diff,
            summary: true,
        } => lines::summary(&diff)?,
        Step::Lines {
            diff,
            summary: false,
        } => lines::all(&read(&diff)?)?,
        Step::Chunks { diff, tokens } => chunks(&read(&diff)?, tokens)?,
        Step::Checks { diff } => {
            let bytes = read(&diff)?;
            print(&json!(checks::floor(&mirilla_diff::parse(&bytes).files)))?;
        }
        Step::Answer { file, diff } => answer(&read(&file)?, &read(&diff)?)?,
        Step::Plan {
            diff,
            review,
            threads,
            policy,
        } => {
            let threads = threads.map(|path| read(&path)).transpose()?;
            let policy = policy.map(|path| read(&path)).transpose()?;
            let plan = plan::plan_from_files(
                &read(&diff)?,
                &read(&review)?,
                threads.as_deref(),
                policy.as_deref(),
            )?;
            print(&json!(plan))?;
        }
        Step::Sanitise { file } => {
            let text = String::from_utf8_lossy(&read(&file)?).into_owned();
            output::data_line(&sanitise::body(&text, &TextPolicy::default()));
        }
        Step::Price {
            usage,
            prices,
            model,
        } => price(&read(&usage)?, prices.as_deref(), model)?,
        Step::Rules { changed, directory } => selected_rules(&changed, &directory)?,
    }
    Ok(ExitCode::SUCCESS)
}

fn print(value: &Value) -> Result<()> {
    output::data_line(&serde_json::to_string_pretty(value)?);
    Ok(())
}

fn chunks(diff: &[u8], tokens: Option<u32>) -> Result<()> {
    let policy = Policy::default();
    let parsed = mirilla_diff::parse(diff);
    let tokens = tokens.unwrap_or(policy.chunk_tokens);
    print(&json!(plan_chunks(&parsed.files, &[], &policy, tokens)))
}

fn answer(text: &[u8], diff: &[u8]) -> Result<()> {
    let parsed = mirilla_diff::parse(diff);
    let text = String::from_utf8_lossy(text);
    let value = match answer::read(&text, &parsed.files) {
        Ok(answered) => {
            json!({ "accepted": answered.findings, "rejected": answered.rejected, "summary": answered.summary })
        }
        Err(error) => json!({ "error": error.to_string() }),
    };
    print(&value)
}

fn price(usage: &[u8], prices: Option<&Path>, model: Option<String>) -> Result<()> {
    let table = match prices {
        Some(path) => {
            let text = String::from_utf8(read(path)?).context("the price table is not UTF-8")?;
            PriceTable::parse(&text)
                .with_context(|| format!("{} cannot be used as a price table", path.display()))?
        }
        None => PriceTable::shipped(),
    };
    let usage: Value = serde_json::from_slice(usage).context("the usage is not JSON")?;
    let model = model.unwrap_or_else(|| priced_model(&table));
    let bill = bill(&usage, &table, &model).map_err(|error| {
        Failure::new(error.to_string())
            .hint("`infra/prices.toml` lists the known models; `--prices` takes another table")
    })?;
    print(&json!(bill))
}

/// Returns the shipped default model, or the only one of a table that does not name it.
fn priced_model(table: &PriceTable) -> String {
    let default = OperatorPolicy::default().model;
    let mut models = table.models();
    match (models.next(), models.next()) {
        (Some(only), None) => only.to_owned(),
        _ => default,
    }
}

fn selected_rules(changed: &[String], directory: &Path) -> Result<()> {
    let mut files = Vec::new();
    for path in TRUSTED_PATHS {
        let full = directory.join(path);
        let paths = if path.ends_with('/') {
            let listed = std::fs::read_dir(&full).map(|entries| {
                entries
                    .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
                    .map(|name| format!("{path}{name}"))
                    .collect()
            });
            listed.unwrap_or_else(|_absent| Vec::new())
        } else {
            vec![(*path).to_owned()]
        };
        for path in paths {
            if let Ok(text) = std::fs::read_to_string(directory.join(&path)) {
                files.push(RepoFile { path, text });
            }
        }
    }
    files.sort_by(|one, other| one.path.cmp(&other.path));
    let changed: Vec<&str> = changed.iter().map(String::as_str).collect();
    print(&json!(rules::select(&files, &[], &changed)))
}
