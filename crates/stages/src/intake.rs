//! Takes a webhook: believes it, reduces it to ids, records it, and only then queues it.
//!
//! | request | answer |
//! | --- | --- |
//! | an event we act on, new | `202 queued` |
//! | the same delivery, or the same job, again | `200 duplicate` |
//! | another event, action or account | `200 ignored` |
//! | bad signature or token | `401 bad signature` |
//! | not understood | GitHub: `400` with the field's name; GitLab: `200 ignored`, and a warning in the log |
//! | too large | GitHub: `413`; GitLab: `200 ignored`, and a warning in the log |
//! | of the forge that is not served | `404` |
//! | the ledger is not available | `503`, nothing recorded |
//!
//! **Invariant:** nothing is read from or written to a store before the signature is believed and
//! the account is known; intake holds no forge token and calls no forge. GitLab switches a webhook off for good that
//! answers `4xx` four times, so nothing but a bad token gets one there.

mod decide;
mod incoming;
mod log;
mod note;
mod secrets;
mod suite;
mod write;

use std::error::Error;
use std::time::Duration;

use mirilla_domain::ids::{
    Account, CommitSha, Forge, IdError, JobId, PrNumber, PullRequestRef, RepoId,
};
use mirilla_domain::job::{Debounce, Job};
use mirilla_domain::request::{Delivery, Request, Trigger};
use mirilla_domain::signal::{About, RunOutcome, Signal};
use mirilla_domain::webhook::{
    GithubHeaders, GitlabHeaders, HookSecrets, IgnoreReason, MAX_BODY_BYTES, Parsed,
    SignatureError, WebhookError, parse_github, parse_gitlab, verify_github, verify_gitlab,
};
use mirilla_ports::message::{CommandMessage, GroupMessage, Message};
use mirilla_ports::queue::QueueName;
use mirilla_ports::{Clock, Ledger, LedgerError, QueueSend};

pub(crate) use decide::Wanted;
pub use incoming::{EnvelopeError, IncomingWebhook};
pub use log::log;
use note::Noting;
pub use secrets::{FixedSecrets, SecretCache};
pub(crate) use write::Asked;
use write::{Known, Outcome};

/// What recording a delivery takes.
#[derive(Clone, Copy)]
pub struct RecordPorts<'a> {
    /// Jobs, deliveries, pull requests.
    pub ledger: &'a dyn Ledger,
    /// The way to the collector.
    pub queue: &'a dyn QueueSend,
    /// Time.
    pub clock: &'a dyn Clock,
}

impl std::fmt::Debug for RecordPorts<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("RecordPorts")
    }
}

impl<'a> From<IntakePorts<'a>> for RecordPorts<'a> {
    fn from(ports: IntakePorts<'a>) -> Self {
        Self {
            ledger: ports.ledger,
            queue: ports.queue,
            clock: ports.clock,
        }
    }
}

/// What intake may use.
#[derive(Clone, Copy)]
pub struct IntakePorts<'a> {
    /// Jobs, deliveries, pull requests.
    pub ledger: &'a dyn Ledger,
    /// The way to the collector.
    pub queue: &'a dyn QueueSend,
    /// What deliveries are signed with.
    pub secrets: &'a SecretCache,
    /// Time.
    pub clock: &'a dyn Clock,
}

impl std::fmt::Debug for IntakePorts<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("IntakePorts")
    }
}

/// Whom intake works for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IntakeSettings {
    allowed_accounts: Vec<Account>,
    /// How long pushes wait.
    pub debounce: Debounce,
}

/// Settings that would let anyone spend the operator's money, or nobody.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum IntakeSettingsError {
    /// No account is listed.
    #[error(
        "allowed_accounts is empty: list the users, organisations or groups whose repositories are reviewed"
    )]
    NoAccounts,
    /// A listed name is no account.
    #[error("allowed_accounts holds a name that cannot be an account")]
    BadAccount(#[source] IdError),
}

impl IntakeSettings {
    /// Checks the list of accounts that are served; there is no way to serve everybody.
    pub fn new<'a>(
        allowed_accounts: impl IntoIterator<Item = &'a str>,
    ) -> Result<Self, IntakeSettingsError> {
        let allowed_accounts = allowed_accounts
            .into_iter()
            .map(|name| Account::parse(name.trim()).map_err(IntakeSettingsError::BadAccount))
            .collect::<Result<Vec<_>, _>>()?;
        if allowed_accounts.is_empty() {
            return Err(IntakeSettingsError::NoAccounts);
        }
        Ok(Self {
            allowed_accounts,
            debounce: Debounce::default(),
        })
    }

    /// Forges do not tell accounts apart by case.
    fn serves(&self, account: &Account) -> bool {
        self.allowed_accounts
            .iter()
            .any(|allowed| allowed.as_str().eq_ignore_ascii_case(account.as_str()))
    }
}

