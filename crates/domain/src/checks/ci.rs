//! CI files that can reach secrets.

use std::collections::HashSet;

use memchr::memmem;
use mirilla_diff::LineKind;

use super::source::Source;
use super::{Check, Found, Hits, path};
use crate::review::Severity;

/// Reports added lines that reach for secrets, and changed commands beside lines that do.
///
/// What only moved, and an action that only got another version, were there before.
pub(super) fn check(source: &Source<'_>, out: &mut Hits<'_>) {
    if !path::both(source.file).iter().any(|path| is_ci(path)) {
        return;
    }
    let deleted: HashSet<&[u8]> = source
        .lines()
        .filter(|line| line.kind == LineKind::Deleted)
        .map(|line| same_as(line.text))
        .collect();
    let mut reported = false;
    let mut beside = None;
    for hunk in &source.hunks {
        let mut secrets = false;
        let mut command = None;
        for line in hunk.iter().map(|seen| seen.line) {
            match (line.kind, reach(line.text)) {
                (LineKind::Context, Some(Reach::Secrets)) => secrets = true,
                (LineKind::Added, _) if deleted.contains(same_as(line.text)) => {}
                (LineKind::Added, Some(reach)) => {
                    reported = true;
                    out.push(found(&reach, line.new.unwrap_or(0)));
                }
                (LineKind::Added, None) if is_command(line.text) => {
                    command = command.or(line.new);
                }
                _ => {}
            }
        }
        beside = beside.or(command.filter(|_| secrets));
    }
    if let Some(line) = beside.filter(|_| !reported) {
        out.push(Found::at(
            Check::CiSecrets,
            line,
            Severity::Medium,
            "A CI job beside secrets was changed",
            "The lines around this change use secrets. What the job now runs can read them.",
        ));
    }
}

fn found(reach: &Reach, line: u32) -> Found {
    let (severity, title, message) = match reach {
        Reach::Target => (
            Severity::High,
            "This workflow runs on foreign pull requests with the repository's secrets",
            "`pull_request_target` runs with a write token and secrets. If a step checks out or runs code of the pull request, its author owns both.",
        ),
        Reach::Secrets => (
            Severity::Medium,
            "CI was given access to secrets",
            "Whatever this job runs, including what it downloads, can read the secret and send it away.",
        ),
        Reach::Write => (
            Severity::Medium,
            "CI was given a token that can write",
            "Whatever this job runs, including what it downloads, can use the token.",
        ),
    };
    Found::at(Check::CiSecrets, line, severity, title, message)
}

/// What of a line says that it is the same line: not its indent, nor the version of an action.
fn same_as(line: &[u8]) -> &[u8] {
    let text = item(line);
    if !text.starts_with(b"uses:") {
        return text;
    }
    let end = memchr::memchr(b'@', text).unwrap_or(text.len());
    text.get(..end).unwrap_or(text)
}

/// A line without its indent and the dash of a list.
fn item(line: &[u8]) -> &[u8] {
    let text = line.trim_ascii();
    text.strip_prefix(b"- ").unwrap_or(text).trim_ascii()
}

/// Says whether a line is, or names, something that a job runs: not a setting of the job.
fn is_command(line: &[u8]) -> bool {
    const RUNS: [&[u8]; 9] = [
        b"uses",
        b"run",
        b"script",
        b"image",
        b"entrypoint",
        b"command",
        b"args",
        b"shell",
        b"container",
    ];
    let text = item(line);
    let key = text
        .iter()
        .position(|c| !c.is_ascii_alphanumeric() && !matches!(c, b'-' | b'_' | b'.' | b'"' | b'\''))
        .filter(|end| text.get(*end) == Some(&b':'))
        .and_then(|end| text.get(..end));
    match (text.first(), key) {
        (None | Some(b'#'), _) => false,
        (_, Some(key)) => RUNS.contains(&key),
        // One word is a value of a list, unless it is a script.
        (_, None) => text.contains(&b' ') || text.contains(&b'/'),
    }
}

/// What a line reaches for.
enum Reach {
    /// Foreign pull requests run with our rights.
    Target,
    /// A secret.
    Secrets,
    /// A token that writes.
    Write,
}

fn reach(line: &[u8]) -> Option<Reach> {
    let text = line.trim_ascii();
    if text.first() == Some(&b'#') {
        return None;
    }
    let has = |needle: &[u8]| memmem::find(text, needle).is_some();
    if has(b"pull_request_target") {
        return Some(Reach::Target);
    }
    let own_token = |at: &usize| {
        let after = text.get(at.saturating_add(8)..).unwrap_or_default();
        after.starts_with(b"GITHUB_TOKEN")
    };
    let foreign = memmem::find_iter(text, b"secrets.").any(|at| !own_token(&at));
    if foreign
        || has(b"secrets[")
        || has(b"secrets: inherit")
        || has(b"withCredentials")
        || has(b"toJSON(secrets)")
    {
        return Some(Reach::Secrets);
    }
    let writes = [
        b"write-all".as_slice(),
        b"contents: write",
        b"id-token: write",
        b"packages: write",
        b"actions: write",
    ];
    writes
        .iter()
        .any(|permission| has(permission))
        .then_some(Reach::Write)
}

/// Pipelines of the common CI systems; the path is lower-case.
fn is_ci(path: &str) -> bool {
    let yaml = matches!(path::extension(path), "yml" | "yaml");
    let name = path::name(path);
    (yaml
        && (path.starts_with(".github/workflows/")
            || path.starts_with(".github/actions/")
            || path.starts_with(".circleci/")
            || path.starts_with(".gitlab/ci/")
            || path.starts_with(".buildkite/")
            || path.starts_with(".woodpecker/")
            || matches!(
                name,
                "action.yml"
                    | "action.yaml"
                    | ".drone.yml"
                    | ".travis.yml"
                    | "buildspec.yml"
                    | "cloudbuild.yaml"
            )
            || name.starts_with(".gitlab-ci")
            || name.starts_with("azure-pipelines")
            || name.starts_with("bitbucket-pipelines")))
        || name == "jenkinsfile"
}
