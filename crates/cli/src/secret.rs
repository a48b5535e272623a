//! `mirilla secret`: what only the operator can know, put into a stack.
//!
//! **Invariant:** a secret is read from a prompt that shows nothing or from standard input, never from
//! the command line, and is never printed.

mod prompt;

use std::io::IsTerminal as _;
use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context as _, Result};
use clap::{Args, Subcommand, ValueEnum};
use mirilla_domain::webhook::WebhookSecret;
use mirilla_stack::{Output, Session, Stack};
use secrecy::{ExposeSecret as _, SecretString};

use crate::failure::Failure;
use crate::{input, output};

/// Shortest value that can be one; a shorter one is a paste gone wrong.
const MIN_CHARS: usize = 8;
/// Longest value that Secrets Manager takes.
const MAX_BYTES: usize = 65_536;

/// What to do about a secret.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Puts a secret into a stack; asks for it without showing it, or reads standard input.
    Set(Set),
}

/// Which secret, of which stack.
#[derive(Debug, Args)]
pub(crate) struct Set {
    /// Which one.
    #[arg(value_name = "SECRET", value_enum)]
    pub(crate) secret: Name,
    /// The stack, as it was called when it was deployed.
    #[arg(long, value_name = "NAME")]
    pub(crate) stack: String,
}

/// The secrets that nobody but the operator can fill.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Name {
    /// The model provider's key.
    ModelKey,
    /// A token that may read contents and pull requests, where no App is used; on GitLab one of scope `read_api`.
    ReadToken,
    /// A token that may write pull request reviews, where no App is used; on GitLab one of scope `api`.
    WriteToken,
    /// A token that may push, of the account that writes, where no App is used and threads are resolved.
    ResolveToken,
    /// What GitLab signs webhooks with, as it shows it once.
    SigningToken,
}

impl Name {
    const fn output(self) -> Output {
        match self {
            Self::ModelKey => Output::ModelKey,
            Self::ReadToken => Output::ReadToken,
            Self::WriteToken => Output::WriteToken,
            Self::ResolveToken => Output::ResolveToken,
            Self::SigningToken => Output::SigningToken,
        }
    }

    const fn read_by(self) -> &'static str {
        match self {
            Self::ModelKey => "the reviewer",
            Self::ReadToken => "the collector",
            Self::WriteToken | Self::ResolveToken => "the poster",
            Self::SigningToken => "intake",
        }
    }
}

/// Does what the words say.
pub(crate) fn run(command: &Command) -> Result<ExitCode> {
    let Command::Set(arguments) = command;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    runtime.block_on(set(arguments))
}

async fn set(arguments: &Set) -> Result<ExitCode> {
    let which = arguments.secret.output();
    let session = Session::open().await.map_err(Failure::stack)?;
    let stack = Stack::find(&session, &arguments.stack)
        .await
        .map_err(Failure::stack)?;
    // Said before anybody is asked for a secret that has no place.
    if stack.output(which).is_err() {
        return Err(Failure::new(format!(
            "the stack `{}` has no place for {}",
            stack.name(),
            which.what()
        ))
        .hint("tokens are used where the stack was deployed with GitHubAuth=token or GitLabUrl, the one that resolves threads with ResolveThreads=true on GitHub, and a signing token on GitLab")
        .into());
    }
    let value = checked(&read(which.what())?, which.what())?;
    if which == Output::SigningToken {
        WebhookSecret::parse_signing_token(value.expose_secret())
            .map_err(|error| Failure::usage(error.to_string()))?;
    }
    stack
        .put_secret(which, &value)
        .await
        .map_err(Failure::stack)?;
    output::notes(&format!(
        "{} is stored; {} has it within ten minutes",
        which.what(),
        arguments.secret.read_by()
    ));
    Ok(ExitCode::SUCCESS)
}

/// Reads a secret from a prompt, or from standard input if that is no terminal.
fn read(what: &str) -> Result<SecretString> {
    if std::io::stdin().is_terminal() {
        return prompt::ask(&format!("{what} (not shown): "));
    }
    let bytes = input::read(Path::new("-"))?;
    let text = String::from_utf8(bytes)
        .map_err(|_binary| Failure::usage("standard input is no text"))
        .with_context(|| format!("{what} cannot be read"))?;
    Ok(text.into())
}

/// Takes off a line's end, and refuses what cannot be one.
fn checked(value: &SecretString, what: &str) -> Result<SecretString> {
    let text = value.expose_secret().trim_end_matches(['\r', '\n']);
    let problem = if text.is_empty() {
        "is empty"
    } else if text.len() < MIN_CHARS {
        "is too short to be one"
    } else if text.len() > MAX_BYTES {
        "is longer than any secret can be"
    } else if !text.bytes().all(|byte| byte.is_ascii_graphic()) {
        "holds a space, a line break or another character that none has"
    } else {
        return Ok(text.into());
    };
    Err(Failure::usage(format!("{what} {problem}"))
        .hint("paste it alone, or: mirilla secret set … < FILE")
        .into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn line_ends_go_and_what_cannot_be_a_secret_is_refused_without_showing_it() {
        let good = checked(&"sk-ant-made-up\r\n".into(), "the model key").unwrap();
        assert_eq!(good.expose_secret(), "sk-ant-made-up");
        let long = "SENTINEL".repeat(9000);
        for bad in [
            "",
            "\n",
            "short\n",
            "SENTINEL with spaces",
            "SENTINEL\nSENTINEL",
            &long,
        ] {
            let error = checked(&bad.into(), "the model key").unwrap_err();
            let shown = format!("{error:#} {error:?}");
            assert!(!shown.contains("SENTINEL"), "{shown}");
        }
    }
}
