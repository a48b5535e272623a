//! GitLab, as a host or a stack reaches it: its version, whose the two tokens are, and what they may do.

use chrono::{DateTime, Days, NaiveDate};
use mirilla_domain::ids::{JobId, RepoName};
use mirilla_domain::webhook::MAX_CLOCK_SKEW;
use mirilla_forge::gitlab::{Access, GitlabReader, ProjectFacts, Role, TokenFacts, Version};
use mirilla_forge::{JobTokens, TokensFrom};
use mirilla_ports::Clock as _;
use mirilla_ports::forge::ForgeError;
use mirilla_ports::message::Message;
use mirilla_system::SystemClock;
use secrecy::SecretString;

use super::clock;
use super::report::Report;

/// How long before its end a token is told of.
const ENDS_SOON: Days = Days::new(14);

/// Where the settings are that somebody would have to change.
#[derive(Debug, Clone, Copy)]
pub(super) enum Settings<'a> {
    /// Variables of `mirilla serve`.
    Host,
    /// Parameters and secrets of a stack.
    Stack(&'a str),
}

impl Settings<'_> {
    /// Returns what to do about a GitLab that does not answer.
    fn address(self) -> String {
        let (url, authority) = match self {
            Self::Host => ("MIRILLA_GITLAB_URL", "MIRILLA_GITLAB_CA_FILE"),
            Self::Stack(_) => ("the parameter GitLabUrl", "ForgeCaPem"),
        };
        format!("check the network, a proxy, {url}, and {authority} for an authority of your own")
    }

    /// Returns what to do with another token.
    fn keep(self, token: &Use) -> String {
        match self {
            Self::Host => format!("set {}", token.variable),
            Self::Stack(stack) => format!("mirilla secret set {} --stack {stack}", token.check),
        }
    }
}

/// Checks everything that can be seen with these tokens, one that reads and one that writes.
pub(super) async fn examine(
    access: &Access,
    [read, write]: [SecretString; 2],
    project: Option<&RepoName>,
    settings: Settings<'_>,
    report: &mut Report,
) {
    let (Some(reading), Some(writing)) = (tokens(read), tokens(write)) else {
        return;
    };
    let (reader, writer) = (access.reader(reading), access.writer(writing));
    let version = match reader.version().await {
        Ok(version) => version,
        Err(error) => {
            let what = mirilla_telemetry::chain(&error);
            match (settings, error) {
                (_, ForgeError::Unauthorized) => report.fail(
                    "gitlab",
                    what,
                    format!("make a token that GitLab takes: {}", settings.keep(&READS)),
                ),
                // The functions may be in a network that this machine is not in.
                (Settings::Stack(_), ForgeError::Unavailable { .. }) => report.warn(
                    "gitlab",
                    format!("it is not seen from here: {what}"),
                    format!(
                        "where the functions see it that is fine; else {}",
                        settings.address()
                    ),
                ),
                _ => report.fail("gitlab", what, settings.address()),
            }
            return;
        }
    };
    tell_version(version, report);
    if let Settings::Host = settings
        && let Err(error) =
            clock::examine("GitLab", reader.server_time(), MAX_CLOCK_SKEW, report).await
    {
        report.fail(
            "gitlab",
            mirilla_telemetry::chain(&error),
            settings.address(),
        );
    }
    for (reader, wanted) in [(&reader, &READS), (writer.reader(), &WRITES)] {
        let works = token(reader, wanted, settings, report).await;
        if let (true, Some(project)) = (works, project) {
            role(reader, wanted, project, report).await;
        }
    }
}

fn tokens(token: SecretString) -> Option<JobTokens> {
    // The token is the same for every job, so that the name of one does not matter.
    let job = JobId::parse(&"0".repeat(32)).ok()?;
    let from = TokensFrom::Fixed(token);
    Some(JobTokens::of(from, &Message::CollectV1 { job }))
}

/// Says which version it is, and what people will miss on it.
fn tell_version(version: Version, report: &mut Report) {
    const CHECK: &str = "gitlab";
    if version < Version::OLDEST {
        report.warn(
            CHECK,
            format!(
                "this is GitLab {version}, and {} is the oldest that was tried",
                Version::OLDEST
            ),
            "update GitLab, or try it and look closely",
        );
        return;
    }
    let has = version.features();
    let mut lacks = Vec::new();
    if !has.draft_notes {
        lacks.push("every comment notifies by itself (one notification a review from 16.3 on)");
    }
    if !has.line_range {
        lacks.push("comments stand on one line (on several from 13.6 on)");
    }
    if !has.raw_diffs && !has.raw_changes {
        lacks.push("long patches are left out, and named as not read (shown from 13.0 on)");
    }
    let lacks = if lacks.is_empty() {
        "nothing is missing".to_owned()
    } else {
        lacks.join("; ")
    };
    report.ok(CHECK, format!("GitLab {version} answers; {lacks}"));
}