/// What failed on the way.
pub type Failure = Box<dyn Error + Send + Sync>;

/// What to answer, and what to log about it.
#[derive(Debug)]
pub struct IntakeAnswer {
    /// The HTTP status.
    pub status: u16,
    /// The plain text of the answer; safe to send to anyone.
    pub text: String,
    /// What became of it.
    pub outcome: RunOutcome,
    /// A kebab-case code that says why.
    pub reason: &'static str,
    /// What was asked, if it was understood.
    pub delivery: Option<Box<Delivery>>,
    /// What failed on the way, for the log.
    pub failure: Option<Failure>,
    /// What is worth counting beside that.
    pub signals: Vec<Signal>,
}

impl IntakeAnswer {
    fn new(status: u16, text: &str, outcome: RunOutcome, reason: &'static str) -> Self {
        Self {
            status,
            text: text.to_owned(),
            outcome,
            reason,
            delivery: None,
            failure: None,
            signals: Vec::new(),
        }
    }

    fn ignored(reason: IgnoreReason) -> Self {
        let answer = Self::new(200, "ignored", RunOutcome::Ignored, reason.as_str());
        if reason == IgnoreReason::Account {
            return answer.counting(Signal::UnlistedAccount);
        }
        answer
    }

    /// Answers a request that nobody listens for.
    pub fn not_found() -> Self {
        Self::new(404, "not found", RunOutcome::Rejected, "not-found")
    }

    /// Answers a request whose body is larger than anything a forge sends.
    pub fn too_large() -> Self {
        let error = WebhookError::TooLarge {
            limit: MAX_BODY_BYTES,
        };
        Self::new(413, &error.to_string(), RunOutcome::Rejected, "too-large")
    }

    /// Answers a request whose body did not come in time.
    pub fn too_slow() -> Self {
        Self::new(
            408,
            "the body did not come in time",
            RunOutcome::Rejected,
            "too-slow",
        )
    }

    fn not_understood(error: &WebhookError) -> Self {
        match error {
            WebhookError::TooLarge { .. } => Self::too_large(),
            _ => Self::new(
                400,
                &error.to_string(),
                RunOutcome::Rejected,
                "not-understood",
            ),
        }
    }

    /// Says a refusal as a forge bears it: GitLab would switch the webhook off, and hears that it is ignored.
    fn said_to(self, forge: Forge) -> Self {
        match forge {
            Forge::Github => self,
            Forge::Gitlab => Self {
                status: 200,
                text: "ignored".to_owned(),
                ..self
            },
        }
    }

    /// Returns whom it concerns and everything that is worth counting, for the metrics.
    ///
    /// What is known of whom comes from a believed delivery alone.
    pub fn facts(&self, took: Duration) -> (About, Vec<Signal>) {
        let ran = Signal::Ran {
            outcome: self.outcome,
            reason: self.reason,
            duration_ms: u64::try_from(took.as_millis()).unwrap_or(u64::MAX),
        };
        let about = self.delivery.as_deref().map_or_else(About::default, about);
        let facts = std::iter::once(ran).chain(self.signals.iter().cloned());
        (about, facts.collect())
    }

    fn counting(mut self, signal: Signal) -> Self {
        self.signals.push(signal);
        self
    }

    fn because_of(self, failure: Option<Failure>) -> Self {
        Self {
            failure: self.failure.or(failure),
            ..self
        }
    }
}

fn about(delivery: &Delivery) -> About {
    let pr = match &delivery.request {
        Request::Review { pr, .. }
        | Request::Command { pr, .. }
        | Request::MergeGroup { pr, .. }
        | Request::Closed { pr } => Some(*pr),
        Request::CheckRerun { .. } | Request::SuiteRerun { .. } | Request::Uninstalled => None,
    };
    About {
        forge: Some(delivery.origin.forge),
        repo: delivery
            .origin
            .repository
            .as_ref()
            .map(|repository| repository.name.clone()),
        pr,
        ..About::default()
    }
}

impl From<&EnvelopeError> for IntakeAnswer {
    fn from(error: &EnvelopeError) -> Self {
        Self::new(
            400,
            &error.to_string(),
            RunOutcome::Rejected,
            "not-understood",
        )
    }
}

/// Takes one webhook.
pub async fn intake(
    ports: IntakePorts<'_>,
    settings: &IntakeSettings,
    http: &IncomingWebhook,
) -> IntakeAnswer {
    let served = match *ports.secrets.current() {
        HookSecrets::Github(_) => Forge::Github,
        HookSecrets::Gitlab(_) => Forge::Gitlab,
    };
    if http.forge != served {
        return IntakeAnswer::not_found();
    }
    if http.body.len() > MAX_BODY_BYTES {
        return IntakeAnswer::too_large().said_to(served);
    }
    match believe(ports, http).await {
        Err(answer) => answer,
        Ok(failure) => understand(ports, settings, http).await.because_of(failure),
    }
}

