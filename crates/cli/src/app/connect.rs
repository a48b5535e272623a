//! The three steps that connect a stack to an App, each done once and safe to do again.
//!
//! | step | where | it is done when |
//! | --- | --- | --- |
//! | description | the App's secret | it names this App |
//! | webhook | the webhook's secret, and GitHub | the version in use carries the App's label |
//! | key | KMS | KMS shows the App's public key |
//!
//! What is done is seen in the stack itself, so whoever comes later, with another process or from another
//! machine, goes on where the last one stopped. A step that fails does not stop the others: what GitHub
//! told once is stored as far as possible.
//!
//! **Invariant:** no step prints or returns a secret.

use anyhow::Result;
use mirilla_forge::github::OwnApp;
use mirilla_ports::Entropy as _;
use mirilla_stack::{App, AppKey, KeyState, Output, Reason, Stack, StackError};
use mirilla_system::OsEntropy;
use secrecy::SecretString;
use url::Url;

use super::OTHER_KEY;
use super::place::Place;
use crate::output;

/// An App that shall be the stack's.
#[derive(Debug)]
pub(super) struct Candidate {
    /// Which one.
    pub(super) app: App,
    /// Its private key.
    pub(super) key: AppKey,
}

/// How the webhook's secret becomes known to both sides.
pub(super) enum Webhook {
    /// GitHub told it.
    Told(SecretString),
    /// A new one is made and told to GitHub, unless the label says that both have it.
    Ask(OwnApp),
}

impl std::fmt::Debug for Webhook {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Told(_) => "Told",
            Self::Ask(_) => "Ask",
        })
    }
}

/// What became of a step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Step {
    /// Not tried yet.
    Open,
    /// Done, now or before.
    Done(String),
    /// Not done, and why.
    Failed(String),
}

/// An App on its way into a stack.
#[derive(Debug)]
pub(super) struct Connection {
    candidate: Candidate,
    webhook: Webhook,
    /// In the order in which they are tried.
    pub(super) steps: [Step; 3],
}

impl Connection {
    /// Begins.
    pub(super) fn new(candidate: Candidate, webhook: Webhook) -> Self {
        Self {
            candidate,
            webhook,
            steps: [Step::Open, Step::Open, Step::Open],
        }
    }

    /// Returns which App it is.
    pub(super) fn app(&self) -> &App {
        &self.candidate.app
    }

    /// Returns whether nothing is left to do.
    pub(super) fn is_done(&self) -> bool {
        self.steps.iter().all(|step| matches!(step, Step::Done(_)))
    }

    /// Tries every step that is not done.
    pub(super) async fn advance(mut self, stack: &Stack) -> Result<Self> {
        let [description, webhook, key] = &mut self.steps;
        attempt(description, describe(stack, &self.candidate.app).await);
        let secret = match &self.webhook {
            _ if matches!(webhook, Step::Done(_)) => Ok(None),
            Webhook::Told(secret) => store_told(stack, &self.candidate.app, secret).await,
            Webhook::Ask(own) => agree(stack, &self.candidate.app, own).await?,
        };
        if let Some(outcome) = secret.transpose() {
            attempt(webhook, outcome);
        }
        if !matches!(key, Step::Done(_)) {
            attempt(key, import(stack, &self.candidate.key).await);
        }
        Ok(self)
    }

    /// Says what became of each step, for the person who waits.
    pub(super) fn note_progress(&self) {
        for line in self.lines() {
            output::notes(&line);
        }
    }

    /// Returns one line per step.
    pub(super) fn lines(&self) -> Vec<String> {
        self.steps
            .iter()
            .map(|step| match step {
                Step::Open => "- not tried yet".to_owned(),
                Step::Done(what) => format!("ok   {what}"),
                Step::Failed(why) => format!("FAIL {why}"),
            })
            .collect()
    }

    /// Prints the install link, and what comes next.
    pub(super) fn print(&self, place: &Place, stack: &str) {
        let app = &self.candidate.app;
        output::notes(&format!(
            "\nthe App {} is connected. Install it on the repositories that shall be reviewed:",
            app.slug
        ));
        output::data_line(&mirilla_domain::escape::terminal(
            &place.install_link(&app.slug),
        ));
        output::notes(&format!(
            "then check the whole chain: mirilla doctor --stack {stack}"
        ));
    }
}

fn attempt(step: &mut Step, outcome: Result<String, String>) {
    *step = match outcome {
        Ok(what) => Step::Done(what),
        Err(why) => Step::Failed(why),
    };
}

