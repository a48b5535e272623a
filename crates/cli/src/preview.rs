//! `mirilla review`: what a review would say about a range or a patch; nothing is posted.
//!
//! Without a key the model is left out and everything else is the same.
//!
//! **Invariant:** operator settings come from the user, never from the reviewed tree; the repository's
//! own settings are read at the base commit.

mod print;

use std::collections::VecDeque;
use std::process::ExitCode;
use std::sync::{Mutex, PoisonError};

use anyhow::Result;
use mirilla_domain::ids::{CommitSha, JobId};
use mirilla_domain::money::{CappedPurse, Purse};
use mirilla_domain::review::Outcome;
use mirilla_domain::snapshot::{RepoFile, TRUSTED_PATHS, TrustedFiles};

use crate::arguments;
use crate::failure::Failure;
use crate::git;
use crate::input::read;
use crate::jobs;
use crate::output;
use crate::rehearsal::{Bench, Reader, Subject};
use crate::run_folder::RunFolder;
use crate::settings::{self, Environment};

/// How many lines of what went wrong are kept for after the review.
const MAX_UNSEEN: usize = 5;
/// Exit code when there is a finding at or above `--fail-on`.
const FOUND: u8 = 10;

/// Runs the command.
pub(crate) fn run(arguments: &arguments::Review, environment: &Environment) -> Result<ExitCode> {
    if let (Some(snapshot), Some(out)) = (&arguments.snapshot, &arguments.out) {
        return jobs::review(snapshot, out, arguments.no_model, environment);
    }
    let (model, policy) = settings::preview(environment).map_err(|problems| {
        Failure::usage(format!(
            "the settings cannot be used: {}",
            problems.join("; ")
        ))
    })?;
    let model = model.filter(|_| !arguments.no_model);
    let subject = subject(arguments)?;
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
    let interactive = output::is_interactive(environment);
    // Without a terminal only what went wrong is shown, and only if something did.
    let unseen = Mutex::new(VecDeque::new());
    let watch = |line: &str| {
        if interactive {
            output::worker_line(line);
            return;
        }
        let mut unseen = unseen.lock().unwrap_or_else(PoisonError::into_inner);
        if ["failed", "skipped", "rejected", "lost"]
            .iter()
            .any(|sign| line.contains(sign))
        {
            unseen.push_back(line.to_owned());
        }
        if unseen.len() > MAX_UNSEEN {
            unseen.pop_front();
        }
    };
    // Before the money is spent.
    let folder = arguments
        .keep
        .as_deref()
        .map(RunFolder::create)
        .transpose()?;
    let bench = Bench::set_up()?;
    let asked = match &model {
        Some(access) => Some(bench.model(access, &policy)?),
        None => None,
    };
    let reader = asked
        .as_deref()
        .zip(model.as_ref())
        .map(|(asked, access)| Reader {
            model: asked,
            secret: access.secret(),
            purses: vec![CappedPurse {
                purse: Purse::Review(subject.job.clone()),
                cap: policy.max_usd,
            }],
        });
    let previewed = bench.rehearse(subject, reader.as_ref(), &policy, &watch, folder.as_ref())?;
    match arguments.format {
        arguments::Format::Text => print::text(&previewed),
        arguments::Format::Json => print::json(&previewed)?,
        arguments::Format::Sarif => print::sarif(&previewed)?,
        arguments::Format::Codequality => print::codequality(&previewed)?,
        arguments::Format::Html => print::html(&previewed),
    }
    for note in &previewed.notes {
        output::note(note);
    }
    for line in unseen.into_inner().unwrap_or_else(PoisonError::into_inner) {
        output::note(&line);
    }
    let worst = print::worst(&previewed);
    if let (Some(threshold), Some(worst)) = (arguments.fail_on, worst)
        && worst >= threshold
    {
        return Ok(ExitCode::from(FOUND));
    }
    if let Some(error) = previewed.unkept {
        return Err(error);
    }
    if asked.is_some() && previewed.review.outcome == Outcome::Failed {
        return Err(Failure::new("the model read none of the change, so this is no verdict")
            .hint("what stood in its way is said above; `--no-model` runs the deterministic checks alone")
            .into());
    }
    Ok(ExitCode::SUCCESS)
}

fn subject(arguments: &arguments::Review) -> Result<Subject> {
    let job = JobId::parse(&"0".repeat(32))?;
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
        return Ok(Subject {
            job: job.clone(),
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
    Ok(Subject {
        job: job.clone(),
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
