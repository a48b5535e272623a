//! `mirilla app`: the GitHub App of a deployed stack, made and connected.
//!
//! `create` registers an App by GitHub's manifest flow and fills the stack with what comes back. `key`
//! connects an App that exists already: by a private key that its owner downloaded. Whatever `create`
//! could not finish, `key` can.
//!
//! **Invariant:** the App's private key is never written to a file and never printed, and no two Apps
//! are made for one stack.

mod browser;
mod connect;
mod door;
mod flow;
pub(crate) mod manifest;
mod page;
pub(crate) mod place;

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context as _, Result};
use clap::{Args, Subcommand};
use mirilla_forge::github::AppAuth;
use mirilla_ports::forge::ForgeError;
use mirilla_stack::{App, AppKey, AppProblem, KeyState, Output, Session, Stack, Standing};
use url::Url;

use crate::failure::Failure;
use crate::{input, output};
use connect::{Candidate, Connection, Webhook};
use place::Place;

/// What to do about the App.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Registers a GitHub App for a stack, from a page on this machine, and fills the stack's secrets.
    Create(Create),
    /// Connects a stack to an App that exists, with a private key downloaded from the App's page.
    ///
    /// Also finishes what `mirilla app create` could not finish. What is done already is left alone.
    Key(Key),
}

/// Which App to make.
#[derive(Debug, Args)]
pub(crate) struct Create {
    /// The stack, as it was called when it was deployed.
    #[arg(long, value_name = "NAME")]
    pub(crate) stack: String,
    /// The organisation that shall own the App; default: whoever is signed in at GitHub.
    #[arg(long, value_name = "ORGANISATION")]
    pub(crate) owner: Option<String>,
    /// Where people open GitHub; default: what belongs to the API the stack calls.
    #[arg(long, value_name = "URL")]
    pub(crate) github_url: Option<Url>,
    /// The App's name, at most 34 characters; GitHub's page lets you change it.
    #[arg(long, value_name = "NAME")]
    pub(crate) name: Option<String>,
    /// Prints the address of the page instead of opening it.
    #[arg(long)]
    pub(crate) no_browser: bool,
}

/// Which key to connect with.
#[derive(Debug, Args)]
pub(crate) struct Key {
    /// The stack, as it was called when it was deployed.
    #[arg(long, value_name = "NAME")]
    pub(crate) stack: String,
    /// The private key (PEM) from the App's page; `-` reads standard input.
    #[arg(long, value_name = "FILE")]
    pub(crate) pem: PathBuf,
    /// The App's number or client id, if the stack does not know its App yet.
    #[arg(long, value_name = "ID")]
    pub(crate) app_id: Option<String>,
    /// Where people open GitHub; default: what belongs to the API the stack calls.
    #[arg(long, value_name = "URL")]
    pub(crate) github_url: Option<Url>,
}

/// Does what the words say.
pub(crate) fn run(command: &Command) -> Result<ExitCode> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    runtime.block_on(async {
        match command {
            Command::Create(arguments) => create(arguments).await,
            Command::Key(arguments) => key(arguments).await,
        }
    })
}

/// Looks up a stack that an App can be made for.
async fn stack(name: &str) -> Result<Stack> {
    let session = Session::open().await.map_err(Failure::stack)?;
    let stack = Stack::find(&session, name).await.map_err(Failure::stack)?;
    match stack.standing() {
        Standing::Good | Standing::TakenBack => {}
        Standing::Busy => {
            return Err(Failure::new(format!(
                "the stack `{name}` is being changed ({})",
                stack.status()
            ))
            .hint("wait until that is done, then try again")
            .into());
        }
        Standing::Broken => {
            return Err(
                Failure::new(format!("the stack `{name}` is {}", stack.status()))
                    .hint("deploy it again; `sam deploy` and the CloudFormation console say what went wrong")
                    .into(),
            );
        }
    }
    if stack.gitlab_url().is_some() {
        return Err(Failure::new(format!(
            "the stack `{name}` serves GitLab, which has no Apps"
        ))
        .hint("fill its tokens: mirilla secret set read-token|write-token")
        .into());
    }
    if !stack.uses_app() {
        return Err(Failure::new(format!(
            "the stack `{name}` reaches GitHub with plain tokens, not as an App"
        ))
        .hint("deploy it with the parameter GitHubAuth=app, or fill its tokens: mirilla secret set read-token|write-token")
        .into());
    }
    Ok(stack)
}

async fn create(arguments: &Create) -> Result<ExitCode> {
    let stack = stack(&arguments.stack).await?;
    let place = Place::of(
        &stack,
        arguments.github_url.as_ref(),
        arguments.owner.as_deref(),
    )?;
    if let Some(outcome) = existing(&stack, &place).await? {
        return outcome;
    }
    // What would fail after the App is there must fail before.
    stack.can_import().await.map_err(Failure::stack)?;
    stack
        .secret_facts(Output::WebhookSecret)
        .await
        .map_err(Failure::stack)?;
    let webhook = stack.output(Output::WebhookUrl).map_err(Failure::stack)?;
    let manifest = manifest::Manifest::new(
        arguments.name.as_deref(),
        arguments.owner.as_deref().unwrap_or(stack.name()),
        webhook,
    )?;
    let connected = flow::run(&stack, &place, manifest, !arguments.no_browser).await?;
    connected.print(&place, stack.name());
    Ok(ExitCode::SUCCESS)
}

