//! The words of the command line.

mod jobs;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;
use clap::{Args, Parser, Subcommand, ValueEnum};

use crate::settings::Environment;
use crate::{
    app, config, demo, doctor, eval, explain, inspect, output, preview, replay, secret, serve,
    webhook,
};
pub(crate) use jobs::{Collect, ForgeName, Post, PullName};

/// Reviews pull requests with a model that can be talked into anything, and lets it do nothing.
#[derive(Debug, Parser)]
#[command(name = "mirilla", version, propagate_version = true)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Shows the whole loop on this machine: a signed webhook in, a review out. No account needed.
    Demo(Demo),
    /// Runs all stages on this host: webhooks in, reviews out.
    Serve(Serve),
    /// Reviews a range of a repository, a patch or a snapshot, and posts nothing.
    Review(Review),
    /// In a pipeline: takes the snapshot of a pull request that `mirilla review --snapshot` reads.
    Collect(Collect),
    /// In a pipeline: posts what `mirilla review --snapshot` found, or shows what would be posted.
    Post(Post),
    /// Makes the plan of a kept run again, without a model or a forge; fails if it is another one.
    Replay(Replay),
    /// Says where a finding of a kept run came from and what became of it.
    Explain(Explain),
    /// Measures reviews on changes whose defects are known; docs/EVAL.md describes the folder.
    Eval(Eval),
    /// Shows what one pure step does to a file, as JSON; contacts nothing.
    Inspect {
        #[command(subcommand)]
        step: inspect::Step,
    },
    /// Makes the GitHub App of a stack on AWS, or connects one.
    App {
        #[command(subcommand)]
        command: app::Command,
    },
    /// Fills a secret of a stack on AWS.
    Secret {
        #[command(subcommand)]
        command: secret::Command,
    },
    /// Checks the whole chain, of a stack on AWS or of this host; names each fix. Changes nothing.
    Doctor(doctor::Doctor),
    /// Signs and sends a webhook.
    Webhook {
        #[command(subcommand)]
        command: Webhook,
    },
    /// Checks a repository's settings file, or prints its schema.
    Config {
        #[command(subcommand)]
        command: Config,
    },
    /// One stage of `mirilla serve`; started by it.
    #[command(hide = true)]
    Stage {
        /// Which one.
        name: String,
    },
}

/// What to demonstrate on.
#[derive(Debug, Args)]
pub(crate) struct Demo {
    /// A repository to take a change from, instead of the built-in one.
    #[arg(long, value_name = "PATH", conflicts_with = "patch")]
    pub(crate) repo: Option<PathBuf>,
    /// The commit the change starts at.
    #[arg(long, value_name = "REV", default_value = "HEAD~1", requires = "repo")]
    pub(crate) base: String,
    /// The commit the change ends at.
    #[arg(long, value_name = "REV", default_value = "HEAD", requires = "repo")]
    pub(crate) head: String,
    /// A patch to take the change from; `-` reads standard input.
    #[arg(long, value_name = "FILE")]
    pub(crate) patch: Option<PathBuf>,
    /// Prints one JSON object instead of text.
    #[arg(long)]
    pub(crate) json: bool,
    /// Where to write the page with the findings inline.
    #[arg(long, value_name = "FILE", default_value = "mirilla-demo.html")]
    pub(crate) html: PathBuf,
}

/// How to serve. Everything else comes from the environment; see `mirilla serve --variables`.
#[derive(Debug, Args)]
pub(crate) struct Serve {
    /// A directory for databases and snapshots.
    #[arg(long, value_name = "DIR", env = "MIRILLA_DATA_DIR")]
    pub(crate) data: Option<PathBuf>,
    /// Where webhooks arrive.
    #[arg(long, value_name = "ADDRESS", env = "MIRILLA_LISTEN")]
    pub(crate) listen: Option<SocketAddr>,
    /// Lists every environment variable that is read, and ends.
    #[arg(long)]
    pub(crate) variables: bool,
}

