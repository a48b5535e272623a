//! `docs/REFERENCE.md`, made from the program itself: commands, variables, codes.
//!
//! **Invariant:** every line comes from where the program reads it, so the page cannot say otherwise.

use std::fmt::Write as _;

use clap::CommandFactory as _;
use mirilla_domain::code::{DropReason, EndReason, FailReason, SkipReason};
use mirilla_domain::review::{Category, Severity};

use crate::arguments::Arguments;
use crate::settings::VARIABLES;

/// Returns the page.
#[expect(
    clippy::let_underscore_must_use,
    reason = "writing to a string cannot fail"
)]
pub(crate) fn page() -> String {
    let mut out = String::from(
        "# Reference\n\nMade by `mirilla config reference`; a test compares this page with the program.\n\n## Commands\n",
    );
    let mut root = Arguments::command();
    root.build();
    command(&mut out, &root, "mirilla");
    out.push_str("\nExit codes: 0 fine, 1 failed or nothing read by the model, 2 usage, 3 nothing to review, 10 findings at or above `--fail-on`, or a `--gate` that does not let the change pass.\n");
    out.push_str("\n## Environment\n\nRead by `mirilla serve` and, without `--stack`, by `mirilla doctor`; `ANTHROPIC_API_KEY`, `MIRILLA_MODEL*`, `MIRILLA_POLICY_FILE`, `MIRILLA_TRUSTED_BASES` and `MIRILLA_*_USD` also by `mirilla review`. `mirilla collect` and `mirilla post` read `MIRILLA_GITHUB_API_URL`, `MIRILLA_GITHUB_ARCHIVE_HOSTS`, their token (`MIRILLA_GITHUB_READ_TOKEN`, `MIRILLA_GITHUB_WRITE_TOKEN`), or `MIRILLA_GITLAB_URL`, `MIRILLA_GITLAB_CA_FILE` and theirs (`MIRILLA_GITLAB_READ_TOKEN`, `MIRILLA_GITLAB_WRITE_TOKEN`), and the policy's variables, the second also `MIRILLA_MARKER_KEY` and `MIRILLA_WRITE_GRACE_SECONDS`. Of GitHub Actions both read `GITHUB_EVENT_PATH` and `GITHUB_EVENT_NAME`, and the first writes to `GITHUB_OUTPUT`; of GitLab CI `GITLAB_CI`, `CI_SERVER_URL`, `CI_SERVER_TLS_CA_FILE`, `CI_COMMIT_SHA`, `CI_MERGE_REQUEST_IID`, `CI_MERGE_REQUEST_PROJECT_ID`, `CI_MERGE_REQUEST_PROJECT_PATH` and `CI_MERGE_REQUEST_SOURCE_BRANCH_SHA`.\n\n| variable | takes |\n| --- | --- |\n");
    for variable in VARIABLES {
        let _ = writeln!(out, "| `{}` | {} |", variable.name, variable.form);
    }
    out.push_str("\n## Codes\n\nStable words in reviews, logs and JSON.\n");
    table(
        &mut out,
        "Why a file was not sent to the model",
        SkipReason::ALL
            .iter()
            .map(|code| (code.as_str(), code.explain())),
    );
    table(
        &mut out,
        "Why a file that was sent does not count as reviewed",
        FailReason::ALL
            .iter()
            .map(|code| (code.as_str(), code.explain())),
    );
    table(
        &mut out,
        "Why a finding was not posted",
        DropReason::ALL
            .iter()
            .map(|code| (code.as_str(), code.explain())),
    );
    table(
        &mut out,
        "Why a job ended without a review",
        EndReason::ALL
            .iter()
            .map(|code| (code.as_str(), code.explain())),
    );
    table(
        &mut out,
        "Categories of findings",
        Category::ALL
            .iter()
            .map(|code| (code.as_str(), code.explain())),
    );
    let severities: Vec<&str> = Severity::ALL
        .iter()
        .map(|severity| severity.as_str())
        .collect();
    let _ = writeln!(out, "\nSeverities, worst first: {}.", severities.join(", "));
    out
}

#[expect(
    clippy::let_underscore_must_use,
    reason = "writing to a string cannot fail"
)]
fn command(out: &mut String, command_: &clap::Command, path: &str) {
    let help = command_
        .clone()
        .term_width(100)
        .color(clap::ColorChoice::Never)
        .render_long_help();
    let help = help.to_string();
    let lines: Vec<&str> = help.lines().map(str::trim_end).collect();
    let _ = writeln!(
        out,
        "\n### `{path}`\n\n```text\n{}\n```",
        lines.join("\n").trim_end()
    );
    for inner in command_
        .get_subcommands()
        .filter(|inner| !inner.is_hide_set() && inner.get_name() != "help")
    {
        command(out, inner, &format!("{path} {}", inner.get_name()));
    }
}

#[expect(
    clippy::let_underscore_must_use,
    reason = "writing to a string cannot fail"
)]
fn table(out: &mut String, title: &str, rows: impl Iterator<Item = (&'static str, &'static str)>) {
    let _ = write!(out, "\n{title}:\n\n| code | meaning |\n| --- | --- |\n");
    for (code, meaning) in rows {
        let _ = writeln!(out, "| `{code}` | {meaning} |");
    }
}