async fn understand(
    ports: IntakePorts<'_>,
    settings: &IntakeSettings,
    http: &IncomingWebhook,
) -> IntakeAnswer {
    let parsed = match http.forge {
        Forge::Github => parse_github(github_headers(http), &http.body),
        Forge::Gitlab => parse_gitlab(gitlab_headers(http), &http.body),
    };
    let delivery = match parsed {
        Ok(Parsed::Delivery(delivery)) => delivery,
        Ok(Parsed::Ignored(reason)) => return IntakeAnswer::ignored(reason),
        Err(error) => return IntakeAnswer::not_understood(&error).said_to(http.forge),
    };
    record(ports.into(), settings, &delivery).await
}

fn github_headers(http: &IncomingWebhook) -> GithubHeaders<'_> {
    GithubHeaders {
        event: http.header("x-github-event"),
        delivery: http.header("x-github-delivery"),
        content_type: http.header("content-type"),
    }
}

fn gitlab_headers(http: &IncomingWebhook) -> GitlabHeaders<'_> {
    GitlabHeaders {
        token: http.header("x-gitlab-token"),
        webhook_id: http.header("webhook-id"),
        webhook_timestamp: http.header("webhook-timestamp"),
        webhook_signature: http.header("webhook-signature"),
        idempotency_key: http.header("idempotency-key"),
        event_uuid: http.header("x-gitlab-event-uuid"),
    }
}

/// Records what a delivery asks for, if its account is served. The delivery is believed already: its
/// signature was right, or the forge itself handed it over.
pub async fn record(
    ports: RecordPorts<'_>,
    settings: &IntakeSettings,
    delivery: &Delivery,
) -> IntakeAnswer {
    let answer = if settings.serves(&delivery.origin.account) {
        act(ports, settings, delivery).await
    } else {
        IntakeAnswer::ignored(IgnoreReason::Account)
    };
    IntakeAnswer {
        delivery: Some(Box::new(delivery.clone())),
        ..answer
    }
}

/// Returns whether a delivery of this event and action can ask for anything that is recorded: only
/// such are worth asking for again.
pub fn acts_on(event: &str, action: &str) -> bool {
    match event {
        "pull_request" => matches!(
            action,
            "opened" | "synchronize" | "reopened" | "ready_for_review" | "edited"
        ),
        "check_run" | "check_suite" => action == "rerequested",
        "merge_group" => action == "checks_requested",
        "issue_comment" | "pull_request_review_comment" => action == "created",
        _ => false,
    }
}

/// Checks the signature over the raw body. A signature that could be right is checked once more if
/// newer secrets can be had. What failed on the way to those is returned beside a good outcome.
async fn believe(
    ports: IntakePorts<'_>,
    http: &IncomingWebhook,
) -> Result<Option<Failure>, IntakeAnswer> {
    let now = ports.clock.now();
    let verify = || match &*ports.secrets.current() {
        HookSecrets::Github(secrets) => {
            let header = http.header("x-hub-signature-256");
            verify_github(secrets, now, &http.body, header)
        }
        HookSecrets::Gitlab(secrets) => {
            verify_gitlab(secrets, now, &http.body, gitlab_headers(http))
        }
    };
    let mut outcome = verify();
    let mut failure = None;
    let worth_asking = match outcome {
        Ok(()) => ports.secrets.is_old(now),
        Err(error) => error == SignatureError::Mismatch,
    };
    if worth_asking {
        match ports.secrets.refresh(now).await {
            Ok(true) => outcome = verify(),
            Ok(false) => {}
            Err(error) => failure = Some(error.into()),
        }
    }
    let reason = match outcome {
        Ok(()) => return Ok(failure),
        Err(SignatureError::Missing) => "signature-missing",
        Err(SignatureError::Malformed) => "signature-malformed",
        Err(SignatureError::Mismatch) => "signature-mismatch",
        Err(SignatureError::Stale) => "signature-stale",
    };
    let answer = IntakeAnswer::new(401, "bad signature", RunOutcome::Rejected, reason);
    Err(answer.counting(Signal::BadSignature).because_of(failure))
}

/// Returns the job that a check speaks for: one of ours, of that commit, in that repository. Who pressed the
/// button is not asked: GitHub offers it to people with write access alone, and the number is bounded.
async fn checked(
    ports: RecordPorts<'_>,
    place: (Forge, RepoId),
    sha: &CommitSha,
    external_id: &str,
) -> Result<Option<Job>, LedgerError> {
    let Ok(id) = JobId::parse(external_id) else {
        return Ok(None);
    };
    let job = ports.ledger.job(&id).await?;
    Ok(job.filter(|job| (job.key.forge, job.key.repo) == place && job.key.head == *sha))
}