/// What to review.
#[derive(Debug, Args)]
pub(crate) struct Review {
    /// The repository.
    #[arg(long, value_name = "PATH", default_value = ".")]
    pub(crate) repo: PathBuf,
    /// The commit the change starts at; the merge base with the head is used.
    #[arg(long, value_name = "REV", conflicts_with = "patch")]
    pub(crate) base: Option<String>,
    /// The commit the change ends at.
    #[arg(
        long,
        value_name = "REV",
        default_value = "HEAD",
        conflicts_with = "patch"
    )]
    pub(crate) head: String,
    /// A patch instead; `-` reads standard input.
    #[arg(long, value_name = "FILE")]
    pub(crate) patch: Option<PathBuf>,
    /// How findings are printed.
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub(crate) format: Format,
    /// Ends with exit code 10 if there is a finding of this severity or a worse one.
    #[arg(long, value_name = "SEVERITY", value_parser = severity)]
    pub(crate) fail_on: Option<mirilla_domain::review::Severity>,
    /// Runs only the deterministic checks, even with a key.
    #[arg(long)]
    pub(crate) no_model: bool,
    /// Keeps the run in a new folder, for `mirilla explain` and `mirilla replay`: the change, its settings
    /// and rules, every call with its answer, the review and the plan.
    #[arg(long, value_name = "DIR")]
    pub(crate) keep: Option<PathBuf>,
    /// A snapshot that `mirilla collect` wrote, instead of a repository or a patch; the findings are for
    /// `mirilla post`. Does not start where a variable holds a forge's token or a private key.
    #[arg(
        long,
        value_name = "FOLDER",
        requires = "out",
        conflicts_with_all = ["repo", "base", "head", "patch", "format", "fail_on", "keep"]
    )]
    pub(crate) snapshot: Option<PathBuf>,
    /// Where the findings of a snapshot go: a new or an empty folder.
    #[arg(long, value_name = "FOLDER", requires = "snapshot")]
    pub(crate) out: Option<PathBuf>,
}

/// Which run to repeat.
#[derive(Debug, Args)]
pub(crate) struct Replay {
    /// A run's folder, or a file in it.
    #[arg(value_name = "RUN")]
    pub(crate) run: PathBuf,
}

/// Which finding to explain.
#[derive(Debug, Args)]
pub(crate) struct Explain {
    /// The finding: its fingerprint or the beginning of it, a comment's marker, or PATH:LINE.
    #[arg(value_name = "FINDING")]
    pub(crate) finding: String,
    /// The run's folder, or a file in it.
    #[arg(long, value_name = "RUN", default_value = ".")]
    pub(crate) run: PathBuf,
}

/// How findings are printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// For a terminal.
    Text,
    /// For machines.
    Json,
    /// SARIF 2.1.0, for code scanning and editors.
    Sarif,
    /// GitLab's code quality report.
    Codequality,
    /// A page.
    Html,
}

/// What to measure, and on what.
#[derive(Debug, Args)]
pub(crate) struct Eval {
    /// The labelled changes: DIR/<set>/<case>/case.toml.
    #[arg(value_name = "DIR")]
    pub(crate) dir: PathBuf,
    /// Only this set; may be given several times.
    #[arg(long, value_name = "NAME")]
    pub(crate) set: Vec<String>,
    /// Where clones are, as DIR/owner/name, for changes that are commits of a repository.
    #[arg(long, value_name = "DIR")]
    pub(crate) repositories: Option<PathBuf>,
    /// Asks the model; without it recorded answers are replayed, which costs nothing.
    #[arg(long)]
    pub(crate) ask: bool,
    /// Answers from the labels instead: what is not reported then was lost by this program.
    #[arg(long, conflicts_with = "ask")]
    pub(crate) oracle: bool,
    /// Keeps the answers beside each change, in place of those that were there.
    #[arg(long, requires = "ask", conflicts_with = "oracle")]
    pub(crate) record: bool,
    /// The most that all questions together may cost.
    #[arg(long, value_name = "USD", value_parser = usd, default_value = "1.00")]
    pub(crate) max_usd: mirilla_domain::money::PicoUsd,
    /// How the result is printed.
    #[arg(long, value_enum, default_value_t = EvalFormat::Text)]
    pub(crate) format: EvalFormat,
}

/// How an evaluation's result is printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum EvalFormat {
    /// For a terminal.
    Text,
    /// For machines.
    Json,
}