/// Says what there is to say about a stack that has an App, or a key, already.
async fn existing(stack: &Stack, place: &Place) -> Result<Option<Result<ExitCode>>> {
    let known = stack.app().await.map_err(Failure::stack)?;
    let state = stack.key_state().await.map_err(Failure::stack)?;
    let app = match known {
        Ok(app) => app,
        Err(AppProblem::Unreadable) => {
            return Err(Failure::new(AppProblem::Unreadable.to_string())
                .hint(format!(
                    "if the App exists, `mirilla app key --stack {} --app-id ID --pem FILE` writes it anew",
                    stack.name()
                ))
                .into());
        }
        Err(AppProblem::Absent) if state == KeyState::Waiting => return Ok(None),
        Err(AppProblem::Absent) => {
            return Err(Failure::new(
                "the stack knows no App, but its key in KMS is not waiting for one",
            )
            .hint(format!(
                "if its App exists: mirilla app key --stack {} --app-id ID --pem FILE. {OTHER_KEY}",
                stack.name()
            ))
            .into());
        }
    };
    let remaining = connect::remaining(stack, &app, &state)
        .await
        .map_err(Failure::stack)?;
    if remaining.is_empty() {
        output::notes(&format!(
            "the stack {} has its App already: {}",
            stack.name(),
            app.slug
        ));
        output::data_line(&place.install_link(&app.slug));
        return Ok(Some(Ok(ExitCode::SUCCESS)));
    }
    Ok(Some(Err(Failure::new(format!(
        "the App {} exists and is not connected yet: {} missing",
        app.slug,
        remaining.join(" and ")
    ))
    .hint(recovery(stack, place, &app))
    .into())))
}

/// Says how to finish what was left undone for an App that exists.
fn recovery(stack: &Stack, place: &Place, app: &App) -> String {
    format!(
        "open {}, press \"Generate a private key\", then run: mirilla app key --stack {} --app-id {} --pem FILE",
        place.settings_page(&app.slug),
        stack.name(),
        app.id
    )
}

/// Why a key in KMS cannot be given another private key, and the way out.
const OTHER_KEY: &str = "A key in KMS takes one private key in its life. For another App, or a new private key, the stack needs a fresh one: \
     deploy it once with GitHubAuth=token and once more with GitHubAuth=app, then connect again; reviews wait meanwhile";

async fn key(arguments: &Key) -> Result<ExitCode> {
    let stack = stack(&arguments.stack).await?;
    let text = input::read(&arguments.pem)?;
    let text = String::from_utf8(text)
        .map_err(|_binary| Failure::new(format!("{} is no text", arguments.pem.display())))?;
    let key = AppKey::parse(text.into())
        .with_context(|| format!("{} cannot be used", arguments.pem.display()))?;
    let known = stack.app().await.map_err(Failure::stack)?;
    let issuer = match (&arguments.app_id, &known) {
        (Some(id), _) => id.clone(),
        (None, Ok(app)) => app.client_id.clone(),
        (None, Err(problem)) => {
            return Err(Failure::usage(problem.to_string())
                .hint("say which App the key belongs to: --app-id, from the top of the App's page")
                .into());
        }
    };
    let place = Place::of(&stack, arguments.github_url.as_ref(), None)?;
    let auth = AppAuth::with_pem(issuer.clone(), key.pem())?;
    let own = place.access()?.own_app(auth);
    let facts = own
        .facts()
        .await
        .map_err(|error| not_ours(error, &issuer, &key))?;
    let place = place.owned_by(facts.organisation());
    for wider in manifest::wider(&facts.permissions) {
        output::notes(&format!(
            "warning: the App may do more than Mirilla needs: {wider}; take it away on {}",
            place.settings_page(&facts.slug)
        ));
    }
    let connection = Connection::new(
        Candidate {
            app: App {
                client_id: facts.issuer(),
                slug: facts.slug.clone(),
                id: facts.id,
            },
            key,
        },
        Webhook::Ask(own),
    );
    let connection = connection.advance(&stack).await?;
    connection.note_progress();
    if !connection.is_done() {
        return Err(Failure::new("the App is not connected yet")
            .hint("put right what is said above, then run the same command again")
            .into());
    }
    connection.print(&place, stack.name());
    if arguments.pem.as_os_str() != "-" {
        output::notes(&format!(
            "delete {} now: KMS has the key, and GitHub gives out another if you ever need one",
            arguments.pem.display()
        ));
    }
    Ok(ExitCode::SUCCESS)
}

fn not_ours(error: ForgeError, issuer: &str, key: &AppKey) -> anyhow::Error {
    let refused = matches!(
        error,
        ForgeError::Unauthorized | ForgeError::NotFound { .. }
    );
    let error = anyhow::Error::new(error);
    if !refused {
        return error;
    }
    error.context(
        Failure::new(format!(
            "GitHub does not know this key as one of the App {issuer}"
        ))
        .hint(format!(
            "compare {} with the fingerprints on the App's page, and the App's id with --app-id; a clock that is a minute off is refused, too",
            key.fingerprint()
        )),
    )
}
