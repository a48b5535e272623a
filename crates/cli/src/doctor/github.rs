//! GitHub, as `mirilla serve` reaches it: the clock, the App or the tokens, and where it is installed.

use std::time::Duration;

use mirilla_domain::forge_place::GithubPlace;
use mirilla_forge::github::{Access, AppAuth, AppFacts, OwnApp};
use mirilla_ports::forge::ForgeError;

use super::clock;
use super::report::Report;
use crate::app::manifest;
use crate::serve::child;
use crate::settings::{Credentials, HostSettings, Secret};

/// How far this machine's clock may be off: tokens of the App say when they were made, and GitHub
/// refuses what is a minute from its own time.
const MAX_SKEW: Duration = Duration::from_secs(60);

/// Checks everything that can be seen with these settings.
pub(super) async fn examine(settings: &HostSettings, github: &GithubPlace, report: &mut Report) {
    const CHECK: &str = "github";
    let access = match child::github(github) {
        Ok(access) => access,
        Err(error) => {
            report.fail(CHECK, format!("{error:#}"), "set MIRILLA_GITHUB_API_URL");
            return;
        }
    };
    if let Err(error) = clock::examine("GitHub", access.server_time(), MAX_SKEW, report).await {
        report.fail(
            CHECK,
            mirilla_telemetry::chain(&error),
            format!(
                "check the network, a proxy, and MIRILLA_GITHUB_API_URL ({})",
                github.api_url
            ),
        );
        return;
    }
    match &settings.credentials {
        Credentials::App { id, key } => app(&access, (settings, github), id, key, report).await,
        Credentials::Tokens {
            read,
            write,
            resolve,
        } => tokens(&access, read, write, resolve.as_ref(), report).await,
    }
}

async fn app(
    access: &Access,
    (settings, github): (&HostSettings, &GithubPlace),
    id: &str,
    key: &Secret,
    report: &mut Report,
) {
    const CHECK: &str = "app";
    let auth = match AppAuth::with_pem(id, &key.to_secret_string()) {
        Ok(auth) => auth,
        Err(error) => {
            report.fail(
                CHECK,
                error.to_string(),
                "set MIRILLA_GITHUB_APP_KEY_FILE to the file from the App's page",
            );
            return;
        }
    };
    let own = access.own_app(auth);
    let facts = match own.facts().await {
        Ok(facts) => facts,
        Err(ForgeError::Unauthorized | ForgeError::NotFound { .. }) => {
            report.fail(
                CHECK,
                format!("GitHub does not take the key as one of the App {id}"),
                "compare MIRILLA_GITHUB_APP_ID with the App's page, or generate a new private key there",
            );
            return;
        }
        Err(error) => {
            report.fail(
                CHECK,
                mirilla_telemetry::chain(&error),
                "try again in a minute",
            );
            return;
        }
    };
    let login = format!("{}[bot]", facts.slug);
    if github.login.as_deref() == Some(login.as_str()) {
        report.ok(
            CHECK,
            format!("GitHub takes the key of the App {}", facts.slug),
        );
    } else {
        report.fail(
            CHECK,
            format!(
                "the App is called {}, so it would not know its own comments",
                facts.slug
            ),
            format!("set MIRILLA_GITHUB_APP_SLUG={}", facts.slug),
        );
    }
    permissions(&facts, settings.resolve_threads, report);
    installations(&own, settings, &facts, report).await;
}