#[derive(Debug, Subcommand)]
enum Webhook {
    /// Signs a payload as GitHub does and posts it.
    Send(Send),
}

/// A webhook to send.
#[derive(Debug, Args)]
pub(crate) struct Send {
    /// Where to, such as `http://127.0.0.1:8080/webhooks/github`.
    #[arg(long, value_name = "URL")]
    pub(crate) url: url::Url,
    /// Whose webhook it is.
    #[arg(long, value_enum, default_value = "github")]
    pub(crate) forge: ForgeName,
    /// The event's name; default: `pull_request`, on GitLab `Merge Request Hook`.
    #[arg(long, value_name = "NAME")]
    pub(crate) event: Option<String>,
    /// The payload; `-` reads standard input.
    #[arg(value_name = "FILE")]
    pub(crate) payload: PathBuf,
    /// The delivery's id; default: a new one.
    #[arg(long, value_name = "ID")]
    pub(crate) delivery: Option<String>,
    /// The webhook's secret, on GitLab its secret token.
    #[arg(
        long,
        value_name = "SECRET",
        env = "MIRILLA_WEBHOOK_SECRET",
        hide_env_values = true
    )]
    pub(crate) secret: Option<String>,
    /// The signing token of GitLab's webhook.
    #[arg(
        long,
        value_name = "TOKEN",
        env = "MIRILLA_GITLAB_SIGNING_TOKEN",
        hide_env_values = true
    )]
    pub(crate) signing_token: Option<String>,
}

#[derive(Debug, Subcommand)]
enum Config {
    /// Checks a settings file; every problem with line and column.
    Check {
        /// The file.
        #[arg(value_name = "FILE", default_value = ".mirilla.toml")]
        file: PathBuf,
    },
    /// Prints the JSON Schema of the settings file.
    Schema,
    /// Prints an operator's policy file (`MIRILLA_POLICY_FILE`) with every key at its default.
    Policy,
    /// Prints docs/REFERENCE.md.
    #[command(hide = true)]
    Reference,
}

fn severity(text: &str) -> Result<mirilla_domain::review::Severity, String> {
    mirilla_domain::review::Severity::parse(text)
        .ok_or_else(|| "one of critical, high, medium, low".to_owned())
}

fn usd(text: &str) -> Result<mirilla_domain::money::PicoUsd, String> {
    mirilla_domain::money::PicoUsd::parse(text)
        .ok_or_else(|| "a plain number of dollars, such as 1.00".to_owned())
}

/// Does what the words say.
pub(crate) fn run(arguments: Arguments, environment: &Environment) -> Result<ExitCode> {
    match arguments.command {
        Command::Demo(arguments) => demo::run(&arguments, environment),
        Command::Serve(arguments) if arguments.variables => {
            for variable in crate::settings::VARIABLES {
                output::data_line(&format!("{:32} {}", variable.name, variable.form));
            }
            Ok(ExitCode::SUCCESS)
        }
        Command::Serve(arguments) => serve::command(&arguments, environment),
        Command::Review(arguments) => preview::run(&arguments, environment),
        Command::Collect(arguments) => crate::jobs::collect(&arguments, environment),
        Command::Post(arguments) => crate::jobs::post(&arguments, environment),
        Command::Replay(arguments) => replay::run(&arguments),
        Command::Explain(arguments) => explain::run(&arguments),
        Command::Eval(arguments) => eval::run(&arguments, environment),
        Command::Inspect { step } => inspect::run(step),
        Command::App { command } => app::run(&command),
        Command::Secret { command } => secret::run(&command),
        Command::Doctor(arguments) => doctor::run(&arguments, environment),
        Command::Webhook {
            command: Webhook::Send(arguments),
        } => webhook::send(&arguments),
        Command::Config {
            command: Config::Check { file },
        } => config::check(&file),
        Command::Config {
            command: Config::Schema,
        } => config::schema(),
        Command::Config {
            command: Config::Policy,
        } => config::policy(),
        Command::Config {
            command: Config::Reference,
        } => {
            output::data(&crate::reference::page());
            Ok(ExitCode::SUCCESS)
        }
        Command::Stage { name } => {
            serve::child::run(&name, environment)?;
            Ok(ExitCode::SUCCESS)
        }
    }
}
