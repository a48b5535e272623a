//! The whole loop on this machine: simulated GitHub and model, real everything else.
//!
//! Intake, collector, reviewer, poster and minters run as they do in `mirilla serve`, each in a
//! process of its own; only the two services at the ends are simulated, and it says so.
//!
//! **Invariant:** nothing leaves loopback, and nothing is read but what the arguments name.

mod change;
mod loopback;
mod page;
mod show;

use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context as _, Result};
use mirilla_sim::{Github, PullRequestPage};
use serde_json::json;

use crate::arguments::Demo;
use crate::output;
use crate::settings::Environment;
use change::Change;
use loopback::Loopback;

/// Longest time one review may take before the demo gives up and shows what the workers said.
const PATIENCE: Duration = Duration::from_secs(60);

/// What the demo found out, in the order it happened.
#[derive(Debug, Default, serde::Serialize)]
struct Findings {
    /// Always `simulated`: no model was asked.
    model: &'static str,
    /// Each webhook that was sent, and its answer.
    webhooks: Vec<Answer>,
    /// What stands on the pull request after each push.
    reviews: Vec<Shown>,
    /// Lines of the workers.
    log: Vec<String>,
    /// Where the page is.
    html: String,
}

/// An answer of the intake.
#[derive(Debug, serde::Serialize)]
struct Answer {
    what: String,
    status: u16,
    body: String,
}

/// The pull request as a person sees it.
#[derive(Debug, serde::Serialize)]
struct Shown {
    head: String,
    body: String,
    comments: Vec<Comment>,
}

/// One comment on a line.
#[derive(Debug, serde::Serialize)]
struct Comment {
    path: String,
    line: Option<u64>,
    body: String,
    new: bool,
}

/// Runs the demo.
pub(crate) fn run(arguments: &Demo, environment: &Environment) -> Result<ExitCode> {
    let change = Change::of(arguments)?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .context("the runtime cannot be started")?;
    let say = Saying {
        quiet: arguments.json,
    };
    let (findings, page) = runtime.block_on(tell(&change, environment, &say))?;
    std::fs::write(&arguments.html, crate::html::render(&page))
        .with_context(|| format!("{} cannot be written", arguments.html.display()))?;
    let findings = Findings {
        html: arguments.html.display().to_string(),
        ..findings
    };
    if arguments.json {
        output::data_line(&serde_json::to_string_pretty(&json!(findings))?);
    } else {
        say.heading("The page");
        say.line(&format!(
            "The change with its findings inline: {}",
            arguments.html.display()
        ));
        say.line("");
        say.line("Next: `mirilla review --repo . --base main` on a repository of yours, or `mirilla serve`.");
    }
    Ok(ExitCode::SUCCESS)
}

/// Prints the story, unless a machine reads.
struct Saying {
    quiet: bool,
}

impl Saying {
    fn heading(&self, text: &str) {
        self.line("");
        self.line(&format!("== {text}"));
    }

    fn line(&self, text: &str) {
        if !self.quiet {
            output::data_line(&mirilla_domain::escape::terminal_lines(text));
        }
    }

    fn answer(&self, answer: &Answer) {
        self.line(&format!(
            "{:<46} -> {} {}",
            answer.what, answer.status, answer.body
        ));
    }
}

async fn tell(
    change: &Change,
    environment: &Environment,
    say: &Saying,
) -> Result<(Findings, crate::html::Page)> {
    say.line("Mirilla reads pull requests and reports what will hurt: once, on the right line, for a known price.");
    say.line("model: simulated (no account, no key; GitHub is simulated too, everything between is real)");
    let mut host = Loopback::start(environment)?;
    let github = host.github();
    let number = change.open(&github)?;
    let mut findings = Findings {
        model: "simulated",
        ..Findings::default()
    };

    say.heading(&format!(
        "{} opens pull request {}#{number}: {}",
        change::AUTHOR,
        change::REPO,
        change.title()
    ));
    let opened = github.take_deliveries();
    let first = opened
        .iter()
        .find(|delivery| delivery.event == "pull_request")
        .context("the simulated GitHub sent no webhook")?;
    let mut forged = first.headers.clone();
    for (name, value) in &mut forged {
        if name.eq_ignore_ascii_case("x-hub-signature-256") {
            *value = mirilla_sim::hook_signature("somebody else's secret", &first.body);
        }
    }
    for (what, headers) in [
        ("webhook, signed with a wrong secret", &forged),
        ("webhook pull_request.opened, signed", &first.headers),
        ("the same delivery once more", &first.headers),
    ] {
        let (status, body) = host.deliver(headers, &first.body).await?;
        let answer = Answer {
            what: what.to_owned(),
            status,
            body,
        };
        say.answer(&answer);
        findings.webhooks.push(answer);
    }
    say.heading("The workers");
    host.reviewed(
        change::REPO,
        number,
        &change::head(&github)?,
        PATIENCE,
        |line| say.line(line),
    )
    .await?;
    let before = github.pull_request_page(change::REPO, number)?;
    say.heading("What stands on the pull request now");
    findings.reviews.push(shown(&before, None));
    show::pull_request(say, &before, None);

    if change.push_again(&github)? {
        say.heading("A second commit is pushed");
        for delivery in github
            .take_deliveries()
            .iter()
            .filter(|delivery| delivery.event == "pull_request")
        {
            let (status, body) = host.deliver(&delivery.headers, &delivery.body).await?;
            let what = format!(
                "webhook pull_request.{}, signed",
                delivery.action.as_deref().unwrap_or("")
            );
            let answer = Answer { what, status, body };
            say.answer(&answer);
            findings.webhooks.push(answer);
        }
        say.heading("The workers");
        host.reviewed(
            change::REPO,
            number,
            &change::head(&github)?,
            PATIENCE,
            |line| say.line(line),
        )
        .await?;
        let after = github.pull_request_page(change::REPO, number)?;
        say.heading("What is new on the pull request");
        findings.reviews.push(shown(&after, Some(&before)));
        show::pull_request(say, &after, Some(&before));
    }
    findings.log = host.log();
    let page = page::of(&host, &github, number, &findings.log).await?;
    host.stop()?;
    Ok((findings, page))
}

fn shown(page: &PullRequestPage, before: Option<&PullRequestPage>) -> Shown {
    let known: Vec<u64> = before.map(ids).unwrap_or_default();
    let mut comments = Vec::new();
    for review in &page.reviews {
        for comment in &review.comments {
            comments.push(Comment {
                path: comment.path.clone(),
                line: comment.line,
                body: comment.body.clone(),
                new: !known.contains(&comment.id),
            });
        }
    }
    let body = page
        .reviews
        .last()
        .map(|review| review.body.clone())
        .unwrap_or_default();
    Shown {
        head: page.head.clone(),
        body,
        comments,
    }
}

/// Returns the numbers of all comments on a page.
fn ids(page: &PullRequestPage) -> Vec<u64> {
    page.reviews
        .iter()
        .flat_map(|review| &review.comments)
        .map(|comment| comment.id)
        .collect()
}

/// The simulated GitHub as the demo's parts see it.
type Forge = Github;