fn permissions(facts: &AppFacts, resolve_threads: bool, report: &mut Report) {
    const CHECK: &str = "permissions";
    let for_queues = {
        let (name, level) = manifest::MERGE_QUEUES;
        format!("{name}: {level}")
    };
    let (queues, mut lacking): (Vec<_>, Vec<_>) = manifest::missing(&facts.permissions)
        .into_iter()
        .partition(|lacking| *lacking == for_queues);
    // Commands in the conversation need it, for the event alone.
    let mut wider = manifest::wider(&facts.permissions);
    wider.retain(|permission| permission != "issues: read");
    if resolve_threads {
        let push = "contents: write";
        wider.retain(|permission| permission != push);
        if facts.permissions.get("contents").map(String::as_str) != Some("write") {
            lacking.push(format!("{push} (MIRILLA_RESOLVE_THREADS is `yes`)"));
        }
    }
    let unheard = manifest::missing_events(&facts.events);
    if !lacking.is_empty() {
        report.fail(
            CHECK,
            format!("the App lacks {}", lacking.join(", ")),
            "add them on the App's page, and let each account accept them",
        );
    } else if unheard.iter().any(|event| event == "pull_request") {
        report.fail(
            CHECK,
            "the App is not told of pull requests",
            "subscribe it to the event \"Pull request\" on its page",
        );
    } else if !wider.is_empty() {
        report.warn(
            CHECK,
            format!("the App may do more than it needs: {}", wider.join(", ")),
            "take it away on the App's page",
        );
    } else if !queues.is_empty() {
        report.warn(
            CHECK,
            format!("the App lacks {for_queues}, so that it hears of no merge queue"),
            "add it on the App's page and subscribe to \"Merge group\", or a queue that requires the check waits for ever",
        );
    } else if !unheard.is_empty() {
        report.warn(
            CHECK,
            format!("the App is not told of {}", unheard.join(", ")),
            "subscribe it on its page, or \"Re-run\" on a check, commands in comments and merge queues get no answer",
        );
    } else {
        report.ok(CHECK, "the App may do what it needs and no more");
    }
}

async fn installations(
    own: &OwnApp,
    settings: &HostSettings,
    facts: &AppFacts,
    report: &mut Report,
) {
    const CHECK: &str = "installations";
    let accounts = match own.accounts().await {
        Ok(accounts) => accounts,
        Err(error) => {
            report.fail(
                CHECK,
                mirilla_telemetry::chain(&error),
                "try again in a minute",
            );
            return;
        }
    };
    let has = |name: &String| accounts.iter().any(|one| one.eq_ignore_ascii_case(name));
    let (there, absent): (Vec<_>, Vec<_>) = settings.allowed_accounts.iter().partition(|n| has(n));
    let list = |names: &[&String]| {
        let names: Vec<&str> = names.iter().map(|name| name.as_str()).collect();
        names.join(", ")
    };
    if absent.is_empty() {
        report.ok(CHECK, format!("installed on {}", list(&there)));
    } else {
        report.warn(
            CHECK,
            format!("not installed on {}", list(&absent)),
            format!("install it: {}/installations/new", facts.html_url),
        );
    }
}

async fn tokens(
    access: &Access,
    read: &Secret,
    write: &Secret,
    resolve: Option<&Secret>,
    report: &mut Report,
) {
    if read == write {
        report.warn(
            "tokens",
            "both tokens are the same, so the collector may write",
            "make one that reads contents and pull requests, and one that writes pull requests",
        );
    }
    if resolve.is_some_and(|resolve| resolve == write || resolve == read) {
        report.warn(
            "tokens",
            "the token that resolves threads is another one's too, so that one may push",
            "make a third one, of the same account, with Contents: write and Pull requests: write",
        );
    }
    let third = resolve.map(|token| ("resolve-token", "MIRILLA_GITHUB_RESOLVE_TOKEN", token, true));
    let both = [
        ("read-token", "MIRILLA_GITHUB_READ_TOKEN", read, false),
        ("write-token", "MIRILLA_GITHUB_WRITE_TOKEN", write, true),
    ];
    for (check, variable, token, may_write) in both.into_iter().chain(third) {
        match access.token_facts(&token.to_secret_string()).await {
            Ok(facts) => {
                let wide = facts.scopes.iter().any(|scope| scope == "repo");
                if wide && !may_write {
                    report.warn(
                        check,
                        format!(
                            "{variable} is a classic token of {} that may write everything {} may",
                            facts.login, facts.login
                        ),
                        "use a fine-grained token with Contents: read and Pull requests: read",
                    );
                } else {
                    report.ok(
                        check,
                        format!(
                            "{variable} is {}'s; what it reaches shows at the first pull request",
                            facts.login
                        ),
                    );
                }
            }
            Err(ForgeError::Unauthorized) => report.fail(
                check,
                format!("GitHub does not know {variable}, or it has expired"),
                "make a new one",
            ),
            Err(error) => report.fail(
                check,
                mirilla_telemetry::chain(&error),
                format!("check {variable}"),
            ),
        }
    }
}