/// What one of the two tokens is for.
struct Use {
    /// Its check, which is called like the secret of a stack.
    check: &'static str,
    variable: &'static str,
    what: &'static str,
    scope: &'static str,
    role: Role,
    writes: bool,
}

const READS: Use = Use {
    check: "read-token",
    variable: "MIRILLA_GITLAB_READ_TOKEN",
    what: "the token that reads",
    scope: "read_api",
    role: Role::REPORTER,
    writes: false,
};
const WRITES: Use = Use {
    check: "write-token",
    variable: "MIRILLA_GITLAB_WRITE_TOKEN",
    what: "the token that writes",
    scope: "api",
    role: Role::DEVELOPER,
    writes: true,
};

/// Looks at a token; returns whether GitLab takes it.
async fn token(
    reader: &GitlabReader,
    wanted: &Use,
    settings: Settings<'_>,
    report: &mut Report,
) -> bool {
    let fix = format!(
        "make a token with the scope `{}`, then: {}",
        wanted.scope,
        settings.keep(wanted)
    );
    let asked = async {
        let whose = reader.identity().await?.username().to_owned();
        let facts = if reader.features().await?.token_self {
            Some(reader.token_facts().await?)
        } else {
            None
        };
        Ok::<_, ForgeError>((whose, facts))
    };
    match asked.await {
        Err(error) => {
            report.fail(wanted.check, mirilla_telemetry::chain(&error), fix);
            return false;
        }
        Ok((whose, None)) => report.ok(
            wanted.check,
            format!("it is {whose}'s; what it may do, this version does not tell"),
        ),
        Ok((whose, Some(facts))) if facts.may_write() != wanted.writes => {
            let what = if wanted.writes {
                format!("it is {whose}'s and may not write")
            } else {
                format!(
                    "it is {whose}'s and may write, and the process that reads strangers' text has it"
                )
            };
            report.fail(wanted.check, what, fix);
        }
        Ok((whose, Some(facts))) => tell_end(&whose, &facts, (wanted, settings), report),
    }
    true
}

/// Looks at what a token's account may do in a project.
async fn role(reader: &GitlabReader, wanted: &Use, project: &RepoName, report: &mut Report) {
    const CHECK: &str = "project";
    let (what, needed) = (wanted.what, wanted.role);
    let fix = format!("give its account the role {needed} in {project}");
    match reader.project_facts(project).await {
        Err(error) => report.fail(
            CHECK,
            format!("{what}: {}", mirilla_telemetry::chain(&error)),
            fix,
        ),
        Ok(ProjectFacts { role: None, .. }) if wanted.writes => report.fail(
            CHECK,
            format!("{what} is of nobody who is a member of {project}"),
            fix,
        ),
        Ok(ProjectFacts { role: None, .. }) => {
            report.ok(CHECK, format!("{what} sees {project} as everyone does"));
        }
        Ok(ProjectFacts {
            role: Some(role), ..
        }) if role < needed => report.fail(
            CHECK,
            format!("{what} is of a {role} of {project}, and {needed} is the least"),
            fix,
        ),
        Ok(facts) => {
            let waits = if facts.needs_resolved_threads {
                "merging waits until all threads are resolved"
            } else {
                "merging does not wait for threads (\"All threads must be resolved\" is off there)"
            };
            report.ok(
                CHECK,
                format!("{what} reaches far enough in {project}; {waits}"),
            );
        }
    }
}

fn tell_end(
    whose: &str,
    facts: &TokenFacts,
    (wanted, settings): (&Use, Settings<'_>),
    report: &mut Report,
) {
    let ends = facts
        .expires_at
        .as_deref()
        .and_then(|day| day.parse::<NaiveDate>().ok());
    let today =
        DateTime::from_timestamp_millis(SystemClock.now().get()).map(|now| now.date_naive());
    let soon = today.and_then(|today| today.checked_add_days(ENDS_SOON));
    match (ends, soon) {
        (Some(ends), Some(soon)) if ends <= soon => report.warn(
            wanted.check,
            format!("it is {whose}'s and ends on {ends}"),
            format!("make another one, then: {}", settings.keep(wanted)),
        ),
        (Some(ends), _) => report.ok(wanted.check, format!("it is {whose}'s, until {ends}")),
        (None, _) => report.ok(wanted.check, format!("it is {whose}'s, and does not end")),
    }
}
