//! CI files that can reach secrets.

use memchr::memmem;
use mirilla_diff::LineKind;

use super::source::Source;
use super::{Check, Found, Hits, path};
use crate::review::Severity;

/// Reports added lines that reach for secrets, and edits of files that visibly do.
pub(super) fn check(source: &Source<'_>, out: &mut Hits<'_>) {
    if !path::both(source.file).iter().any(|path| is_ci(path)) {
        return;
    }
    let mut reported = false;
    let mut seen = false;
    let mut first_added = None;
    for line in source.lines() {
        let Some(reach) = reach(line.text) else {
            if line.kind == LineKind::Added && !matches!(line.text.trim_ascii(), [] | [b'#', ..]) {
                first_added = first_added.or(line.new);
            }
            continue;
        };
        if line.kind != LineKind::Added {
            seen |= line.kind == LineKind::Context;
            continue;
        }
        reported = true;
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
        out.push(Found::at(
            Check::CiSecrets,
            line.new.unwrap_or(0),
            severity,
            title,
            message,
        ));
    }
    if let Some(line) = first_added.filter(|_| seen && !reported) {
        out.push(Found::at(
            Check::CiSecrets,
            line,
            Severity::Medium,
            "A CI job beside secrets was changed",
            "The lines around this change use secrets. What the job now runs can read them.",
        ));
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