async fn act(
    ports: RecordPorts<'_>,
    settings: &IntakeSettings,
    delivery: &Delivery,
) -> IntakeAnswer {
    let origin = &delivery.origin;
    let Some(repository) = &origin.repository else {
        return IntakeAnswer::ignored(IgnoreReason::Kind);
    };
    let pull_request = |pr: &PrNumber| PullRequestRef {
        forge: origin.forge,
        repo: repository.id,
        pr: *pr,
    };
    let (outcome, known) = match &delivery.request {
        Request::Review {
            pr,
            head,
            base_ref,
            trigger,
        } => {
            let asked = Asked {
                debounce: settings.debounce,
                pull_request: pull_request(pr),
                repo_name: &repository.name,
                installation: origin.installation,
                wanted: Wanted {
                    head,
                    base_ref,
                    trigger: *trigger,
                },
            };
            write::review(ports, delivery, asked).await
        }
        Request::Command {
            pr,
            comment,
            place,
            verb,
            author,
        } => {
            // What the webhook says about a command is a hint: here it is counted and noted, and nothing
            // else follows from it. A storm of commands ends here, before any call to a forge.
            let about = CommandMessage::new(pull_request(pr), *place, *comment);
            let noting = Noting {
                pull_request: about.pull_request,
                repo_name: &repository.name,
                installation: origin.installation,
                queue: QueueName::Collect,
                message: Message::CommandV1(about),
            };
            note::record(ports, delivery, noting, |record, now| {
                let commands = &mut record.commands;
                commands.admit(*place, *comment, *verb, *author, now)
            })
            .await
        }
        Request::CheckRerun { sha, external_id } => {
            let place = (origin.forge, repository.id);
            let job = match checked(ports, place, sha, external_id).await {
                Ok(Some(job)) => job,
                Ok(None) => return IntakeAnswer::ignored(IgnoreReason::Kind),
                Err(error) => {
                    return IntakeAnswer::new(503, "unavailable", RunOutcome::Retry, "ledger")
                        .because_of(Some(error.into()));
                }
            };
            let asked = Asked {
                debounce: settings.debounce,
                pull_request: job.key.pull_request(),
                repo_name: &repository.name,
                installation: origin.installation,
                wanted: Wanted {
                    head: &job.key.head,
                    base_ref: &job.key.base_ref,
                    trigger: Trigger::Rerun,
                },
            };
            write::review(ports, delivery, asked).await
        }
        Request::SuiteRerun { sha, prs } => {
            let pull_requests: Vec<_> = prs.iter().map(pull_request).collect();
            let about = suite::Suite {
                sha,
                pull_requests: &pull_requests,
                repo_name: &repository.name,
                installation: origin.installation,
                debounce: settings.debounce,
            };
            match suite::record(ports, delivery, about).await {
                Some(done) => done,
                None => return IntakeAnswer::ignored(IgnoreReason::Kind),
            }
        }
        Request::MergeGroup { sha, branch, pr } => {
            // Hints, too: the poster asks the forge before it writes anything.
            let about = GroupMessage::new(pull_request(pr), sha.clone());
            let noting = Noting {
                pull_request: about.pull_request,
                repo_name: &repository.name,
                installation: origin.installation,
                queue: QueueName::Post,
                message: Message::MergeGroupV1(about),
            };
            note::record(ports, delivery, noting, |record, now| {
                record.queued.admit(branch, sha, now)
            })
            .await
        }
        Request::Closed { .. } | Request::Uninstalled => {
            return IntakeAnswer::ignored(IgnoreReason::Kind);
        }
    };
    let answer = match outcome {
        Outcome::Queued => IntakeAnswer::new(202, "queued", RunOutcome::Accepted, "queued"),
        Outcome::RecordedOnly(failure) => {
            IntakeAnswer::new(202, "queued", RunOutcome::Accepted, "recorded")
                .because_of(Some(failure))
        }
        Outcome::Duplicate => IntakeAnswer::new(200, "duplicate", RunOutcome::Ignored, "duplicate"),
        Outcome::Unavailable(failure) => {
            IntakeAnswer::new(503, "unavailable", RunOutcome::Retry, "ledger")
                .because_of(Some(failure))
        }
        Outcome::TooMany => {
            IntakeAnswer::new(200, "ignored", RunOutcome::Ignored, "too-many-commands")
        }
        Outcome::Contended => IntakeAnswer::new(503, "unavailable", RunOutcome::Retry, "contended"),
    };
    match known {
        Known::Body => answer.counting(Signal::ReplayedBody),
        Known::No | Known::Id => answer,
    }
}