/// Returns what an App still needs before it is the stack's, in words.
pub(super) async fn remaining(
    stack: &Stack,
    app: &App,
    state: &KeyState,
) -> Result<Vec<&'static str>, StackError> {
    let webhook = stack.secret_facts(Output::WebhookSecret).await?;
    let mut missing = Vec::new();
    if !webhook.has_label(&app.webhook_label()) {
        missing.push("its webhook secret is");
    }
    if !matches!(state, KeyState::Ready { .. }) {
        missing.push("its private key is");
    }
    Ok(missing)
}

fn said(error: &StackError) -> String {
    format!("{}; {}", mirilla_telemetry::chain(error), error.hint())
}

async fn describe(stack: &Stack, app: &App) -> Result<String, String> {
    // Who may not read it may write it all the same.
    if stack.app().await.ok().and_then(Result::ok).as_ref() == Some(app) {
        return Ok("the App's description is stored".to_owned());
    }
    let stored = stack.put_app(app).await;
    stored.map_err(|error| said(&error))?;
    Ok("the App's description is stored".to_owned())
}

/// Returns `None` where there is nothing to do.
type Agreed = Result<Option<String>, String>;

async fn store_told(stack: &Stack, app: &App, secret: &SecretString) -> Agreed {
    let store = async {
        let version = stack.put_secret(Output::WebhookSecret, secret).await?;
        let label = app.webhook_label();
        stack
            .label_secret(Output::WebhookSecret, &version, &label)
            .await
    };
    store.await.map_err(|error| said(&error))?;
    Ok(Some(AGREED.to_owned()))
}

const AGREED: &str = "the stack has the webhook secret that GitHub signs with";

async fn agree(stack: &Stack, app: &App, own: &OwnApp) -> Result<Agreed> {
    let url = stack.output(Output::WebhookUrl)?;
    let url = Url::parse(url)?;
    let label = app.webhook_label();
    let facts = match stack.secret_facts(Output::WebhookSecret).await {
        Ok(facts) => facts,
        Err(error) => return Ok(Err(said(&error))),
    };
    if facts.has_label(&label) {
        match own.hook().await {
            Ok(hook) if hook.url.as_deref() == Some(url.as_str()) => {
                return Ok(Ok(Some(AGREED.to_owned())));
            }
            // Another stack's, perhaps: it is told where this one is, with a secret of its own.
            Ok(_) => {}
            Err(error) => return Ok(Err(mirilla_telemetry::chain(&error))),
        }
    }
    let secret = SecretString::from(OsEntropy::open()?.hex(32));
    // First the side that takes the old and the new, then the side that signs.
    let version = match stack.put_secret(Output::WebhookSecret, &secret).await {
        Ok(version) => version,
        Err(error) => return Ok(Err(said(&error))),
    };
    if let Err(error) = own.set_hook(&url, &secret).await {
        return Ok(Err(mirilla_telemetry::chain(&error)));
    }
    let labelled = stack
        .label_secret(Output::WebhookSecret, &version, &label)
        .await;
    Ok(labelled
        .map(|()| Some(AGREED.to_owned()))
        .map_err(|error| said(&error)))
}

async fn import(stack: &Stack, key: &AppKey) -> Result<String, String> {
    let done = || {
        Ok(format!(
            "KMS has the App's private key {}",
            key.fingerprint()
        ))
    };
    match stack.key_state().await.map_err(|error| said(&error))? {
        KeyState::Ready { public } if public == key.public() => return done(),
        KeyState::Ready { public } => {
            let other = KeyState::Ready { public };
            return Err(format!(
                "KMS has another private key already ({}). {OTHER_KEY}",
                other.fingerprint().unwrap_or_default()
            ));
        }
        KeyState::Waiting => {}
        KeyState::Disabled => {
            return Err(
                "the App's key in KMS is disabled: enable it in the KMS console, then try again"
                    .to_owned(),
            );
        }
        KeyState::Dying => {
            return Err("the App's key in KMS will be deleted: cancel that in the KMS console and enable it, then try again".to_owned());
        }
        KeyState::NotImported => {
            return Err("the App's key in KMS was made by KMS and takes no import: deploy the template of this version".to_owned());
        }
        KeyState::Other(state) => {
            return Err(format!("the App's key in KMS is {state}; try again later"));
        }
    }
    match stack.import_key(key).await {
        Ok(()) => {}
        Err(error) if error.reason() == Some(Reason::OtherMaterial) => {
            return Err(format!("{}: {OTHER_KEY}", said(&error)));
        }
        Err(error) => return Err(said(&error)),
    }
    match stack.key_state().await {
        Ok(KeyState::Ready { public }) if public == key.public() => done(),
        Ok(_) => Err("KMS took the key and does not show it: try again in a minute".to_owned()),
        Err(error) => Err(said(&error)),
    }
}
